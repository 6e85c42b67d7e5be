//! The operations of each lane: a pure function of run, lane and sequence number, so writer,
//! recorder and checker agree without communication.
//!
//! A lane goes through its slots in rounds. Each round visits every slot once, in a different
//! order, and round `r` writes version `r + 1`. So questions like "which operation wrote version 7
//! of slot 12?" or "which version was the last before operation 1000?" can be answered without a
//! table. A flush lane syncs after every `writes_per_sync` writes; syncs are operations and have
//! sequence numbers too.

use crate::geometry::{Geometry, LaneKind};
use crate::mix;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Write this version of this slot.
    Write {
        /// Index of the slot within the lane.
        index: u32,
        /// The new version, from 1.
        version: u32,
    },
    /// Make everything that the lane wrote before durable.
    Sync,
}

#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    slots: u64,
    /// Operations from one sync to the next, including the sync; 0 if the lane never syncs.
    cycle: u64,
    key: u64,
    /// Half of the bits of a slot number, at least one.
    half_bits: u32,
}

/// Four rounds of a Feistel network are indistinguishable from random without the key (Luby and
/// Rackoff, 1988).
const ROUNDS: u64 = 4;

impl Schedule {
    pub fn new(run_id: u64, geometry: &Geometry, lane: u16) -> Schedule {
        let cycle = match geometry.kind(lane) {
            LaneKind::Flush => u64::from(geometry.writes_per_sync) + 1,
            LaneKind::Fua | LaneKind::Control => 0,
        };
        let slots = u64::from(geometry.slots_per_lane.max(1));
        let bits = u64::BITS - (slots - 1).leading_zeros();
        let key = mix::key([run_id, u64::from(lane), slots]);
        Schedule { slots, cycle, key, half_bits: bits.div_ceil(2).max(1) }
    }

    /// Operation `seq`, counted from 1.
    #[inline]
    pub fn operation(&self, seq: u64) -> Operation {
        if self.cycle > 0 && seq.is_multiple_of(self.cycle) {
            return Operation::Sync;
        }
        let write = self.writes_up_to(seq) - 1;
        let (round, position) = (write / self.slots, write % self.slots);
        Operation::Write {
            index: self.permute(round, position) as u32,
            version: (round + 1) as u32,
        }
    }

    /// Number of writes among operations 1 to `seq`.
    #[inline]
    pub fn writes_up_to(&self, seq: u64) -> u64 {
        seq - seq.checked_div(self.cycle).unwrap_or(0)
    }

    /// The operation that wrote this version of this slot; 0 for version 0, which precedes the run.
    pub fn seq_of(&self, index: u32, version: u32) -> u64 {
        if version == 0 {
            return 0;
        }
        let round = u64::from(version) - 1;
        let write = round * self.slots + self.position(round, u64::from(index));
        match self.cycle {
            0 => write + 1,
            cycle => write / (cycle - 1) * cycle + write % (cycle - 1) + 1,
        }
    }

    /// The latest version of a slot among operations 1 to `seq`; 0 if there is none.
    pub fn version_at(&self, index: u32, seq: u64) -> u32 {
        let writes = self.writes_up_to(seq);
        let (round, done) = (writes / self.slots, writes % self.slots);
        let version = round + u64::from(done > 0 && self.position(round, u64::from(index)) < done);
        u32::try_from(version).unwrap_or(u32::MAX)
    }

    /// The first sync after operation `seq`, which makes it durable; for a lane without syncs, the
    /// operation itself.
    pub fn covered_by(&self, seq: u64) -> u64 {
        if self.cycle == 0 { seq } else { seq.div_ceil(self.cycle) * self.cycle }
    }

    /// The first write after operation `seq`.
    pub fn write_after(&self, seq: u64) -> u64 {
        if self.cycle > 0 && (seq + 1).is_multiple_of(self.cycle) { seq + 2 } else { seq + 1 }
    }

    #[inline]
    fn permute(&self, round: u64, position: u64) -> u64 {
        let mut value = position;
        // The network permutes a power of four, which is up to four times too large: values outside
        // the range are permuted again.
        loop {
            value = self.network(round, value, 0..ROUNDS);
            if value < self.slots {
                return value;
            }
        }
    }

    /// The position of a slot in a round.
    fn position(&self, round: u64, slot: u64) -> u64 {
        let mut value = slot;
        loop {
            value = self.swapped(value);
            value = self.network(round, value, (0..ROUNDS).rev());
            value = self.swapped(value);
            if value < self.slots {
                debug_assert_eq!(self.permute(round, value), slot, "a slot has one position");
                return value;
            }
        }
    }

    #[inline]
    fn network(&self, round: u64, value: u64, steps: impl Iterator<Item = u64>) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for step in steps {
            let mixed =
                mix::mix(self.key ^ round.wrapping_mul(ROUNDS).wrapping_add(step), right) & mask;
            (left, right) = (right, left ^ mixed);
        }
        (left << self.half_bits) | right
    }

    /// Exchanges the halves, which inverts a Feistel network.
    fn swapped(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        ((value & mask) << self.half_bits) | (value >> self.half_bits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::geometry::tests::small;

    fn schedules(slots_per_lane: u32, writes_per_sync: u16) -> [Schedule; 3] {
        let geometry = Geometry { slots_per_lane, writes_per_sync, ..small() };
        [0, 2, 3].map(|lane| Schedule::new(99, &geometry, lane))
    }

    proptest! {
        #[test]
        fn every_round_visits_every_slot_once(slots in 4u32..700, round in 0u64..1000) {
            let [schedule, ..] = schedules(slots, 1);
            let visited: std::collections::BTreeSet<u64> =
                (0..u64::from(slots)).map(|position| schedule.permute(round, position)).collect();
            prop_assert_eq!(visited.len(), slots as usize);
            prop_assert!(visited.iter().all(|&slot| slot < u64::from(slots)));
            for position in 0..u64::from(slots) {
                prop_assert_eq!(schedule.position(round, schedule.permute(round, position)), position);
            }
        }

        #[test]
        fn a_version_determines_its_operation(slots in 4u32..100, writes_per_sync in 1u16..9, seq in 1u64..1_000_000) {
            for schedule in schedules(slots, writes_per_sync) {
                match schedule.operation(seq) {
                    Operation::Write { index, version } => {
                        prop_assert_eq!(schedule.seq_of(index, version), seq);
                        prop_assert_eq!(schedule.version_at(index, seq), version);
                        prop_assert_eq!(schedule.version_at(index, seq - 1), version - 1);
                        let covered = schedule.covered_by(seq);
                        prop_assert!(covered >= seq);
                        prop_assert!(schedule.cycle == 0 || schedule.operation(covered) == Operation::Sync);
                    }
                    Operation::Sync => prop_assert_eq!(seq % (u64::from(writes_per_sync) + 1), 0),
                }
            }
        }
    }

    #[test]
    fn the_latest_version_matches_a_simulation() {
        for schedule in schedules(13, 3) {
            let mut versions = [0; 13];
            for seq in 1..500 {
                if let Operation::Write { index, version } = schedule.operation(seq) {
                    versions[index as usize] = version;
                }
                for index in 0..13 {
                    assert_eq!(
                        schedule.version_at(index, seq),
                        versions[index as usize],
                        "{seq} {index}"
                    );
                }
            }
        }
    }

    /// Targets written by earlier versions must remain checkable, so the order is part of the
    /// format.
    #[test]
    fn the_order_of_a_run_never_changes() {
        // Computed independently of this code.
        let order = |slots, lane: usize, round| {
            let schedule = schedules(slots, 1)[lane];
            (0..8).map(|position| schedule.permute(round, position)).collect::<Vec<_>>()
        };
        assert_eq!(order(16, 0, 0), [4, 9, 15, 11, 1, 14, 3, 12]);
        assert_eq!(order(16, 0, 1), [14, 5, 9, 4, 6, 11, 0, 13]);
        assert_eq!(order(16, 1, 1), [10, 15, 12, 9, 6, 11, 3, 13]);
        assert_eq!(order(13, 0, 0), [8, 1, 12, 2, 5, 11, 0, 4]);
        assert_eq!(order(1000, 0, 1), [967, 977, 745, 464, 543, 656, 780, 363]);
    }

    #[test]
    fn a_flushing_lane_syncs_after_its_writes_and_others_never() {
        let [flush, fua, control] = schedules(16, 3);
        let syncs: Vec<u64> =
            (1..13).filter(|&seq| flush.operation(seq) == Operation::Sync).collect();
        assert_eq!(syncs, [4, 8, 12]);
        assert_eq!([1, 3, 4, 5, 8, 9].map(|seq| flush.writes_up_to(seq)), [1, 3, 3, 4, 6, 7]);
        assert_eq!([1, 3, 4, 5].map(|seq| flush.covered_by(seq)), [4, 4, 4, 8]);
        assert_eq!([0, 2, 3, 4].map(|seq| flush.write_after(seq)), [1, 3, 5, 5]);
        for lane in [fua, control] {
            assert!((1..100).all(|seq| lane.operation(seq) != Operation::Sync));
            assert_eq!([4, 5].map(|seq| lane.writes_up_to(seq)), [4, 5]);
            assert_eq!((lane.covered_by(7), lane.write_after(7), lane.seq_of(3, 0)), (7, 8, 0));
        }
    }

    #[test]
    fn lanes_and_runs_differ() {
        let geometry = Geometry { slots_per_lane: 1000, ..small() };
        let order = |run, lane| {
            let schedule = Schedule::new(run, &geometry, lane);
            (0..50).map(|position| schedule.permute(0, position)).collect::<Vec<_>>()
        };
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
    }
}
