//! Commits that wait for writes that other threads began.

use measurement::{Confidence, Evidence, Finding, Stage};

use super::Traced;

/// A smaller share of the time does not matter.
const SHARE: f64 = 0.10;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let waited = traced.anatomy.mean_us(Stage::OtherWrites);
    let share = waited / (traced.anatomy.commits.mean_ns() / 1e3);
    (share >= SHARE).then(|| Finding {
        id: "traced-waits-for-writes".to_owned(),
        title: format!(
            "For {:.0} % of its time, {} waited for writes of other threads to {}.",
            share * 100.0,
            traced.words(),
            traced.devices()
        ),
        evidence: vec![
            Evidence::number("wait for them, mean", waited, "us"),
            Evidence::number("commit, mean", traced.anatomy.commits.mean_ns() / 1e3, "us"),
        ],
        confidence: Confidence::Medium,
        doubt: Some(
            "The drive had them while the thread waited; that the thread waited for them is likely, \
             but no event says so."
                .to_owned(),
        ),
        advice: "The kernel's write-back had begun with the file's pages, or a neighbour writes. \
                 Direct I/O for the log, or a filesystem of its own, keeps commits apart from \
                 write-back."
            .to_owned(),
    })
}
