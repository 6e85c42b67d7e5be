//! The whole run as one JSON document: what `--format json` prints, what is kept and what reports draw.
//!
//! Additions are free; a rename or a removal is a new version of [`SCHEMA`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Fitness, Use};
use crate::result::TestResult;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/run/1";

/// Where a run went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// As the person wrote it.
    pub given: String,
    /// What it is: `directory`, `file`, `block-device`, `null` or `model`.
    pub kind: String,
}

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

/// One run: every result with what is needed to read it years later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version that measured.
    pub flushmark: String,
    /// When it began, UTC, RFC 3339. A run on a model takes no real time, and says 1970-01-01T00:00:00Z.
    pub started_at: String,
    /// The plan's name.
    pub suite: String,
    /// Whether this was a smoke run, whose numbers mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smoke: bool,
    /// Where it ran.
    pub target: TargetRecord,
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

/// The JSON Schema (draft 2020-12) of [`RunDocument`]. The repository keeps it as `schemas/run-1.json`.
///
/// It takes unknown keys, because additions are free: a reader of today's schema accepts tomorrow's document.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<RunDocument>("run", SCHEMA)
}
