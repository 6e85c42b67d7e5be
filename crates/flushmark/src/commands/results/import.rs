//! `flushmark results import`: what other tools have measured.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use formats::{Imported, import};
use measurement::RunDocument;
use report::ImportedFile;

use crate::args::Format;
use crate::args::results::ImportArgs;
use crate::commands::{look, print};
use crate::exit::{Verdict, complain};

/// Longer than any tool's output, and short enough for memory: a directory of results may hold a disk's image, too.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// How a person writes stdin.
const STDIN: &str = "-";

/// Reads every file. One that cannot be read does not keep the others from being read.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(args: &ImportArgs) -> anyhow::Result<Verdict> {
    let mut unread = 0;
    let mut read: Vec<(String, Imported)> = Vec::new();
    let mut refuse = |path: &Path, why: &dyn std::fmt::Display| {
        complain(&format!("{}: {why}", path.display()));
        unread += 1;
    };
    for given in &args.files {
        let (files, failed) = files(given);
        for (directory, error) in failed {
            refuse(&directory, &error);
        }
        for path in files {
            let name = path.to_string_lossy().into_owned();
            match content(&path) {
                Err(why) => refuse(&path, &why),
                Ok(text) => match import(&name, &text, args.drive.as_deref()) {
                    Err(error) => refuse(&path, &error),
                    Ok(imported) => read.push((name, imported)),
                },
            }
        }
    }
    match args.format {
        Format::Json => {
            let documents: Vec<RunDocument> = read.into_iter().flat_map(|(_, imported)| imported.documents).collect();
            match documents.as_slice() {
                [] => {}
                [document] => print(&report::json(document))?,
                several => print(&several.iter().map(report::json_line).collect::<String>())?,
            }
        }
        Format::Text => {
            let files: Vec<ImportedFile<'_>> = read
                .iter()
                .map(|(name, imported)| ImportedFile {
                    name,
                    tool: imported.origin.name(),
                    documents: &imported.documents,
                    remarks: &imported.remarks,
                })
                .collect();
            print(&report::import_page(&files, unread, &look()))?;
        }
    }
    Ok(if unread > 0 { Verdict::Failed } else { Verdict::Done })
}

/// The files of a directory and of those below it, in order of their names; of anything else, itself. Directories that cannot be read come with the error.
fn files(given: &Path) -> (Vec<PathBuf>, Vec<(PathBuf, std::io::Error)>) {
    let mut files = Vec::new();
    let mut failed = Vec::new();
    let mut open = vec![given.to_owned()];
    while let Some(path) = open.pop() {
        // A link to a directory may lead back to where it stands.
        let is_directory = path.is_dir() && (path == given || !path.is_symlink());
        if !is_directory {
            files.push(path);
            continue;
        }
        match std::fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) => {
                let paths = entries.into_iter().map(|entry| entry.path());
                open.extend(paths.filter(|path| path.is_dir() && !path.is_symlink() || path.is_file()));
            }
            Err(error) => failed.push((path, error)),
        }
    }
    files.sort();
    (files, failed)
}

/// A file as text. fio writes the names of jobs and files as they are, whatever their letters, so that what is no UTF-8 is replaced and not refused.
fn content(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new(STDIN) {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it has more than {} MiB, and no tool prints so much", FILE_BYTES_MAX >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
