//! The identity of the drive that a record is about.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::sysfs_place;
use crate::{BlockDevice, SystemRoot, Transport};

/// The identity of the drive that a record is about. Kernel names change from boot to boot; model
/// and serial number do not. Drives without a serial number, or with one that another attached
/// drive shares (bridges with a made-up number, two paths to one unit), are identified by their
/// place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Model, as the drive reports it.
    pub model: Option<String>,
    /// Serial number, unless it is shared with another attached drive.
    pub serial: Option<String>,
    /// Size in bytes, for display only.
    pub size_bytes: Option<u64>,
    /// Position in sysfs, which replaces the serial number where there is none.
    pub place: String,
    /// Path when the record was made, for display only.
    pub path: String,
}

impl Identity {
    /// The identity of a disk. All namespaces of an NVMe controller share one, because the cache is
    /// the controller's.
    pub fn of(root: &SystemRoot, disk: &BlockDevice) -> Identity {
        let place = sysfs_place(root, disk.device).unwrap_or_default();
        let top = fs::canonicalize(root.path("")).unwrap_or_default();
        Identity {
            model: disk.model.clone(),
            serial: disk.serial.clone().filter(|_| !has_twin(root, disk)),
            size_bytes: disk.size_bytes,
            place: lasting_place(place.strip_prefix(top).unwrap_or(&place)),
            path: disk.path.to_string_lossy().into_owned(),
        }
    }

    /// Returns whether both identify the same drive.
    pub fn is_same(&self, other: &Identity) -> bool {
        let same_model = self.model == other.model;
        match (&self.serial, &other.serial) {
            (Some(ours), Some(theirs)) => same_model && ours == theirs,
            (None, None) => same_model && self.place == other.place,
            _ => false,
        }
    }

    /// Model and serial number, for display.
    pub fn title(&self) -> String {
        let model = self.model.as_deref().unwrap_or("the drive");
        match &self.serial {
            Some(serial) => format!("{model} ({serial})"),
            None => format!("{model} (was {})", self.path),
        }
    }

    /// A name for the drive's files: readable, and different for different drives.
    pub(super) fn file_stem(&self) -> String {
        let by = self.serial.as_deref().unwrap_or(&self.place);
        let model = self.model.as_deref().unwrap_or("drive");
        let plain = |text: &str| -> String {
            text.chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
                .take(60)
                .collect()
        };
        // Fowler, Noll and Vo's hash (FNV-1a) keeps drives distinct that look alike in the readable
        // part.
        let hash =
            format!("{model}\0{by}").bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        format!("write-cache-{}-{}-{:08x}", plain(model), plain(by), hash as u32)
    }
}

/// Returns whether another attached disk has the same model and serial number. Namespaces of one
/// NVMe controller do, and are not twins.
fn has_twin(root: &SystemRoot, disk: &BlockDevice) -> bool {
    if disk.transport == Transport::Nvme || disk.serial.is_none() {
        return false;
    }
    let names = root.attributes("sys/block").entries("");
    let others =
        names.iter().filter_map(|name| BlockDevice::read(root, root.device_named(name)?).ok());
    others
        .filter(|other| other.device != disk.device)
        .any(|other| (other.model, other.serial) == (disk.model.clone(), disk.serial.clone()))
}

/// The parts of a sysfs path that survive a reboot: numbers given in the order of discovery are
/// dropped.
fn lasting_place(place: &Path) -> String {
    let numbered = |part: &str, word: &str| {
        part.strip_prefix(word)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
    let above_name = parts.split_last().map_or(&[][..], |(_, above)| above);
    let lasting = above_name.iter().filter_map(|part| {
        let address: Vec<&str> = part.split(':').collect();
        match address.as_slice() {
            // Host, channel, target, unit: the host is such a number.
            [_, channel, target, unit]
                if part.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') =>
            {
                Some(format!("{channel}:{target}:{unit}"))
            }
            _ if part.starts_with("target") || numbered(part, "host") => None,
            _ if numbered(part, "nvme") || numbered(part, "virtio") => None,
            _ => Some((*part).to_owned()),
        }
    });
    lasting.collect::<Vec<_>>().join("/")
}
