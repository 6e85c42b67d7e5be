//! What units hold, for those who want to know what a power cut leaves. A drive that is only measured keeps none of this.

use std::collections::VecDeque;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::page_map::{Slot, Unit};
use crate::device::{SECTOR_BYTES, Stamp};
use crate::time::Ns;

/// Bytes that the translation layer maps as one.
pub const UNIT_BYTES: u64 = 4096;
/// Sectors of a unit.
pub const SECTORS: usize = (UNIT_BYTES / SECTOR_BYTES) as usize;
/// What a unit holds, sector by sector.
pub type Sectors = [Stamp; SECTORS];

/// The cells, and what of them a power cut would take back.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    cells: Cells,
    /// In the order of their arrival.
    pending: VecDeque<Pending>,
    /// How many of those wait for their word line to fill.
    waiting: usize,
}

/// What lies at each place. A log fills places one after the other, so that those in use lie close together, in runs that are made when one of their places is first filled.
#[derive(Debug, Clone, Default)]
struct Cells {
    runs: Vec<Option<Run>>,
}

/// Places of a run.
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
        let run = self.runs[at].get_or_insert_with(|| Run { filled: 0, places: Box::new([None; RUN]) });
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
    /// When all of it had reached the drive.
    arrived: Ns,
    /// When its program begins and ends; `None` while it waits for its word line to fill.
    program: Option<(Ns, Ns)>,
    old: Sectors,
    new: Sectors,
}

/// What became of a write at a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Survives,
    /// Its program was interrupted: the old or the new, by chance.
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
    /// What lies at a place.
    pub fn at(&self, slot: Slot) -> Sectors {
        self.cells.at(slot)
    }

    /// A unit is written: `old` is where it lay.
    pub fn write(&mut self, unit: Unit, slot: Slot, old: Sectors, new: Sectors, arrived: Ns) {
        self.cells.put(slot, new);
        self.waiting += 1;
        self.pending.push_back(Pending { unit, slot, arrived, program: None, old, new });
    }

    /// The program of these places is under way. They are among the latest writes, because a word line is filled by those.
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

    /// A unit is copied to another place.
    pub fn put(&mut self, slot: Slot, sectors: Sectors) {
        self.cells.put(slot, sectors);
    }

    /// Nothing points to this place any more.
    pub fn released(&mut self, slot: Slot) {
        self.cells.remove(slot);
    }

    /// Forgets what is in the flash for good, in the order of its arrival. What overtook something older stays until that is in the flash, too: one-bit flash overtakes multi-bit flash, and the
    /// older write must not come back.
    pub fn settle(&mut self, now: Ns) {
        while self.pending.front().is_some_and(|pending| pending.program.is_some_and(|(_, end)| end <= now)) {
            self.pending.pop_front();
        }
    }

    /// The oldest write that a power cut at `now` could take back. `protected`: capacitors write out all that has arrived.
    pub fn at_risk_from(&self, now: Ns, protected: bool) -> Option<Stamp> {
        let at_risk = |pending: &&Pending| pending.fate(now, protected) != Fate::Survives;
        // The highest stamp of a unit is that of its latest write. Not simply the first one at risk: an array's parity has stamps out of order.
        self.pending.iter().filter(at_risk).filter_map(|pending| pending.new.into_iter().max()).min()
    }

    /// Takes back what a power cut at `now` takes. `protected`: capacitors write out all that has arrived. `slot_of` finds where a unit lies.
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
            let new_survives = fate == Fate::Survives || (fate == Fate::Torn && chance.next_u64() & 1 == 1);
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
        // The older one goes to multi-bit flash until 1000, the newer one to one-bit flash until 300.
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
