//! The layout of a target: which slot belongs to which lane, and its address.
//!
//! ```text
//! 0            4 KiB        512 KiB                     1 MiB
//! | superblock | ... unused | superblock, a copy | ... | slot 0 | slot 1 | slot 2 | ... to the end
//! ```
//!
//! Slot `n` belongs to lane `n % lanes`, so lanes work next to each other. Only that lane writes to
//! it, so its versions are ordered.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::format_bytes;

use crate::record::Kind;

/// Start of the slots: records of any size are aligned to their size, and to the preferred
/// alignment of drives and arrays.
pub(crate) const FIRST_SLOT_BYTES: u64 = 1 << 20;
/// Space for a superblock: the largest logical block.
pub(crate) const SUPERBLOCK_BYTES: u64 = 4096;
/// Addresses of the superblock and its copy.
pub const SUPERBLOCKS_AT: [u64; 2] = [0, 512 << 10];
pub(crate) const RECORD_BYTES_MAX: u64 = 1 << 20;
/// More lanes would be more threads than useful.
pub(crate) const LANES_MAX: u16 = 256;
/// Checking more sectors would need more than 1 GiB of memory.
pub(crate) const SECTORS_MAX: u64 = 1 << 28;
/// With fewer slots, a lane would overwrite a record before anything could be learned from it.
pub(crate) const SLOTS_PER_LANE_MIN: u32 = 4;

/// The way in which a lane makes its writes durable.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LaneKind {
    /// By a sync after its writes, which the drive sees as a flush.
    Flush,
    /// By writes that are durable when they return (FUA).
    Fua,
    /// Not at all: the control group, which must be able to lose data.
    Control,
}

impl LaneKind {
    /// All kinds, in the order of the lanes.
    pub const ALL: [LaneKind; 3] = [LaneKind::Flush, LaneKind::Fua, LaneKind::Control];

    pub fn record_kind(self) -> Kind {
        match self {
            LaneKind::Flush => Kind::Flush,
            LaneKind::Fua => Kind::Fua,
            LaneKind::Control => Kind::Control,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            LaneKind::Flush => "flush",
            LaneKind::Fua => "FUA",
            LaneKind::Control => "control",
        }
    }
}

impl fmt::Display for LaneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The layout of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// The target's logical block in bytes: the smallest write, and the unit of atomic writes. A
    /// power of two from 512 to 4096.
    pub sector_bytes: u32,
    /// Sectors per record; a record is at most 1 MiB.
    pub record_sectors: u16,
    pub slots_per_lane: u32,
    /// Number of lanes that flush; they come first.
    pub flush_lanes: u16,
    /// Number of lanes that write with FUA; they come second.
    pub fua_lanes: u16,
    /// Number of lanes that do neither; they come last.
    pub control_lanes: u16,
    /// Writes of a flush lane between its syncs.
    pub writes_per_sync: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImpossibleGeometry(pub String);

/// The position of a sector in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The lane that owns the slot.
    pub lane: u16,
    /// Index of the slot within the lane.
    pub index: u32,
    /// Index of the sector within the slot.
    pub sector: u16,
}

impl Geometry {
    /// The layout with as many slots as fit.
    pub fn within(self, room_bytes: u64) -> Result<Geometry, ImpossibleGeometry> {
        let lanes = Geometry { slots_per_lane: SLOTS_PER_LANE_MIN, ..self }.checked()?.lanes();
        let slots = room_bytes.saturating_sub(FIRST_SLOT_BYTES) / self.record_bytes();
        let slots_per_lane = u32::try_from(slots / u64::from(lanes)).unwrap_or(u32::MAX);
        if slots_per_lane < SLOTS_PER_LANE_MIN {
            let least = Geometry { slots_per_lane: SLOTS_PER_LANE_MIN, ..self }.size_bytes();
            return Err(ImpossibleGeometry(format!(
                "{lanes} lanes with records of {} need at least {}, but only {} are available; use \
                 fewer lanes or smaller records",
                format_bytes(self.record_bytes()),
                format_bytes(least),
                format_bytes(room_bytes)
            )));
        }
        Geometry { slots_per_lane, ..self }.checked()
    }

    /// Validates the layout. Must be called first on numbers from outside.
    pub fn checked(self) -> Result<Geometry, ImpossibleGeometry> {
        let no = |what: String| Err(ImpossibleGeometry(what));
        if !self.sector_bytes.is_power_of_two() || !(512..=4096).contains(&self.sector_bytes) {
            return no(format!(
                "sector size {} is not supported; expected 512, 1024, 2048 or 4096",
                self.sector_bytes
            ));
        }
        let record_bytes = self.record_bytes();
        if !record_bytes.is_power_of_two() || record_bytes > RECORD_BYTES_MAX {
            return no(format!(
                "record size {} is not supported; expected a power of two from one sector ({}) to \
                 1 MiB",
                format_bytes(record_bytes),
                format_bytes(u64::from(self.sector_bytes))
            ));
        }
        let lanes =
            u32::from(self.flush_lanes) + u32::from(self.fua_lanes) + u32::from(self.control_lanes);
        if self.flush_lanes == 0 && self.fua_lanes == 0 {
            return no(
                "without a lane that flushes or writes with FUA, nothing is acknowledged; use at \
                 least one"
                    .to_owned(),
            );
        }
        if lanes > u32::from(LANES_MAX) {
            return no(format!("{lanes} lanes are too many; the maximum is {LANES_MAX}"));
        }
        if self.writes_per_sync == 0 {
            return no(
                "a sync without a write before it proves nothing; use at least one write per sync"
                    .to_owned(),
            );
        }
        if self.slots_per_lane < SLOTS_PER_LANE_MIN {
            return no(format!(
                "{} records per lane are too few; the minimum is {SLOTS_PER_LANE_MIN}",
                self.slots_per_lane
            ));
        }
        if self.sectors() > SECTORS_MAX {
            return no(format!(
                "an area of {} has too many sectors to check in memory; use a --size of at most {}",
                format_bytes(self.size_bytes()),
                format_bytes(SECTORS_MAX * u64::from(self.sector_bytes))
            ));
        }
        Ok(self)
    }

    /// Number of lanes of all kinds.
    pub fn lanes(&self) -> u16 {
        self.flush_lanes + self.fua_lanes + self.control_lanes
    }

    /// Size of a record, which is the size of a slot.
    pub fn record_bytes(&self) -> u64 {
        u64::from(self.sector_bytes) * u64::from(self.record_sectors)
    }

    pub fn kind(&self, lane: u16) -> LaneKind {
        if lane < self.flush_lanes {
            LaneKind::Flush
        } else if lane < self.flush_lanes + self.fua_lanes {
            LaneKind::Fua
        } else {
            LaneKind::Control
        }
    }

    /// Number of slots of all lanes.
    pub fn slots(&self) -> u64 {
        u64::from(self.slots_per_lane) * u64::from(self.lanes())
    }

    /// Number of sectors of all slots.
    pub fn sectors(&self) -> u64 {
        self.slots() * u64::from(self.record_sectors)
    }

    /// Size of the whole layout, up to the end of the last slot.
    pub fn size_bytes(&self) -> u64 {
        FIRST_SLOT_BYTES + self.slots() * self.record_bytes()
    }

    /// Address of a lane's slot.
    #[inline]
    pub fn address_bytes(&self, lane: u16, index: u32) -> u64 {
        let slot = u64::from(index) * u64::from(self.lanes()) + u64::from(lane);
        FIRST_SLOT_BYTES + slot * self.record_bytes()
    }

    /// Address of a sector, given its number among all slots' sectors.
    pub fn sector_address_bytes(&self, number: u64) -> u64 {
        FIRST_SLOT_BYTES + number * u64::from(self.sector_bytes)
    }

    /// Number of the sector at an address; `None` if no sector of a slot begins there.
    pub fn sector_number(&self, address_bytes: u64) -> Option<u64> {
        let offset = address_bytes.checked_sub(FIRST_SLOT_BYTES)?;
        let number = offset / u64::from(self.sector_bytes);
        (offset.is_multiple_of(u64::from(self.sector_bytes)) && number < self.sectors())
            .then_some(number)
    }

    /// Position of a sector, given its number among all slots' sectors.
    #[inline]
    pub fn location(&self, number: u64) -> Location {
        let sectors = u64::from(self.record_sectors);
        let (slot, sector) = (number / sectors, (number % sectors) as u16);
        let lanes = u64::from(self.lanes());
        Location { lane: (slot % lanes) as u16, index: (slot / lanes) as u32, sector }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn small() -> Geometry {
        Geometry {
            sector_bytes: 512,
            record_sectors: 4,
            slots_per_lane: 16,
            flush_lanes: 2,
            fua_lanes: 1,
            control_lanes: 1,
            writes_per_sync: 1,
        }
    }

    proptest! {
        #[test]
        fn addresses_and_locations_are_inverse(lane in 0u16..4, index in 0u32..16, sector in 0u16..4) {
            let geometry = small();
            let address = geometry.address_bytes(lane, index) + u64::from(sector) * 512;
            let number = geometry.sector_number(address).unwrap();
            prop_assert_eq!(geometry.location(number), Location { lane, index, sector });
            prop_assert_eq!(geometry.sector_address_bytes(number), address);
            prop_assert!(address + 512 <= geometry.size_bytes());
        }
    }

    #[test]
    fn no_sector_is_outside_the_layout() {
        let geometry = small();
        assert_eq!(geometry.sector_number(FIRST_SLOT_BYTES - 512), None);
        assert_eq!(geometry.sector_number(FIRST_SLOT_BYTES + 1), None);
        assert_eq!(geometry.sector_number(geometry.size_bytes()), None);
        assert_eq!(geometry.sector_number(0), None);
    }

    #[test]
    fn lanes_have_their_kinds() {
        let kinds: Vec<LaneKind> = (0..4).map(|lane| small().kind(lane)).collect();
        assert_eq!(kinds, [LaneKind::Flush, LaneKind::Flush, LaneKind::Fua, LaneKind::Control]);
    }

    #[test]
    fn as_many_slots_as_fit() {
        let fitted = small().within(4 << 20).unwrap();
        assert!(fitted.size_bytes() <= 4 << 20 && fitted.size_bytes() + 4 * 2048 > 4 << 20);
        assert_eq!(fitted.checked(), Ok(fitted));
    }

    #[test]
    fn the_limits_of_a_layout_belong_to_it() {
        let most = Geometry { slots_per_lane: 1 << 24, ..small() };
        assert_eq!(most.sectors(), SECTORS_MAX);
        for (can_be, cannot) in [
            (Geometry { sector_bytes: 512, ..small() }, Geometry { sector_bytes: 256, ..small() }),
            (
                Geometry { sector_bytes: 4096, ..small() },
                Geometry { sector_bytes: 8192, ..small() },
            ),
            (Geometry { record_sectors: 1, ..small() }, Geometry { record_sectors: 0, ..small() }),
            (
                Geometry { record_sectors: 2048, ..small() },
                Geometry { record_sectors: 4096, ..small() },
            ),
            (Geometry { flush_lanes: 254, ..small() }, Geometry { flush_lanes: 255, ..small() }),
            (
                Geometry { flush_lanes: 0, ..small() },
                Geometry { flush_lanes: 0, fua_lanes: 0, ..small() },
            ),
            (
                Geometry { fua_lanes: 0, ..small() },
                Geometry { fua_lanes: 0, flush_lanes: 0, ..small() },
            ),
            (Geometry { slots_per_lane: 4, ..small() }, Geometry { slots_per_lane: 3, ..small() }),
            (most, Geometry { slots_per_lane: (1 << 24) + 1, ..small() }),
        ] {
            assert_eq!(
                (can_be.checked(), cannot.checked().is_err()),
                (Ok(can_be), true),
                "{cannot:?}"
            );
        }
        // Four records of 2 KiB for each of four lanes, after the first MiB.
        let least = (1 << 20) + 4 * 4 * 2048;
        assert_eq!(small().within(least).map(|fitted| fitted.size_bytes()), Ok(least));
        assert!(small().within(least - 1).is_err());
    }

    #[test]
    fn a_kind_has_one_name_everywhere() {
        for kind in LaneKind::ALL {
            assert_eq!(kind.to_string(), kind.name());
            assert_eq!(format!("{:?}", kind.record_kind()), format!("{kind:?}"));
        }
    }

    #[test]
    fn impossible_layouts_are_explained() {
        let said = |geometry: Geometry| geometry.checked().unwrap_err().0;
        let all = [
            said(Geometry { sector_bytes: 520, ..small() }),
            said(Geometry { record_sectors: 3, ..small() }),
            said(Geometry { flush_lanes: 0, fua_lanes: 0, ..small() }),
            said(Geometry { flush_lanes: 300, ..small() }),
            said(Geometry { writes_per_sync: 0, ..small() }),
            said(Geometry { slots_per_lane: 1, ..small() }),
            small().within(1 << 20).unwrap_err().0,
            small().within(1 << 40).unwrap_err().0,
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        sector size 520 is not supported; expected 512, 1024, 2048 or 4096
        record size 1536 B is not supported; expected a power of two from one sector (512 B) to 1 MiB
        without a lane that flushes or writes with FUA, nothing is acknowledged; use at least one
        302 lanes are too many; the maximum is 256
        a sync without a write before it proves nothing; use at least one write per sync
        1 records per lane are too few; the minimum is 4
        4 lanes with records of 2 KiB need at least 1056 KiB, but only 1 MiB are available; use fewer lanes or smaller records
        an area of 1 TiB has too many sectors to check in memory; use a --size of at most 128 GiB
        ");
    }
}
