//! An `O_DSYNC` write is cheaper than a write and a flush.

use measurement::{Confidence, Evidence, Finding};
use workload::SyncMethod;
use workload::number::latency;

use crate::case::Case;
use crate::wording::{flushes, median};

/// Below this ratio a change of settings pays off.
const CHEAPER_MAX: f64 = 0.8;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if super::o_dsync_ignored::ignored(case).is_some() {
        return None;
    }
    let (o_dsync, fdatasync) = case.small_write_pair(SyncMethod::ODsync, SyncMethod::Fdatasync)?;
    if o_dsync.p50_us() > CHEAPER_MAX * fdatasync.p50_us() {
        return None;
    }
    // On an export, such a write is a request with the flag FUA.
    let (source, fua) = if let Some(export) = case.export {
        ("FUA (server)", export.fua)
    } else {
        ("FUA (kernel)", case.drives().iter().any(|drive| drive.queue.fua == Some(true)))
    };
    let mut evidence = vec![median(o_dsync), median(fdatasync)];
    evidence.extend([o_dsync, fdatasync].into_iter().filter_map(flushes));
    evidence.push(Evidence::fact(source, if fua { "yes" } else { "no" }));
    let why = if fua {
        "one FUA write instead of a write and a flush of the whole cache"
    } else {
        "one system call instead of two"
    };
    Some(Finding {
        id: "o-dsync-cheaper".to_owned(),
        title: format!(
            "O_DSYNC commits in {}, fdatasync in {}: {why}.",
            latency(o_dsync.p50_us()),
            latency(fdatasync.p50_us())
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "For logs of small single writes, try `wal_sync_method=open_datasync` in PostgreSQL or \
             `innodb_log_file_write_through=ON` in MariaDB, and compare with `flushmark run wal \
             {}`.",
            case.path()
        ),
    })
}
