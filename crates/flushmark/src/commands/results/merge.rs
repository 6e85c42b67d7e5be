//! `flushmark results merge`: merges several runs of the same tests into one.

use anyhow::Context as _;
use measurement::RunDocument;
use store::{Inserted, Origin};

use crate::args::comparison::MergeArgs;
use crate::args::store::StoreArgs;
use crate::commands::print;
use crate::exit::{ExitStatus, WrongUse, complain};
use crate::{keeping, selection, session};

/// Merges the runs, judges the result, and prints or writes the document.
pub fn run(args: &MergeArgs, store: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let selected = selection::select(&args.results, store)?;
    let host = selection::common(selected.iter().map(|selected| selected.host.clone()).collect());
    let runs: Vec<RunDocument> =
        selected.into_iter().flat_map(|selected| selected.documents).collect();
    let mut merged = RunDocument::merged(&runs)
        .map_err(|error| WrongUse(format!("cannot merge {}: {error}", args.results.join(", "))))?;
    if let Err(sentence) = session::judge_merged(&mut merged, &runs) {
        complain(sentence);
    }
    let json = report::json(&merged);
    match &args.output {
        Some(path) => {
            wholefile::replace(path, json.as_bytes(), None)
                .with_context(|| format!("cannot write the result to {}", path.display()))?;
        }
        None if args.keep => {}
        None => print(&json)?,
    }
    if args.keep {
        let kept = keeping::writing(store)?.insert(&merged, &Origin { host })?;
        print(&match kept {
            Inserted::New(run) | Inserted::Completed(run) => format!("kept as {run}\n"),
            Inserted::Already(run) => format!("already kept as {run}\n"),
        })?;
    }
    Ok(ExitStatus::Done)
}
