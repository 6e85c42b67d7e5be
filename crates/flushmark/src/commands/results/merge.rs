//! `flushmark results merge`: several runs of the same tests as one.

use anyhow::Context as _;
use measurement::RunDocument;

use crate::args::comparison::MergeArgs;
use crate::args::store::StoreArgs;
use crate::commands::print;
use crate::exit::{Verdict, WrongUse};
use crate::{selection, session};

/// Adds the runs up, judges the sum anew, and prints or writes the document.
///
/// # Errors
/// When a word names no result, or when the results are not of one kind.
pub fn run(args: &MergeArgs, store: &StoreArgs) -> anyhow::Result<Verdict> {
    let runs: Vec<RunDocument> =
        selection::select(&args.results, store)?.into_iter().flat_map(|selected| selected.documents).collect();
    let mut merged = RunDocument::merged(&runs)
        .map_err(|error| WrongUse(format!("{} do not merge: {error}", args.results.join(", "))))?;
    // Where a suite switched caches, nobody knows any more which setting was found.
    session::judge(&mut merged, None);
    let json = report::json(&merged);
    match &args.output {
        Some(path) => {
            std::fs::write(path, json).with_context(|| format!("cannot write the result to {}", path.display()))?;
        }
        None => print(&json)?,
    }
    Ok(Verdict::Done)
}
