//! The JSON output of `flushmark drives` and `flushmark cache status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/drives/1";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrivesDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that wrote it.
    pub flushmark: String,
    /// The drives, and layers that look like drives (RAID, LVM, virtual disks).
    pub drives: Vec<drive::DriveRecord>,
    /// Kernel names of devices that disappeared while they were being read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vanished: Vec<String>,
    /// Records of write caches that flushmark switched and has not restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<drive::cache_switch::Record>,
    /// Conclusions from the facts.
    pub findings: Vec<Finding>,
}

/// The JSON Schema (draft 2020-12) of [`DrivesDocument`]. The repository keeps it as
/// `schemas/drives-1.json`.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<DrivesDocument>("drives", SCHEMA)
}
