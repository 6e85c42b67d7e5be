//! Documents of runs that their store did not accept, until `results push` keeps them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use measurement::RunDocument;

const PREFIX: &str = "flushmark-";
const ENDING: &str = ".json";

/// The user's state directory for them, if there is one.
fn of_user() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("flushmark"))
}

/// Writes a document to the user's state directory, or else to the directory for temporary files.
pub fn save(document: &RunDocument) -> std::io::Result<PathBuf> {
    let name = format!("{PREFIX}{}-", document.started_at.replace(':', ""));
    let json = report::json(document);
    let write = |directory: &Path| {
        // A random name: in a directory that others can write to, a predictable one could be a
        // trap.
        let mut file =
            tempfile::Builder::new().prefix(&name).suffix(ENDING).tempfile_in(directory)?;
        file.write_all(json.as_bytes())?;
        file.as_file().sync_all()?;
        file.keep().map(|(_, path)| path).map_err(std::io::Error::from)
    };
    let in_state = of_user().and_then(|directory| {
        std::fs::create_dir_all(&directory).and_then(|()| write(&directory)).ok()
    });
    in_state.map_or_else(|| write(&std::env::temp_dir()), Ok)
}

/// The verb of `flushmark results` that keeps a saved document, with its arguments.
pub fn verb(file: &Path) -> String {
    match of_user() {
        Some(directory) if file.starts_with(&directory) => "push".to_owned(),
        _ => format!("import {}", file.display()),
    }
}

/// The files in the user's state directory, oldest run first. Those that had to be written to the
/// directory for temporary files are not among them: anybody could have put them there.
pub fn files() -> std::io::Result<Vec<PathBuf>> {
    let Some(directory) = of_user() else { return Ok(Vec::new()) };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let is_document = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(ENDING))
            && path.is_file()
    };
    let mut files: Vec<PathBuf> = paths.into_iter().filter(is_document).collect();
    files.sort();
    Ok(files)
}
