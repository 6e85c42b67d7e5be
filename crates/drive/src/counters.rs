//! The operations of a block device since it appeared: `/sys/block/DEVICE/stat`, which every user
//! can read.
//!
//! A run reads the counters before and after, and thereby proves that its syncs reached the device
//! as flushes. The numbers cover the whole device: they include what other processes, other
//! partitions and the kernel wrote meanwhile.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::{disk_place, sysfs_place};
use crate::system_root::Attributes;
use crate::{DeviceNumber, DriveError, DriverAddress, SystemRoot, Transport};

/// The fields of `stat`, in their order: Documentation/block/stat.rst. Times are sums over
/// requests, so they may exceed the elapsed time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Reads completed; merged reads count as one.
    pub reads: u64,
    pub read_bytes: u64,
    /// Time spent on reads, in ms.
    pub read_ms: u64,
    /// Writes completed; merged writes count as one.
    pub writes: u64,
    /// Writes that the kernel merged into adjacent ones, and that `writes` does not count.
    #[serde(default)]
    pub writes_merged: u64,
    pub written_bytes: u64,
    /// Time spent on writes, in ms.
    pub write_ms: u64,
    /// Requests in flight now: a state, not a sum.
    pub in_flight: u64,
    /// Time during which the device was busy, in ms.
    pub busy_ms: u64,
    /// Discards completed; `None` before Linux 4.18.
    pub discards: Option<u64>,
    /// Flushes completed; flushes that the kernel merged count as one. `None` before Linux 5.5, and
    /// for devices that pass flushes on without counting them (LVM, dm-crypt, software RAID): count
    /// those at
    /// [`BlockDevice::flush_counting_devices`](crate::BlockDevice::flush_counting_devices).
    pub flushes: Option<u64>,
    /// Time spent on flushes, in ms; `None` when `flushes` is.
    pub flush_ms: Option<u64>,
}

impl Counters {
    /// Reads the counters of a device; for a partition, those of its disk: the kernel counts
    /// flushes only for whole disks (`blk_account_io_flush` in block/blk-flush.c charges the disk's
    /// `part0`).
    ///
    /// # Errors
    ///
    /// [`DriveError::NoSuchDevice`] when sysfs does not list the device,
    /// [`DriveError::MalformedCounters`] when its `stat` is not a row of numbers.
    pub fn read(root: &SystemRoot, device: DeviceNumber) -> Result<Self, DriveError> {
        let place = sysfs_place(root, device).ok_or(DriveError::NoSuchDevice { device })?;
        let disk = disk_place(&place);
        let mut counters = read_stat(disk, device)?;
        if Transport::of_sysfs_path(disk).counts_flushes() {
            for path in multipath_siblings(root, disk) {
                if let Ok(path) = read_stat(&path, device) {
                    counters.flushes = sum(counters.flushes, path.flushes);
                    counters.flush_ms = sum(counters.flush_ms, path.flush_ms);
                }
            }
        } else {
            (counters.flushes, counters.flush_ms) = (None, None);
        }
        Ok(counters)
    }

    /// Parses the one line of `stat`: 11 fields, 15 since Linux 4.18, 17 since 5.5. `None` if it is
    /// malformed.
    ///
    /// ```
    /// use drive::Counters;
    ///
    /// let counters = Counters::parse("9 0 72 1 20 0 160 2 0 3 3 0 0 0 0 12 480").ok_or("no counters")?;
    /// assert_eq!((counters.writes, counters.flushes), (20, Some(12)));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn parse(line: &str) -> Option<Self> {
        /// Documentation/block/stat.rst: "standard UNIX 512-byte sectors", whatever the device's
        /// sector size.
        const SECTOR_BYTES: u64 = 512;

        let fields: Vec<u64> =
            line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let &[
            reads,
            _,
            read_sectors,
            read_ms,
            writes,
            writes_merged,
            write_sectors,
            write_ms,
            in_flight,
            busy_ms,
            _,
            ref later @ ..,
        ] = fields.as_slice()
        else {
            return None;
        };
        Some(Counters {
            reads,
            read_bytes: read_sectors.wrapping_mul(SECTOR_BYTES),
            read_ms,
            writes,
            writes_merged,
            written_bytes: write_sectors.wrapping_mul(SECTOR_BYTES),
            write_ms,
            in_flight,
            busy_ms,
            discards: later.first().copied(),
            flushes: later.get(4).copied(),
            flush_ms: later.get(5).copied(),
        })
    }

    /// The difference between `earlier` and this reading of the same device. `in_flight` keeps its
    /// current value. A counter that went backwards (the device was removed and came back) gives 0.
    #[must_use]
    pub fn since(&self, earlier: &Counters) -> Counters {
        let both = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Counters {
            reads: self.reads.saturating_sub(earlier.reads),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            read_ms: self.read_ms.saturating_sub(earlier.read_ms),
            writes: self.writes.saturating_sub(earlier.writes),
            writes_merged: self.writes_merged.saturating_sub(earlier.writes_merged),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            write_ms: self.write_ms.saturating_sub(earlier.write_ms),
            in_flight: self.in_flight,
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            discards: both(self.discards, earlier.discards),
            flushes: both(self.flushes, earlier.flushes),
            flush_ms: both(self.flush_ms, earlier.flush_ms),
        }
    }

    /// The sum over several devices, such as the drives of a RAID. A field that one of them does
    /// not count is `None`.
    #[must_use]
    pub fn plus(&self, other: &Counters) -> Counters {
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.wrapping_add(b?));
        Counters {
            reads: self.reads.wrapping_add(other.reads),
            read_bytes: self.read_bytes.wrapping_add(other.read_bytes),
            read_ms: self.read_ms.wrapping_add(other.read_ms),
            writes: self.writes.wrapping_add(other.writes),
            writes_merged: self.writes_merged.wrapping_add(other.writes_merged),
            written_bytes: self.written_bytes.wrapping_add(other.written_bytes),
            write_ms: self.write_ms.wrapping_add(other.write_ms),
            in_flight: self.in_flight.wrapping_add(other.in_flight),
            busy_ms: self.busy_ms.wrapping_add(other.busy_ms),
            discards: both(self.discards, other.discards),
            flushes: both(self.flushes, other.flushes),
            flush_ms: both(self.flush_ms, other.flush_ms),
        }
    }
}

fn read_stat(disk: &Path, device: DeviceNumber) -> Result<Counters, DriveError> {
    let text = Attributes { directory: disk.to_owned() }.text("stat").unwrap_or_default();
    Counters::parse(&text).ok_or(DriveError::MalformedCounters { device, text })
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.wrapping_add(other?))
}

/// The hidden disks `nvme0c1n2` behind the multipath head `nvme0n2`. The head passes whole bios on,
/// so its flushes are counted at the paths (drivers/nvme/host/multipath.c); the paths have no
/// device number.
fn multipath_siblings(root: &SystemRoot, disk: &Path) -> Vec<std::path::PathBuf> {
    let addresses = DriverAddress::at(root, disk);
    let Some((head, paths)) = addresses.split_first() else { return Vec::new() };
    let paths = paths.iter().filter(|path| head.is_head_of(path));
    let places = paths.map(|path| root.path(format!("sys/block/{path}")));
    places.filter_map(|place| fs::canonicalize(place).ok()).collect()
}

#[cfg(test)]
mod tests {
    use captures::{Machine, built};

    use super::*;

    fn device(number: &str) -> DeviceNumber {
        number.parse().unwrap()
    }

    #[test]
    fn a_partition_is_counted_at_its_disk() {
        let counters =
            Counters::read(&SystemRoot::new(built::laptop().path()), device("259:2")).unwrap();
        assert_eq!(
            (counters.reads, counters.read_bytes, counters.read_ms),
            (1000, 64000 * 512, 500)
        );
        assert_eq!(
            (counters.writes, counters.written_bytes, counters.write_ms),
            (3000, 128000 * 512, 900)
        );
        assert_eq!((counters.in_flight, counters.busy_ms, counters.discards), (0, 1200, Some(5)));
        assert_eq!((counters.flushes, counters.flush_ms), (Some(700), Some(210)));
    }

    #[test]
    fn older_kernels_count_less() {
        let eleven = Counters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((eleven.in_flight, eleven.discards, eleven.flushes), (9, None, None));
        let fifteen = Counters::parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").unwrap();
        assert_eq!((fifteen.discards, fifteen.flushes), (Some(12), None));
        for malformed in ["", "1 2 3", "1 2 3 4 5 6 7 8 9 10 x", "1 2 3 4 5 6 7 8 9 10 -1"] {
            assert_eq!(Counters::parse(malformed), None, "{malformed:?}");
        }
    }

    #[test]
    fn a_layer_that_hands_flushes_on_does_not_claim_to_have_seen_none() {
        let machine = built::raid_server();
        let volume = Counters::read(&SystemRoot::new(machine.path()), device("253:1")).unwrap();
        assert_eq!((volume.writes, volume.flushes), (20, None));
        let leg = Counters::read(&SystemRoot::new(machine.path()), device("8:0")).unwrap();
        assert_eq!(leg.plus(&leg).flushes, Some(100));
        assert_eq!(leg.plus(&volume).flushes, None);
    }

    #[test]
    fn nvme_multipath_counts_flushes_at_its_paths() {
        let machine = Machine::new();
        let stat = |flushes: u32| format!("1 0 8 1 10 0 80 1 0 1 1 0 0 0 0 {flushes} 40");
        machine.disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0", &[("stat", &stat(0))]);
        for (path, flushes) in
            [("nvme0c0n1", 30), ("nvme0c1n1", 12), ("nvme0c0n2", 500), ("nvme01c0n1", 500)]
        {
            machine.disk(
                &format!("pci0000:00/nvme/nvme0/{path}"),
                &format!("0:{flushes}{path}"),
                &[("stat", &stat(flushes))],
            );
        }
        let head = Counters::read(&SystemRoot::new(machine.path()), device("259:0")).unwrap();
        assert_eq!((head.writes, head.flushes, head.flush_ms), (10, Some(42), Some(120)));
    }

    #[test]
    fn a_difference_leaves_what_came_before() {
        let before = Counters::parse("1 0 8 1 10 0 80 1 0 1 1 0 0 0 0 5 50").unwrap();
        let after = Counters::parse("2 0 16 1 110 0 880 4 3 9 9 1 0 0 0 105 950").unwrap();
        let run = after.since(&before);
        assert_eq!(
            (run.writes, run.written_bytes, run.flushes, run.flush_ms),
            (100, 800 * 512, Some(100), Some(900))
        );
        assert_eq!((run.reads, run.in_flight, run.discards), (1, 3, Some(1)));
        assert_eq!(before.since(&after).writes, 0);
    }

    #[test]
    fn errors_name_the_device() {
        let machine = Machine::new();
        machine.disk("virtual/block/strange0", "240:0", &[("stat", "1 2 three")]);
        let malformed =
            Counters::read(&SystemRoot::new(machine.path()), device("240:0")).unwrap_err();
        insta::assert_snapshot!(malformed, @"the counters of block device 240:0 in sysfs are malformed; please report them: 1 2 three");
        assert!(matches!(
            Counters::read(&SystemRoot::new(machine.path()), device("1:1")),
            Err(DriveError::NoSuchDevice { .. })
        ));
    }
}
