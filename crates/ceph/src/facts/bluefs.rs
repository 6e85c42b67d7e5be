//! The fill level of the metadata's devices, by BlueFS's counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient;

/// Bytes of BlueFS on each device. Without a separate device, `db` is the OSD's only one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BlueFsUse {
    #[serde(deserialize_with = "lenient::de_whole")]
    pub db_total_bytes: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    pub db_used_bytes: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    pub wal_total_bytes: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    pub wal_used_bytes: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    pub slow_total_bytes: Option<u64>,
    /// Metadata that did not fit on the DB device.
    #[serde(deserialize_with = "lenient::de_whole")]
    pub slow_used_bytes: Option<u64>,
    /// The most that the DB device held since the OSD started.
    #[serde(rename = "max_bytes_db", deserialize_with = "lenient::de_whole")]
    pub db_used_bytes_max: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PerfDumpAnswer {
    pub(super) bluefs: Option<BlueFsUse>,
}
