//! Lists every block device of a machine with all facts about it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::sysfs_place;
use crate::bus::Attached;
use crate::system_root::Attributes;
use crate::usage::{claimed_by_unknown, natural};
use crate::{
    Answer, BlockDevice, CacheReading, CacheViews, CommandError, DeviceNumber, Health, OpenDrive,
    SystemRoot, Transport, Usage,
};

/// All facts about a disk, or a layer that looks like one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveRecord {
    /// The device as sysfs describes it, with the layers below.
    pub device: BlockDevice,
    /// NUMA node of its controller; `None` on machines with one node, or where sysfs does not say.
    pub numa_node: Option<u32>,
    /// World-wide name (WWN).
    pub wwn: Option<String>,
    /// PCI address of its controller: `0000:03:00.0`.
    pub pci_address: Option<String>,
    /// Its volatile write cache as drive, kernel and filesystems see it.
    pub cache: CacheViews,
    /// The drive's health report.
    pub health: Answer<Health>,
    /// Partitions, layers and filesystems on it.
    pub usage: Option<Usage>,
    /// Number of queues that are polled instead of using interrupts, from the driver's parameter
    /// (`nvme.poll_queues`).
    #[serde(default)]
    pub poll_queues: Option<u64>,
    /// True if a user that no kernel table names has claimed it: ZFS, Ceph, another program. `None`
    /// if not tested.
    pub claimed: Option<bool>,
}

/// The result of listing all devices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// In natural order: `sda`, `sdb`, ..., `sdaa`.
    pub drives: Vec<DriveRecord>,
    /// Kernel names of devices that vanished between listing and reading.
    pub vanished: Vec<String>,
}

impl Inventory {
    /// Reads everything in `/sys/block` except placeholders: loop devices without a file, empty
    /// card readers, unused memory disks.
    pub fn read(root: &SystemRoot) -> Inventory {
        let mut inventory = Inventory::default();
        for name in names(root) {
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

/// The kernel names of all disks and layers, in natural order.
fn names(root: &SystemRoot) -> Vec<String> {
    let mut names = root.attributes("sys/block").entries("");
    // The paths of a multipath NVMe drive: its namespace represents them, and they have no node.
    names.retain(|name| root.attributes(format!("sys/block/{name}")).flag("hidden") != Some(true));
    names.sort_by_key(|name| natural(Path::new(name)));
    names
}

/// The drives of a machine, without the layers above them and without asking the drives anything.
pub fn drives(root: &SystemRoot) -> Vec<BlockDevice> {
    let named = names(root).into_iter().filter_map(|name| root.device_named(&name));
    let devices = named.filter_map(|number| BlockDevice::read(root, number).ok());
    devices.filter(|device| device.layers.is_empty() && !stands_for_nothing(device)).collect()
}

/// A device without capacity stores nothing. The kernel also creates sixteen RAM disks by default,
/// so a size alone does not show that one is in use.
fn stands_for_nothing(device: &BlockDevice) -> bool {
    match device.transport {
        Transport::Loop => device.backing_file.is_none(),
        Transport::Ram => device.holders.is_empty(),
        // An unreadable size is not zero.
        _ => device.size_bytes == Some(0),
    }
}

impl DriveRecord {
    /// All facts about a whole disk or layer. `None` when it has vanished meanwhile.
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

    /// The record of the disk with this number, or of a partition's disk.
    ///
    /// # Errors
    /// [`crate::DriveError::NoSuchDevice`] when it does not exist.
    pub fn read(root: &SystemRoot, number: DeviceNumber) -> Result<DriveRecord, crate::DriveError> {
        let device = BlockDevice::read(root, number)?;
        let disk = BlockDevice::read(root, device.disk_device())?;
        DriveRecord::of(root, disk).ok_or(crate::DriveError::NoSuchDevice { device: number })
    }

    /// Also tests whether an unknown user has claimed the drive, by claiming it for a moment. Not
    /// done for drives that the user did not ask about, because a `mount` at that moment would
    /// fail.
    #[must_use]
    pub fn with_claim(self, root: &SystemRoot) -> DriveRecord {
        let claimed =
            (*root == SystemRoot::default()).then(|| claimed_by_unknown(root, &self.device));
        DriveRecord { claimed, ..self }
    }

    /// Returns whether root would get an answer that is missing here.
    pub fn needs_root(&self) -> bool {
        self.cache.drive.needs_root() || self.health.needs_root()
    }
}

/// Asks the drive itself, and fills in names that sysfs omits or truncates.
fn ask(root: &SystemRoot, device: &mut BlockDevice) -> (Answer<CacheReading>, Answer<Health>) {
    if *root != SystemRoot::default() {
        let because = || "the drive is not on this machine".to_owned();
        return (Answer::NotAsked { because: because() }, Answer::NotAsked { because: because() });
    }
    let mut drive = match OpenDrive::open(root, device) {
        Ok(drive) => drive,
        Err(error) => {
            let health = match &error {
                CommandError::NeedsRoot { .. } => Answer::NeedsRoot,
                CommandError::NotSupported { because, .. } => {
                    Answer::NotAsked { because: because.clone() }
                }
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
