//! RocksDB on a separate device that is a hard disk itself.

use ceph::{ClusterFacts, Device, OsdFacts};
use measurement::{Confidence, Evidence, Finding};

use super::words::osds;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let rotates = |device: &&Device| device.rotational == Some(true) && !device.is_flash_by_name();
    let slow = |osd: &&OsdFacts| osd.db.iter().chain(&osd.wal).any(|device| rotates(&device));
    let found: Vec<&OsdFacts> = facts.osds.iter().filter(slow).collect();
    let evidence = found.iter().flat_map(|osd| {
        let devices = [("block.db", &osd.db), ("block.wal", &osd.wal)];
        devices.into_iter().filter_map(|(what, device)| {
            let device = device.as_ref().filter(rotates)?;
            Some(Evidence::fact(format!("{} {what}", osd.name()), device.label()))
        })
    });
    let effect = if found.iter().all(|osd| rotates(&osd.log_device())) {
        "every commit waits for its rotation"
    } else {
        "lookups and compaction wait for it"
    };
    (!found.is_empty()).then(|| Finding {
        id: "ceph-db-on-hard-disk".to_owned(),
        title: format!("RocksDB of {} is on a separate hard disk: {effect}.", osds(&found)),
        evidence: evidence.collect(),
        confidence: Confidence::Medium,
        doubt: Some(
            "The OSD repeats what the kernel reports; a controller or a virtual disk may report \
             flash as rotating."
                .to_owned(),
        ),
        advice: "Move it to flash with power-loss protection: `ceph-volume lvm new-db` and \
                 `ceph-volume lvm migrate` with the OSD stopped. A second hard disk gains little \
                 over none, and its failure takes the OSD down."
            .to_owned(),
    })
}
