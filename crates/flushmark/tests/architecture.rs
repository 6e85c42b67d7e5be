//! Checks the crates against the table in ARCHITECTURE.md: what each depends on, and what it uses
//! of that.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const HEADING: &str = "| crate | its one job | may know |";

/// The parts of another crate that a crate may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    All,
    /// Its types, but none of its functions.
    Types,
}

/// The permissions of each crate in the table.
fn table() -> BTreeMap<String, BTreeMap<String, Known>> {
    let page = include_str!("../../../ARCHITECTURE.md");
    let rows = page
        .split_once(HEADING)
        .unwrap()
        .1
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells: Vec<(&str, &str)> = rows
        .map(|row| {
            let mut cells = row.trim_matches('|').split(" | ");
            (cells.next().unwrap().trim(), cells.last().unwrap().trim())
        })
        .collect();
    let names =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |(crate_cell, may_know): &(&str, &str)| {
        let name = names(crate_cell).remove(0);
        if *may_know == "all" {
            let others =
                cells.iter().flat_map(|(cell, _)| names(cell)).filter(|other| *other != name);
            return (name.clone(), others.map(|other| (other, Known::All)).collect());
        }
        let (all, types) = may_know.split_once("types of").unwrap_or((may_know, ""));
        let all = names(all).into_iter().map(|other| (other, Known::All));
        let types = names(types).into_iter().map(|other| (other, Known::Types));
        (name, all.chain(types).collect())
    };
    cells.iter().map(row).collect()
}

/// The crates of the workspace, by folder.
fn crates() -> BTreeMap<String, PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders =
        std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let all = folders.chain([root.join("xtask")]);
    all.map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), folder)).collect()
}

/// The keys of these tables of a manifest, for every platform.
fn dependencies(folder: &Path, tables: &[&str]) -> BTreeSet<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let platforms = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let platforms = platforms.filter_map(|(_, platform)| platform.as_table());
    let found = [&manifest].into_iter().chain(platforms).flat_map(|level| {
        let tables = tables.iter().filter_map(|table| level.get(*table)?.as_table());
        tables.flat_map(|table| table.keys().cloned())
    });
    found.collect()
}

/// The lines of a crate's sources before their tests, file by file.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&entry).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let code: Vec<&str> =
                code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            found.push((entry, code.join("\n")));
        }
    }
    found
}

/// The paths of a crate that a text uses; those in braces one by one.
fn named(code: &str, of: &str) -> Vec<String> {
    let start = format!("{of}::");
    let places = code.match_indices(&start).map(|(at, _)| at).filter(|&at| {
        let before = &code[..at];
        !before.ends_with(|before: char| before.is_alphanumeric() || before == '_')
            && !before.ends_with("self::")
            && (!before.ends_with("::") || before.ends_with(" ::"))
    });
    places.flat_map(|at| paths(&code[at..])).collect()
}

/// The paths at the beginning of a text: one, or all in its braces.
fn paths(text: &str) -> Vec<String> {
    let end = text
        .find(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)))
        .unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    let Some(inside) = rest.strip_prefix('{') else { return vec![head.to_owned()] };
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        let closes = letter == '}' && depth == 0;
        if closes || (letter == ',' && depth == 0) {
            let part = inside[begin..at].trim();
            if !part.is_empty() {
                found.extend(paths(part).into_iter().map(|path| format!("{head}{path}")));
            }
            begin = at + 1;
        }
        match letter {
            '{' => depth += 1,
            '}' if closes => break,
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// Returns whether a path is that of a type, or of an associated item. `SystemRoot` is allowed
/// because everything that reads a machine takes it.
fn is_of_a_type(path: &str) -> bool {
    let mut parts = path.split("::").skip(1);
    parts.any(|part| part.starts_with(char::is_uppercase)) && !path.contains("SystemRoot")
}

#[test]
fn every_crate_is_in_the_table_and_depends_on_what_it_may_know() {
    let (table, crates) = (table(), crates());
    assert_eq!(
        table.keys().collect::<Vec<_>>(),
        crates.keys().collect::<Vec<_>>(),
        "table and crates"
    );
    for (name, folder) in &crates {
        let known = dependencies(folder, &["dependencies", "build-dependencies"]);
        let known: BTreeSet<&String> =
            known.iter().filter(|dependency| crates.contains_key(*dependency)).collect();
        let may_know: BTreeSet<&String> = table[name].keys().collect();
        if *name == "flushmark" {
            assert!(known.is_subset(&may_know), "{name}");
        } else {
            assert_eq!(
                known, may_know,
                "{name}: what it depends on, and what the table says that it may know"
            );
        }
    }
}

#[test]
fn of_what_is_known_by_its_types_no_function_is_called() {
    let crates = crates();
    for (name, may_know) in table() {
        let sources = sources(&crates[&name].join("src"));
        for (other, _) in may_know.iter().filter(|(_, known)| **known == Known::Types) {
            for (file, code) in sources.iter().filter(|(file, _)| !is_for_tests(file)) {
                // A module of this name shadows the crate.
                if code.contains(&format!("mod {other};")) {
                    continue;
                }
                for path in named(code, other) {
                    assert!(
                        is_of_a_type(&path),
                        "{} may know the types of {other}, not {path}",
                        file.display()
                    );
                }
            }
        }
    }
}

/// Files that are only compiled for tests, by name.
fn is_for_tests(file: &Path) -> bool {
    file.iter().any(|part| ["tests", "tests.rs", "golden.rs"].iter().any(|name| part == *name))
}

/// A cycle through a dev-dependency would compile a crate twice, and a unit test would see each of
/// its types as two.
#[test]
fn dependencies_of_tests_close_no_loop() {
    let crates = crates();
    let edges: BTreeMap<&String, BTreeSet<String>> = crates
        .iter()
        .map(|(name, folder)| {
            let tables = ["dependencies", "build-dependencies", "dev-dependencies"];
            (
                name,
                dependencies(folder, &tables)
                    .into_iter()
                    .filter(|other| crates.contains_key(other))
                    .collect(),
            )
        })
        .collect();
    let mut left: BTreeSet<&String> = edges.keys().copied().collect();
    while !left.is_empty() {
        let lowest: Vec<&String> = left
            .iter()
            .copied()
            .filter(|name| edges[name].iter().all(|other| !left.contains(other)))
            .collect();
        assert!(!lowest.is_empty(), "these depend on each other in a loop: {left:?}");
        left.retain(|name| !lowest.contains(name));
    }
}

#[test]
fn paths_are_found_in_braces_and_out_of_them() {
    let code = "use drive::{Place, signature::{read, Kind}};\nlet x = drive::natural(simdrive::Y, \
                my_drive::z, crate::drive::w);";
    let expected =
        ["drive::Place", "drive::signature::read", "drive::signature::Kind", "drive::natural"];
    assert_eq!(named(code, "drive"), expected);
    assert!(is_of_a_type("drive::Place") && is_of_a_type("drive::mount::MountTable::parse"));
    assert!(!is_of_a_type("drive::natural") && !is_of_a_type("drive::SystemRoot::new"));
}
