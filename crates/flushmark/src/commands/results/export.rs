//! `flushmark results export`: writes results in formats that other programs read.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use formats::columns::Run;
use formats::lake::{Partitioning, Table};
use measurement::RunDocument;
use store::Filter;

use crate::args::export::{ExportFormat, TextFormat};
use crate::args::results::ExportArgs;
use crate::args::store::StoreArgs;
use crate::commands::print;
use crate::exit::{ExitStatus, WrongUse};
use crate::export;
use crate::selection::{Measured, Results};

pub fn run(args: &ExportArgs, store: &StoreArgs) -> anyhow::Result<ExitStatus> {
    if args.partition_by.is_some() && args.format != ExportFormat::Parquet {
        return Err(WrongUse("--partition-by needs --format parquet".to_owned()).into());
    }
    let anonymous = args.anonymous;
    let results = selected(args, store)?.map(|result| {
        result.and_then(|result| if anonymous { without_names(&result) } else { Ok(result) })
    });
    match (args.format.text(), &args.output, &args.partition_by) {
        (None, Some(directory), Some(keys)) => write_lake(results, keys, directory)?,
        (None, Some(directory), None) => write_parquet(&AllResults::read(results)?, directory)?,
        (None, None, _) => {
            return Err(WrongUse(
                "Parquet output is two files; name a directory for them with -o DIRECTORY"
                    .to_owned(),
            )
            .into());
        }
        (Some(format), output, _) => {
            let text = AllResults::read(results)?.text(format)?;
            match output {
                None => print(&text)?,
                Some(path) => wholefile::replace(path, text.as_bytes(), None)
                    .with_context(|| format!("cannot write {}", path.display()))?,
            }
        }
    }
    Ok(ExitStatus::Done)
}

/// The results of the arguments, or the kept runs of the filter.
fn selected(args: &ExportArgs, store: &StoreArgs) -> anyhow::Result<Results> {
    let filter = args.filter.filter();
    let by_filter = args.all || filter != Filter::default();
    match (args.results.as_slice(), by_filter) {
        ([], true) => Results::matching(&filter, store),
        (words @ [_, ..], false) => Results::named(words, store),
        ([], false) => Err(WrongUse(
            "nothing to export: name results, or select kept runs with --all or with options such \
             as --since 30d"
                .to_owned(),
        )
        .into()),
        ([_, ..], true) => Err(WrongUse(
            "results are named, and kept runs are selected by options as well; use one of both"
                .to_owned(),
        )
        .into()),
    }
}

fn without_names(result: &Measured) -> anyhow::Result<Measured> {
    let document = result.document.anonymous().context("cannot make the result anonymous")?;
    Ok(Measured { document, host: None })
}

fn nothing_measured() -> WrongUse {
    WrongUse("nothing to export: the selected results have no measured test".to_owned())
}

/// Results in memory, for formats that are one text or one table.
struct AllResults {
    documents: Vec<RunDocument>,
    hosts: Vec<Option<String>>,
}

impl AllResults {
    fn read(results: impl Iterator<Item = anyhow::Result<Measured>>) -> anyhow::Result<AllResults> {
        let mut all = AllResults { documents: Vec::new(), hosts: Vec::new() };
        for result in results {
            let Measured { document, host } = result?;
            all.documents.push(document);
            all.hosts.push(host);
        }
        if all.documents.iter().all(|document| document.results.is_empty()) {
            return Err(nothing_measured().into());
        }
        Ok(all)
    }

    fn runs(&self) -> Vec<Run<'_>> {
        let runs = self.documents.iter().zip(&self.hosts);
        runs.map(|(document, host)| Run { document, host: host.as_deref() }).collect()
    }

    fn text(&self, format: TextFormat) -> Result<String, WrongUse> {
        match format {
            TextFormat::Csv => Ok(formats::csv::table(&self.runs())),
            other => export::text(&self.documents, other),
        }
    }
}

fn write_parquet(results: &AllResults, directory: &Path) -> anyhow::Result<()> {
    let runs = results.runs();
    let files = [
        (formats::parquet::TESTS, formats::parquet::tests(&runs)?),
        (formats::parquet::BINS, formats::parquet::bins(&runs)?),
    ];
    create(directory)?;
    for (name, bytes) in files {
        let path = directory.join(name);
        wholefile::replace(&path, &bytes, None)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn create(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))
}

/// The change that adding a run made to the files of a lake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Unchanged,
    Replaced,
    Added,
}

/// Adds each run to the tables of a lake, one after the other.
fn write_lake(
    results: impl Iterator<Item = anyhow::Result<Measured>>,
    keys: &Partitioning,
    directory: &Path,
) -> anyhow::Result<()> {
    for table in Table::ALL {
        expect_layout(&directory.join(table.name()), keys)?;
    }
    let (mut unchanged, mut replaced, mut added) = (0_u64, 0_u64, 0_u64);
    for result in results {
        let Measured { document, host } = result?;
        if document.results.is_empty() {
            continue;
        }
        let run = Run { document: &document, host: host.as_deref() };
        let changes = Table::ALL.map(|table| {
            write_if_changed(&directory.join(keys.path(table, run)), &keys.content(table, run)?)
        });
        let mut change = Change::Unchanged;
        for table in changes {
            change = change.max(table?);
        }
        match change {
            Change::Unchanged => unchanged += 1,
            Change::Replaced => replaced += 1,
            Change::Added => added += 1,
        }
    }
    if unchanged + replaced + added == 0 {
        return Err(nothing_measured().into());
    }
    print(&format!("{added} runs added, {replaced} replaced, {unchanged} unchanged.\n"))?;
    Ok(())
}

/// A file that has this content already is left alone: reading it costs less than a flush, and
/// copies of the lake see no change.
fn write_if_changed(path: &Path, content: &[u8]) -> anyhow::Result<Change> {
    let change = match fs::read(path) {
        Ok(before) if before == content => return Ok(Change::Unchanged),
        Ok(_) => Change::Replaced,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), create)?;
            Change::Added
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    wholefile::replace(path, content, None)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(change)
}

/// Refuses a table that has other partition keys: query engines could not read it any longer.
fn expect_layout(table: &Path, keys: &Partitioning) -> anyhow::Result<()> {
    let first = first_file(table).with_context(|| format!("cannot read {}", table.display()))?;
    let in_table = first.as_deref().and_then(|file| file.strip_prefix(table).ok());
    match in_table {
        Some(file) if !keys.is_layout_of(file) => Err(WrongUse(format!(
            "{} is not partitioned by {keys}: it has {}. Use the same --partition-by as before, or \
             another directory",
            table.display(),
            file.display()
        ))
        .into()),
        _ => Ok(()),
    }
}

/// The first Parquet file in or below a directory; `None` if there is none, or no directory.
fn first_file(directory: &Path) -> std::io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let found = if path.is_dir() {
            first_file(&path)?
        } else {
            Some(path).filter(|path| path.extension().is_some_and(|kind| kind == "parquet"))
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
