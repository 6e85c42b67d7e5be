//! Detects the tool that wrote a text, and imports it.

use std::borrow::Cow;

use measurement::RunDocument;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

use crate::error::ImportError;
use crate::origin::Origin;
use crate::{diskinfo, fio, fsyncperf, markup, pasted, pg_test_fsync, sysbench};

/// The result of importing one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Tool and format of the text.
    pub origin: Origin,
    /// One document per run, at least one. Each has at least one result unless it is flushmark's
    /// own.
    pub documents: Vec<RunDocument>,
    /// Remarks for the user on other contents of the text, one sentence each.
    pub remarks: Vec<String>,
}

/// Imports the output of any supported tool. `name` is the text's file name, which names fio's
/// runs; `drive` is the user's name for the drive, which overrides the tool's.
///
/// # Errors
/// If the format is unknown, if the text is cut short, or if nothing was measured. A text is
/// imported completely or not at all.
///
/// ```
/// let text = "Synchronous random writes:\n\t   4 kbytes:    158.2 usec/IO =     24.7 Mbytes/s\n";
/// let imported = formats::import("intel-710.txt", text, Some("Intel 710"))?;
/// let result = &imported.documents[0].results[0];
/// assert_eq!(result.commits_per_s.map(f64::round), Some(6321.0));
/// # Ok::<(), formats::ImportError>(())
/// ```
pub fn import(name: &str, text: &str, drive: Option<&str>) -> Result<Imported, ImportError> {
    // Editors on Windows put a byte order mark at the start of a file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = text.trim_start().starts_with(['{', '[']);
    let plain = if is_json { Cow::Borrowed(text) } else { markup::plain(text) };
    let text = plain.as_ref();
    let origin = origin(text)?;
    let unquoted = if origin.is_json() { pasted::unquoted(text) } else { Cow::Borrowed(text) };
    let text = unquoted.as_ref();
    let (mut documents, mut remarks) = match origin {
        Origin::Flushmark => (own(text)?, Vec::new()),
        Origin::FioJson => fio::json::read(stem(name), text)?,
        Origin::FioText => (fio::text::read(stem(name), text)?, Vec::new()),
        Origin::Diskinfo => (diskinfo::read(text)?, Vec::new()),
        Origin::PgTestFsync => (pg_test_fsync::read(text)?, Vec::new()),
        Origin::Fsyncperf => (fsyncperf::read(text)?, Vec::new()),
        Origin::Sysbench => (sysbench::read(stem(name), text)?, Vec::new()),
    };
    if documents.is_empty() {
        return Err(ImportError::Nothing(origin, ": nothing follows its heading".to_owned()));
    }
    if let Some(drive) = drive {
        for source in documents.iter_mut().filter_map(|document| document.source.as_mut()) {
            source.drive = Some(drive.to_owned());
        }
        if documents.iter().any(|document| document.source.is_none()) {
            // Documents are not modified, so that a document is the same wherever it is imported.
            remarks.push(
                "flushmark's own documents name their drives themselves, so --drive changes \
                       nothing"
                    .to_owned(),
            );
        }
    }
    Ok(Imported { origin, documents, remarks })
}

/// Detects the tool by words that all of its versions write. fio can write text and JSON to one
/// file; the JSON is more exact.
fn origin(text: &str) -> Result<Origin, ImportError> {
    let has = |words: &str| text.contains(words);
    if text.trim().is_empty() {
        Err(ImportError::Empty)
    } else if has("\"fio version\"") {
        Ok(Origin::FioJson)
    } else if has("\"schema\"") && has("\"flushmark/") {
        Ok(Origin::Flushmark)
    } else if ["(groupid=", "issued rwt", "issued    : total", "fsync/fdatasync/sync_file_range"]
        .iter()
        .any(|words| has(words))
    {
        Ok(Origin::FioText)
    } else if has(diskinfo::HEADING) || diskinfo::OTHER_HEADINGS.iter().all(|words| has(words)) {
        Ok(Origin::Diskinfo)
    } else if has(pg_test_fsync::HEADING) || pg_test_fsync::METHODS.iter().all(|method| has(method))
    {
        Ok(Origin::PgTestFsync)
    } else if has(fsyncperf::HEADING) {
        Ok(Origin::Fsyncperf)
    } else if sysbench::HEADINGS.iter().any(|words| has(words)) {
        Ok(Origin::Sysbench)
    } else if text
        .lines()
        .any(|line| line.split(';').nth(1).is_some_and(|word| word.starts_with("fio-")))
    {
        Err(ImportError::Terse)
    } else {
        Err(ImportError::Unknown)
    }
}

/// flushmark's own documents: a single one, a sequence, or a list.
fn own(text: &str) -> Result<Vec<RunDocument>, ImportError> {
    if text.trim_start().starts_with('[') {
        let list: Vec<serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| ImportError::unreadable(Origin::Flushmark, &error))?;
        return list
            .iter()
            .map(|document| Ok(RunDocument::from_json(&document.to_string())?))
            .collect();
    }
    let mut documents = Vec::new();
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut begin = 0;
    while let Some(value) = values.next() {
        value.map_err(|error| ImportError::unreadable(Origin::Flushmark, &error))?;
        documents.push(RunDocument::from_json(&text[begin..values.byte_offset()])?);
        begin = values.byte_offset();
    }
    Ok(documents)
}

/// A file name without directories and extension, used to name runs.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ if file.is_empty() || file == "-" => "fio",
        _ => file,
    }
}
