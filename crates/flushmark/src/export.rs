//! Results in formats that other programs read, and the metrics file.

use std::path::Path;

use anyhow::Context as _;
use formats::columns::Run;
use formats::fio::write::Bins;
use measurement::RunDocument;

use crate::args::export::TextFormat;
use crate::exit::WrongUse;

/// Mode of the metrics file: a collector runs as another user.
pub const READABLE_BY_ALL: u32 = 0o644;

/// The text of one or several runs, of a host that is not named.
pub fn text(documents: &[RunDocument], format: TextFormat) -> Result<String, WrongUse> {
    Ok(match format {
        TextFormat::Json => match documents {
            [document] => report::json(document),
            several => several.iter().map(report::json_line).collect(),
        },
        TextFormat::Fio => formats::fio::write::json(one(documents)?, Bins::Without),
        TextFormat::FioPlus => formats::fio::write::json(one(documents)?, Bins::With),
        TextFormat::Csv => {
            let runs: Vec<Run<'_>> =
                documents.iter().map(|document| Run { document, host: None }).collect();
            formats::csv::table(&runs)
        }
        TextFormat::Markdown => {
            documents.iter().map(report::markdown).collect::<Vec<_>>().join("\n")
        }
        TextFormat::Openmetrics => formats::openmetrics::text(documents),
    })
}

fn one(documents: &[RunDocument]) -> Result<&RunDocument, WrongUse> {
    match documents {
        [document] => Ok(document),
        several => Err(WrongUse(format!(
            "fio's JSON holds a single run, but {} were given; export them one by one",
            several.len()
        ))),
    }
}

/// Writes the metrics of runs atomically: a collector reads either the old file or the new one.
pub fn write_metrics(documents: &[RunDocument], path: &Path) -> anyhow::Result<()> {
    let text = formats::openmetrics::text(documents);
    wholefile::replace(path, text.as_bytes(), Some(READABLE_BY_ALL))
        .with_context(|| format!("cannot write the metrics to {}", path.display()))
}
