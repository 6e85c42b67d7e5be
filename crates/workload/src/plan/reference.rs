//! The reference page of the plan file, generated from the table of fields.

use std::fmt::Write as _;

use super::fields::{FIELDS, Field, Kind, Scope};
use super::value::description;

const OPENING: &str = "\
# The plan file

A plan is a TOML file with a list of tests. `flushmark run plan.toml DIRECTORY` runs them
in order.

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

`flushmark suites SUITE` prints the plan of a built-in suite, which is a good starting point for
your own. Errors name the file, line, field and value, and what was expected. Editors that support
JSON Schema can check plans against `schemas/plan-1.json`.

This page and the schema are generated from the parser's table of fields (`cargo xtask docs`).
";

/// Columns of the page.
const WIDTH: usize = 100;

/// The reference page in Markdown.
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    let sections: [(&str, &[Scope]); 3] = [
        ("The plan", &[Scope::Plan]),
        ("A test: `[[test]]`, and `[defaults]`", &[Scope::Test, Scope::TestOnly]),
        ("A file of a step program: `files = { NAME = { ... } }`", &[Scope::File]),
    ];
    for (title, scopes) in sections {
        let _ = write!(page, "\n## {title}\n");
        for field in FIELDS.iter().filter(|field| scopes.contains(&field.scope)) {
            describe(field, &mut page);
        }
    }
    page
}

fn describe(field: &Field, page: &mut String) {
    let Field { name, scope, kind, default, meaning, example } = field;
    let only = if *scope == Scope::TestOnly { " Not in `[defaults]`." } else { "" };
    let kind = match kind {
        Kind::Word(words) => {
            let words: Vec<String> = words().iter().map(|word| format!("`\"{word}\"`")).collect();
            format!("one of {}", words.join(", "))
        }
        kind => description(*kind),
    };
    let meaning = wrapped(&format!("{meaning}{only}"));
    let value = wrapped(&format!("Value: {kind}. Default: {default}."));
    let _ = write!(page, "\n### `{name}`\n\n{meaning}\n\n{value}\n\n```toml\n{example}\n```\n");
}

/// A paragraph in lines of at most [`WIDTH`] characters, where its words allow that.
fn wrapped(paragraph: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in paragraph.split(' ') {
        let length = word.chars().count();
        if width > 0 {
            let fits = width + 1 + length <= WIDTH;
            lines.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        lines += word;
        width += length;
    }
    lines
}
