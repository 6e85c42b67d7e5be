//! The pools, and the device classes that their CRUSH rules reach.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reader;
use super::osds::OsdDumpAnswer;
use crate::ask::Question;
use crate::lenient;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    Replicated,
    Erasure {
        /// Name of the profile.
        profile: String,
        /// Data and coding chunks, if the profile is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chunks: Option<(u32, u32)>,
    },
    Other(u64),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolFacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    pub name: String,
    pub kind: PoolKind,
    /// Copies or chunks of each object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Copies or chunks without which the pool stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_num: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crush_rule: Option<String>,
    /// Every device class that the rule may choose.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub device_classes: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<String>,
    /// `on`, `off` or `warn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscale_mode: Option<String>,
}

pub(super) fn facts(reader: &mut Reader<'_>, map: &OsdDumpAnswer) -> Vec<PoolFacts> {
    let pools: Vec<PoolAnswer> = reader.read(&Question::PoolDetail);
    let crush: CrushAnswer = reader.read(&Question::CrushDump);
    pools
        .into_iter()
        .map(|pool| {
            let rule =
                crush.rules.iter().find(|rule| rule.id.is_some() && rule.id == pool.crush_rule);
            PoolFacts {
                kind: pool.kind(map),
                id: pool.pool_id,
                name: pool.pool_name.unwrap_or_default(),
                size: pool.size,
                min_size: pool.min_size,
                pg_num: pool.pg_num,
                crush_rule: rule.and_then(|rule| rule.name.clone()),
                device_classes: rule.map_or_else(BTreeSet::new, |rule| crush.classes(rule)),
                applications: pool.application_metadata.into_keys().collect(),
                autoscale_mode: pool.pg_autoscale_mode,
            }
        })
        .collect()
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PoolAnswer {
    #[serde(alias = "pool", deserialize_with = "lenient::de_whole")]
    pool_id: Option<u64>,
    #[serde(deserialize_with = "lenient::de_text")]
    pool_name: Option<String>,
    #[serde(rename = "type", deserialize_with = "lenient::de_whole")]
    kind: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    size: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    min_size: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    pg_num: Option<u64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    crush_rule: Option<u64>,
    #[serde(deserialize_with = "lenient::de_text")]
    pg_autoscale_mode: Option<String>,
    #[serde(deserialize_with = "lenient::de_text")]
    erasure_code_profile: Option<String>,
    application_metadata: BTreeMap<String, Value>,
}

impl PoolAnswer {
    /// The numbers are those of `pg_pool_t` (src/osd/osd_types.h).
    fn kind(&self, map: &OsdDumpAnswer) -> PoolKind {
        match self.kind {
            None | Some(1) => PoolKind::Replicated,
            Some(3) => {
                let profile = self.erasure_code_profile.clone().unwrap_or_default();
                let parameters = map.erasure_code_profiles.get(&profile);
                let number = |key: &str| parameters?.get(key)?.parse().ok();
                PoolKind::Erasure { chunks: number("k").zip(number("m")), profile }
            }
            Some(other) => PoolKind::Other(other),
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct CrushAnswer {
    devices: Vec<CrushDevice>,
    buckets: Vec<Bucket>,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct CrushDevice {
    id: i64,
    #[serde(deserialize_with = "lenient::de_text")]
    class: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Bucket {
    id: i64,
    items: Vec<Item>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Item {
    id: i64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Rule {
    #[serde(rename = "rule_id", deserialize_with = "lenient::de_whole")]
    id: Option<u64>,
    #[serde(rename = "rule_name", deserialize_with = "lenient::de_text")]
    name: Option<String>,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Step {
    op: String,
    item: Option<i64>,
}

impl CrushAnswer {
    /// The classes of all devices below the buckets that the rule takes. A rule for one class takes
    /// a shadow bucket (`default~hdd`), which contains only that class.
    fn classes(&self, rule: &Rule) -> BTreeSet<String> {
        let taken = rule.steps.iter().filter(|step| step.op == "take");
        let mut below: Vec<i64> = taken.filter_map(|step| step.item).collect();
        let (mut seen, mut classes) = (BTreeSet::new(), BTreeSet::new());
        while let Some(id) = below.pop() {
            if !seen.insert(id) {
                continue;
            }
            if id >= 0 {
                let device = self.devices.iter().find(|device| device.id == id);
                classes.extend(device.and_then(|device| device.class.clone()));
            } else {
                let bucket = self.buckets.iter().find(|bucket| bucket.id == id);
                let items = bucket.into_iter().flat_map(|bucket| &bucket.items);
                below.extend(items.map(|item| item.id));
            }
        }
        classes
    }
}
