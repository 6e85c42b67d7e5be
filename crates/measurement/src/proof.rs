//! What the device counted, against what the workload claims.
//!
//! The kernel counts the writes and flushes of every block device in `/sys/block/DEV/stat`,
//! readable without root. Read before and after a test, the counters show whether the syncs of a
//! workload became flushes. They count the whole device, including what other programs did in the
//! meantime.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests to the kernel, and the operations that the device counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Reads that completed with their full length.
    pub reads: u64,
    /// Writes that completed with their full length.
    pub writes: u64,
    /// `fsync` and `fdatasync` calls that returned success.
    pub syncs: u64,
    /// Commits: writes made durable, by any method.
    pub commits: u64,
    /// What the device counted in the meantime; `null` if there is no block device under the
    /// target.
    pub device: Option<DeviceProof>,
}

/// The differences between a device's counters at the start and the end of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes of those writes.
    pub bytes_written: u64,
    /// Completed flushes, if the kernel counts them.
    pub flushes: Option<u64>,
    /// Total time of those flushes, if the kernel counts it.
    pub flush_ns: Option<u64>,
}

impl DeviceProof {
    /// Relates the counters to the commits and bytes of a test.
    pub fn new(seen: &DeviceCounts, commits: u64, written_bytes: u64) -> DeviceProof {
        let per = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let flushed = seen.flushes.zip(seen.flush_ns);
        DeviceProof {
            reads: seen.reads,
            writes: seen.writes,
            bytes_written: seen.bytes_written,
            flushes: seen.flushes,
            flush_mean_us: flushed.and_then(|(flushes, flush_ns)| {
                (flushes > 0).then(|| flush_ns as f64 / 1e3 / flushes as f64)
            }),
            flushes_per_commit: seen.flushes.and_then(|flushes| per(flushes, commits)),
            bytes_per_byte: per(seen.bytes_written, written_bytes),
        }
    }
}

/// The device's counters while the test ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceProof {
    /// Completed reads.
    pub reads: u64,
    /// Completed write requests after the kernel merged or split them; the kernel counts a flush
    /// request as a write of no bytes.
    pub writes: u64,
    pub bytes_written: u64,
    /// Completed FLUSH CACHE commands; `null` on kernels older than 5.5, which do not count them.
    pub flushes: Option<u64>,
    /// Mean time of a flush as counted by the kernel, which adds up whole milliseconds; `null`
    /// without flushes.
    pub flush_mean_us: Option<f64>,
    /// Flushes per commit; `null` without commits.
    pub flushes_per_commit: Option<f64>,
    /// Bytes that reached the device per byte that the workload wrote; `null` if it wrote nothing.
    /// Journals and metadata raise it.
    pub bytes_per_byte: Option<f64>,
}
