//! The OSDs to measure, and warnings about the state of the cluster.

use ceph::{ClusterFacts, OsdFacts};

use crate::args::ceph::OsdChoice;
use crate::exit::WrongUse;
use crate::progress::Progress;

/// The OSDs that the user wants, and that can be measured.
pub fn wanted<'a>(
    choice: &OsdChoice,
    facts: &'a ClusterFacts,
) -> anyhow::Result<Vec<&'a OsdFacts>> {
    for id in &choice.osds {
        match facts.osd(*id) {
            None => {
                let known: Vec<String> = facts.osds.iter().map(OsdFacts::name).collect();
                return Err(WrongUse(format!(
                    "the cluster has no osd.{id}; it has {}",
                    if known.is_empty() {
                        "none that it names".to_owned()
                    } else {
                        known.join(", ")
                    }
                ))
                .into());
            }
            Some(osd) if osd.up == Some(false) => {
                return Err(WrongUse(format!("osd.{id} is down; start it first")).into());
            }
            Some(_) => {}
        }
    }
    let wants = |osd: &&OsdFacts| {
        let named = choice.osds.is_empty() || choice.osds.contains(&osd.id);
        let on_host = choice.host.is_none() || choice.host == osd.host;
        let of_class = choice.class.is_none() || choice.class == osd.class;
        named && on_host && of_class && osd.up != Some(false)
    };
    let wanted: Vec<&OsdFacts> = facts.osds.iter().filter(wants).collect();
    if wanted.is_empty() {
        return Err(WrongUse(
            "no OSD that is up matches; `flushmark ceph layout` lists them".to_owned(),
        )
        .into());
    }
    Ok(wanted)
}

/// Warns of everything in the cluster that would distort a measurement.
pub fn warn(facts: &ClusterFacts, progress: &Progress) {
    for finding in judge::cluster(facts).iter().filter(|one| judge::falsifies_measurement(one)) {
        progress.line(&format!("this may falsify the measurement: {}", finding.title));
    }
}
