//! Which tool wrote a text, and what came out of it.

use std::borrow::Cow;

use measurement::RunDocument;
use serde::de::IgnoredAny;
use serde_json::Deserializer;

use crate::error::ImportError;
use crate::origin::Origin;
use crate::{diskinfo, fio, pasted, pg_test_fsync};

/// What came out of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Who wrote it.
    pub origin: Origin,
    /// One document a run; at least one, and each with at least one result unless it is flushmark's own.
    pub documents: Vec<RunDocument>,
    /// What a person should know of what stands beside the results in the text, one sentence each.
    pub remarks: Vec<String>,
}

/// Reads the output of any tool that is known here. `name` is the text's file name, after which fio's runs are called, and `drive` what the person calls the
/// drive, which goes before what the tool calls it.
///
/// # Errors
/// When no known tool wrote it, when it was cut short, or when nothing was measured. A text is read whole or not at all.
///
/// ```
/// let text = "Synchronous random writes:\n\t   4 kbytes:    158.2 usec/IO =     24.7 Mbytes/s\n";
/// let imported = formats::import("intel-710.txt", text, Some("Intel 710"))?;
/// let result = &imported.documents[0].results[0];
/// assert_eq!(result.commits_per_s.map(f64::round), Some(6321.0));
/// # Ok::<(), formats::ImportError>(())
/// ```
pub fn import(name: &str, text: &str, drive: Option<&str>) -> Result<Imported, ImportError> {
    // Editors on Windows begin a file with one.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let origin = origin(text)?;
    let unquoted = if origin.is_json() { pasted::unquoted(text) } else { Cow::Borrowed(text) };
    let text = unquoted.as_ref();
    let (mut documents, mut remarks) = match origin {
        Origin::Flushmark => (own(text)?, Vec::new()),
        Origin::FioJson => fio::json::read(stem(name), text)?,
        Origin::FioText => (fio::text::read(stem(name), text)?, Vec::new()),
        Origin::Diskinfo => (diskinfo::read(text)?, Vec::new()),
        Origin::PgTestFsync => (pg_test_fsync::read(text)?, Vec::new()),
    };
    if documents.is_empty() {
        return Err(ImportError::Nothing(origin, ": its heading stands in it, and nothing behind that".to_owned()));
    }
    if let Some(drive) = drive {
        for source in documents.iter_mut().filter_map(|document| document.source.as_mut()) {
            source.drive = Some(drive.to_owned());
        }
        if documents.iter().any(|document| document.source.is_none()) {
            // A document is kept as it was measured, so that it is the same one wherever it is imported.
            remarks
                .push("flushmark's own documents name their drives themselves, so --drive changes nothing".to_owned());
        }
    }
    Ok(Imported { origin, documents, remarks })
}

/// Which tool wrote it, by the words that all its versions write. fio writes text and JSON in one file when it is asked for both; the JSON is more exact.
fn origin(text: &str) -> Result<Origin, ImportError> {
    let has = |words: &str| text.contains(words);
    if text.trim().is_empty() {
        Err(ImportError::Empty)
    } else if has("\"fio version\"") {
        Ok(Origin::FioJson)
    } else if has("\"schema\"") && has("\"flushmark/") {
        Ok(Origin::Flushmark)
    } else if has("(groupid=") {
        Ok(Origin::FioText)
    } else if has(diskinfo::HEADING) {
        Ok(Origin::Diskinfo)
    } else if has(pg_test_fsync::HEADING) {
        Ok(Origin::PgTestFsync)
    } else if text.lines().any(|line| line.split(';').nth(1).is_some_and(|word| word.starts_with("fio-"))) {
        Err(ImportError::Terse)
    } else {
        Err(ImportError::Unknown)
    }
}

/// flushmark's own documents: one, one after the other, or a list of them.
fn own(text: &str) -> Result<Vec<RunDocument>, ImportError> {
    if text.trim_start().starts_with('[') {
        let list: Vec<serde_json::Value> =
            serde_json::from_str(text).map_err(|error| ImportError::unreadable(Origin::Flushmark, &error))?;
        return list.iter().map(|document| Ok(RunDocument::from_json(&document.to_string())?)).collect();
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

/// A file's name without folders and ending: what a run without a name of its own is called.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ if file.is_empty() || file == "-" => "fio",
        _ => file,
    }
}
