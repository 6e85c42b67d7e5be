//! Discards that commits wait for.

use measurement::{Confidence, Evidence, Finding};

use super::Traced;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let discards = traced.anatomy.reached.discards;
    (discards > 0).then(|| Finding {
        id: "traced-discard".to_owned(),
        title: format!("Each {} waits for discards.", traced.words()),
        evidence: vec![Evidence::number("discards per commit", traced.each(discards), "")],
        confidence: Confidence::High,
        doubt: None,
        advice: "Mount without `discard`, and let `fstrim.timer` discard once a week.".to_owned(),
    })
}
