//! The reference page of the plan file, made from the table of fields.

use std::fmt::Write as _;

use super::fields::{FIELDS, Field, Kind, Place};
use super::value::takes;

const OPENING: &str = "\
# The plan file

A plan is a TOML file with a list of tests. `flushmark run plan.toml --target DIRECTORY` runs them in order.

```toml
name = \"nightly\"
answers = \"Does a commit still cost what it did last week?\"

[defaults]
block = \"4KiB\"
time = \"30s\"

[[test]]
pattern = \"randwrite\"
sync = \"fsync\"
matrix = { jobs = [1, 4, 16] }

[[test]]
name = \"our log\"
files = { log = { size = \"64MiB\", layout = \"append\" } }
steps = [\"write log append 2300B\", \"sync log fdatasync\"]
```

`flushmark suites SUITE` prints the plan of a built-in suite, to start one's own from. A mistake is reported with its file, line, field, value, and
what the value may be. Editors that know JSON Schema can check plans by `schemas/plan-1.json`.

This page and the schema are made from the parser's own table of fields (`cargo xtask docs`).
";

/// The page, in Markdown.
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    let sections: [(&str, &[Place]); 3] = [
        ("The plan", &[Place::Plan]),
        ("A test: `[[test]]`, and `[defaults]`", &[Place::Test, Place::TestOnly]),
        ("A file of a step program: `files = { NAME = { ... } }`", &[Place::File]),
    ];
    for (title, places) in sections {
        let _ = write!(page, "\n## {title}\n");
        for field in FIELDS.iter().filter(|field| places.contains(&field.place)) {
            describe(field, &mut page);
        }
    }
    page
}

fn describe(field: &Field, page: &mut String) {
    let Field { name, place, kind, default, meaning, example } = field;
    let only = if *place == Place::TestOnly { " Not in `[defaults]`." } else { "" };
    let kind = match kind {
        Kind::Word(words) => {
            let words: Vec<String> = words().iter().map(|word| format!("`\"{word}\"`")).collect();
            format!("one of {}", words.join(", "))
        }
        kind => takes(*kind),
    };
    let _ = write!(
        page,
        "\n### `{name}`\n\n{meaning}{only}\n\nTakes {kind}. Left out: {default}.\n\n```toml\n{example}\n```\n"
    );
}
