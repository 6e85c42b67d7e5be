//! Too little memory for caches.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};
use workload::number::about_bytes;

use super::words::{osds, verb};

/// doc/start/hardware-recommendations.rst: less than 2 GiB is not recommended; the default is 4.
const TARGET_BYTES_MIN: u64 = 2 << 30;
const TARGET_BYTES: u64 = 4 << 30;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let is_small =
        |osd: &&OsdFacts| osd.memory_target_bytes().is_some_and(|bytes| bytes < TARGET_BYTES_MIN);
    let found: Vec<&OsdFacts> = facts.osds.iter().filter(is_small).collect();
    let least = found.iter().filter_map(|osd| osd.memory_target_bytes()).min()?;
    let in_file = found.iter().any(|osd| {
        let setting = osd.settings.0.get("osd_memory_target");
        setting.and_then(|setting| setting.source.as_deref()) == Some("file")
    });
    let advice = if in_file {
        "It is set in ceph.conf on the OSD's host, which overrides the monitors' database: remove \
         the line there, or raise it to 4 GiB"
            .to_owned()
    } else {
        format!("Raise it to the default: `ceph config set osd osd_memory_target {TARGET_BYTES}`")
    };
    Some(Finding {
        id: "ceph-memory-target".to_owned(),
        title: format!(
            "{} {} a memory target of {}; below 2 GiB, metadata does not stay cached.",
            osds(&found),
            verb(found.len(), "has", "have"),
            about_bytes(least)
        ),
        evidence: found
            .iter()
            .take(8)
            .filter_map(|osd| {
                Some(Evidence::fact(osd.name(), about_bytes(osd.memory_target_bytes()?)))
            })
            .collect(),
        confidence: Confidence::High,
        doubt: None,
        advice: format!("{advice}, if the host has that much for each OSD and a fifth to spare."),
    })
}
