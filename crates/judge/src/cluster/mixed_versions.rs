//! Daemons of different versions.

use ceph::ClusterFacts;
use measurement::{Confidence, Evidence, Finding};

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let all = facts.daemons_by_version();
    if all.len() < 2 {
        return None;
    }
    let words: Vec<String> =
        all.iter().map(|(version, count)| format!("{version} ({count})")).collect();
    let evidence = facts.versions.iter().map(|(kind, versions)| {
        let counts: Vec<String> =
            versions.iter().map(|(version, count)| format!("{count} × {version}")).collect();
        Evidence::fact(kind.as_str(), counts.join(", "))
    });
    Some(Finding {
        id: "ceph-mixed-versions".to_owned(),
        title: format!("Daemons run different versions: {}.", words.join(", ")),
        evidence: evidence.collect(),
        confidence: Confidence::High,
        doubt: None,
        advice:
            "Finish the upgrade (`ceph orch upgrade status`, or restart the daemons that still \
                 run the old version) before you compare OSDs: releases differ in latency and in \
                 their defaults."
                .to_owned(),
    })
}
