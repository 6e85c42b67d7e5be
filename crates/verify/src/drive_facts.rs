//! What is known of the drives beneath a target: who they are, how often their power was cut, how many flushes they were sent.

use drive::{BlockDevice, Counters, DeviceNumber, DriveRecord, Place, SystemRoot, WriteCache};

/// Of all drives beneath a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriveFacts {
    /// Model and serial number of each; empty where neither can be told.
    pub label: String,
    /// Whether there are drives, and each tells its serial number: no two such labels are equal.
    pub has_serials: bool,
    /// Power cuts that they counted, summed; `None` where one of them does not say, or not to this user.
    pub unsafe_shutdowns: Option<u64>,
    /// Whether the kernel believes that there is a volatile cache, and sends flushes.
    pub volatile_cache: Option<bool>,
    /// Whether it sends single writes past the cache.
    pub fua: Option<bool>,
    /// Kernel names of the whole disks.
    pub disks: Vec<String>,
    /// Where flushes are counted.
    pub counting: Vec<DeviceNumber>,
}

impl DriveFacts {
    /// Looks. The drives themselves are asked only where this user may.
    pub fn of(root: &SystemRoot, place: &Place) -> DriveFacts {
        let Some(device) = place.block_device() else {
            let unsafe_shutdowns = emulate::smart::unsafe_shutdowns(&place.path);
            return DriveFacts { unsafe_shutdowns, ..DriveFacts::default() };
        };
        let drives = device.drives();
        let records: Vec<Option<DriveRecord>> =
            drives.iter().map(|drive| DriveRecord::read(root, drive.device).ok()).collect();
        let cuts = drives.iter().zip(&records).map(|(drive, record)| {
            let told = record.as_ref().and_then(|record| record.health.told()?.unsafe_shutdowns);
            told.or_else(|| emulate::smart::unsafe_shutdowns(drive.backing_file.as_deref()?))
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

    /// Flushes that the drives' drivers have counted so far; `None` where they do not.
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

/// Whether two labels can be of the same drives: the models are, and so are the serial numbers where both tell them. A user who may not read those reads the models alone.
pub(crate) fn can_be_the_same(one: &str, other: &str) -> bool {
    let is_told = !one.is_empty() && !other.is_empty();
    let drives = |label: &str| label.split(", ").count();
    let each = || one.split(", ").zip(other.split(", "));
    !is_told
        || drives(one) == drives(other)
            && each().all(|(one, other)| one == other || model(one) == Some(other) || model(other) == Some(one))
}

/// A label without its serial number.
fn model(label: &str) -> Option<&str> {
    label.strip_suffix(')')?.rsplit_once(" (").map(|(model, _)| model)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A device of a captured machine.
    pub(crate) fn place(root: &SystemRoot, major: u32, minor: u32) -> Place {
        samples::place::device(BlockDevice::read(root, DeviceNumber { major, minor }).unwrap())
    }

    /// And how many flushes its drives' drivers counted.
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
        assert_eq!((facts.volatile_cache, facts.fua, facts.has_serials), (Some(true), Some(false), false));
        assert_eq!((facts.unsafe_shutdowns, flushes), (None, Some(3 * 20_122)));
    }

    #[test]
    fn a_drive_that_tells_its_serial_number_is_told_from_others_of_its_model() {
        let (facts, flushes) = facts("nvme-server", 259, 0);
        assert_eq!(facts.label, "SAMSUNG MZQL23T8HCLS-00A07 (S64GNE00000000)");
        assert_eq!((facts.volatile_cache, facts.fua, facts.has_serials), (Some(false), Some(false), true));
        assert_eq!((facts.disks, flushes), (vec!["nvme0n1".to_owned()], Some(20_122)));
    }
}
