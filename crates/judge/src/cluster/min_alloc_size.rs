//! OSDs that keep the large allocation unit of the release that made them.
//!
//! The defaults were 64 KiB on hard disks until Octopus and 16 KiB on SSDs until 14.2.7, and have
//! been 4 KiB since.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};
use workload::number::about_bytes;

use super::words::{osds, verb};

const UNIT_BYTES: u64 = 4096;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let is_large =
        |osd: &&OsdFacts| osd.min_alloc_size_bytes.is_some_and(|bytes| bytes > UNIT_BYTES);
    let found: Vec<&OsdFacts> = facts.osds.iter().filter(is_large).collect();
    let largest = found.iter().filter_map(|osd| osd.min_alloc_size_bytes).max()?;
    Some(Finding {
        id: "ceph-min-alloc-size".to_owned(),
        title: format!(
            "{} {} space in units of {}: a smaller object occupies as much.",
            osds(&found),
            verb(found.len(), "allocates", "allocate"),
            about_bytes(largest)
        ),
        evidence: found
            .iter()
            .take(8)
            .map(|osd| {
                let unit = about_bytes(osd.min_alloc_size_bytes.unwrap_or(0));
                let by = osd.created_with.as_deref().unwrap_or("an unknown release");
                Evidence::fact(osd.name(), format!("{unit}, made by {by}"))
            })
            .collect(),
        confidence: Confidence::High,
        doubt: None,
        advice:
            "It matters where objects are small (RGW, CephFS, erasure-coded pools). The unit is \
                 fixed when an OSD is made: recreate such OSDs one after the other, unless their \
                 drives have units as large (QLC flash). Do not compare their latency with that of \
                 OSDs with 4 KiB, because different writes are deferred."
                .to_owned(),
    })
}
