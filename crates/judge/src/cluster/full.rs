//! OSDs that are nearly full, by the cluster's own limits.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};
use workload::number::number;

use super::words::osds;

const CHECKS: [&str; 4] = ["OSD_FULL", "OSD_BACKFILLFULL", "OSD_NEARFULL", "POOL_FULL"];

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let ratios = facts.full_ratios.unwrap_or_default();
    let is_full = |osd: &&OsdFacts| {
        osd.use_percent.is_some_and(|percent| percent >= ratios.near_full * 100.0)
    };
    let full: Vec<&OsdFacts> = facts.osds.iter().filter(is_full).collect();
    let mut evidence: Vec<Evidence> = full
        .iter()
        .filter_map(|osd| Some(Evidence::number(osd.name(), osd.use_percent?, "% full")))
        .collect();
    let checks = facts.health.iter().flat_map(|health| &health.checks);
    evidence.extend(
        checks
            .filter(|check| CHECKS.contains(&check.name.as_str()))
            .map(|check| Evidence::fact(check.name.as_str(), check.message.as_str())),
    );
    if evidence.is_empty() {
        return None;
    }
    let limits = format!(
        "the cluster warns at {} %, stops backfills at {} % and writes at {} %",
        number(ratios.near_full * 100.0),
        number(ratios.backfill_full * 100.0),
        number(ratios.full * 100.0)
    );
    let title = match full.as_slice() {
        [] => format!("The cluster reports that space runs out; {limits}."),
        [one] => format!(
            "{} is {} % full; {limits}.",
            one.name(),
            number(one.use_percent.unwrap_or_default())
        ),
        _ => format!("{} OSDs are nearly full ({}); {limits}.", full.len(), osds(&full)),
    };
    Some(Finding {
        id: "ceph-full".to_owned(),
        title,
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Add OSDs or delete data before you write a benchmark's objects. If other OSDs of \
                 the same class have space, `ceph balancer status` shows why it is not used. A \
                 drive that is nearly full is slower than it was."
            .to_owned(),
    })
}
