//! The contents of units, to determine the effect of a power cut. A drive that is only measured
//! tracks none of this.

use std::collections::VecDeque;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::page_map::{Slot, Unit};
use crate::device::{SECTOR_BYTES, Stamp};
use crate::time::Ns;

/// Bytes of a unit, the granularity of the translation layer.
pub const UNIT_BYTES: u64 = 4096;
pub const SECTORS: usize = (UNIT_BYTES / SECTOR_BYTES) as usize;
/// The contents of a unit, sector by sector.
pub type Sectors = [Stamp; SECTORS];

/// The contents of the flash, and the writes that a power cut would revert.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    cells: Cells,
    /// Writes in order of arrival.
    pending: VecDeque<Pending>,
    /// Number of these that wait for their word line to fill.
    waiting: usize,
}

/// The contents of each slot. A log fills slots one after the other, so used slots are close
/// together. They are stored in runs, each allocated when its first slot is filled.
#[derive(Debug, Clone, Default)]
struct Cells {
    runs: Vec<Option<Run>>,
}

/// Slots per run.
const RUN: usize = 128;

#[derive(Debug, Clone)]
struct Run {
    filled: u32,
    places: Box<[Option<Sectors>; RUN]>,
}

impl Cells {
    #[inline]
    fn at(&self, slot: Slot) -> Sectors {
        let run = self.runs.get(slot as usize / RUN).and_then(Option::as_ref);
        run.and_then(|run| run.places[slot as usize % RUN]).unwrap_or_default()
    }

    #[inline]
    fn put(&mut self, slot: Slot, sectors: Sectors) {
        let at = slot as usize / RUN;
        if at >= self.runs.len() {
            self.runs.resize(at + 1, None);
        }
        let run =
            self.runs[at].get_or_insert_with(|| Run { filled: 0, places: Box::new([None; RUN]) });
        run.filled += u32::from(run.places[slot as usize % RUN].replace(sectors).is_none());
    }

    fn remove(&mut self, slot: Slot) {
        let Some(held) = self.runs.get_mut(slot as usize / RUN) else { return };
        if let Some(run) = held {
            run.filled -= u32::from(run.places[slot as usize % RUN].take().is_some());
            if run.filled == 0 {
                *held = None;
            }
        }
    }
}

/// A write that is not known to be in the flash yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    unit: Unit,
    slot: Slot,
    /// The time at which all of it had reached the drive.
    arrived: Ns,
    /// Start and end of its program; `None` while it waits for its word line to fill.
    program: Option<(Ns, Ns)>,
    old: Sectors,
    new: Sectors,
}

/// The outcome of a write at a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Survives,
    /// Its program was interrupted: old or new contents, by chance.
    Torn,
    Lost,
}

impl Pending {
    fn fate(&self, now: Ns, protected: bool) -> Fate {
        match self.program {
            _ if self.arrived > now => Fate::Lost,
            _ if protected => Fate::Survives,
            Some((_, end)) if end <= now => Fate::Survives,
            Some((begin, _)) if begin < now => Fate::Torn,
            _ => Fate::Lost,
        }
    }
}

impl Contents {
    pub fn at(&self, slot: Slot) -> Sectors {
        self.cells.at(slot)
    }

    /// Records the write of a unit with previous contents `old`.
    pub fn write(&mut self, unit: Unit, slot: Slot, old: Sectors, new: Sectors, arrived: Ns) {
        self.cells.put(slot, new);
        self.waiting += 1;
        self.pending.push_back(Pending { unit, slot, arrived, program: None, old, new });
    }

    /// Records the program of these slots. They are among the latest writes, because those fill a
    /// word line.
    pub fn programmed(&mut self, first: Slot, units: u32, begin: Ns, end: Ns) {
        let slots = first..first + units;
        let mut waiting = self.waiting;
        for pending in self.pending.iter_mut().rev() {
            if waiting == 0 {
                return;
            }
            if pending.program.is_none() {
                waiting -= 1;
                if slots.contains(&pending.slot) {
                    pending.program = Some((begin, end));
                    self.waiting -= 1;
                }
            }
        }
    }

    /// Copies a unit to another slot.
    pub fn put(&mut self, slot: Slot, sectors: Sectors) {
        self.cells.put(slot, sectors);
    }

    /// Releases a slot that is no longer referenced.
    pub fn released(&mut self, slot: Slot) {
        self.cells.remove(slot);
    }

    /// Forgets writes that are permanently in the flash, in order of arrival. A write that overtook
    /// an older one stays until that is in the flash, too: one-bit flash overtakes multi-bit flash,
    /// and the older write must not reappear.
    pub fn settle(&mut self, now: Ns) {
        while self
            .pending
            .front()
            .is_some_and(|pending| pending.program.is_some_and(|(_, end)| end <= now))
        {
            self.pending.pop_front();
        }
    }

    /// The stamp of the oldest write that a power cut at `now` could revert. `protected`:
    /// capacitors save everything that has arrived.
    pub fn at_risk_from(&self, now: Ns, protected: bool) -> Option<Stamp> {
        let at_risk = |pending: &&Pending| pending.fate(now, protected) != Fate::Survives;
        // The highest stamp of a unit is that of its latest write. The first one at risk is not
        // sufficient: the parity of an array has stamps out of order.
        self.pending
            .iter()
            .filter(at_risk)
            .filter_map(|pending| pending.new.into_iter().max())
            .min()
    }

    /// Reverts the writes that are lost in a power cut at `now`. `protected`: capacitors save
    /// everything that has arrived. `slot_of` returns the slot of a unit.
    pub fn cut(
        &mut self,
        now: Ns,
        protected: bool,
        chance: &mut Xoshiro256PlusPlus,
        slot_of: impl Fn(Unit) -> Option<Slot>,
    ) {
        self.waiting = 0;
        let pending = std::mem::take(&mut self.pending);
        let mut left: Vec<(Unit, Sectors)> = Vec::new();
        for write in &pending {
            let fate = write.fate(now, protected);
            let new_survives =
                fate == Fate::Survives || (fate == Fate::Torn && chance.next_u64() & 1 == 1);
            let known = left.iter().position(|(unit, _)| *unit == write.unit);
            match (known, new_survives) {
                (Some(index), true) => left[index].1 = write.new,
                (Some(_), false) => {}
                (None, true) => left.push((write.unit, write.new)),
                (None, false) => left.push((write.unit, write.old)),
            }
        }
        for (unit, sectors) in left {
            if let Some(slot) = slot_of(unit) {
                self.cells.put(slot, sectors);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    #[test]
    fn a_write_that_was_overtaken_does_not_come_back() {
        let mut contents = Contents::default();
        let unit = |stamp| [stamp; SECTORS];
        // The older write goes to multi-bit flash until 1000, the newer one to one-bit flash until
        // 300.
        contents.write(7, 0, unit(0), unit(1), 100);
        contents.write(7, 9, unit(1), unit(2), 200);
        contents.programmed(0, 1, 150, 1000);
        contents.programmed(9, 1, 250, 300);
        contents.settle(400);
        contents.cut(500, false, &mut Xoshiro256PlusPlus::seed_from_u64(0), |_| Some(9));
        assert_eq!(contents.at(9), unit(2));
    }

    #[test]
    fn what_was_not_programmed_is_lost_without_capacitors() {
        for (protected, left) in [(true, 1), (false, 0)] {
            let mut contents = Contents::default();
            contents.write(7, 0, [0; SECTORS], [1; SECTORS], 100);
            contents.cut(500, protected, &mut Xoshiro256PlusPlus::seed_from_u64(0), |_| Some(0));
            assert_eq!(contents.at(0), [left; SECTORS]);
        }
    }
}
