//! `flushmark results export`: writes results in formats that other programs read.

use std::path::Path;

use anyhow::Context as _;
use measurement::RunDocument;

use crate::args::results::ExportArgs;
use crate::args::store::StoreArgs;
use crate::commands::print;
use crate::exit::{ExitStatus, WrongUse};
use crate::export;
use crate::selection::select;

pub fn run(args: &ExportArgs, store: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let selected = select(&args.results, store)?;
    let mut documents: Vec<RunDocument> =
        selected.into_iter().flat_map(|selected| selected.documents).collect();
    if documents.iter().all(|document| document.results.is_empty()) {
        return Err(WrongUse(
            "nothing to export: the selected results have no measured test".to_owned(),
        )
        .into());
    }
    if args.anonymous {
        documents = documents
            .iter()
            .map(RunDocument::anonymous)
            .collect::<Result<_, _>>()
            .context("cannot make the result anonymous")?;
    }
    match (args.format.text(), &args.output) {
        (Some(format), None) => print(&export::text(&documents, format)?)?,
        (Some(format), Some(path)) => {
            let text = export::text(&documents, format)?;
            wholefile::replace(path, text.as_bytes(), None)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        (None, Some(directory)) => write_parquet(&documents, directory)?,
        (None, None) => {
            return Err(WrongUse(
                "Parquet output is two files; name a directory for them with -o DIRECTORY"
                    .to_owned(),
            )
            .into());
        }
    }
    Ok(ExitStatus::Done)
}

fn write_parquet(documents: &[RunDocument], directory: &Path) -> anyhow::Result<()> {
    let files = [
        (formats::parquet::TESTS, formats::parquet::tests(documents)?),
        (formats::parquet::BINS, formats::parquet::bins(documents)?),
    ];
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    for (name, bytes) in files {
        let path = directory.join(name);
        wholefile::replace(&path, &bytes, None)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
