//! The bytes that the drives under a target have written to their media, by their own counters.
//!
//! The kernel's counters cost microseconds, these cost a few commands to each drive. They are read
//! while no job does I/O, and only for targets that may be written.

use std::sync::{Mutex, PoisonError};

use drive::{BlockDevice, OpenDrive, SystemRoot, Wear};

/// Reads the counters of all drives under a target.
#[derive(Debug, Default)]
pub struct WearMeter {
    /// `None` if a drive does not answer, or has no such counter: it is not asked again.
    drives: Mutex<Option<Vec<OpenDrive>>>,
}

impl WearMeter {
    /// Opens the drives under a device. The meter reads nothing unless all of them accept commands,
    /// and unless the kernel counts the writes of exactly these.
    pub fn of(root: &SystemRoot, device: &BlockDevice) -> WearMeter {
        let numbers: Vec<_> = device.drives().into_iter().map(BlockDevice::disk_device).collect();
        let open = |number| OpenDrive::open(root, &BlockDevice::read(root, number).ok()?).ok();
        let drives = if numbers == device.flush_counting_devices() {
            numbers.into_iter().map(open).collect()
        } else {
            None
        };
        WearMeter { drives: Mutex::new(drives) }
    }

    /// The sum of the counters of all drives.
    pub fn read(&self) -> Option<Wear> {
        let mut drives = self.drives.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = sum(drives.as_mut()?.iter_mut().map(|drive| drive.wear().ok()));
        if sum.is_none() {
            *drives = None;
        }
        sum
    }
}

/// The sum, if every drive has a value.
fn sum(mut each: impl Iterator<Item = Option<Wear>>) -> Option<Wear> {
    let first = each.next()??;
    each.try_fold(first, |sum, wear| sum.plus(&wear?))
}

#[cfg(test)]
mod tests {
    use drive::MediumWrites;

    use super::*;

    fn pages(host: u64, moved: u64) -> Wear {
        Wear { host: None, medium: MediumWrites::Pages { host, moved } }
    }

    #[test]
    fn a_sum_needs_every_drive() {
        assert_eq!(sum([Some(pages(1, 2)), Some(pages(3, 4))].into_iter()), Some(pages(4, 6)));
        assert_eq!(sum([Some(pages(1, 2)), None].into_iter()), None);
        assert_eq!(sum([].into_iter()), None);
    }

    #[test]
    fn drives_that_take_no_commands_have_no_counter() {
        // The drives of this machine are not there to be opened.
        let machine = captures::built::raid_server();
        let root = SystemRoot::new(machine.path());
        for number in ["8:0", "9:0", "253:1"] {
            let device = BlockDevice::read(&root, number.parse().unwrap()).unwrap();
            let meter = WearMeter::of(&root, &device);
            assert_eq!((meter.read(), meter.read()), (None, None), "{number}");
        }
        assert_eq!(WearMeter::default().read(), None);
    }
}
