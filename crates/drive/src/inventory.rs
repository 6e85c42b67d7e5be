//! Every block device of a machine, with all that can be told of it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::sysfs_place;
use crate::bus::Attached;
use crate::system_root::Attributes;
use crate::usage::{claimed_by_unknown, natural};
use crate::{
    Answer, BlockDevice, CacheReading, CacheViews, CommandError, DeviceNumber, Health, OpenDrive, SystemRoot,
    Transport, Usage,
};

/// A disk, or a layer that looks like one, and everything about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveRecord {
    /// The device as sysfs describes it, with the layers beneath.
    pub device: BlockDevice,
    /// The node of its controller; `None` where there is but one, or sysfs does not say.
    pub numa_node: Option<u32>,
    /// Its world-wide name.
    pub wwn: Option<String>,
    /// The address of its controller on PCI: `0000:03:00.0`.
    pub pci_address: Option<String>,
    /// Its volatile write cache, from three sides.
    pub cache: CacheViews,
    /// Its health.
    pub health: Answer<Health>,
    /// What lies on it.
    pub usage: Option<Usage>,
    /// Queues that are polled instead of interrupting, as the driver was told (`nvme.poll_queues`).
    #[serde(default)]
    pub poll_queues: Option<u64>,
    /// Whether somebody has claimed it whom no table names: ZFS, Ceph, another program. `None` where that was not tried.
    pub claimed: Option<bool>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// In the order in which people count: `sda`, `sdb`, ..., `sdaa`.
    pub drives: Vec<DriveRecord>,
    /// Kernel names of devices that were listed and gone when they were looked at.
    pub vanished: Vec<String>,
}

impl Inventory {
    /// Everything that `/sys/block` lists, but for devices that stand for nothing: loop devices without a file, empty card readers, unused memory disks.
    pub fn read(root: &SystemRoot) -> Inventory {
        let mut inventory = Inventory::default();
        let mut names = root.attributes("sys/block").entries("");
        names.sort_by_key(|name| natural(Path::new(name)));
        for name in names {
            // The paths of an NVMe drive with several: its namespace stands for them, and they have no node.
            if root.attributes(format!("sys/block/{name}")).flag("hidden") == Some(true) {
                continue;
            }
            match root.device_named(&name).and_then(|number| BlockDevice::read(root, number).ok()) {
                None => inventory.vanished.push(name),
                Some(device) if stands_for_nothing(&device) => {}
                Some(device) => match DriveRecord::of(root, device) {
                    Some(record) => inventory.drives.push(record),
                    None => inventory.vanished.push(name),
                },
            }
        }
        inventory
    }
}

/// A device without room holds nothing. The kernel makes sixteen RAM disks that nobody asked for; a size alone is no use of them.
fn stands_for_nothing(device: &BlockDevice) -> bool {
    match device.transport {
        Transport::Loop => device.backing_file.is_none(),
        Transport::Ram => device.holders.is_empty(),
        // A size that cannot be read is not nothing.
        _ => device.size_bytes == Some(0),
    }
}

impl DriveRecord {
    /// All about a whole disk or layer. `None` when it has vanished meanwhile.
    pub fn of(root: &SystemRoot, mut device: BlockDevice) -> Option<DriveRecord> {
        let place = sysfs_place(root, device.device)?;
        let disk = Attributes { directory: place };
        let attached = Attached::new(root, device.clone())?;
        let usage = Usage::of(root, device.device);
        let (drive, health) = ask(root, &mut device);
        Some(DriveRecord {
            numa_node: attached.numa_node(),
            wwn: ["wwid", "device/wwid"].iter().find_map(|file| disk.text(file)),
            pci_address: attached.pci_address(),
            cache: CacheViews::of(&device, usage.as_ref(), drive),
            health,
            usage,
            claimed: None,
            poll_queues: (device.transport == Transport::Nvme)
                .then(|| root.attributes("sys/module/nvme/parameters").parsed("poll_queues"))
                .flatten(),
            device,
        })
    }

    /// The record of the disk with this number, or of the disk of a partition with it.
    ///
    /// # Errors
    /// [`crate::DriveError::NoSuchDevice`] when it is not there.
    pub fn read(root: &SystemRoot, number: DeviceNumber) -> Result<DriveRecord, crate::DriveError> {
        let device = BlockDevice::read(root, number)?;
        let disk = BlockDevice::read(root, device.disk_device())?;
        DriveRecord::of(root, disk).ok_or(crate::DriveError::NoSuchDevice { device: number })
    }

    /// With an answer to whether somebody has claimed it, for which it is claimed for a moment: not for drives that nobody asked about, because
    /// a `mount` of that moment would be refused.
    #[must_use]
    pub fn with_claim(self, root: &SystemRoot) -> DriveRecord {
        let claimed = (*root == SystemRoot::default()).then(|| claimed_by_unknown(root, &self.device));
        DriveRecord { claimed, ..self }
    }

    /// Whether an answer is missing that root would get.
    pub fn needs_root(&self) -> bool {
        self.cache.drive.needs_root() || self.health.needs_root()
    }
}

/// Asks the drive itself, and fills in names that sysfs leaves out or cuts short.
fn ask(root: &SystemRoot, device: &mut BlockDevice) -> (Answer<CacheReading>, Answer<Health>) {
    if *root != SystemRoot::default() {
        let because = || "it is not a drive of this machine".to_owned();
        return (Answer::NotAsked { because: because() }, Answer::NotAsked { because: because() });
    }
    let mut drive = match OpenDrive::open(root, device) {
        Ok(drive) => drive,
        Err(error) => {
            let health = match &error {
                CommandError::NeedsRoot { .. } => Answer::NeedsRoot,
                CommandError::NotSupported { because, .. } => Answer::NotAsked { because: because.clone() },
                error => Answer::Failed { error: error.to_string() },
            };
            return (Err(error).into(), health);
        }
    };
    let answers = (drive.write_cache().into(), drive.health().into());
    if let Ok(identity) = drive.identity() {
        device.model = identity.model.or(device.model.take());
        device.serial = identity.serial.or(device.serial.take());
        device.firmware = identity.firmware.or(device.firmware.take());
    }
    answers
}

#[cfg(test)]
mod tests;
