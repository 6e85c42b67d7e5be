//! The block devices of an OSD and the drives under them, from its metadata.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A block device of an OSD: its data, `block.db` or `block.wal`. It may be a logical volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// What the OSD believes, from the kernel's `queue/rotational`. A device that it cannot
    /// identify counts as rotational.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// `hdd` or `ssd`, or the name of another driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The drives under it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<Drive>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// The kernel's name on the OSD's host, such as `sda`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

impl Device {
    /// The models of its drives, or their names where the model is unknown.
    pub fn label(&self) -> String {
        let names = self.drives.iter().map(|drive| drive.model.as_ref().unwrap_or(&drive.name));
        names.cloned().collect::<Vec<_>>().join(", ")
    }

    /// Returns whether its drives are flash by their names, whatever the kernel says: NVMe drives
    /// do not rotate, and some models call themselves SSD.
    pub fn is_flash_by_name(&self) -> bool {
        let is_flash = |drive: &Drive| {
            let model = drive.model.as_deref().unwrap_or_default().to_ascii_uppercase();
            let words = model.split(|letter: char| !letter.is_ascii_alphanumeric());
            drive.name.starts_with("nvme")
                || words.into_iter().any(|word| word == "SSD" || word == "NVME")
        };
        !self.drives.is_empty() && self.drives.iter().all(is_flash)
    }
}

/// The metadata of an OSD: text by key.
pub(super) type Metadata = BTreeMap<String, String>;

/// The device whose keys begin with this prefix (`bluestore_bdev_`, `bluefs_db_`).
pub(super) fn device(metadata: &Metadata, prefix: &str) -> Device {
    let get = |key: &str| metadata.get(&format!("{prefix}{key}")).filter(|text| !text.is_empty());
    let names = get("devices").or_else(|| get("dev_node"));
    let names = names.map_or_else(Vec::new, |names| names.split(',').map(str::trim).collect());
    let mut drives: Vec<Drive> = names.into_iter().map(|name| drive(metadata, name)).collect();
    // Mimic and older report the model of a device that is a whole drive.
    if let ([drive], Some(model)) = (drives.as_mut_slice(), get("model")) {
        drive.model.get_or_insert_with(|| model.trim().to_owned());
    }
    Device {
        size_bytes: get("size").and_then(|text| text.parse().ok()),
        rotational: get("rotational").map(|text| text == "1"),
        kind: get("type").cloned(),
        drives,
    }
}

/// `device_ids` is `sda=VENDOR_MODEL_SERIAL,nvme0n1=…`, with spaces as underscores
/// (src/common/blkdev.cc, `get_device_id`).
fn drive(metadata: &Metadata, name: &str) -> Drive {
    let ids = metadata.get("device_ids").map_or("", String::as_str);
    let id = ids.split(',').find_map(|id| id.trim().strip_prefix(name)?.strip_prefix('='));
    let parts = id.filter(|id| !id.is_empty()).map(|id| id.rsplit_once('_').unwrap_or((id, "")));
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    // `ATA` stands where a SCSI drive has its vendor.
    let words = |model: &str| {
        let words = model.split('_').filter(|word| !word.is_empty());
        words.skip_while(|word| *word == "ATA").collect::<Vec<_>>().join(" ")
    };
    Drive {
        name: name.to_owned(),
        model: parts.and_then(|(model, _)| known(&words(model))),
        serial: parts.and_then(|(_, serial)| known(serial)),
    }
}
