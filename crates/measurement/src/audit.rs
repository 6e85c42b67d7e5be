//! The audit of a host, as data: what `judge` concludes and `report` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found about one setting of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// A stable name, such as `c-states`.
    pub id: String,
    /// What was looked at: `C-states`, `sda: I/O scheduler`.
    pub subject: String,
    /// What was found.
    pub found: String,
    /// What it means for a commit.
    pub grade: HostGrade,
    /// Why it matters; one or two sentences.
    pub why: String,
    /// What to do; empty where nothing is to be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// The exact command that does it, where there is one that does no harm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What a setting means for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostGrade {
    /// It may cost data.
    Dangerous,
    /// It costs time.
    CostsLatency,
    /// Nothing to be done.
    Good,
    /// It could not be seen.
    Unknown,
}
