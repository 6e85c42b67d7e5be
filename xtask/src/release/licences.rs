//! The licences of the crates that are compiled into the programs: their texts, which each of them
//! requires to be passed on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::dependencies::{Dependencies, Dependency};
use crate::command::root;

/// The beginnings of the names of such files, in any case.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// A page with each text once, and the crates that it is for.
pub fn page(dependencies: &Dependencies) -> anyhow::Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for dependency in dependencies.0.iter().filter(|dependency| !dependency.is_ours()) {
        let title = format!("{} {}", dependency.name, dependency.version);
        let licence = dependency.licence.as_deref().unwrap_or("see its text below");
        let _ = writeln!(list, "{title}: {licence}");
        let found = texts_of(&dependency.directory)?;
        let texts_of_crate =
            if found.is_empty() { vec![standard_text(dependency)?] } else { found };
        for text in texts_of_crate {
            texts.entry(text).or_default().push(title.clone());
        }
    }
    // In the order of the first crate of each.
    let mut texts: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, crates)| (crates, text)).collect();
    texts.sort();
    let mut page = format!(
        "flushmark and prefixsort contain the following crates. Where a crate offers several\n\
         licences, any of them may be chosen.\n\n{list}"
    );
    for (crates, text) in texts {
        let _ =
            write!(page, "\n{}\nThe text of {}:\n\n{text}\n", "=".repeat(79), crates.join(", "));
    }
    Ok(page)
}

/// The texts in a crate's directory.
fn texts_of(directory: &Path) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("cannot list {}; run `cargo fetch`", directory.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
        path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin))
    });
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(tidy(&String::from_utf8_lossy(&bytes)))
    };
    paths.iter().map(read).collect()
}

/// The same text in files that differ only in the ends of their lines.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The text of a crate that comes without one.
fn standard_text(dependency: &Dependency) -> anyhow::Result<String> {
    let licence = dependency.licence.as_deref().unwrap_or_default();
    let choices: Vec<&str> = licence.split(" OR ").collect();
    let read = |name: &str| {
        let text = fs::read_to_string(root().join(name));
        text.with_context(|| format!("cannot read {name}"))
    };
    if choices.contains(&"Apache-2.0") {
        return Ok(tidy(&read("LICENSE-APACHE")?));
    }
    ensure!(
        choices.contains(&"MIT"),
        "{} {} has no text of its licence {licence:?}",
        dependency.name,
        dependency.version
    );
    // The name in the line of the copyright is that of its authors.
    let authors = match dependency.authors.as_slice() {
        [] => format!("the authors of {}", dependency.name),
        authors => authors.join(", "),
    };
    let ours = read("LICENSE-MIT")?;
    let line = ours.lines().find(|line| line.starts_with("Copyright")).unwrap_or_default();
    Ok(tidy(&ours.replace(line, &format!("Copyright (c) {authors}"))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn dependency(name: &str, licence: &str, directory: &Path) -> Dependency {
        Dependency {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some(licence.to_owned()),
            authors: vec!["A. Author".to_owned()],
            repository: None,
            directory: directory.to_owned(),
            sha256: Some("ab".to_owned()),
            needs: BTreeSet::new(),
        }
    }

    #[test]
    fn each_text_appears_once() {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        fs::write(directories[0].path().join("LICENSE"), "Do what you like.\r\n").unwrap();
        fs::write(directories[1].path().join("copying.md"), "Do what you like.\n\n").unwrap();
        fs::write(directories[1].path().join("README"), "not a licence").unwrap();
        let crates = vec![
            dependency("one", "MIT", directories[0].path()),
            dependency("two", "MIT", directories[1].path()),
        ];
        let page = page(&Dependencies(crates)).unwrap();
        assert!(
            page.contains("The text of one 1.0.0, two 1.0.0:\n\nDo what you like.\n"),
            "{page}"
        );
        assert_eq!(page.matches("Do what you like.").count(), 1);
        assert!(!page.contains("not a licence"));
    }

    #[test]
    fn a_crate_without_a_text_needs_a_known_licence() {
        let empty = tempfile::tempdir().unwrap();
        let text = |licence: &str| standard_text(&dependency("one", licence, empty.path()));
        assert!(text("MIT OR Apache-2.0").unwrap().contains("Apache License"));
        assert!(text("MIT").unwrap().contains("Copyright (c) A. Author\n"));
        assert_eq!(
            text("Zlib").unwrap_err().to_string(),
            "one 1.0.0 has no text of its licence \"Zlib\""
        );
    }
}
