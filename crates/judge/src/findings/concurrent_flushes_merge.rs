//! Several commits share a flush.

use measurement::{Confidence, Finding};
use workload::number::number;

use crate::case::Case;
use crate::wording::{commit_rate, flushes};

/// Below this many flushes per commit, commits share flushes; a journal that sends two per commit
/// hides some of the sharing.
const MERGED_MAX: f64 = 0.8;

/// block/blk-flush.c: flushes that arrive while one is in flight wait and are then served together
/// by a single flush.
pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let (one, many) = case.one_and_many_jobs()?;
    let alone = one.flushes_per_commit()?;
    let together = many.flushes_per_commit().filter(|&together| together > 0.0)?;
    if alone <= 0.0 || together > MERGED_MAX * alone.min(1.0) {
        return None;
    }
    let mut evidence: Vec<_> = [one, many].into_iter().filter_map(flushes).collect();
    evidence.extend([one, many].map(commit_rate));
    Some(Finding {
        id: "concurrent-flushes-merge".to_owned(),
        title: format!(
            "With {} committers, one flush serves {} commits: the kernel merges concurrent \
             flushes.",
            many.workload.jobs,
            number(1.0 / together)
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Nothing to do: many independent committers on this drive benefit, a single one \
                 never does."
            .to_owned(),
    })
}
