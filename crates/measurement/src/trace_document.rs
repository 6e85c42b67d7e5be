//! The JSON output of `flushmark trace`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::anatomy::Anatomy;
use crate::drive_traffic::DriveTraffic;
use crate::finding::Finding;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/trace/1";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that wrote it.
    pub flushmark: String,
    /// What was traced, as it was named.
    pub subject: String,
    /// The kernel's release.
    pub kernel: String,
    #[serde(flatten)]
    pub trace: TraceRecord,
    /// Conclusions from the anatomies.
    pub findings: Vec<Finding>,
}

/// What a trace shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRecord {
    pub seconds: f64,
    /// Events that were read.
    pub events: u64,
    /// Events that the kernel dropped because they were not read in time.
    pub lost: u64,
    /// True if some pages of events were lost without their number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_uncounted: bool,
    /// Tracepoints that this kernel lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The kinds of commits, most time first.
    pub anatomies: Vec<Anatomy>,
    /// Drives whose drivers report the commands that they give them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<DriveTraffic>,
}

/// The JSON Schema (draft 2020-12) of [`TraceDocument`]. The repository keeps it as
/// `schemas/trace-1.json`.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<TraceDocument>("trace", SCHEMA)
}
