//! An I/O scheduler that holds requests.

use measurement::{Confidence, Evidence, Finding};

use super::Traced;

/// From this share of a commit on, it matters.
const SHARE: f64 = 0.1;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let held = traced.anatomy.reached.scheduler_ns as f64 / traced.count() / 1e3;
    let scheduler = traced.drives.iter().find_map(|drive| drive.queue.scheduler.clone());
    let scheduler = scheduler.filter(|name| name != "none")?;
    (held >= traced.anatomy.commit_us() * SHARE).then(|| Finding {
        id: "traced-scheduler".to_owned(),
        title: format!(
            "The I/O scheduler {scheduler} holds requests for {:.0} % of {}.",
            held / traced.anatomy.commit_us() * 100.0,
            traced.words()
        ),
        evidence: vec![Evidence::number("held, mean per commit", held, "us")],
        confidence: Confidence::Medium,
        doubt: Some("Requests also wait there while the drive accepts no more of them.".to_owned()),
        advice: "Compare with `echo none | sudo tee /sys/block/NAME/queue/scheduler`.".to_owned(),
    })
}
