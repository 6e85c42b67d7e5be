//! Facts about the drives under a target: identity, counts of power cuts and flushes.

use drive::{BlockDevice, Counters, DeviceNumber, DriveRecord, Place, SystemRoot, WriteCache};

/// Facts about all drives under a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriveFacts {
    /// Model and serial number of each drive; empty if both are unknown.
    pub label: String,
    /// True if there are drives and all of them report serial numbers, which makes the label
    /// unique.
    pub has_serials: bool,
    /// Sum of the drives' counts of unsafe shutdowns; `None` if one of them is unknown or not
    /// readable by this user.
    pub unsafe_shutdowns: Option<u64>,
    /// True if the kernel assumes a volatile cache and sends flushes.
    pub volatile_cache: Option<bool>,
    /// True if the kernel sends FUA writes.
    pub fua: Option<bool>,
    /// Kernel names of the whole disks.
    pub disks: Vec<String>,
    /// Devices whose flushes are counted.
    pub counting: Vec<DeviceNumber>,
}

impl DriveFacts {
    /// Reads the facts. The drives themselves are queried only if this user may.
    pub fn of(root: &SystemRoot, place: &Place) -> DriveFacts {
        let Some(device) = place.block_device() else {
            let unsafe_shutdowns = emulate::unsafe_shutdowns(&place.path);
            return DriveFacts { unsafe_shutdowns, ..DriveFacts::default() };
        };
        let drives = device.drives();
        let records: Vec<Option<DriveRecord>> =
            drives.iter().map(|drive| DriveRecord::read(root, drive.device).ok()).collect();
        let cuts = drives.iter().zip(&records).map(|(drive, record)| {
            let reported =
                record.as_ref().and_then(|record| record.health.told()?.unsafe_shutdowns);
            reported.or_else(|| emulate::unsafe_shutdowns(drive.backing_file.as_deref()?))
        });
        DriveFacts {
            label: drives
                .iter()
                .map(|drive| label(drive))
                .filter(|label| !label.is_empty())
                .collect::<Vec<_>>()
                .join(", "),
            has_serials: !drives.is_empty() && drives.iter().all(|drive| drive.serial.is_some()),
            unsafe_shutdowns: cuts.sum::<Option<u64>>().filter(|_| !drives.is_empty()),
            volatile_cache: device.queue.write_cache.map(|cache| cache == WriteCache::WriteBack),
            fua: device.queue.fua,
            disks: drives.iter().map(|drive| disk_name(drive)).collect(),
            counting: device.flush_counting_devices(),
        }
    }

    /// Flushes that the drives' drivers have counted so far; `None` if they do not count.
    pub fn flushes(&self, root: &SystemRoot) -> Option<u64> {
        if self.counting.is_empty() {
            return None;
        }
        self.counting.iter().map(|&device| Counters::read(root, device).ok()?.flushes).sum()
    }
}

fn disk_name(drive: &BlockDevice) -> String {
    drive.partition.as_ref().map_or_else(|| drive.name.clone(), |partition| partition.disk.clone())
}

fn label(drive: &BlockDevice) -> String {
    match (&drive.model, &drive.serial) {
        (Some(model), Some(serial)) => format!("{model} ({serial})"),
        (Some(model), None) => model.clone(),
        (None, Some(serial)) => format!("serial number {serial}"),
        (None, None) => String::new(),
    }
}

/// Returns whether two labels can belong to the same drives: equal models, and equal serial numbers
/// if both are known. A user without permission to read serial numbers sees models only.
pub(crate) fn can_be_the_same(one: &str, other: &str) -> bool {
    let are_known = !one.is_empty() && !other.is_empty();
    let drives = |label: &str| label.split(", ").count();
    let each = || one.split(", ").zip(other.split(", "));
    !are_known
        || drives(one) == drives(other)
            && each().all(|(one, other)| {
                one == other || model(one) == Some(other) || model(other) == Some(one)
            })
}

/// A label without its serial number; `None` if it has none.
fn model(label: &str) -> Option<&str> {
    label.strip_suffix(')')?.rsplit_once(" (").map(|(model, _)| model)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The location on a device of a captured machine.
    pub(crate) fn place(root: &SystemRoot, major: u32, minor: u32) -> Place {
        samples::place::device(BlockDevice::read(root, DeviceNumber { major, minor }).unwrap())
    }

    /// The facts, and the number of flushes that the drives' drivers counted.
    fn facts(machine: &str, major: u32, minor: u32) -> (DriveFacts, Option<u64>) {
        let capture = captures::lay_out(machine);
        let root = SystemRoot::new(capture.path());
        let facts = DriveFacts::of(&root, &place(&root, major, minor));
        let flushes = facts.flushes(&root);
        (facts, flushes)
    }

    #[test]
    fn a_volume_on_an_array_is_on_all_its_drives() {
        let (facts, flushes) = facts("md-raid5", 253, 0);
        assert_eq!(facts.label, "CT1000MX500SSD1, CT1000MX500SSD1, CT1000MX500SSD1");
        assert_eq!(facts.disks, ["sda", "sdb", "sdc"]);
        assert_eq!(
            (facts.volatile_cache, facts.fua, facts.has_serials),
            (Some(true), Some(false), false)
        );
        assert_eq!((facts.unsafe_shutdowns, flushes), (None, Some(3 * 20_122)));
    }

    #[test]
    fn a_drive_with_a_serial_number_is_unique() {
        let (facts, flushes) = facts("nvme-server", 259, 0);
        assert_eq!(facts.label, "SAMSUNG MZQL23T8HCLS-00A07 (S64GNE00000000)");
        assert_eq!(
            (facts.volatile_cache, facts.fua, facts.has_serials),
            (Some(false), Some(false), true)
        );
        assert_eq!((facts.disks, flushes), (vec!["nvme0n1".to_owned()], Some(20_122)));
    }
}
