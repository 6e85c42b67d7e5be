//! Commits that wait for a commit of the journal in which they have nothing.

use measurement::{Confidence, Evidence, Finding, Stage};

use super::Traced;

/// Fewer commits than this do not matter.
const SHARE: f64 = 0.05;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let waited = traced.anatomy.company.after_earlier_commit;
    let share = waited as f64 / traced.count();
    let mean = traced.anatomy.mean_us(Stage::EarlierCommit);
    (share >= SHARE).then(|| Finding {
        id: "traced-waits-for-journal".to_owned(),
        title: format!(
            "{:.0} % of {} first waited for a commit of the journal that others had begun.",
            share * 100.0,
            traced.words()
        ),
        evidence: vec![
            Evidence::number("commits that waited", waited as f64, ""),
            Evidence::number("wait, mean of those", mean / share, "us"),
        ],
        confidence: Confidence::High,
        doubt: None,
        advice: "The filesystem has one journal for all. Give the database a filesystem of its \
                 own, or preallocate its log so that fdatasync needs no journal."
            .to_owned(),
    })
}
