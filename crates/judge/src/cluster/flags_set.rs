//! Flags of the OSD map that a maintenance left behind.

use ceph::ClusterFacts;
use measurement::{Confidence, Evidence, Finding};

use super::words::{commands, verb};

/// The flags that `ceph osd set` sets, and that are not set in normal operation.
const FLAGS: [&str; 13] = [
    "pauserd", "pausewr", "noup", "nodown", "noout", "noin", "nobackfill", "norebalance",
    "norecover", "noscrub", "nodeep-scrub", "notieragent", "nosnaptrim",
];

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let set: Vec<&String> =
        facts.flags.iter().filter(|flag| FLAGS.contains(&flag.as_str())).collect();
    let names: Vec<&str> = set.iter().map(|flag| flag.as_str()).collect();
    let (first, _) = names.split_first()?;
    let paused = names.iter().any(|flag| flag.starts_with("pause"));
    // Both halves are set and unset by one name.
    let mut unset: Vec<&str> =
        names.iter().map(|flag| if flag.starts_with("pause") { "pause" } else { flag }).collect();
    unset.dedup();
    Some(Finding {
        id: "ceph-flags-set".to_owned(),
        title: if paused {
            "Client I/O is paused by a flag of the OSD map.".to_owned()
        } else {
            format!(
                "{} set in the OSD map: {}.",
                verb(names.len(), "A maintenance flag is", "Maintenance flags are"),
                names.join(", ")
            )
        },
        evidence: vec![Evidence::fact(
            verb(names.len(), "flag", "flags"),
            if names.len() == 1 { (*first).to_owned() } else { names.join(", ") },
        )],
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "If the maintenance is over, remove {}: {}. What a flag holds up is done afterwards, \
             so figures with and without it differ.",
            verb(unset.len(), "it", "them"),
            commands(unset.iter().map(|flag| format!("ceph osd unset {flag}")))
        ),
    })
}
