//! Daemons of different versions.

use std::collections::BTreeMap;

use ceph::ClusterFacts;
use measurement::{Confidence, Evidence, Finding};

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (version, count) in facts.versions.values().flatten() {
        *all.entry(version.as_str()).or_default() += count;
    }
    if all.len() < 2 {
        return None;
    }
    let mut by_count: Vec<(&str, u64)> = all.into_iter().collect();
    by_count.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let words: Vec<String> =
        by_count.iter().map(|(version, count)| format!("{version} ({count})")).collect();
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
