//! Facts about the cluster, its OSDs and its pools, taken from its answers.

mod bluefs;
mod devices;
mod health;
mod osds;
mod pools;
mod settings;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use bluefs::BlueFsUse;
pub use devices::{Device, Drive};
pub use health::{FullRatios, Health, HealthCheck, PgStates};
pub use osds::OsdFacts;
pub(crate) use osds::osds_up;
pub use pools::{PoolFacts, PoolKind};
pub use settings::{MclockCapacity, OsdSettings, Setting};

use crate::answers::{Answers, Missing, NotKnown};
use crate::ask::Question;

/// A cluster at the moment at which it was asked. What is absent or empty is unknown or does not
/// exist; `not_known` lists the questions without an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterFacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Daemons by type (`osd`) and version (`16.2.15 pacific`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, BTreeMap<String, u64>>,
    /// The oldest release whose OSDs may join, such as `pacific`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_osd_release: Option<String>,
    /// The flags of the OSD map, such as `noscrub`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgs: Option<PgStates>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_ratios: Option<FullRatios>,
    /// By id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub osds: Vec<OsdFacts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolFacts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<NotKnown>,
}

impl ClusterFacts {
    /// Never fails: an answer that is missing or cannot be read leaves its facts unknown.
    pub fn from_answers(answers: &Answers) -> ClusterFacts {
        let mut reader = Reader { answers, not_known: Vec::new() };
        let status: health::StatusAnswer = reader.read(&Question::Status);
        let detail: health::HealthAnswer = reader.read(&Question::HealthDetail);
        let versions: health::VersionsAnswer = reader.read(&Question::Versions);
        let map: osds::OsdDumpAnswer = reader.read(&Question::OsdDump);
        let osds = osds::facts(&mut reader, &map);
        let pools = pools::facts(&mut reader, &map);
        ClusterFacts {
            fsid: status.fsid.clone().or_else(|| map.fsid.clone()),
            health: Health::of(&status, detail),
            versions: health::versions(versions),
            require_osd_release: map.require_osd_release.clone(),
            flags: map.flags(),
            pgs: status.pgs(),
            full_ratios: map.full_ratios(),
            osds,
            pools,
            not_known: reader.not_known,
        }
    }

    pub fn osd(&self, id: u32) -> Option<&OsdFacts> {
        self.osds.iter().find(|osd| osd.id == id)
    }

    /// The versions of all daemons and how many run each, the commonest first.
    pub fn daemons_by_version(&self) -> Vec<(&str, u64)> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (version, count) in self.versions.values().flatten() {
            *counts.entry(version).or_default() += count;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|&(version, count)| (Reverse(count), version));
        counts
    }
}

/// Reads answers, and collects the questions that have none.
pub(crate) struct Reader<'a> {
    answers: &'a Answers,
    not_known: Vec<NotKnown>,
}

impl Reader<'_> {
    fn read<T: DeserializeOwned + Default>(&mut self, question: &Question) -> T {
        self.answers.read(question).unwrap_or_else(|reason| {
            self.not_known.push(NotKnown { question: question.to_string(), reason });
            T::default()
        })
    }

    /// Like [`Reader::read`], for questions that are not always asked, such as those to an OSD that
    /// may be down.
    fn read_if_asked<T: DeserializeOwned + Default>(&mut self, question: &Question) -> T {
        match self.answers.read::<T>(question) {
            Err(Missing::NotAsked) => T::default(),
            _ => self.read(question),
        }
    }
}
