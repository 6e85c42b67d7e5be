//! The files of a folder of this crate, which are part of the program.

use std::fmt::Display;

/// The name and the text of each of these files of a folder.
macro_rules! embedded_files {
    [$folder:literal: $($name:literal),* $(,)?] => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, ".toml")))),*]
    };
}
pub(crate) use embedded_files;

/// The contents of the files. An invalid one is a bug, and tests read each.
pub(crate) fn parsed<T, E: Display>(
    files: &[(&str, &str)],
    parse: impl Fn(&str) -> Result<T, E>,
) -> Vec<T> {
    let parsed = files.iter().map(|(name, text)| {
        parse(text).unwrap_or_else(|error| panic!("the embedded {name}.toml: {error}"))
    });
    parsed.collect()
}

/// Compares the list with the folder.
#[cfg(test)]
pub(crate) fn assert_complete(folder: &str, files: &[(&str, &str)]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut listed: Vec<String> = files.iter().map(|(name, _)| format!("{name}.toml")).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}
