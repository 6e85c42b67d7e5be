//! What mClock believes an OSD capable of, measured by the OSD itself when it first starts.
//!
//! doc/rados/configuration/mclock-config-ref.rst: results outside the thresholds
//! (`osd_mclock_iops_capacity_threshold_*`, and the low ones of newer releases) are ignored because
//! the benchmark is known to exaggerate. An OSD whose value is not the default skips the benchmark,
//! so a false value stays. Pacific and early Quincy have no thresholds.

use std::collections::BTreeMap;

use ceph::{ClusterFacts, MclockCapacity, Medium, OsdFacts};
use measurement::{Confidence, Evidence, Finding};
use workload::number::number;

use super::words::{commands, list, osds};

const HDD_IOPS: std::ops::RangeInclusive<f64> = 50.0..=500.0;
const SSD_IOPS: std::ops::RangeInclusive<f64> = 1000.0..=80_000.0;

/// Ceph's defaults for a drive that was not measured.
const HDD_DEFAULT_IOPS: u32 = 315;
const SSD_DEFAULT_IOPS: u32 = 21_500;

fn capacities(facts: &ClusterFacts) -> impl Iterator<Item = (&OsdFacts, Medium, MclockCapacity)> {
    let scheduled = facts.osds.iter().filter(|osd| osd.uses_mclock());
    scheduled.filter_map(|osd| Some((osd, osd.medium()?, osd.mclock_capacity()?)))
}

pub(super) fn implausible(facts: &ClusterFacts) -> Option<Finding> {
    let range = |medium| if medium == Medium::Hdd { HDD_IOPS } else { SSD_IOPS };
    let found: Vec<_> = capacities(facts)
        .filter(|(_, medium, capacity)| !range(*medium).contains(&capacity.iops))
        .collect();
    let title = match found.as_slice() {
        [] => return None,
        [(osd, medium, capacity)] => format!(
            "mClock assumes that {} can do {} IOPS; {} can do {} to {}.",
            osd.name(),
            number(capacity.iops),
            if *medium == Medium::Hdd { "a hard disk" } else { "an SSD" },
            number(*range(*medium).start()),
            number(*range(*medium).end())
        ),
        _ => format!(
            "mClock assumes implausible capacities for {} OSDs: {}.",
            found.len(),
            osds(&found.iter().map(|(osd, ..)| *osd).collect::<Vec<_>>())
        ),
    };
    let evidence = found.iter().map(|(osd, medium, capacity)| {
        let what = format!("{} {}", osd.name(), capacity.setting);
        let limits = range(*medium);
        let unit =
            format!("IOPS (plausible: {} to {})", number(*limits.start()), number(*limits.end()));
        Evidence::number(what, capacity.iops, unit)
    });
    let changes = found.iter().map(|(osd, medium, capacity)| {
        let default = if *medium == Medium::Hdd { HDD_DEFAULT_IOPS } else { SSD_DEFAULT_IOPS };
        format!("ceph config set {} {} {default}", osd.name(), capacity.setting)
    });
    let with_flash =
        found.iter().any(|(osd, medium, _)| *medium == Medium::Hdd && osd.db.is_some());
    Some(Finding {
        id: "ceph-mclock-capacity".to_owned(),
        title,
        evidence: evidence.collect(),
        confidence: if with_flash { Confidence::Medium } else { Confidence::High },
        doubt: with_flash.then(|| {
            "With block.db on flash, short bursts of small writes go to that flash first, and the \
             OSD measured those."
                .to_owned()
        }),
        advice: format!(
            "Too high a value leaves recovery and clients unregulated, too low a value throttles \
             both. Measure the IOPS of the OSD at a deep queue and set that; until then Ceph's \
             default: {}. The OSD does not measure again by itself while the value differs from \
             the default.",
            commands(changes)
        ),
    })
}

/// A measured value has six decimals and is never the same twice.
pub(super) fn copied(facts: &ClusterFacts) -> Option<Finding> {
    let mut by_value: BTreeMap<String, Vec<(&OsdFacts, MclockCapacity)>> = BTreeMap::new();
    for (osd, medium, capacity) in capacities(facts) {
        let default = if medium == Medium::Hdd { HDD_DEFAULT_IOPS } else { SSD_DEFAULT_IOPS };
        let is_default = (capacity.iops - f64::from(default)).abs() < 1e-6;
        if !is_default && capacity.is_default != Some(true) && !osd.data.label().is_empty() {
            let value = format!("{} {:.6}", capacity.setting, capacity.iops);
            by_value.entry(value).or_default().push((osd, capacity));
        }
    }
    let differ = |group: &&Vec<(&OsdFacts, MclockCapacity)>| {
        group.iter().any(|(osd, _)| osd.data.label() != group[0].0.data.label())
    };
    let group = by_value.values().find(differ)?;
    let same: Vec<&OsdFacts> = group.iter().map(|(osd, _)| *osd).collect();
    let mut models: Vec<String> = same.iter().map(|osd| osd.data.label()).collect();
    models.sort();
    models.dedup();
    let mut evidence: Vec<Evidence> =
        same.iter().map(|osd| Evidence::fact(osd.name(), osd.data.label())).collect();
    evidence.truncate(8);
    evidence.insert(0, Evidence::number("the same capacity", group[0].1.iops, "IOPS"));
    Some(Finding {
        id: "ceph-mclock-capacity-copied".to_owned(),
        title: format!(
            "mClock assumes exactly {} IOPS for {}, although their drives differ ({}).",
            number(group[0].1.iops),
            osds(&same),
            list(&models)
        ),
        evidence,
        confidence: Confidence::Low,
        doubt: Some("Somebody may have set the value of the slowest drive for all.".to_owned()),
        advice: format!(
            "Measure each model and set its own value: {}.",
            commands(same.iter().map(|osd| {
                format!("ceph config set {} {} IOPS", osd.name(), group[0].1.setting)
            }))
        ),
    })
}
