//! Several commits share a flush.

use measurement::{Confidence, Finding};
use workload::number::number;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::{commit_rate, flushes};

/// Below this, commits share flushes; a journal that sends two for each commit hides some of it.
const MERGED_MOST: f64 = 0.8;

/// block/blk-flush.c: while one flush is under way, those that arrive wait and are then answered by one flush together.
pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if FlushPath::of(case).not_durable_because().is_some() {
        return None;
    }
    let (one, many) = case.one_and_many_jobs()?;
    let alone = one.flushes_per_commit()?;
    let together = many.flushes_per_commit().filter(|&together| together > 0.0)?;
    if alone <= 0.0 || together > MERGED_MOST * alone.min(1.0) {
        return None;
    }
    let mut evidence: Vec<_> = [one, many].into_iter().filter_map(flushes).collect();
    evidence.extend([one, many].map(commit_rate));
    Some(Finding {
        id: "concurrent-flushes-merge".to_owned(),
        title: format!(
            "With {} committers one flush serves {} commits: the kernel merges flushes that arrive together.",
            many.workload.jobs,
            number(1.0 / together)
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Count on it for many independent committers on this drive; a single one never gains by it.".to_owned(),
    })
}
