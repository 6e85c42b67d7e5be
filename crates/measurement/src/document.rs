//! The whole run as one JSON document: what `--format json` prints, what is kept and what reports draw.
//!
//! Additions are free; a rename or a removal is a new version of [`SCHEMA`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::Test;

use crate::finding::{Finding, Fitness, Use};
use crate::result::TestResult;
use crate::started_at;
use crate::target::TargetRecord;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/run/1";
/// The version in [`SCHEMA`].
const VERSION: u32 = 1;

/// A test that could not run here, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The test's name in its plan.
    pub test: String,
    /// Why, one sentence.
    pub because: String,
}

/// What became of a test.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ran; also when it was interrupted or failed in the middle, with what was measured until then.
    Measured(Box<TestResult>),
    /// It cannot run on this target.
    Skipped(Skipped),
}

impl Outcome {
    /// Tests that run at the same time or not at all.
    pub fn all_skipped(tests: &[Test], because: &str) -> Vec<Outcome> {
        let skipped = |test: &Test| Skipped { test: test.name.clone(), because: because.to_owned() };
        tests.iter().map(|test| Outcome::Skipped(skipped(test))).collect()
    }
}

/// Who measured, where it was another tool, whose output was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The tool: `fio`, `diskinfo`, `pg_test_fsync`.
    pub tool: String,
    /// Its version, as it says it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The drive, as the person who imported it named it, or as the tool did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
}

/// One run: every result with what is needed to read it years later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version that measured.
    pub flushmark: String,
    /// When it began, UTC, RFC 3339. A run on a model takes no real time, and says 1970-01-01T00:00:00Z; so does an imported one whose time nobody
    /// knows.
    pub started_at: String,
    /// The plan's name.
    pub suite: String,
    /// Whether this was a smoke run, whose numbers mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke: bool,
    /// Where it ran.
    pub target: TargetRecord,
    /// Who measured, if it was not flushmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How many runs were merged into this one; `null` for a run as it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_runs: Option<u32>,
    /// The machine.
    pub host: drive::HostFacts,
    /// The filesystem and drive beneath the target; `null` where there is none.
    pub drive: Option<drive::Place>,
    /// The drives beneath, each with what it says of itself: its cache as it was found, its health, what else lies on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<drive::DriveRecord>,
    /// The measured tests, in order.
    pub results: Vec<TestResult>,
    /// Tests that could not run here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// What the numbers and facts say.
    pub findings: Vec<Finding>,
    /// What the storage is fit for.
    pub fitness: BTreeMap<Use, Fitness>,
}

/// Why a text is not a result document that this version reads.
#[derive(Debug, thiserror::Error)]
pub enum NotADocument {
    /// It is no JSON; the text may have been cut short.
    #[error("this is no result document: it does not read as JSON ({0})")]
    Json(serde_json::Error),
    /// It is JSON of something else.
    #[error("this is no result document of check or run: it does not say `\"schema\": \"{SCHEMA}\"`")]
    Foreign,
    /// Another document of flushmark.
    #[error("this is a document `{0}`, not a result of check or run (`{SCHEMA}`)")]
    OtherKind(String),
    /// A later version of the document.
    #[error(
        "this is a document `{0}` of a newer flushmark; this one reads up to `{SCHEMA}`. Use that version, or a later one"
    )]
    Newer(String),
    /// It says that it is one, and is not.
    #[error("this says that it is a `{SCHEMA}` document, and does not read as one: {0}")]
    Damaged(serde_json::Error),
}

impl RunDocument {
    /// When the run began; `None` for a model, which takes no real time, and where nobody knows.
    pub fn began(&self) -> Option<Timestamp> {
        started_at::read(&self.started_at)
    }

    /// Smallest and largest part of the target that a test worked on, in bytes; `None` without results.
    pub fn tested_bytes(&self) -> Option<RangeInclusive<u64>> {
        let sizes = || self.results.iter().map(|result| result.workload.size_bytes);
        Some(sizes().min()?..=sizes().max()?)
    }

    /// Reads a document of this or an earlier version.
    ///
    /// # Errors
    /// When the text is cut short, something else, or of a later version.
    ///
    /// ```
    /// let error = measurement::RunDocument::from_json(r#"{"schema": "flushmark/run/7"}"#).unwrap_err();
    /// assert!(error.to_string().contains("newer flushmark"));
    /// ```
    pub fn from_json(text: &str) -> Result<RunDocument, NotADocument> {
        #[derive(Deserialize)]
        struct Versioned {
            schema: Option<String>,
        }
        if let Ok(document) = serde_json::from_str::<RunDocument>(text)
            && document.schema == SCHEMA
        {
            return Ok(document);
        }
        // Only now, because a document is read far more often than something else: what it says that it is.
        let value: serde_json::Value = serde_json::from_str(text).map_err(NotADocument::Json)?;
        let schema = Versioned::deserialize(&value).ok().and_then(|versioned| versioned.schema);
        let schema = schema.ok_or(NotADocument::Foreign)?;
        match schema.strip_prefix("flushmark/").and_then(|rest| rest.split_once('/')) {
            Some(("run", version)) if version.parse::<u32>().is_ok_and(|version| version > VERSION) => {
                Err(NotADocument::Newer(schema))
            }
            Some(("run", _)) if schema == SCHEMA => Err(serde_json::from_str::<RunDocument>(text)
                .err()
                .map_or(NotADocument::Foreign, NotADocument::Damaged)),
            Some(_) => Err(NotADocument::OtherKind(schema)),
            None => Err(NotADocument::Foreign),
        }
    }
}

/// The JSON Schema (draft 2020-12) of [`RunDocument`]. The repository keeps it as `schemas/run-1.json`.
///
/// It takes unknown keys, because additions are free: a reader of today's schema accepts tomorrow's document.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<RunDocument>("run", SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        RunDocument::from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn version_and_name_agree() {
        assert_eq!(SCHEMA, format!("flushmark/run/{VERSION}"));
    }

    #[test]
    fn the_part_tested_is_from_the_smallest_to_the_largest_of_any_test() {
        let kept = include_str!("../tests/documents/run-1-model.json");
        let mut document = RunDocument::from_json(kept).unwrap();
        let result = document.results[0].clone();
        document.results = [8192, 4096, 16384]
            .map(|size_bytes| {
                let mut result = result.clone();
                result.workload.size_bytes = size_bytes;
                result
            })
            .to_vec();
        assert_eq!(document.tested_bytes(), Some(4096..=16384));
        document.results.clear();
        assert_eq!(document.tested_bytes(), None);
    }

    #[test]
    fn what_is_no_document_is_named() {
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/1\", \"flu"), @"this is no result document: it does not read as JSON (EOF while parsing a string at line 1 column 34)");
        insta::assert_snapshot!(refusal("[]"), @r#"this is no result document of check or run: it does not say `"schema": "flushmark/run/1"`"#);
        insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\"}"), @r#"this is no result document of check or run: it does not say `"schema": "flushmark/run/1"`"#);
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/verify/1\"}"), @"this is a document `flushmark/verify/1`, not a result of check or run (`flushmark/run/1`)");
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/2\"}"), @"this is a document `flushmark/run/2` of a newer flushmark; this one reads up to `flushmark/run/1`. Use that version, or a later one");
        for unknown in ["flushmark/run/0", "flushmark/run/one"] {
            let refused = refusal(&format!("{{\"schema\": \"{unknown}\"}}"));
            assert!(refused.starts_with(&format!("this is a document `{unknown}`, not a result")), "{refused}");
        }
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/1\", \"suite\": 7}"), @"this says that it is a `flushmark/run/1` document, and does not read as one: invalid type: integer `7`, expected a string at line 1 column 40");
    }
}
