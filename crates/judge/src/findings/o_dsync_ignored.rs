//! `O_DSYNC` costs nothing while a flush is dear.

use measurement::{Confidence, Finding};
use workload::SyncMethod;
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::UNPROTECTED_COMMIT_LEAST_US;
use crate::wording::{flushes, how_submitted, median, sync_name};

/// Up to here a durable write costs the same as one that nobody waits for.
const FREE_MOST: f64 = 1.3;

/// The first write-through method whose writes cost no more than undurable ones, though a flush of the same drive works.
pub(crate) fn ignored<'a>(case: &Case<'a>) -> Option<&'a measurement::TestResult> {
    let flushed = case.flushing_commit().filter(|commit| commit.p50_us() >= UNPROTECTED_COMMIT_LEAST_US)?;
    [SyncMethod::ODsync, SyncMethod::OSync, SyncMethod::RwfDsync].into_iter().find_map(|sync| {
        // On a raw device only the asynchronous way is FUA alone; the other one flushes as well.
        case.small_write_pairs(sync, SyncMethod::None).find_map(|(durable, control)| {
            let free = control.workload.direct && durable.p50_us() <= FREE_MOST * control.p50_us();
            (free && flushed.p50_us() >= 3.0 * durable.p50_us()).then_some(durable)
        })
    })
}

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if FlushPath::of(case).not_durable_because().is_some() {
        return None;
    }
    let durable = ignored(case)?;
    let flushed = case.flushing_commit()?;
    let mut evidence = vec![median(durable), median(flushed)];
    evidence.extend(case.control().map(median));
    evidence.extend(flushes(durable));
    let method = durable.workload.sync.map_or("O_DSYNC", sync_name);
    let how = how_submitted(durable);
    Some(Finding {
        id: "o-dsync-ignored".to_owned(),
        title: format!(
            "{method}{how} takes {}, no longer than a write that nobody waits for, while a flush takes {}: one of the two is not what it says.",
            latency(durable.p50_us()),
            latency(flushed.p50_us())
        ),
        evidence,
        confidence: Confidence::Low,
        doubt: Some(
            "A drive with power-loss protection may honestly confirm a FUA write from its cache and still write the cache out on a flush (Seagate Nytro 1351: 18,700 commits/s with O_SYNC, 288 with fsync); timing alone cannot tell it from a drive that ignores FUA."
                .to_owned(),
        ),
        advice: format!(
            "Until `flushmark verify` has proved {method} here, let software use fdatasync (`wal_sync_method=fdatasync` in PostgreSQL)."
        ),
    })
}
