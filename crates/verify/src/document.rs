//! The document that `flushmark verify check` prints as JSON, and from which its text output is
//! made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::geometry::LaneKind;
use crate::outcome::{AgeCount, CycleResult, Standing};
use crate::run_header::{FuaPath, SyncMethod};
use crate::validity::{Sign, Void};
use crate::verdict::{Class, Legal, Rollback, Tally};

/// Name and version of the document format.
pub const SCHEMA: &str = "flushmark/verify/1";

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that checked.
    pub flushmark: String,
    /// The target as the user wrote it.
    pub target: String,
    pub run: RunRecord,
    /// The place where acknowledgements were recorded.
    pub heard_by: HeardBy,
    pub result: CycleResult,
    pub cut: Vec<SignRecord>,
    /// Reasons why the run proves nothing, if any.
    pub void: Vec<VoidRecord>,
    /// Flush lanes and FUA lanes, each counted separately.
    pub promises: Vec<Promise>,
    /// Violations, by class and kind of lane.
    pub findings: Vec<FindingRecord>,
    /// Extent to which the drive reverted, if that explains what is missing.
    pub rollback: Option<Rollback>,
    /// Effects that are unusual but allowed.
    pub legal: Legal,
    /// Obligations by the age of their acknowledgement at the power cut, and how many of them were
    /// broken.
    pub ages: Vec<AgeCount>,
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
    /// The outcomes of all cycles in the journal or recorder, including this one.
    pub standing: Standing,
    /// Upper bound of the probability of a loss per power cut, at 95 % confidence, after all clean
    /// cycles; `None` after a cycle with a loss, with an unjudged cycle, or without a clean one.
    pub loss_per_cut_below: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// Start time in seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// Model and serial number of the drives; empty if unknown.
    pub drive: String,
    /// Numbers of flush lanes, FUA lanes and control lanes.
    pub lanes: [u16; 3],
    /// Sync method of flush lanes.
    pub flush_method: SyncMethod,
    /// Write method of FUA lanes.
    pub fua_method: SyncMethod,
    /// Path of FUA writes to the kernel.
    pub fua_path: FuaPath,
    pub record_bytes: u64,
    /// The logical block size in bytes, which is the unit of atomic writes.
    pub sector_bytes: u32,
    /// Size of the written area in bytes.
    pub size_bytes: u64,
    /// True if it was written with direct I/O.
    pub direct: bool,
}

/// The place where acknowledgements were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeardBy {
    /// By a recorder on another machine.
    Recorder,
    /// In a journal on another drive.
    Journal,
    /// Nowhere: only obligations that surviving records prove are checked.
    Nobody,
}

/// A sign of a power cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignRecord {
    /// The evidence for a power cut.
    #[serde(flatten)]
    pub sign: Sign,
    pub sentence: String,
}

/// A reason why the run proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VoidRecord {
    /// The kind of reason.
    #[serde(flatten)]
    pub why: Void,
    pub sentence: String,
}

/// The promises to one kind of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// Flush or FUA lanes.
    pub kind: LaneKind,
    /// Counts of promises and of those kept.
    #[serde(flatten)]
    pub tally: Tally,
}

/// All records of one class and one kind of lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    pub class: Class,
    /// The way in which their lanes make writes durable.
    pub kind: LaneKind,
    pub records: u64,
    /// Number of affected sectors in these records.
    pub sectors: u64,
    /// The first of these records.
    pub examples: Vec<Example>,
}

/// One record of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// Start of the record, in bytes from the start of the target.
    pub address_bytes: u64,
    /// The lowest version that had to be there.
    pub required_version: u32,
    /// The version that is there, if any.
    pub found_version: Option<u32>,
    /// Age of its acknowledgement at the power cut, in microseconds.
    pub age_us: Option<u64>,
    /// A sentence that describes what happened to the record.
    pub sentence: String,
}

/// The JSON Schema (draft 2020-12) of [`VerifyDocument`]. It is stored as `schemas/verify-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(VerifyDocument);
    schema.insert("title".to_owned(), format!("flushmark verify document, {SCHEMA}").into());
    if let Some(own) = schema.pointer_mut("/properties/schema").and_then(|own| own.as_object_mut())
    {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}
