//! Commits that flush the cache more than once.

use measurement::{Confidence, Evidence, Finding, Stage};
use workload::number::number;

use super::Traced;

/// Fewer on average are retries and checkpoints.
const FLUSHES: f64 = 1.5;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let reached = &traced.anatomy.reached;
    let each = traced.each(reached.flushes());
    (each >= FLUSHES).then(|| {
        let often = |flushes: u64| traced.each(flushes) >= 0.5;
        let advice = if often(reached.flushes_after) && often(reached.bare_flushes) {
            "The write asks for FUA, which becomes a flush here, and then the call flushes once more. \
             With fdatasync after an ordinary write, there is one flush."
        } else {
            "A commit of the journal flushes before its last block, and after it in place of FUA. \
             A log file that is preallocated and synced with fdatasync needs no journal, and one \
             flush."
        };
        Finding {
            id: "traced-flushes-twice".to_owned(),
            title: format!(
                "Each {} flushes the cache of {} {} times.",
                traced.words(),
                traced.devices(),
                number(each)
            ),
            evidence: vec![
                Evidence::number("without data", traced.each(reached.bare_flushes), ""),
                Evidence::number("before a write", traced.each(reached.flushes_before), ""),
                Evidence::number("after a write", traced.each(reached.flushes_after), ""),
                Evidence::number("flushes, mean per commit", traced.anatomy.mean_us(Stage::Flush), "us"),
            ],
            confidence: Confidence::High,
            doubt: None,
            advice: advice.to_owned(),
        }
    })
}
