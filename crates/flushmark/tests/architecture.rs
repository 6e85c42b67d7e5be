//! The map and the country: the table of rooms in ARCHITECTURE.md against each crate's dependencies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

/// Each room of the table, and the rooms that it may know.
fn rooms() -> BTreeMap<String, Vec<String>> {
    let page = include_str!("../../../ARCHITECTURE.md");
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.trim_end_matches('`').to_owned();
        Some((name, cells.last()?.trim_end_matches('|').trim().to_owned()))
    });
    let names: Vec<String> = rows.clone().map(|(name, _)| name).collect();
    rows.map(|(name, may_know)| {
        let known = if may_know == "all" {
            names.clone()
        } else {
            names.iter().filter(|other| may_know.contains(&format!("`{other}`"))).cloned().collect()
        };
        (name, known)
    })
    .collect()
}

#[test]
fn every_crate_is_on_the_map_and_knows_only_what_it_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rooms = rooms();
    let mut folders: Vec<_> =
        std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.push(root.join("xtask"));
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let may_know = rooms.get(&name).unwrap_or_else(|| panic!("crate {name} is not in ARCHITECTURE.md's table"));
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("\n[dependencies]").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
        for line in dependencies.lines() {
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or("");
            if rooms.contains_key(dependency) {
                assert!(may_know.iter().any(|known| known == dependency), "{name} may not know {dependency}");
            }
        }
    }
    assert_eq!(rooms.len(), 25, "{rooms:?}");
}
