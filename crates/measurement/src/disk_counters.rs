//! A kernel's counters of a block device, as another tool printed them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counters of a block device over a whole imported run, so over all of its tests together. They
/// include what other programs did in the meantime. The kernel counts a flush request as a write of
/// no bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskCounters {
    /// The kernel's name of the device.
    pub device: String,
    /// Completed reads.
    pub reads: u64,
    /// Completed write requests after the kernel merged or split them.
    pub writes: u64,
    /// Reads that were merged with others before they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_merged: Option<u64>,
    /// Writes that were merged with others before they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_merged: Option<u64>,
    /// Bytes read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_read: Option<u64>,
    /// Bytes written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_written: Option<u64>,
    /// Sum of the times of all reads, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ms: Option<u64>,
    /// Sum of the times of all writes, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ms: Option<u64>,
    /// Share of the time in which the device had something to do, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<f64>,
}
