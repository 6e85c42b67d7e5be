//! The settings of an OSD that decide what a commit takes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lenient;

/// The settings that are kept, of nearly two thousand.
const KEPT: [&str; 40] = [
    "bluestore_cache_autotune",
    "bluestore_cache_size",
    "bluestore_cache_size_hdd",
    "bluestore_cache_size_ssd",
    "bluestore_deferred_batch_ops",
    "bluestore_deferred_batch_ops_hdd",
    "bluestore_deferred_batch_ops_ssd",
    "bluestore_max_deferred_txc",
    "bluestore_min_alloc_size",
    "bluestore_min_alloc_size_hdd",
    "bluestore_min_alloc_size_ssd",
    "bluestore_prefer_deferred_size",
    "bluestore_prefer_deferred_size_hdd",
    "bluestore_prefer_deferred_size_ssd",
    "bluestore_rocksdb_cf",
    "bluestore_rocksdb_cfs",
    "bluestore_rocksdb_options",
    "bluestore_rocksdb_options_annex",
    "bluestore_throttle_bytes",
    "bluestore_throttle_deferred_bytes",
    "bluestore_volume_selection_policy",
    "bluestore_volume_selection_reserved",
    "bluestore_volume_selection_reserved_factor",
    "bluefs_wal_envelope_mode",
    "osd_memory_target",
    "osd_memory_target_autotune",
    "osd_mclock_iops_capacity_threshold_hdd",
    "osd_mclock_iops_capacity_threshold_ssd",
    "osd_mclock_max_capacity_iops_hdd",
    "osd_mclock_max_capacity_iops_ssd",
    "osd_mclock_profile",
    "osd_mclock_skip_benchmark",
    "osd_objectstore",
    "osd_op_num_shards",
    "osd_op_num_shards_hdd",
    "osd_op_num_shards_ssd",
    "osd_op_num_threads_per_shard",
    "osd_op_num_threads_per_shard_hdd",
    "osd_op_num_threads_per_shard_ssd",
    "osd_op_queue",
];

/// Settings by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OsdSettings(pub BTreeMap<String, Setting>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    pub value: String,
    /// `default`, `mon`, `file`, `override` or `cmdline`, where the manager reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl OsdSettings {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|setting| setting.value.as_str())
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.trim().parse().ok()
    }

    /// Returns whether nobody set it; unknown without its source.
    pub fn is_default(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.source.as_deref().map(|source| source == "default")
    }

    /// Those of the manager, completed by those that the OSD itself and the monitors reported.
    pub(super) fn of(manager: ManagerSettings, own: OwnSettings, database: &[Override]) -> Self {
        let mut settings = BTreeMap::new();
        let mut keep = |name: String, value: Option<String>, source: Option<String>| {
            if let (true, Some(value)) = (KEPT.contains(&name.as_str()), value) {
                settings.entry(name).or_insert(Setting { value, source });
            }
        };
        for setting in manager {
            keep(setting.name, setting.value, setting.source);
        }
        for (name, value) in own {
            let set = database.iter().any(|one| one.name == name);
            keep(name, lenient::text(&value), set.then(|| "mon".to_owned()));
        }
        for one in database {
            keep(one.name.clone(), one.value.clone(), Some("mon".to_owned()));
        }
        OsdSettings(settings)
    }
}

/// `osd_mclock_max_capacity_iops_hdd` or `…_ssd`, whichever holds for an OSD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MclockCapacity {
    pub setting: String,
    pub iops: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_default: Option<bool>,
}

pub(super) type ManagerSettings = Vec<ManagerSetting>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ManagerSetting {
    name: String,
    #[serde(deserialize_with = "lenient::de_text")]
    value: Option<String>,
    #[serde(deserialize_with = "lenient::de_text")]
    source: Option<String>,
}

pub(super) type OwnSettings = BTreeMap<String, Value>;

/// An entry of `config dump`, the monitors' database of settings.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Override {
    /// `global`, `osd` or `osd.3`.
    section: String,
    name: String,
    #[serde(deserialize_with = "lenient::de_text")]
    value: Option<String>,
    /// Restricts it to hosts or device classes; such an entry is left to the manager to apply.
    #[serde(deserialize_with = "lenient::de_text")]
    mask: Option<String>,
}

/// The entries that hold for an OSD, the most specific first.
pub(super) fn overrides_for(database: &[Override], id: u32) -> Vec<Override> {
    let own = format!("osd.{id}");
    let in_section = |section: &str| {
        let entries = database.iter().filter(|one| one.section == section && one.mask.is_none());
        entries.cloned().collect::<Vec<_>>()
    };
    [own.as_str(), "osd", "global"].into_iter().flat_map(in_section).collect()
}
