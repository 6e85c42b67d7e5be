//! The counters of the device, compared with the claims of the workload.
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
    /// Writes that were merged into those, if something counts them.
    pub writes_merged: Option<u64>,
    /// Bytes of those writes.
    pub bytes_written: u64,
    /// Completed flushes, if the kernel counts them.
    pub flushes: Option<u64>,
    /// Total time of those flushes, if the kernel counts it.
    pub flush_ns: Option<u64>,
    /// Bytes that the drive wrote to its medium, if it counts them.
    pub medium_bytes_written: Option<u64>,
}

impl DeviceProof {
    /// Relates the counters to the commits and bytes of a test.
    pub fn new(seen: &DeviceCounts, commits: u64, written_bytes: u64) -> DeviceProof {
        let per = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let flushed = seen.flushes.zip(seen.flush_ns);
        DeviceProof {
            reads: seen.reads,
            writes: seen.writes,
            writes_merged: seen.writes_merged,
            bytes_written: seen.bytes_written,
            flushes: seen.flushes,
            flush_mean_us: flushed.and_then(|(flushes, flush_ns)| {
                (flushes > 0).then(|| flush_ns as f64 / 1e3 / flushes as f64)
            }),
            flushes_per_commit: seen.flushes.and_then(|flushes| per(flushes, commits)),
            bytes_per_byte: per(seen.bytes_written, written_bytes),
            medium_bytes_written: seen.medium_bytes_written,
        }
    }

    /// Write amplification: bytes that the drive wrote to its medium per byte that it was sent.
    /// `None` if it does not count them, or was sent nothing.
    pub fn write_amplification(&self) -> Option<f64> {
        let medium_bytes = self.medium_bytes_written?;
        (self.bytes_written > 0).then(|| medium_bytes as f64 / self.bytes_written as f64)
    }
}

impl Proof {
    /// Share of the writes that the kernel merged into adjacent ones, from 0 to 1. `None` if
    /// nothing counted them.
    pub fn merged_share(&self) -> Option<f64> {
        let device = self.device?;
        let merged = device.writes_merged?;
        let sent = merged + device.data_writes(self.syncs);
        (sent > 0).then(|| merged as f64 / sent as f64)
    }

    /// Mean size of the write requests that reached the device, in bytes. `None` if it saw none.
    pub fn mean_request_bytes(&self) -> Option<f64> {
        let device = self.device?;
        let writes = device.data_writes(self.syncs);
        (writes > 0).then(|| device.bytes_written as f64 / writes as f64)
    }
}

impl DeviceProof {
    /// Writes with data. The kernel, which alone counts merges, counts the flush of a sync as a
    /// write of no bytes if the device needs flushes.
    fn data_writes(&self, syncs: u64) -> u64 {
        let counts_flushes =
            self.writes_merged.is_some() && self.flushes.is_some_and(|some| some > 0);
        self.writes.saturating_sub(if counts_flushes { syncs } else { 0 })
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
    /// Writes that the kernel merged into adjacent ones, and that `writes` does not count; absent
    /// if nothing counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_merged: Option<u64>,
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
    /// Bytes that the drive wrote to its flash or platters: more than `bytes_written` where it
    /// moves data or fills up pages. From the drive's own counters, read before and after the
    /// test; absent if it has none, if this user may not read them, or if the test wrote too
    /// little for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium_bytes_written: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 writes of 4 KiB and 100 syncs.
    fn proof(device_writes: u64, merged: Option<u64>, flushes: u64) -> Proof {
        let seen = DeviceCounts {
            reads: 0,
            writes: device_writes,
            writes_merged: merged,
            bytes_written: 4_096_000,
            flushes: Some(flushes),
            flush_ns: None,
            medium_bytes_written: None,
        };
        let device = DeviceProof::new(&seen, 0, 4_096_000);
        Proof { reads: 0, writes: 1000, syncs: 100, commits: 0, device: Some(device) }
    }

    #[test]
    fn flushes_are_not_requests_with_data() {
        let figures = |proof: Proof| (proof.merged_share(), proof.mean_request_bytes());
        // Merged by eight, on a drive that needs no flush.
        assert_eq!(figures(proof(125, Some(875), 0)), (Some(0.875), Some(32_768.0)));
        // 100 empty writes of syncs, of which the kernel sent 60 to the drive.
        assert_eq!(figures(proof(1100, Some(0), 60)), (Some(0.0), Some(4096.0)));
        // A model counts no flush as a write, and no merges.
        assert_eq!(figures(proof(1000, None, 100)), (None, Some(4096.0)));
        assert_eq!(figures(proof(0, Some(0), 0)), (None, None));
    }
}
