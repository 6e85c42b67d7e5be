//! The audit of a host as data: made by `judge`, printed by `report`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One setting of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// A stable name, such as `c-states`.
    pub id: String,
    /// The setting: `C-states`, `sda: I/O scheduler`.
    pub subject: String,
    /// Its current value.
    pub found: String,
    /// The effect on commits.
    pub grade: HostGrade,
    /// Why it matters; one or two sentences.
    pub why: String,
    /// Recommended action; empty if there is nothing to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// The exact command that does it, if there is one that is safe to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The effect of a setting on commits.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum HostGrade {
    /// May lose data.
    Dangerous,
    CostsLatency,
    /// Nothing to do.
    Good,
    /// The setting could not be read.
    Unknown,
}
