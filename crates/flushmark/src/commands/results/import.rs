//! `flushmark results import`: imports other tools' results and other stores' runs.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use formats::{Imported, import};
use measurement::RunDocument;
use report::ImportedFile;
use store::{Filter, Inserted, Location, Origin, Store, StoreError};

use crate::args::Format;
use crate::args::results::ImportArgs;
use crate::args::store::StoreArgs;
use crate::commands::{look, print};
use crate::exit::{ExitStatus, complain};
use crate::{keeping, session};

/// Longer than any tool's output and small enough for memory; a directory may also contain disk
/// images.
const FILE_BYTES_MAX: u64 = 256 << 20;
const STDIN: &str = "-";
/// The header of every SQLite database (sqlite.org/fileformat.html, 1.3).
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Documents per transaction: enough to make syncs cheap, few enough not to block others for long.
const BATCH: usize = 64;

struct FileRead {
    name: String,
    imported: Imported,
    /// The runs under which it is kept.
    kept: String,
}

/// Reads every file and keeps its content. An unreadable file does not stop the others.
pub fn run(args: &ImportArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = if args.dry_run { None } else { Some(keeping::writing(place)?) };
    let mut unread = 0;
    let mut read: Vec<FileRead> = Vec::new();
    let mut refuse = |path: &Path, why: &dyn std::fmt::Display| {
        complain(&format!("{}: {why}", path.display()));
        unread += 1;
    };
    for given in &args.files {
        if let Some(other) = database(given) {
            match copy(&other, store.as_mut()) {
                // With JSON on stdout, messages go to stderr.
                Ok(line) if args.format == Format::Json => complain(line.trim_end()),
                Ok(line) => print(&line)?,
                Err(error) => refuse(given, &error),
            }
            continue;
        }
        let (files, failed) = files(given);
        if files.is_empty() && failed.is_empty() {
            refuse(given, &"no files in this directory");
        }
        for (directory, error) in failed {
            refuse(&directory, &error);
        }
        for path in files {
            let name = path.to_string_lossy().into_owned();
            match content(&path) {
                Err(why) => refuse(&path, &why),
                Ok(text) => match import(&name, &text, args.drive.as_deref()) {
                    Err(error) => refuse(&path, &error),
                    Ok(mut imported) => {
                        judge_foreign(&mut imported.documents);
                        read.push(FileRead { name, imported, kept: String::new() });
                    }
                },
            }
        }
    }
    if let Some(store) = &mut store {
        for batch in read.chunks_mut(BATCH) {
            keep(store, batch, args.host.as_deref())?;
        }
    }
    match args.format {
        Format::Json => {
            for FileRead { name, imported, .. } in &read {
                imported.remarks.iter().for_each(|remark| complain(&format!("{name}: {remark}")));
            }
            let documents: Vec<RunDocument> =
                read.into_iter().flat_map(|file| file.imported.documents).collect();
            match documents.as_slice() {
                [] => {}
                [document] => print(&report::json(document))?,
                several => print(&several.iter().map(report::json_line).collect::<String>())?,
            }
        }
        Format::Text if read.is_empty() && unread == 0 => {}
        Format::Text => {
            let files: Vec<ImportedFile<'_>> = read
                .iter()
                .map(|FileRead { name, imported, kept }| ImportedFile {
                    name,
                    tool: imported.origin.name(),
                    documents: &imported.documents,
                    remarks: &imported.remarks,
                    kept,
                })
                .collect();
            print(&report::import_page(&files, unread, &look()))?;
        }
    }
    Ok(if unread > 0 { ExitStatus::Failed } else { ExitStatus::Done })
}

/// Judges what other tools measured. flushmark's own documents contain their judgement.
fn judge_foreign(documents: &mut [RunDocument]) {
    for document in documents.iter_mut().filter(|document| document.source.is_some()) {
        if document.findings.is_empty() && document.fitness.is_empty() {
            session::judge(document, None);
        }
    }
}

/// Keeps what was read and records the run numbers. A document that was kept before has its old
/// number.
fn keep(store: &mut Store, files: &mut [FileRead], host: Option<&str>) -> anyhow::Result<()> {
    let documents: Vec<&RunDocument> =
        files.iter().flat_map(|file| &file.imported.documents).collect();
    // Documents and the output of other tools do not name the machine.
    let origin = Origin { host: host.map(str::to_owned) };
    let mut inserted = store.insert_all(&documents, &origin)?.into_iter();
    for file in files {
        let runs =
            inserted.by_ref().take(file.imported.documents.len()).map(|inserted| match inserted {
                Inserted::New(run) => run.to_string(),
                Inserted::Already(run) => format!("{run} already"),
                Inserted::Completed(run) => format!("{run} completed"),
            });
        file.kept = runs.collect::<Vec<_>>().join(", ");
    }
    Ok(())
}

/// Another store, if the argument names one.
fn database(given: &Path) -> Option<Location> {
    let named = given.to_str().and_then(|text| text.parse().ok());
    if let Some(server @ Location::Postgres(_)) = named {
        return Some(server);
    }
    let mut magic = [0; SQLITE_MAGIC.len()];
    let is_sqlite = given.is_file()
        && std::fs::File::open(given).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && &magic == SQLITE_MAGIC;
    is_sqlite.then(|| Location::Sqlite(given.to_owned()))
}

/// Copies the runs of another store, or counts them if nothing is to be kept.
fn copy(other: &Location, store: Option<&mut Store>) -> Result<String, StoreError> {
    let mut other = Store::open_existing(other)?;
    let name = other.location().to_string();
    match store {
        Some(store) => Ok(report::copied_line(&name, &store.copy_from(&mut other)?)),
        None => Ok(format!("{name}: {} runs.\n", other.ids(&Filter::default())?.len())),
    }
}

/// The files in a directory tree, sorted by name; the path itself if it is not a directory. Also
/// returns directories that cannot be read, with the error.
fn files(given: &Path) -> (Vec<PathBuf>, Vec<(PathBuf, std::io::Error)>) {
    let mut files = Vec::new();
    let mut failed = Vec::new();
    let mut open = vec![given.to_owned()];
    while let Some(path) = open.pop() {
        // Do not follow a link to a directory: it may be a loop.
        let is_directory = path.is_dir() && (path == given || !path.is_symlink());
        if !is_directory {
            files.push(path);
            continue;
        }
        match std::fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) => {
                let paths = entries.into_iter().map(|entry| entry.path());
                open.extend(
                    paths.filter(|path| path.is_dir() && !path.is_symlink() || path.is_file()),
                );
            }
            Err(error) => failed.push((path, error)),
        }
    }
    files.sort();
    (files, failed)
}

fn content(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new(STDIN) {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| match file.metadata()?.len() {
            // Not read at all: a disk image would take long.
            length if length > FILE_BYTES_MAX => Ok(usize::MAX),
            _ => file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes),
        })
    };
    let length = read.map_err(|error| format!("cannot read it: {error}"))?;
    if length as u64 > FILE_BYTES_MAX {
        return Err(format!("larger than {} MiB, which no tool's output is", FILE_BYTES_MAX >> 20));
    }
    formats::decoded(&bytes).map_err(|error| error.to_string())
}
