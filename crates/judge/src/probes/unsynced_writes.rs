//! The unsynced writes that probes look at: they show the drive's internals, not the cost of a
//! flush.

use measurement::TestResult;
use workload::{Layout, Pattern, SyncMethod, WriteCache};

/// Results of unsynced writes that bypass the page cache, under one setting of the drive's cache.
pub(super) fn unsynced_writes(
    results: &[TestResult],
    pattern: Pattern,
) -> impl Iterator<Item = &TestResult> {
    results.iter().filter(move |result| {
        let work = &result.workload;
        work.pattern == Some(pattern)
            && work.sync == Some(SyncMethod::None)
            && work.jobs == 1
            && work.direct
            && work.rate.is_none()
            && matches!(work.layout, None | Some(Layout::Overwrite))
            && work.write_cache == WriteCache::Unchanged
            && result.iops > 0.0
    })
}

pub(super) fn written_bytes(result: &TestResult) -> f64 {
    (result.proof.writes * result.workload.block_bytes) as f64
}

pub(super) const MIB: f64 = (1 << 20) as f64;
