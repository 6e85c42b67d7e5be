//! RocksDB's levels on a separate `block.db`, and the space that BlueStore makes of it.
//!
//! RocksDB keeps its data in levels, each `multiplier` times as large as the one above it. It has
//! two paths, `db` on the flash device and `db.slow` on the disk, and puts a level on the first one
//! only if this level and all above it fit there at their full size. Until Nautilus 14.2.11 and
//! Octopus 15.2.5, whatever remained on the flash device was therefore wasted.
//!
//! Later releases lend a part of the remainder to the levels on the slow path
//! (`bluestore_volume_selection_policy=use_some_extra`): `RocksDBBlueFSVolumeSelector` in Ceph's
//! `src/os/bluestore/BlueStore.h`.

use crate::release::{Release, Version};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// BlueStore counts level 0 as 1 GiB, whatever the options of RocksDB say.
const LEVEL_0: u64 = GIB;
/// `bluestore_volume_selection_reserved_factor`: a level needs its size again while it is
/// compacted.
const RESERVED_FACTOR: u64 = 2;
/// BlueStore offers RocksDB 95 % of the device (ceph pull request 29687: `db_total` of a 100 GiB
/// device).
const WITHHELD_DIVISOR: u64 = 20;

/// RocksDB's sizes with the default `bluestore_rocksdb_options`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Size of level 1.
    pub base: u64,
    pub multiplier: u64,
    /// The most that the write-ahead log takes.
    pub wal: u64,
}

/// A size of `block.db` that a release before 14.2.12 and 15.2.6 uses completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsefulSize {
    /// The number of levels that fit, level 0 not counted.
    pub levels: u32,
    pub bytes: u64,
}

/// The range in which a larger device holds less metadata than a smaller one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dip {
    /// The largest device below the dip.
    pub after: u64,
    /// Metadata that the device below the dip can hold.
    pub holds_before: u64,
    /// Metadata that the device in the dip can hold.
    pub holds: u64,
    /// The smallest device above the dip that holds as much as the one below it.
    pub until: u64,
}

impl Levels {
    /// Four write buffers of 256 MiB, which are also the write-ahead log.
    pub const UNTIL_QUINCY: Levels = Levels { base: 256 * MIB, multiplier: 10, wal: 4 * 256 * MIB };
    pub const SINCE_REEF: Levels = Levels { base: GIB, multiplier: 8, wal: GIB };

    pub fn of(version: Version) -> Levels {
        if version.release() >= Release::Reef { Levels::SINCE_REEF } else { Levels::UNTIL_QUINCY }
    }

    /// The sizes of levels 1, 2 and so on.
    fn sizes(self) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(self.base), move |size| size.checked_mul(self.multiplier))
    }

    /// The log with one level, with two and so on.
    pub fn useful_sizes(self) -> Vec<UsefulSize> {
        let mut bytes = self.wal;
        let mut useful = Vec::new();
        for (levels, size) in (1..).zip(self.sizes()) {
            let Some(sum) = bytes.checked_add(size) else { break };
            bytes = sum;
            useful.push(UsefulSize { levels, bytes });
        }
        useful
    }

    /// The useful part of a device of this size; `None` if not even level 1 fits.
    pub fn useful_part(self, device: u64) -> Option<UsefulSize> {
        self.useful_sizes().into_iter().rev().find(|useful| useful.bytes <= device)
    }

    /// The totals above which another level is reserved.
    pub fn thresholds(self) -> Vec<u64> {
        let mut thresholds = Vec::new();
        let mut above = LEVEL_0;
        for level in self.sizes() {
            let reserved = level
                .checked_mul(self.multiplier)
                .and_then(|next| next.checked_mul(RESERVED_FACTOR))
                .and_then(|next| next.checked_add(above)?.checked_add(level));
            let Some(threshold) = reserved else { break };
            thresholds.push(threshold);
            above += level;
        }
        thresholds
    }

    /// Space that levels of the slow path may use, of a total that BlueStore offers RocksDB.
    pub fn extra(self, total: u64) -> u64 {
        let reserved = self.thresholds().into_iter().rev().find(|&threshold| threshold < total);
        reserved.map_or(0, |reserved| total - reserved)
    }

    /// The levels that RocksDB puts on the fast path, at their full size. It takes level 0 to be as
    /// large as level 1.
    fn on_fast_path(self, total: u64) -> u64 {
        let levels = std::iter::once(self.base).chain(self.sizes());
        let sums = levels.scan(0_u64, |sum, level| {
            *sum = sum.checked_add(level)?;
            Some(*sum)
        });
        sums.take_while(|&sum| sum <= total).last().unwrap_or(0)
    }

    /// The most metadata of one column family that stays on flash, of a total that BlueStore offers
    /// RocksDB. An upper bound: the historic peak of the levels on the fast path reduces it until
    /// the OSD restarts.
    pub fn holds(self, total: u64) -> u64 {
        total.min(self.on_fast_path(total).saturating_add(self.extra(total)))
    }

    /// Returns the dip that contains this device, if one does.
    pub fn dip(self, device: u64) -> Option<Dip> {
        let total = offered(device);
        let threshold = self.thresholds().into_iter().rev().find(|&at| at < total)?;
        let (holds_before, holds) = (self.holds(threshold), self.holds(total));
        if holds >= holds_before {
            return None;
        }
        // Just above the threshold nothing is extra, so the gap is closed byte by byte, or at once
        // where the next level fits.
        let recovered = threshold.saturating_add(holds_before - self.on_fast_path(threshold));
        let next_level = self.sizes().scan(self.base, |sum, level| {
            *sum = sum.checked_add(level)?;
            Some(*sum)
        });
        let until = next_level
            .filter(|&sum| sum > threshold && self.holds(sum) >= holds_before)
            .fold(recovered, u64::min);
        Some(Dip { after: device_for(threshold), holds_before, holds, until: device_for(until) })
    }
}

/// The part of a device that BlueStore offers RocksDB.
pub const fn offered(device: u64) -> u64 {
    device - device / WITHHELD_DIVISOR
}

/// The device of which BlueStore offers this total.
const fn device_for(total: u64) -> u64 {
    total.saturating_add(total / (WITHHELD_DIVISOR - 1))
}

/// Returns whether BlueStore lends space to levels that do not fit.
pub fn uses_extra(version: Version) -> bool {
    match version.release() {
        Release::Nautilus => version.is_at_least(14, 2, 12),
        release if release > Release::Nautilus => version.is_at_least(15, 2, 6),
        _ => false,
    }
}

/// Returns whether new OSDs divide their metadata into column families.
pub fn shards_metadata(version: Version) -> bool {
    version.release() >= Release::Pacific
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: Levels = Levels::UNTIL_QUINCY;
    const NEW: Levels = Levels::SINCE_REEF;

    fn gib(bytes: f64) -> u64 {
        (bytes * GIB as f64) as u64
    }

    /// The wiki's arithmetic: 1024 + 256 + 2560 [+ 25600 [+ 256000]] MB.
    #[test]
    fn useful_sizes_follow_from_base_and_multiplier() {
        let sizes: Vec<_> =
            OLD.useful_sizes().iter().map(|useful| (useful.levels, useful.bytes / MIB)).collect();
        assert_eq!(
            sizes[..4],
            [
                (1, 1024 + 256),
                (2, 1024 + 256 + 2560),
                (3, 1024 + 256 + 2560 + 25600),
                (4, 1024 + 256 + 2560 + 25600 + 256000),
            ]
        );
        // Rounded up in thousands of MiB, they are the wiki's 4, 30 and 286 GB. In a drive's GB the
        // last one is 299.
        let wiki: Vec<_> = sizes[1..4].iter().map(|(_, mib)| mib.div_ceil(1000)).collect();
        assert_eq!(wiki, [4, 30, 286]);
        let shown: Vec<_> = OLD.useful_sizes()[1..4]
            .iter()
            .map(|size| workload::number::capacity(size.bytes))
            .collect();
        assert_eq!(shown, ["4.03 GB", "30.9 GB", "299 GB"]);
    }

    #[test]
    fn what_remains_of_a_60_gb_partition_is_wasted() {
        let useful = OLD.useful_part(60_000_000_000).unwrap();
        assert_eq!((useful.levels, useful.bytes), (3, 29_440 * MIB));
        assert_eq!(OLD.useful_part(GIB), None);
    }

    /// `src/test/objectstore/test_rocksdb_bluefs_vselector` of Ceph: 168 GiB, 1 GiB times 8.
    #[test]
    fn the_extra_of_ceph_s_own_unit_test() {
        assert_eq!(NEW.extra(168 * GIB), 30 * GIB);
    }

    /// A running OSD logged these figures (ceph pull request 29687): a DB device of 100 GiB,
    /// `db_total` and `db_avail`.
    #[test]
    fn the_extra_of_an_osd_s_log() {
        assert_eq!(offered(0x19_0000_0000), 102_005_473_280);
        assert_eq!(OLD.extra(102_005_473_280), 44_291_850_240);
    }

    #[test]
    fn thresholds() {
        assert_eq!(OLD.thresholds()[..3], [6.25, 53.75, 528.75].map(gib));
        assert_eq!(NEW.thresholds()[..3], [18.0, 138.0, 1098.0].map(gib));
        // At a threshold, the one before it still counts.
        assert_eq!(NEW.extra(138 * GIB), 120 * GIB);
        assert_eq!(NEW.extra(138 * GIB + 1), 1);
        assert_eq!(OLD.extra(gib(6.25)), 0);
    }

    #[test]
    fn a_larger_device_may_hold_less() {
        let dip = OLD.dip(60 * GIB).unwrap();
        let rounded = |bytes: u64| format!("{:.1}", bytes as f64 / GIB as f64);
        assert_eq!(
            [dip.after, dip.holds_before, dip.holds, dip.until].map(rounded),
            ["56.6", "53.8", "31.2", "83.7"]
        );
        assert_eq!(NEW.dip(150 * GIB).map(|dip| rounded(dip.until)), Some("212.6".to_owned()));
        for outside in [3, 30, 56, 84, 200, 500] {
            assert_eq!(OLD.dip(outside * GIB), None, "{outside} GiB");
        }
    }

    #[test]
    fn the_policy_by_version() {
        let policy = |text: &str| uses_extra(text.parse().unwrap());
        assert!(!["12", "mimic", "14.2.11", "15.2.0", "15.2.5"].map(policy).contains(&true));
        assert!(
            !["14.2.12", "nautilus", "15.2.6", "16.2.0", "squid", "22"]
                .map(policy)
                .contains(&false)
        );
    }

    proptest! {
        #[test]
        fn nothing_overflows_and_every_part_fits(device: u64) {
            for levels in [OLD, NEW] {
                let total = offered(device);
                prop_assert!(total <= device && levels.extra(total) <= total);
                prop_assert!(levels.holds(total) <= total);
                prop_assert!(levels.useful_part(device).is_none_or(|part| part.bytes <= device));
                let _ = levels.dip(device);
            }
        }

        #[test]
        fn a_dip_ends_where_it_says(device in 1_u64..2_000) {
            for levels in [OLD, NEW] {
                if let Some(dip) = levels.dip(device * GIB) {
                    prop_assert!(dip.after <= device * GIB && device * GIB <= dip.until);
                    prop_assert!(levels.holds(offered(dip.until + 2)) + 2 >= dip.holds_before);
                }
            }
        }
    }
}
