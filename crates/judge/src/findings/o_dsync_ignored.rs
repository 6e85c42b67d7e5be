//! `O_DSYNC` costs nothing although a flush is expensive.

use measurement::{Confidence, Finding};
use workload::SyncMethod;
use workload::number::latency;

use crate::case::Case;
use crate::physics::UNPROTECTED_COMMIT_US_MIN;
use crate::wording::{flushes, median, submission_suffix, sync_name};

/// Up to this ratio a synced write costs the same as an unsynced one.
const FREE_MAX: f64 = 1.3;

/// The first write-through method whose writes cost no more than unsynced ones although a flush of
/// the same drive takes time.
pub(crate) fn ignored<'a>(case: &Case<'a>) -> Option<&'a measurement::TestResult> {
    let flushed =
        case.flushing_commit().filter(|commit| commit.p50_us() >= UNPROTECTED_COMMIT_US_MIN)?;
    [SyncMethod::ODsync, SyncMethod::OSync, SyncMethod::RwfDsync].into_iter().find_map(|sync| {
        // On a raw device only an asynchronous write is FUA alone; a blocking one also flushes.
        case.small_write_pairs(sync, SyncMethod::None).find_map(|(durable, control)| {
            let free = control.workload.direct && durable.p50_us() <= FREE_MAX * control.p50_us();
            (free && flushed.p50_us() >= 3.0 * durable.p50_us()).then_some(durable)
        })
    })
}

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let durable = ignored(case)?;
    let flushed = case.flushing_commit()?;
    let mut evidence = vec![median(durable), median(flushed)];
    evidence.extend(case.control().map(median));
    evidence.extend(flushes(durable));
    let method = durable.workload.sync.map_or("O_DSYNC", sync_name);
    let how = submission_suffix(durable);
    Some(Finding {
        id: "o-dsync-ignored".to_owned(),
        title: format!(
            "{method}{how} takes {}, no longer than an unsynced write, although a flush takes {}.",
            latency(durable.p50_us()),
            latency(flushed.p50_us())
        ),
        evidence,
        confidence: Confidence::Low,
        doubt: Some(
            "A drive with power-loss protection may legitimately acknowledge a FUA write from its \
             cache and still write the cache out on a flush (Seagate Nytro 1351: 18,700 commits/s \
             with O_SYNC, 288 with fsync); timing alone cannot distinguish it from a drive that \
             ignores FUA."
                .to_owned(),
        ),
        advice: format!(
            "Use fdatasync (`wal_sync_method=fdatasync` in PostgreSQL) until `flushmark verify` \
             has proved {method} on this drive."
        ),
    })
}
