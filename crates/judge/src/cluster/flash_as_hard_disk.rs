//! Flash that the OSD takes for a hard disk.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};

use super::words::{commands, osds, verb};

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let by_class = |osd: &OsdFacts| matches!(osd.class.as_deref(), Some("ssd" | "nvme"));
    let mistaken = |osd: &&OsdFacts| {
        osd.data.rotational == Some(true) && (osd.data.is_flash_by_name() || by_class(osd))
    };
    let found: Vec<&OsdFacts> = facts.osds.iter().filter(mistaken).collect();
    let by_name = found.iter().all(|osd| osd.data.is_flash_by_name());
    let to_reclass: Vec<&&OsdFacts> = found.iter().filter(|osd| !by_class(osd)).collect();
    let classes = if to_reclass.is_empty() {
        String::new()
    } else {
        let changes = to_reclass.iter().flat_map(|osd| {
            let name = osd.name();
            [
                format!("ceph osd crush rm-device-class {name}"),
                format!("ceph osd crush set-device-class ssd {name}"),
            ]
        });
        format!(" The device class does not follow by itself: {}.", commands(changes))
    };
    (!found.is_empty()).then(|| Finding {
        id: "ceph-flash-as-hard-disk".to_owned(),
        title: format!(
            "{} {} for a hard disk, and {} the settings for one.",
            osds(&found),
            verb(found.len(), "takes its flash drive", "take their flash drives"),
            verb(found.len(), "uses", "use")
        ),
        evidence: found
            .iter()
            .map(|osd| {
                let class = osd.class.as_deref().unwrap_or("none");
                let words = format!("{}; rotational 1, class {class}", osd.data.label());
                Evidence::fact(osd.name(), words)
            })
            .collect(),
        confidence: if by_name { Confidence::High } else { Confidence::Medium },
        doubt: (!by_name).then(|| {
            "Only the device class says that it is flash, and that may have been set by hand."
                .to_owned()
        }),
        advice: format!(
            "Shards, threads, deferred writes and mClock's capacity depend on it. Check \
             `/sys/block/NAME/queue/rotational` on the host: RAID controllers and virtual disks \
             often report 1. Correct it with a udev rule, and restart the OSD.{classes}"
        ),
    })
}
