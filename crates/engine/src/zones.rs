//! Zones of a target: the table that all jobs share, and the drive's commands for zones.

use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drive::{DriveZone, ZoneCondition, report_zones};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use workload::zones::{ZoneKind, ZoneState, ZoneTable};

/// `BLKRESETZONE` and `BLKFINISHZONE` of include/uapi/linux/blkzoned.h: each takes the start and
/// the length in sectors.
const RESET: Opcode = opcode::write::<[u64; 2]>(0x12, 131);
const FINISH: Opcode = opcode::write::<[u64; 2]>(0x12, 136);
const SECTOR_BYTES: u64 = 512;
/// Time after which a job that waits for a zone checks whether it has to end.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// The zones of a device or file.
#[derive(Debug)]
pub struct Zones {
    table: Mutex<ZoneTable>,
    changed: Condvar,
    /// The drive has them. Otherwise they are imagined, and nothing is reset.
    on_drive: bool,
    /// The number of zones that may be open at a time.
    pub limit: Option<u32>,
}

impl Zones {
    /// The zones that a drive reports.
    pub fn reported(
        reported: &[DriveZone],
        limit: Option<u32>,
        closed_count: bool,
    ) -> Option<Zones> {
        let zone_bytes = reported.first()?.length_bytes;
        let zones = reported.iter().map(|zone| state(zone, closed_count)).collect();
        let table = Mutex::new(ZoneTable::new(zone_bytes, zones, limit));
        Some(Zones { table, changed: Condvar::new(), on_drive: true, limit })
    }

    /// Empty zones on a target of `total_bytes` that has none.
    pub fn imagined(zone_bytes: u64, total_bytes: u64, limit: Option<u32>) -> Zones {
        let table = Mutex::new(ZoneTable::imagined(zone_bytes, total_bytes, limit));
        Zones { table, changed: Condvar::new(), on_drive: false, limit }
    }

    pub fn table(&self) -> MutexGuard<'_, ZoneTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets jobs that wait for a zone ask again.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until a zone has become free since the table had `seen` changes, briefly.
    pub fn wait(&self, seen: u64) {
        let unchanged = |table: &mut ZoneTable| table.changes() == seen;
        drop(self.changed.wait_timeout_while(self.table(), WAIT_MAX, unchanged));
    }

    /// Resets a zone of the drive.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn reset(&self, file: impl AsFd, zone: u64) -> Result<(), Errno> {
        self.command::<RESET>(file, zone)
    }

    /// Makes a zone of the drive full.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn finish(&self, file: impl AsFd, zone: u64) -> Result<(), Errno> {
        self.command::<FINISH>(file, zone)
    }

    #[expect(unsafe_code, reason = "the ioctls have no safe wrapper")]
    fn command<const COMMAND: Opcode>(&self, file: impl AsFd, zone: u64) -> Result<(), Errno> {
        if !self.on_drive {
            return Ok(());
        }
        let range = [zone, self.table().zone_bytes()].map(|bytes| bytes / SECTOR_BYTES);
        // SAFETY: both ioctls read a start and a length from the address that they are given, and
        // change no memory.
        let range = unsafe { Setter::<COMMAND, [u64; 2]>::new(range) };
        // SAFETY: as above; the user has released the data of the device.
        unsafe { ioctl(file, range) }
    }

    /// The write pointer of a zone, as the drive reports it.
    pub fn write_pointer(&self, file: impl AsFd, zone: u64) -> Option<u64> {
        let zones = report_zones(file, zone, 1).ok().filter(|_| self.on_drive)?;
        zones.first().map(|zone| state(zone, false).write_pointer)
    }
}

/// `closed_count` is set if partly written zones count as open even when they are closed.
fn state(zone: &DriveZone, closed_count: bool) -> ZoneState {
    let end = zone.start_bytes + zone.capacity_bytes;
    let (kind, open) = match zone.condition {
        _ if !zone.sequential => (ZoneKind::Conventional, false),
        ZoneCondition::ReadOnly => (ZoneKind::ReadOnly, false),
        ZoneCondition::Offline | ZoneCondition::Unknown(_) => (ZoneKind::Offline, false),
        ZoneCondition::ImplicitlyOpen | ZoneCondition::ExplicitlyOpen => {
            (ZoneKind::Sequential, true)
        }
        ZoneCondition::Closed => (ZoneKind::Sequential, closed_count),
        ZoneCondition::Conventional | ZoneCondition::Empty | ZoneCondition::Full => {
            (ZoneKind::Sequential, false)
        }
    };
    let write_pointer = match (kind, zone.condition) {
        // The write pointer of a full zone is invalid.
        (ZoneKind::Conventional, _) | (_, ZoneCondition::Full) => end,
        _ => zone.write_pointer_bytes.clamp(zone.start_bytes, end),
    };
    ZoneState { start: zone.start_bytes, end, write_pointer, kind, open }
}

#[cfg(test)]
mod tests {
    use ZoneCondition::{Closed, Conventional, Full, ImplicitlyOpen, Offline, ReadOnly};

    use super::*;

    #[test]
    fn conditions_decide_what_may_be_written_and_what_counts_as_open() {
        let zone = |condition| DriveZone {
            start_bytes: 8192,
            length_bytes: 8192,
            capacity_bytes: 6144,
            write_pointer_bytes: 9216,
            sequential: condition != ZoneCondition::Conventional,
            condition,
        };
        let seen = |condition, closed_count| {
            let state = state(&zone(condition), closed_count);
            assert_eq!((state.start, state.end), (8192, 14336));
            (state.kind, state.write_pointer, state.open)
        };
        assert_eq!(seen(Conventional, true), (ZoneKind::Conventional, 14336, false));
        assert_eq!(seen(Full, true), (ZoneKind::Sequential, 14336, false));
        assert_eq!(seen(ImplicitlyOpen, false), (ZoneKind::Sequential, 9216, true));
        assert_eq!(seen(Closed, false), (ZoneKind::Sequential, 9216, false));
        assert_eq!(seen(Closed, true), (ZoneKind::Sequential, 9216, true));
        assert_eq!(seen(ReadOnly, true).0, ZoneKind::ReadOnly);
        assert_eq!(seen(Offline, true).0, ZoneKind::Offline);
    }

    #[test]
    fn imagined_zones_need_no_commands() {
        let zones = Zones::imagined(4096, 16384, None);
        let file = tempfile::tempfile().unwrap();
        assert_eq!(zones.reset(&file, 0), Ok(()));
        assert_eq!(zones.finish(&file, 0), Ok(()));
        assert_eq!(zones.write_pointer(&file, 0), None);
        let reported = Zones::reported(&[], None, false);
        assert!(reported.is_none());
    }
}
