//! The whole run as one JSON document: the output of `--format json`, what the store keeps and what
//! reports show.
//!
//! Adding a field is compatible; renaming or removing one needs a new version of [`SCHEMA`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::Test;

use crate::disk_counters::DiskCounters;
use crate::finding::{Finding, Fitness, FitnessUnderEachSetting, Use};
use crate::group::GroupRecord;
use crate::result::TestResult;
use crate::started_at;
use crate::target::TargetRecord;
use crate::versioned::{self, DocumentError, Kind};

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/run/1";
const KIND: Kind =
    Kind { name: "run", version: 1, document: "result document of `check` or `run`" };

/// A test that could not run on this target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The test's name in its plan.
    pub test: String,
    /// The reason, in one sentence.
    pub because: String,
}

impl Skipped {
    /// One sentence for each reason, with the tests that it applies to: `512 B and 17 more: below
    /// the logical block size of 4 KiB`.
    pub fn sentences(skipped: &[Skipped]) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for Skipped { test, because } in skipped {
            match reasons.iter_mut().find(|(known, _)| known == because) {
                Some((_, tests)) => tests.push(test),
                None => reasons.push((because, vec![test])),
            }
        }
        let sentence = |(because, tests): (&str, Vec<&str>)| match &tests[..] {
            [first, _, _, ..] => format!("{first} and {} more: {because}", tests.len() - 1),
            few => format!("{}: {because}", few.join("; ")),
        };
        reasons.into_iter().map(sentence).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ran. An interrupted or failed test also counts, with what it measured until then.
    Measured(Box<TestResult>),
    /// It cannot run on this target.
    Skipped(Skipped),
}

impl Outcome {
    /// Outcomes for tests that run at the same time, when one that cannot run keeps all from
    /// running.
    pub fn all_skipped(tests: &[Test], because: &str) -> Vec<Outcome> {
        let skipped =
            |test: &Test| Skipped { test: test.name.clone(), because: because.to_owned() };
        tests.iter().map(|test| Outcome::Skipped(skipped(test))).collect()
    }
}

/// The tool that measured, for results imported from another tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Name of the tool: `fio`, `diskinfo`, `pg_test_fsync`, `fsyncperf`, `sysbench`.
    pub tool: String,
    /// Version as reported by the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The drive's name, as given by the user at import or by the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// The kernel's counters of the block devices during the run, if the tool prints them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskCounters>,
}

/// One run: every result, with the facts needed to interpret it years later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that measured.
    pub flushmark: String,
    /// Start time, UTC, RFC 3339. 1970-01-01T00:00:00Z for a run on a model, which takes no real
    /// time, and for an imported run whose time is unknown.
    pub started_at: String,
    /// Name of the plan or suite.
    pub suite: String,
    /// The name that the user gave this run; `null` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `true` for a smoke run, whose numbers are meaningless.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke: bool,
    /// The directory, file, device or model that the run was made on.
    pub target: TargetRecord,
    /// The tool that measured, if it was not flushmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Number of runs merged into this one; `null` for an unmerged run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_runs: Option<u32>,
    /// Other runs whose tests began at the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupRecord>,
    /// The machine it ran on.
    pub host: drive::HostFacts,
    /// The filesystem and drive under the target; `null` if there is none.
    pub drive: Option<drive::Place>,
    /// The drives under the target, each with its cache setting at the start, its health, and what
    /// else is stored on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<drive::DriveRecord>,
    /// The measured tests, in the order they ran.
    pub results: Vec<TestResult>,
    /// Tests that could not run on this target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Conclusions from the measurements and the facts.
    pub findings: Vec<Finding>,
    /// Grades of the storage for each use.
    pub fitness: BTreeMap<Use, Fitness>,
    /// The grades under both settings of the write cache; absent unless the run measured both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitness_under_each_setting: Option<FitnessUnderEachSetting>,
}

impl RunDocument {
    /// Start time; `None` for a model, which takes no real time, and where it is unknown.
    pub fn began(&self) -> Option<Timestamp> {
        started_at::read(&self.started_at)
    }

    /// Smallest and largest size of the target area that any test used, in bytes; `None` without
    /// results.
    pub fn tested_bytes(&self) -> Option<RangeInclusive<u64>> {
        let sizes = || self.results.iter().map(|result| result.workload.size_bytes);
        Some(sizes().min()?..=sizes().max()?)
    }

    /// The name that an imported result gives its drive, otherwise the models of the drives under the
    /// target: `980 PRO`, or `4 × 980 PRO` of an array. `None` if neither is known.
    pub fn drive_name(&self) -> Option<String> {
        if let Some(drive) = self.source.as_ref().and_then(|source| source.drive.clone()) {
            return Some(drive);
        }
        let device = self.drive.as_ref().and_then(drive::Place::block_device)?;
        let mut models: Vec<(String, usize)> = Vec::new();
        for model in device.drives().into_iter().filter_map(drive::BlockDevice::label) {
            match models.iter_mut().find(|(known, _)| *known == model) {
                Some((_, count)) => *count += 1,
                None => models.push((model, 1)),
            }
        }
        let words = models.into_iter().map(|(model, count)| match count {
            1 => model,
            _ => format!("{count} × {model}"),
        });
        Some(words.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
    }

    /// Reads a document of this or an earlier version.
    ///
    /// # Errors
    /// If the text is cut short, is something else, or has a newer version.
    ///
    /// ```
    /// let error = measurement::RunDocument::from_json(r#"{"schema": "flushmark/run/7"}"#).unwrap_err();
    /// assert!(error.to_string().contains("newer flushmark"));
    /// ```
    pub fn from_json(text: &str) -> Result<RunDocument, DocumentError> {
        versioned::read(text, KIND, |document: &RunDocument| &document.schema)
    }
}

/// The JSON Schema (draft 2020-12) of [`RunDocument`]. The repository keeps it as
/// `schemas/run-1.json`.
///
/// Unknown keys are allowed because new fields are compatible: a reader with today's schema accepts
/// tomorrow's document.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<RunDocument>("run", SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_skipped_for_one_reason_share_a_sentence() {
        let skipped = |test: &str, because: &str| Skipped {
            test: test.to_owned(),
            because: because.to_owned(),
        };
        let all = [
            skipped("512 B", "too small"),
            skipped("1 KiB", "too small"),
            skipped("fua", "no FUA"),
            skipped("2 KiB", "too small"),
        ];
        assert_eq!(Skipped::sentences(&all), ["512 B and 2 more: too small", "fua: no FUA"]);
        assert_eq!(Skipped::sentences(&all[..2]), ["512 B; 1 KiB: too small"]);
    }

    fn refusal(text: &str) -> String {
        RunDocument::from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn version_and_name_agree() {
        assert_eq!(SCHEMA, KIND.schema());
    }

    #[test]
    fn tested_bytes_spans_the_smallest_to_the_largest_test() {
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
    fn invalid_documents_are_refused_with_a_reason() {
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/1\", \"flu"), @"not a result document of `check` or `run`: invalid JSON (EOF while parsing a string at line 1 column 34)");
        insta::assert_snapshot!(refusal("[]"), @r#"not a result document of `check` or `run`: `"schema": "flushmark/run/1"` is missing"#);
        insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\"}"), @r#"not a result document of `check` or `run`: `"schema": "flushmark/run/1"` is missing"#);
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/verify/1\"}"), @"document `flushmark/verify/1` is not a result document of `check` or `run` (`flushmark/run/1`)");
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/2\"}"), @"document `flushmark/run/2` was written by a newer flushmark; this version reads up to `flushmark/run/1`. Use that version or a later one");
        for unknown in ["flushmark/run/0", "flushmark/run/one"] {
            let refused = refusal(&format!("{{\"schema\": \"{unknown}\"}}"));
            assert!(
                refused.starts_with(&format!("document `{unknown}` is not a result")),
                "{refused}"
            );
        }
        insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/1\", \"suite\": 7}"), @"invalid `flushmark/run/1` document: invalid type: integer `7`, expected a string at line 1 column 40");
    }
}
