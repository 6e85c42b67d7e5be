//! Pools that place copies on drives of different kinds.

use ceph::{ClusterFacts, PoolFacts, PoolKind};
use measurement::{Confidence, Evidence, Finding};

use super::words::{list, verb};
use crate::wording::shell_word;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    // The manager's own pool is small and rarely written.
    let of_manager =
        |pool: &PoolFacts| pool.applications.iter().any(|name| name.starts_with("mgr"));
    let mixed: Vec<&PoolFacts> = facts
        .pools
        .iter()
        .filter(|pool| pool.device_classes.len() > 1 && !of_manager(pool))
        .collect();
    let first = mixed.first()?;
    let names: Vec<String> = mixed.iter().map(|pool| pool.name.clone()).collect();
    let with_hdd = mixed.iter().any(|pool| pool.device_classes.contains("hdd"));
    let classes = |pool: &PoolFacts| {
        let classes: Vec<String> = pool.device_classes.iter().cloned().collect();
        list(&classes)
    };
    let replicated = mixed.iter().find(|pool| pool.kind == PoolKind::Replicated);
    let advised = replicated.unwrap_or(first);
    let fastest = ["nvme", "ssd"].into_iter().find(|class| advised.device_classes.contains(*class));
    let (rule, name) = (fastest.unwrap_or("ssd"), shell_word(&advised.name));
    let make = if replicated.is_some() {
        format!(
            "Make a rule for one class, `ceph osd crush rule create-replicated on-{rule} default \
             host {rule}`"
        )
    } else {
        format!(
            "Make an erasure-code profile with crush-device-class={rule} and a rule from it, `ceph \
             osd crush rule create-erasure on-{rule} PROFILE`"
        )
    };
    Some(Finding {
        id: "ceph-mixed-classes".to_owned(),
        title: format!(
            "{} {} {} data on different kinds of drives: a write takes as long as on the \
             slowest.",
            verb(mixed.len(), "Pool", "Pools"),
            list(&names),
            verb(mixed.len(), "keeps its", "keep their")
        ),
        evidence: mixed
            .iter()
            .map(|pool| {
                let rule = pool.crush_rule.as_deref().unwrap_or("unknown");
                let words = format!("{} by rule {rule}", classes(pool));
                Evidence::fact(pool.name.as_str(), words)
            })
            .collect(),
        confidence: if with_hdd { Confidence::High } else { Confidence::Medium },
        doubt: (!with_hdd).then(|| "Both classes are flash, and may be equally fast.".to_owned()),
        advice: format!(
            "{make}, and use it: `ceph osd pool set {name} crush_rule on-{rule}`. That moves data; \
             check the space of that class first."
        ),
    })
}
