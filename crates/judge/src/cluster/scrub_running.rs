//! Scrubs and the trimming of snapshots read and write the same drives.

use ceph::ClusterFacts;
use measurement::{Confidence, Evidence, Finding};

use super::words::verb;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let pgs = facts.pgs.as_ref()?;
    let (scrubbing, trimming) = (pgs.scrubbing(), pgs.trimming());
    let (busy, work) = match (scrubbing, trimming) {
        (0, 0) => return None,
        (0, trimming) => (trimming, "trimming snapshots"),
        (scrubbing, _) => (scrubbing, "being scrubbed"),
    };
    let counts = [("scrubbing", scrubbing), ("trimming snapshots", trimming)];
    Some(Finding {
        id: "ceph-scrub-running".to_owned(),
        title: format!(
            "{busy} of {} placement groups {} {work}, which occupies their drives.",
            pgs.total(),
            verb(busy as usize, "is", "are")
        ),
        evidence: counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| Evidence::number(what, count as f64, "placement groups"))
            .collect(),
        confidence: Confidence::High,
        doubt: None,
        advice: if scrubbing > 0 {
            "Measure between scrubs, or pause them: `ceph osd set noscrub` and \
             `ceph osd set nodeep-scrub`, and afterwards `ceph osd unset noscrub` and \
             `ceph osd unset nodeep-scrub`. Scrubs that are running finish first."
        } else {
            "Measure when the snapshots are trimmed; `ceph status` shows the placement groups."
        }
        .to_owned(),
    })
}
