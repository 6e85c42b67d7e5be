//! What the device saw, against what was claimed.
//!
//! The kernel counts writes and flushes of every block device in `/sys/block/DEV/stat`, readable without root. Read before and after a
//! test, they show whether the syncs that a workload claims became flushes. The counters are the whole device's: what other programs
//! did in that time is in them, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was asked of the kernel, and what arrived at the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Reads that completed with their full length.
    pub reads: u64,
    /// Writes that completed with their full length.
    pub writes: u64,
    /// `fsync` and `fdatasync` calls that returned success.
    pub syncs: u64,
    /// Commits: writes made durable, by whichever method.
    pub commits: u64,
    /// What the device counted meanwhile; `null` where no block device stands beneath the target.
    pub device: Option<DeviceProof>,
}

/// A device's counters, from the start of a test to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes of those writes.
    pub bytes_written: u64,
    /// Completed flushes, if they are counted.
    pub flushes: Option<u64>,
    /// The time of those flushes, if it is counted.
    pub flush_ns: Option<u64>,
}

impl DeviceProof {
    /// Counters in relation to what a test asked for.
    pub fn new(seen: &DeviceCounts, commits: u64, written_bytes: u64) -> DeviceProof {
        let per = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let flushed = seen.flushes.zip(seen.flush_ns);
        DeviceProof {
            reads: seen.reads,
            writes: seen.writes,
            bytes_written: seen.bytes_written,
            flushes: seen.flushes,
            flush_mean_us: flushed
                .and_then(|(flushes, flush_ns)| (flushes > 0).then(|| flush_ns as f64 / 1e3 / flushes as f64)),
            flushes_per_commit: seen.flushes.and_then(|flushes| per(flushes, commits)),
            bytes_per_byte: per(seen.bytes_written, written_bytes),
        }
    }
}

/// What the device counted while the test ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceProof {
    /// Completed reads.
    pub reads: u64,
    /// Completed write requests, merged or split by the kernel, which counts a request to flush as a write of no bytes.
    pub writes: u64,
    /// Bytes written to the device.
    pub bytes_written: u64,
    /// Completed FLUSH CACHE commands; `null` on kernels older than 5.5, which do not count them.
    pub flushes: Option<u64>,
    /// Mean time of a flush, as the kernel counts it (in whole milliseconds, added up), where there were any.
    pub flush_mean_us: Option<f64>,
    /// Flushes for each commit, where there were commits.
    pub flushes_per_commit: Option<f64>,
    /// Bytes that reached the device for each byte that the workload wrote, where it wrote any: journals and metadata raise it.
    pub bytes_per_byte: Option<f64>,
}
