//! What `flushmark verify check` prints for programs, and what its page for people is drawn from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::geometry::LaneKind;
use crate::outcome::{AgeCount, CycleResult, Standing};
use crate::run_header::{FuaPath, SyncMethod};
use crate::validity::{Sign, Void};
use crate::verdict::{Class, Legal, Rollback, Tally};

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/verify/1";

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version that checked.
    pub flushmark: String,
    /// The target as the person wrote it.
    pub target: String,
    /// The run.
    pub run: RunRecord,
    /// Who heard what was acknowledged.
    pub heard_by: HeardBy,
    /// The verdict in one word.
    pub result: CycleResult,
    /// What shows that the power was cut.
    pub cut: Vec<SignRecord>,
    /// Why it proves nothing, if it does not.
    pub void: Vec<VoidRecord>,
    /// Flush and FUA lanes, each for itself.
    pub promises: Vec<Promise>,
    /// What is wrong, by class and kind of lane.
    pub findings: Vec<FindingRecord>,
    /// How far everything went back, where that explains what is missing.
    pub rollback: Option<Rollback>,
    /// What is odd and allowed.
    pub legal: Legal,
    /// Obligations by how old their acknowledgement was when the power went, and how many of them were broken.
    pub ages: Vec<AgeCount>,
    /// What else there is to know, one sentence each.
    pub notes: Vec<String>,
    /// How all cycles went that the journal or the recorder remembers, this one included.
    pub standing: Standing,
    /// With 95 % confidence, the chance of a loss in one cut is below this, after as many clean cycles; `None` after a cycle that lost something, while one is not judged, or without a clean one.
    pub loss_per_cut_below: Option<f64>,
}

/// The run that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// When it began, in seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// Model and serial number of the drives; empty where they cannot be told.
    pub drive: String,
    /// Lanes that flush, that write with FUA, that do neither.
    pub lanes: [u16; 3],
    /// How flush lanes sync.
    pub flush_method: SyncMethod,
    /// How FUA lanes write.
    pub fua_method: SyncMethod,
    /// By which way those writes go.
    pub fua_path: FuaPath,
    /// Size of a record.
    pub record_bytes: u64,
    /// The logical block, which is the atomic unit.
    pub sector_bytes: u32,
    /// Size of the area that was written.
    pub size_bytes: u64,
    /// Whether it was written past the page cache.
    pub direct: bool,
}

/// Who heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeardBy {
    /// A recorder.
    Recorder,
    /// A journal.
    Journal,
    /// Nobody: only what the media prove counts.
    Nobody,
}

/// A sign of a cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignRecord {
    /// The sign.
    #[serde(flatten)]
    pub sign: Sign,
    /// In words.
    pub sentence: String,
}

/// A reason for proving nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VoidRecord {
    /// The reason.
    #[serde(flatten)]
    pub why: Void,
    /// In words.
    pub sentence: String,
}

/// What one kind of lanes was promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// Flush or FUA.
    pub kind: LaneKind,
    /// What became of it.
    #[serde(flatten)]
    pub tally: Tally,
}

/// All records of one class and one kind of lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    /// In which way they are not as they must be.
    pub class: Class,
    /// How their lanes make writes durable.
    pub kind: LaneKind,
    /// How many records.
    pub records: u64,
    /// How many sectors of these.
    pub sectors: u64,
    /// The first of them.
    pub examples: Vec<Example>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// Where it begins, in bytes from the start of the target.
    pub address_bytes: u64,
    /// The version that had to be there, at least.
    pub required_version: u32,
    /// The version that is there.
    pub found_version: Option<u32>,
    /// How old its acknowledgement was when the power went, in microseconds.
    pub age_us: Option<u64>,
    /// What happened to it, in words.
    pub sentence: String,
}

/// The JSON Schema (draft 2020-12) of [`VerifyDocument`]. The repository keeps it as `schemas/verify-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(VerifyDocument);
    schema.insert("title".to_owned(), format!("flushmark verify document, {SCHEMA}").into());
    if let Some(own) = schema.pointer_mut("/properties/schema").and_then(|own| own.as_object_mut()) {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}
