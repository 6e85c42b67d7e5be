//! Data is being copied between OSDs.

use ceph::ClusterFacts;
use measurement::{Confidence, Evidence, Finding};

use super::words::verb;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let pgs = facts.pgs.as_ref()?;
    let recovering = pgs.recovering();
    let mut evidence = vec![Evidence::number(
        "recovering, backfilling, peering or waiting for it",
        recovering as f64,
        format!("of {}", pgs.total()),
    )];
    if pgs.degraded() > 0 {
        evidence.push(Evidence::number("degraded", pgs.degraded() as f64, ""));
    }
    let stopped: Vec<&str> = ["norecover", "nobackfill", "norebalance"]
        .into_iter()
        .filter(|stop| facts.flags.iter().any(|flag| flag == stop))
        .collect();
    let held = if stopped.is_empty() {
        String::new()
    } else {
        let flags = verb(stopped.len(), "flag", "flags");
        let hold = verb(stopped.len(), "holds", "hold");
        format!(" The {flags} {} {hold} it up.", stopped.join(", "))
    };
    (recovering > 0).then(|| Finding {
        id: "ceph-recovery-running".to_owned(),
        title: format!(
            "The cluster moves data: {recovering} of {} placement groups {} being copied or \
             wait for it.",
            pgs.total(),
            verb(recovering as usize, "is", "are")
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "Measure when all placement groups are active+clean: copies compete with every \
             commit.{held} `ceph status` shows the progress."
        ),
    })
}
