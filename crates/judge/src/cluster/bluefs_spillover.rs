//! Metadata that did not fit on the DB device.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};
use workload::number::about_bytes;

use super::words::osds;

const CHECK: &str = "BLUEFS_SPILLOVER";

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let spilled_bytes =
        |osd: &OsdFacts| osd.bluefs.and_then(|bluefs| bluefs.slow_used_bytes).unwrap_or(0);
    let spilled: Vec<&OsdFacts> =
        facts.osds.iter().filter(|osd| osd.db.is_some() && spilled_bytes(osd) > 0).collect();
    let check = facts.health.as_ref().and_then(|health| health.check(CHECK));
    let mut evidence: Vec<Evidence> = spilled
        .iter()
        .map(|osd| {
            let bluefs = osd.bluefs.unwrap_or_default();
            let words = format!(
                "{} on the slow device; DB device: {} of {} used",
                about_bytes(spilled_bytes(osd)),
                about_bytes(bluefs.db_used_bytes.unwrap_or(0)),
                about_bytes(bluefs.db_total_bytes.unwrap_or(0))
            );
            Evidence::fact(osd.name(), words)
        })
        .collect();
    evidence.extend(check.map(|check| Evidence::fact(CHECK, check.message.as_str())));
    if evidence.is_empty() {
        return None;
    }
    let who = if spilled.is_empty() { "some OSDs".to_owned() } else { osds(&spilled) };
    let example = spilled.first().map_or_else(|| "osd.N".to_owned(), |osd| osd.name());
    let old_policy = spilled.iter().any(|osd| {
        osd.settings.text("bluestore_volume_selection_policy") == Some("rocksdb_original")
    });
    let policy = if old_policy {
        " The policy rocksdb_original uses only as much of the device as whole levels of RocksDB \
         fill: `ceph config set osd bluestore_volume_selection_policy use_some_extra`, and restart \
         the OSDs."
    } else {
        ""
    };
    Some(Finding {
        id: "ceph-bluefs-spillover".to_owned(),
        title: format!(
            "Metadata of {who} has spilled over from the DB device to the slow device and is \
             looked up there."
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "Compact first: `ceph tell {example} compact`. If it spills over again, the device is \
             too small: enlarge the volume, stop the OSD, run `ceph-bluestore-tool \
             bluefs-bdev-expand` and bring back what is on the slow device with \
             `ceph-bluestore-tool bluefs-bdev-migrate`.{policy}"
        ),
    })
}
