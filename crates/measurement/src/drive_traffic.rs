//! The operations that drives were asked for, sent and given while commits were traced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All operations on a drive during a trace, by any program and by the kernel, counted at three
/// levels. FUA and flushes that disappear or appear on the way show where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveTraffic {
    /// The drive's kernel name; its driver's name for it in a text without devices.
    pub device: String,
    /// Bios, as filesystems and applications submit them to the block layer.
    pub asked: OperationCounts,
    /// Requests that the block layer sent to the driver.
    pub sent: OperationCounts,
    /// NVMe or SCSI commands that the driver gave the drive.
    pub given: OperationCounts,
}

/// Numbers of operations, without reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationCounts {
    pub writes: u64,
    /// Those of the writes that have FUA.
    pub fua_writes: u64,
    /// Flushes, including those that a write asks for to come before it.
    pub flushes: u64,
    pub discards: u64,
    /// Write zeroes, commands of zoned drives, and what programs send past the block layer.
    pub others: u64,
    /// Operations that failed, including reads.
    pub failed: u64,
}
