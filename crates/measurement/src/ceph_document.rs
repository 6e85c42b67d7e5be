//! The JSON output of `flushmark ceph layout` and `flushmark ceph check`.

use ceph::ClusterFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::RunDocument;
use crate::finding::Finding;

/// The name and version of [`LayoutDocument`].
pub const LAYOUT_SCHEMA: &str = "flushmark/ceph-layout/1";
/// The name and version of [`CheckDocument`].
pub const CHECK_SCHEMA: &str = "flushmark/ceph-check/1";

/// What a Ceph cluster consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that asked the cluster.
    pub flushmark: String,
    /// What the cluster answered.
    pub facts: ClusterFacts,
    /// What is wrong with its state and layout, most serious first.
    pub findings: Vec<Finding>,
}

/// Whether a Ceph cluster is well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that asked and measured.
    pub flushmark: String,
    /// What the cluster answered.
    pub facts: ClusterFacts,
    /// What is wrong with its state and layout, most serious first.
    pub findings: Vec<Finding>,
    /// The measurement of the OSDs, with its own findings; absent if no pool was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunDocument>,
}

/// The JSON schema of [`LayoutDocument`].
pub fn layout_schema() -> schemars::Schema {
    crate::json_schema::of::<LayoutDocument>("ceph layout", LAYOUT_SCHEMA)
}

/// The JSON schema of [`CheckDocument`].
pub fn check_schema() -> schemars::Schema {
    crate::json_schema::of::<CheckDocument>("ceph check", CHECK_SCHEMA)
}
