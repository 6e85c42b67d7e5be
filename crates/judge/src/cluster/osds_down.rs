//! OSDs that do not run, or hold no data although they run.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};

use super::words::{osds, verb};

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let which = |missing: fn(&OsdFacts) -> bool| {
        facts.osds.iter().filter(|osd| missing(osd)).collect::<Vec<_>>()
    };
    let down = which(|osd| osd.up == Some(false));
    let out = which(|osd| osd.up == Some(true) && osd.is_in == Some(false));
    let (title, evidence) = match (down.len(), out.len()) {
        (0, 0) => return None,
        (0, count) => (
            format!(
                "{} of {} OSDs {} out: CRUSH places no data on {}.",
                count,
                facts.osds.len(),
                verb(count, "is", "are"),
                osds(&out)
            ),
            vec![Evidence::fact("up but out", osds(&out))],
        ),
        (count, _) => {
            let mut evidence = vec![Evidence::fact("down", osds(&down))];
            if !out.is_empty() {
                evidence.push(Evidence::fact("up but out", osds(&out)));
            }
            let title = format!(
                "{} of {} OSDs {} down: {}.",
                count,
                facts.osds.len(),
                verb(count, "is", "are"),
                osds(&down)
            );
            (title, evidence)
        }
    };
    Some(Finding {
        id: "ceph-osds-down".to_owned(),
        title,
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "The other OSDs do the work of these, so a measurement shows less than the whole \
                 cluster. `ceph crash ls` and the log of each OSD show why it stopped; \
                 `ceph osd in ID` places data on an OSD again."
            .to_owned(),
    })
}
