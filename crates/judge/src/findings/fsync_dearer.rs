//! `fsync` costs more than `fdatasync`: it makes all metadata durable, whereas `fdatasync` omits
//! what is not needed to read the data back. An overwrite changes only the modification time.
//! (`lazytime` does not help: fsync is one of the occasions on which it writes the time.)

use measurement::{Confidence, Finding};
use workload::SyncMethod;
use workload::number::latency;

use crate::case::Case;
use crate::wording::{flushes, median};

/// From this ratio on the difference is significant: published repeated runs of one test lie within
/// 3 % of each other.
const DEARER_RATIO: f64 = 1.25;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let mount = case.place?.mount.as_ref()?;
    let (fsync, fdatasync) = case.small_write_pair(SyncMethod::Fsync, SyncMethod::Fdatasync)?;
    if fsync.p50_us() < DEARER_RATIO * fdatasync.p50_us() {
        return None;
    }
    let mut evidence = vec![median(fsync), median(fdatasync)];
    evidence.extend([fsync, fdatasync].into_iter().filter_map(flushes));
    let filesystem = match mount.fs_type.as_str() {
        own @ ("ext3" | "ext4" | "xfs" | "btrfs" | "f2fs" | "jfs") => own,
        _ => "the filesystem",
    };
    Some(Finding {
        id: "fsync-dearer-than-fdatasync".to_owned(),
        title: format!(
            "fsync takes {}, fdatasync {}: {filesystem} also writes metadata because of a \
             timestamp.",
            latency(fsync.p50_us()),
            latency(fdatasync.p50_us())
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, \
             `innodb_use_fdatasync=ON` in MySQL."
            .to_owned(),
    })
}
