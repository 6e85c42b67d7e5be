//! The directory of the user's own entries.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Context as _;
use catalogue::OwnDrives;

use crate::args::catalogue::OwnCatalogueArgs;

/// Names the directory if no option does.
const VARIABLE: &str = "FLUSHMARK_CATALOGUE";

/// The directory; `None` if neither an option nor the environment names one.
pub fn directory(args: &OwnCatalogueArgs) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    args.catalogue.clone().or_else(|| variable(VARIABLE).map(PathBuf::from)).or_else(|| {
        let data = absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
        data.map(|data| data.join("flushmark/catalogue"))
    })
}

/// The entries in the directory, and a sentence for each file that is not one.
pub fn read(args: &OwnCatalogueArgs) -> anyhow::Result<(OwnDrives, Vec<String>)> {
    let mut own = OwnDrives::default();
    let mut invalid = Vec::new();
    let Some(directory) = directory(args) else { return Ok((own, invalid)) };
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::NotFound && args.catalogue.is_none() => {
            return Ok((own, invalid));
        }
        entries => entries.with_context(|| format!("cannot read {}", directory.display()))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", directory.display()))?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let added = match fs::read_to_string(&path) {
            Ok(text) => own.add(&name, &text).map_err(|error| error.to_string()),
            Err(error) => Err(format!("cannot read it: {error}")),
        };
        if let Err(reason) = added {
            invalid.push(format!("{}: {reason}", path.display()));
        }
    }
    Ok((own, invalid))
}
