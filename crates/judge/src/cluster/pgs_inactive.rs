//! Placement groups that serve no I/O.

use ceph::ClusterFacts;
use measurement::{Confidence, Evidence, Finding};

use super::words::verb;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let pgs = facts.pgs.as_ref()?;
    let inactive = pgs.inactive();
    let states = pgs.0.iter().filter(|(state, _)| !state.split('+').any(|part| part == "active"));
    let evidence: Vec<Evidence> =
        states.map(|(state, count)| Evidence::number(state.as_str(), *count as f64, "")).collect();
    (inactive > 0).then(|| Finding {
        id: "ceph-pgs-inactive".to_owned(),
        title: format!(
            "{inactive} of {} placement groups {} no I/O: operations on their objects wait.",
            pgs.total(),
            verb(inactive as usize, "serves", "serve")
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "`ceph health detail` names them, and `ceph pg PGID query` shows what each waits \
                 for. Do not measure before they are active."
            .to_owned(),
    })
}
