//! The file with which a test exchanges blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file whose blocks the jobs exchange for those of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Donor {
    /// Tests with the same number share the file.
    pub number: usize,
    pub space: DonorSpace,
}

/// The time at which a donor gets its space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DonorSpace {
    /// Before the measurement, all of it.
    Reserved,
    /// As part of each operation, which also releases it.
    InPlace,
}
