//! The zones of a zoned drive (SMR, ZNS), as the kernel reports them.
//!
//! Layouts and numbers: `include/uapi/linux/blkzoned.h`.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::block::SECTOR_BYTES;

/// One zone, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveZone {
    pub start_bytes: u64,
    /// Distance to the start of the next zone.
    pub length_bytes: u64,
    /// The part of the zone that can be written, from its start.
    pub capacity_bytes: u64,
    pub write_pointer_bytes: u64,
    /// It is written at its write pointer only. Otherwise it is conventional.
    pub sequential: bool,
    pub condition: ZoneCondition,
}

/// The condition of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneCondition {
    /// It has no write pointer.
    Conventional,
    Empty,
    /// Opened by a write.
    ImplicitlyOpen,
    /// Opened by a command.
    ExplicitlyOpen,
    /// Partly written, but not open.
    Closed,
    Full,
    ReadOnly,
    Offline,
    /// None that Linux 6.18 knows.
    Unknown(u8),
}

impl ZoneCondition {
    const fn of(number: u8) -> ZoneCondition {
        match number {
            0 => ZoneCondition::Conventional,
            1 => ZoneCondition::Empty,
            2 => ZoneCondition::ImplicitlyOpen,
            3 => ZoneCondition::ExplicitlyOpen,
            4 => ZoneCondition::Closed,
            13 => ZoneCondition::ReadOnly,
            14 => ZoneCondition::Full,
            15 => ZoneCondition::Offline,
            other => ZoneCondition::Unknown(other),
        }
    }
}

/// `struct blk_zone`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct RawZone {
    start: u64,
    len: u64,
    wp: u64,
    kind: u8,
    cond: u8,
    non_seq: u8,
    reset: u8,
    resv: [u8; 4],
    capacity: u64,
    reserved: [u8; 24],
}

impl RawZone {
    const NONE: RawZone = RawZone {
        start: 0,
        len: 0,
        wp: 0,
        kind: 0,
        cond: 0,
        non_seq: 0,
        reset: 0,
        resv: [0; 4],
        capacity: 0,
        reserved: [0; 24],
    };
}

/// Zones per call, 15 KiB.
const ZONES_PER_REPORT: usize = 240;

/// `struct blk_zone_report` with room for its zones.
#[repr(C)]
struct Report {
    sector: u64,
    nr_zones: u32,
    flags: u32,
    zones: [RawZone; ZONES_PER_REPORT],
}

/// `BLKREPORTZONE`. Its number includes the size of the header only.
const REPORT: Opcode = opcode::read_write::<[u64; 2]>(0x12, 130);
/// `BLK_ZONE_TYPE_CONVENTIONAL`.
const CONVENTIONAL: u8 = 1;
/// `BLK_ZONE_REP_CAPACITY`: the capacities are valid (Linux 5.9).
const HAS_CAPACITIES: u32 = 1;

/// Reports at most `limit` zones of an open zoned device, from the one that contains `offset` on.
///
/// # Errors
/// As the kernel reports them; `ENOTTY` or `EOPNOTSUPP` if the device is not zoned.
pub fn report_zones(file: impl AsFd, offset: u64, limit: usize) -> Result<Vec<DriveZone>, Errno> {
    let mut zones = Vec::new();
    let mut sector = offset / SECTOR_BYTES;
    while zones.len() < limit {
        let wanted = ZONES_PER_REPORT.min(limit - zones.len());
        let mut report = Box::new(Report {
            sector,
            nr_zones: wanted as u32,
            flags: 0,
            zones: [RawZone::NONE; ZONES_PER_REPORT],
        });
        fill(&file, &mut report)?;
        let found = &report.zones[..(report.nr_zones as usize).min(wanted)];
        let Some(last) = found.last() else { break };
        sector = last.start.saturating_add(last.len);
        zones.extend(found.iter().map(|zone| DriveZone::of(zone, report.flags)));
        if found.len() < wanted {
            break;
        }
    }
    Ok(zones)
}

#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
fn fill(file: impl AsFd, report: &mut Report) -> Result<(), Errno> {
    // SAFETY: BLKREPORTZONE reads the header at the address that it is given and writes it again,
    // followed by at most `nr_zones` zones, for which the structure has room. Every bit pattern is
    // valid.
    let update = unsafe { Updater::<REPORT, Report>::new(report) };
    // SAFETY: as above; a report changes nothing on the device.
    unsafe { ioctl(file, update) }
}

impl DriveZone {
    fn of(zone: &RawZone, flags: u32) -> DriveZone {
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        let capacity = if flags & HAS_CAPACITIES == 0 { zone.len } else { zone.capacity };
        DriveZone {
            start_bytes: bytes(zone.start),
            length_bytes: bytes(zone.len),
            capacity_bytes: bytes(capacity.min(zone.len)),
            write_pointer_bytes: bytes(zone.wp),
            sequential: zone.kind != CONVENTIONAL,
            condition: ZoneCondition::of(zone.cond),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernel_s() {
        assert_eq!((size_of::<RawZone>(), std::mem::offset_of!(RawZone, capacity)), (64, 32));
        assert_eq!(std::mem::offset_of!(Report, zones), 16);
        let raw =
            RawZone { start: 8, len: 8, wp: 10, kind: 2, cond: 4, capacity: 6, ..RawZone::NONE };
        let zone = DriveZone {
            start_bytes: 4096,
            length_bytes: 4096,
            capacity_bytes: 3072,
            write_pointer_bytes: 5120,
            sequential: true,
            condition: ZoneCondition::Closed,
        };
        assert_eq!(DriveZone::of(&raw, HAS_CAPACITIES), zone);
        // Older kernels report no capacity.
        let whole = DriveZone { capacity_bytes: 4096, ..zone };
        assert_eq!(DriveZone::of(&raw, 0), whole);
        assert_eq!(ZoneCondition::of(14), ZoneCondition::Full);
        assert_eq!(ZoneCondition::of(77), ZoneCondition::Unknown(77));
    }

    #[test]
    fn a_file_has_no_zones() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(report_zones(&file, 0, 1), Err(Errno::NOTTY));
    }
}
