//! OSDs on the old object store.

use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};

use super::words::{osds, verb};

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let found: Vec<&OsdFacts> =
        facts.osds.iter().filter(|osd| osd.objectstore.as_deref() == Some("filestore")).collect();
    (!found.is_empty()).then(|| Finding {
        id: "ceph-filestore".to_owned(),
        title: format!(
            "{} {} Filestore, which Reef (18) and later cannot open.",
            osds(&found),
            verb(found.len(), "uses", "use")
        ),
        evidence: vec![Evidence::number("OSDs on Filestore", found.len() as f64, "")],
        confidence: Confidence::High,
        doubt: None,
        advice: "Recreate them as BlueStore before you upgrade. Their commits are fast until the \
                 journal is full, so measure longer than it takes to fill it."
            .to_owned(),
    })
}
