//! The OSDs: from the OSD map, the CRUSH tree, `osd df`, their metadata, settings and counters.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reader;
use super::bluefs::{BlueFsUse, PerfDumpAnswer};
use super::devices::{Device, Metadata, device};
use super::health::{FullRatios, short_version};
use super::settings::{
    ManagerSettings, MclockCapacity, OsdSettings, Override, OwnSettings, overrides_for,
};
use crate::answers::Answers;
use crate::ask::Question;
use crate::lenient;
use crate::medium::Medium;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OsdFacts {
    pub id: u32,
    /// The bucket of type host in the CRUSH tree, or else the host's name in the metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The CRUSH device class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// CRUSH places data on it.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub is_in: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crush_weight: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reweight: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgs: Option<u64>,
    /// Such as `16.2.15 pacific`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version that made its object store, whose defaults it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_with: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objectstore: Option<String>,
    /// Fixed when the OSD was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_alloc_size_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_address: Option<String>,
    pub data: Device,
    /// A separate device for RocksDB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db: Option<Device>,
    /// A separate device for RocksDB's write-ahead log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wal: Option<Device>,
    pub settings: OsdSettings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bluefs: Option<BlueFsUse>,
}

impl OsdFacts {
    pub fn name(&self) -> String {
        format!("osd.{}", self.id)
    }

    /// The device that a commit is written to: that of the write-ahead log.
    pub fn log_device(&self) -> &Device {
        self.wal.as_ref().or(self.db.as_ref()).unwrap_or(&self.data)
    }

    /// The address at which clients reach it, parsed from one such as `[v2:10.0.0.1:6800/71,v1:…]`.
    ///
    /// ```
    /// let osd = ceph::OsdFacts {
    ///     front_address: Some("[v2:[fd00::1]:6800/71,v1:[fd00::1]:6801/71]".to_owned()),
    ///     ..Default::default()
    /// };
    /// assert_eq!(osd.front_socket().unwrap().to_string(), "[fd00::1]:6800");
    /// ```
    pub fn front_socket(&self) -> Option<SocketAddr> {
        let address = self.front_address.as_deref()?;
        let first = address.split(',').next()?.split('/').next()?;
        let socket = match first.find("v2:").or_else(|| first.find("v1:")) {
            Some(at) => &first[at + 3..],
            None => first,
        };
        socket.parse().ok()
    }

    /// By the rotational flag of its data device, or the class if that is unknown.
    pub fn medium(&self) -> Option<Medium> {
        match (self.data.rotational, self.class.as_deref()) {
            (Some(true), _) | (None, Some("hdd")) => Some(Medium::Hdd),
            (Some(false), _) | (None, Some("ssd" | "nvme")) => Some(Medium::Ssd),
            (None, _) => None,
        }
    }

    /// The setting in force, as BlueStore chooses it: the plain name unless that is 0, else the
    /// medium's variant.
    pub fn chosen(&self, name: &str) -> Option<f64> {
        match self.settings.number(name) {
            Some(plain) if plain != 0.0 => Some(plain),
            _ => self.settings.number(&format!("{name}_{}", self.medium()?.suffix())),
        }
    }

    /// Queues between which the OSD divides its PGs.
    pub fn shards(&self) -> Option<u32> {
        self.chosen("osd_op_num_shards").map(|number| number as u32)
    }

    pub fn threads_per_shard(&self) -> Option<u32> {
        self.chosen("osd_op_num_threads_per_shard").map(|number| number as u32)
    }

    pub fn memory_target_bytes(&self) -> Option<u64> {
        self.settings.number("osd_memory_target").map(|bytes| bytes as u64)
    }

    /// The scheduler of operations: `wpq` or `mclock_scheduler`.
    pub fn queue(&self) -> Option<&str> {
        self.settings.text("osd_op_queue")
    }

    pub fn uses_mclock(&self) -> bool {
        self.queue().is_some_and(|queue| queue.starts_with("mclock"))
    }

    /// The rate that mclock believes the OSD capable of.
    pub fn mclock_capacity(&self) -> Option<MclockCapacity> {
        let setting = format!("osd_mclock_max_capacity_iops_{}", self.medium()?.suffix());
        let iops = self.settings.number(&setting)?;
        let is_default = self.settings.is_default(&setting);
        Some(MclockCapacity { setting, iops, is_default })
    }
}

/// The ids of the OSDs that are up, or of all that are named if no answer says which are.
pub(crate) fn osds_up(answers: &Answers) -> Vec<u32> {
    let map: OsdDumpAnswer = answers.read(&Question::OsdDump).unwrap_or_default();
    if !map.osds.is_empty() {
        let up = map.osds.iter().filter(|osd| osd.up != Some(false));
        return up.filter_map(MapOsd::id).collect();
    }
    let tree: TreeAnswer = answers.read(&Question::OsdTree).unwrap_or_default();
    let up = tree.osds().filter(|node| node.status.as_deref() != Some("down"));
    up.filter_map(|node| u32::try_from(node.id).ok()).collect()
}

pub(super) fn facts(reader: &mut Reader<'_>, map: &OsdDumpAnswer) -> Vec<OsdFacts> {
    let tree: TreeAnswer = reader.read(&Question::OsdTree);
    let df: TreeAnswer = reader.read(&Question::OsdDf);
    let metadata: Vec<BTreeMap<String, Value>> = reader.read(&Question::OsdMetadata);
    let database: Vec<Override> = reader.read(&Question::ConfigDump);
    let metadata: BTreeMap<u32, Metadata> = metadata.iter().filter_map(with_id).collect();

    let of_tree = tree.osds().filter_map(|node| u32::try_from(node.id).ok());
    let of_map = map.osds.iter().filter_map(MapOsd::id);
    let ids: BTreeSet<u32> = of_map.chain(of_tree).chain(metadata.keys().copied()).collect();
    let hosts = tree.hosts();
    let none = Metadata::new();
    ids.into_iter()
        .map(|id| {
            let in_map = map.osds.iter().find(|osd| osd.id() == Some(id));
            let in_tree = tree.osds().find(|node| node.id == i64::from(id));
            let in_df = df.osds().find(|node| node.id == i64::from(id));
            let metadata = metadata.get(&id).unwrap_or(&none);
            let get = |key: &str| metadata.get(key).filter(|text| !text.is_empty()).cloned();
            let separate = |key: &str, prefix: &str| {
                (get(key).as_deref() == Some("1")).then(|| device(metadata, prefix))
            };
            let mut osd = OsdFacts {
                id,
                host: hosts.get(&id).cloned().or_else(|| get("hostname")),
                class: in_tree
                    .and_then(|node| node.device_class.clone())
                    .or_else(|| get("default_device_class")),
                up: in_map.and_then(|osd| osd.up).or_else(|| in_tree?.is_up()),
                is_in: in_map.and_then(|osd| osd.is_in),
                crush_weight: in_tree.or(in_df).and_then(|node| node.crush_weight),
                reweight: in_tree.or(in_df).and_then(|node| node.reweight),
                size_bytes: in_df.and_then(Node::kib).map(|kib| kib * 1024),
                use_percent: in_df
                    .filter(|node| node.kib().is_some())
                    .and_then(|node| node.utilization),
                pgs: in_df.and_then(|node| node.pgs),
                version: get("ceph_version").map(|text| short_version(&text)),
                created_with: get("ceph_version_when_created").map(|text| short_version(&text)),
                objectstore: get("osd_objectstore"),
                min_alloc_size_bytes: get("bluestore_min_alloc_size")
                    .and_then(|text| text.parse().ok()),
                front_address: get("front_addr"),
                back_address: get("back_addr"),
                data: device(metadata, "bluestore_bdev_"),
                db: separate("bluefs_dedicated_db", "bluefs_db_"),
                wal: separate("bluefs_dedicated_wal", "bluefs_wal_"),
                settings: settings(reader, id, &database),
                bluefs: None,
            };
            let counters: PerfDumpAnswer = reader.read_if_asked(&Question::PerfDump(id));
            osd.bluefs = counters.bluefs;
            // Before Octopus, only the presence of its keys shows that there is a device.
            if get("bluefs_dedicated_db").is_none() && get("bluefs_db_size").is_some() {
                let shared = get("bluefs_single_shared_device").as_deref() == Some("1");
                osd.db = (!shared).then(|| device(metadata, "bluefs_db_"));
            }
            if get("bluefs_dedicated_wal").is_none() && get("bluefs_wal_size").is_some() {
                osd.wal = Some(device(metadata, "bluefs_wal_"));
            }
            osd
        })
        .collect()
}

fn settings(reader: &mut Reader<'_>, id: u32, database: &[Override]) -> OsdSettings {
    let own: OwnSettings = reader.read_if_asked(&Question::RunningConfig(id));
    // The OSD's own report replaces that of a manager that did not answer.
    let manager: ManagerSettings = if own.is_empty() {
        reader.read_if_asked(&Question::ConfigOfOsd(id))
    } else {
        reader.answers.read(&Question::ConfigOfOsd(id)).unwrap_or_default()
    };
    OsdSettings::of(manager, own, &overrides_for(database, id))
}

fn with_id(metadata: &BTreeMap<String, Value>) -> Option<(u32, Metadata)> {
    let id = metadata.get("id").and_then(lenient::whole)?;
    let texts =
        metadata.iter().filter_map(|(key, value)| Some((key.clone(), lenient::text(value)?)));
    Some((u32::try_from(id).ok()?, texts.collect()))
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct OsdDumpAnswer {
    #[serde(deserialize_with = "lenient::de_text")]
    pub(super) fsid: Option<String>,
    /// Separated by commas. `flags_set` is incomplete in some releases.
    #[serde(deserialize_with = "lenient::de_text")]
    flags: Option<String>,
    #[serde(deserialize_with = "lenient::de_text")]
    pub(super) require_osd_release: Option<String>,
    #[serde(deserialize_with = "lenient::de_number")]
    full_ratio: Option<f64>,
    #[serde(deserialize_with = "lenient::de_number")]
    backfillfull_ratio: Option<f64>,
    #[serde(deserialize_with = "lenient::de_number")]
    nearfull_ratio: Option<f64>,
    osds: Vec<MapOsd>,
    pub(super) erasure_code_profiles: BTreeMap<String, BTreeMap<String, String>>,
}

impl OsdDumpAnswer {
    pub(super) fn flags(&self) -> Vec<String> {
        let flags = self.flags.as_deref().unwrap_or_default().split(',');
        flags.filter(|flag| !flag.is_empty()).map(str::to_owned).collect()
    }

    /// The map holds them as 32-bit numbers: 0.85 arrives as 0.8500000238418579.
    pub(super) fn full_ratios(&self) -> Option<FullRatios> {
        let rounded = |ratio: f64| (ratio * 1e4).round() / 1e4;
        Some(FullRatios {
            near_full: rounded(self.nearfull_ratio?),
            backfill_full: rounded(self.backfillfull_ratio?),
            full: rounded(self.full_ratio?),
        })
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct MapOsd {
    #[serde(deserialize_with = "lenient::de_whole")]
    osd: Option<u64>,
    #[serde(deserialize_with = "lenient::de_flag")]
    up: Option<bool>,
    #[serde(rename = "in", deserialize_with = "lenient::de_flag")]
    is_in: Option<bool>,
}

impl MapOsd {
    fn id(&self) -> Option<u32> {
        u32::try_from(self.osd?).ok()
    }
}

/// `osd tree` and `osd df` have the same nodes, the latter with figures.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct TreeAnswer {
    nodes: Vec<Node>,
    /// OSDs outside the tree.
    stray: Vec<Node>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Node {
    id: i64,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    children: Vec<i64>,
    #[serde(deserialize_with = "lenient::de_text")]
    device_class: Option<String>,
    #[serde(deserialize_with = "lenient::de_text")]
    status: Option<String>,
    #[serde(deserialize_with = "lenient::de_number")]
    crush_weight: Option<f64>,
    #[serde(deserialize_with = "lenient::de_number")]
    reweight: Option<f64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    kb: Option<u64>,
    #[serde(deserialize_with = "lenient::de_number")]
    utilization: Option<f64>,
    #[serde(deserialize_with = "lenient::de_whole")]
    pgs: Option<u64>,
}

impl Node {
    /// A down OSD may be listed with no space at all.
    fn kib(&self) -> Option<u64> {
        self.kb.filter(|kib| *kib > 0)
    }

    fn is_up(&self) -> Option<bool> {
        self.status.as_deref().map(|status| status == "up")
    }
}

impl TreeAnswer {
    fn osds(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().chain(&self.stray).filter(|node| node.kind == "osd" && node.id >= 0)
    }

    /// The host of each OSD, through buckets below hosts if there are any.
    fn hosts(&self) -> BTreeMap<u32, String> {
        let mut hosts = BTreeMap::new();
        for host in self.nodes.iter().filter(|node| node.kind == "host") {
            let mut below = host.children.clone();
            let mut seen = BTreeSet::new();
            while let Some(id) = below.pop() {
                if let Ok(osd) = u32::try_from(id) {
                    hosts.insert(osd, host.name.clone());
                } else if seen.insert(id) {
                    let bucket = self.nodes.iter().find(|node| node.id == id);
                    below.extend(bucket.into_iter().flat_map(|bucket| &bucket.children));
                }
            }
        }
        hosts
    }
}
