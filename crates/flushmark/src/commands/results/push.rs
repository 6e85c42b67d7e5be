//! `flushmark results push`: keeps the documents of runs that their store did not accept.

use std::path::Path;

use anyhow::Context as _;
use measurement::RunDocument;
use store::{Inserted, Origin, Store};

use crate::args::store::StoreArgs;
use crate::commands::print;
use crate::exit::{ExitStatus, complain};
use crate::{keeping, unsent};

/// Sends each one and then removes its file. One that cannot be read stays, and does not stop the
/// others.
pub fn run(place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let files = unsent::files().context("cannot list the documents to send")?;
    if files.is_empty() {
        print("Nothing to send.\n")?;
        return Ok(ExitStatus::Done);
    }
    let mut store = keeping::writing(place)?;
    let mut left = 0;
    for path in files {
        match document(&path) {
            Ok(document) => print(&send(&mut store, &path, &document)?)?,
            Err(error) => {
                complain(&format!("{}: {error:#}", path.display()));
                left += 1;
            }
        }
    }
    Ok(if left > 0 { ExitStatus::Failed } else { ExitStatus::Done })
}

fn document(path: &Path) -> anyhow::Result<RunDocument> {
    let text = std::fs::read_to_string(path).context("cannot read it")?;
    Ok(RunDocument::from_json(&text)?)
}

fn send(store: &mut Store, path: &Path, document: &RunDocument) -> anyhow::Result<String> {
    // It was measured on this host.
    let inserted = store.insert(document, &Origin { host: keeping::own_name() })?;
    std::fs::remove_file(path).with_context(|| {
        format!("cannot remove {}, which is kept as run {}", path.display(), inserted.id())
    })?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    Ok(match inserted {
        Inserted::New(run) | Inserted::Completed(run) => format!("{name}: kept as run {run}\n"),
        Inserted::Already(run) => format!("{name}: already kept as run {run}\n"),
    })
}
