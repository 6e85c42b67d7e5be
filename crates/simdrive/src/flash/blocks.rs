//! Superblocks: free blocks, valid units and wear.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::page_map::{NONE, Slot, Unit};
use super::{Program, Shape};

/// Number of erases after which the least worn superblock is moved, so that static data does not
/// exempt it from wear.
pub const LEVEL_EVERY: u32 = 64;
/// Difference in erases that justifies a move.
const LEVEL_GAP: u32 = 16;

/// The number of bits per cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    OneBit,
    MultiBit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open,
    Closed,
}

#[derive(Debug, Clone)]
struct Block {
    state: State,
    cells: Cells,
    valid: u32,
    /// Slots used when it was closed, padding included.
    written: u32,
    erases: u32,
    used: bool,
    /// The unit written to each slot. `None` for a block that was laid out in order.
    owners: Option<Box<[Unit]>>,
}

/// All superblocks of a drive.
#[derive(Debug, Clone)]
pub struct Blocks {
    all: Vec<Block>,
    /// Slots of a superblock in multi-bit flash, and in one-bit flash.
    capacity: u32,
    capacity_slc: u32,
    free: BinaryHeap<Reverse<(u32, u32)>>,
    open: u32,
}

impl Blocks {
    /// Superblocks in addition to capacity and spare flash, to compensate for those that are only
    /// partially filled at any time, so that the spare flash is available for data.
    pub const RESERVE: u32 = 2;
    /// Minimum number of superblocks above the capacity: three are open at a time, and garbage
    /// collection needs some to move data to.
    pub const MIN: u32 = 6;
    /// With fewer free superblocks, garbage collection starts.
    const LOW: usize = 4;
    /// With fewer free superblocks, none is opened for the host until one is freed.
    const EXHAUSTED: usize = 2;
    /// With fewer free superblocks, none is used for one-bit flash.
    const PLENTY: usize = 12;

    pub fn new(count: u32, capacity: u32, capacity_slc: Option<u32>) -> Blocks {
        let block = Block {
            state: State::Free,
            cells: Cells::MultiBit,
            valid: 0,
            written: 0,
            erases: 0,
            used: false,
            owners: None,
        };
        Blocks {
            all: vec![block; count as usize],
            capacity,
            capacity_slc: capacity_slc.unwrap_or(capacity),
            free: (0..count).map(|index| Reverse((0, index))).collect(),
            open: 0,
        }
    }

    /// Fills superblocks in order with the first units; all others are free.
    pub fn lay_out(&mut self, units: Unit) {
        let capacity = self.capacity;
        self.open = 0;
        self.free.clear();
        for (index, block) in self.all.iter_mut().enumerate() {
            let first = index as u64 * u64::from(capacity);
            let filled = u64::from(units).saturating_sub(first).min(u64::from(capacity)) as u32;
            block.owners = None;
            block.cells = Cells::MultiBit;
            block.valid = filled;
            block.written = filled;
            block.used |= filled > 0;
            block.state = if filled > 0 { State::Closed } else { State::Free };
            if filled == 0 {
                self.free.push(Reverse((block.erases, index as u32)));
            }
        }
    }

    #[inline]
    pub const fn slot(&self, block: u32, place: u32) -> Slot {
        block * self.capacity + place
    }

    #[inline]
    pub const fn block_of(&self, slot: Slot) -> u32 {
        slot / self.capacity
    }

    pub fn capacity(&self, block: u32) -> u32 {
        match self.all[block as usize].cells {
            Cells::OneBit => self.capacity_slc,
            Cells::MultiBit => self.capacity,
        }
    }

    pub fn cells(&self, block: u32) -> Cells {
        self.all[block as usize].cells
    }

    pub fn valid(&self, block: u32) -> u32 {
        self.all[block as usize].valid
    }

    pub fn written(&self, block: u32) -> u32 {
        self.all[block as usize].written
    }

    /// The die of a slot, and the number of slots left on the same word line, including this one.
    pub fn locate(&self, slot: Slot, shape: &Shape) -> (usize, u32) {
        let block = self.block_of(slot);
        let place = slot - block * self.capacity;
        let Program { units, .. } = match (self.cells(block), &shape.slc) {
            (Cells::OneBit, Some(slc)) => slc.program,
            _ => shape.multi,
        };
        ((place / units % shape.dies) as usize, units - place % units)
    }

    /// The unit that was written to a slot. Its current location can be different.
    pub fn owner(&self, block: u32, place: u32) -> Unit {
        match &self.all[block as usize].owners {
            Some(owners) => owners[place as usize],
            None => self.slot(block, place),
        }
    }

    #[inline]
    pub fn fill(&mut self, block: u32, place: u32, unit: Unit) {
        let block = &mut self.all[block as usize];
        debug_assert!(
            block.state == State::Open,
            "a unit is placed in a {:?} superblock",
            block.state
        );
        if let Some(owners) = &mut block.owners {
            debug_assert!(
                owners[place as usize] == NONE,
                "a page is written a second time without an erase"
            );
            owners[place as usize] = unit;
        }
        block.valid += 1;
    }

    /// Marks one unit as invalid; returns `true` if the superblock is closed and has no valid units
    /// left.
    #[inline]
    pub fn invalidate(&mut self, block: u32) -> bool {
        let block = &mut self.all[block as usize];
        debug_assert!(block.valid > 0, "a unit left a superblock that held none");
        block.valid -= 1;
        block.valid == 0 && block.state == State::Closed
    }

    /// Opens the least worn free superblock; returns it, and `true` if it must be erased first.
    pub fn open(&mut self, cells: Cells) -> (u32, bool) {
        // One always exists: garbage collection keeps some free, and the reserve is larger than the
        // number of open superblocks.
        let Reverse((_, index)) = self.free.pop().expect("a superblock is free");
        let capacity = self.capacity as usize;
        let block = &mut self.all[index as usize];
        let used = std::mem::replace(&mut block.used, true);
        block.erases += u32::from(used);
        block.state = State::Open;
        block.cells = cells;
        block.valid = 0;
        block.written = 0;
        block.owners = Some(vec![NONE; capacity].into_boxed_slice());
        self.open += 1;
        (index, used)
    }

    /// Closes a superblock with `written` used slots; returns `true` if it has no valid units left.
    pub fn close(&mut self, block: u32, written: u32) -> bool {
        let block = &mut self.all[block as usize];
        assert!(
            block.state == State::Open && written >= block.valid,
            "{block:?} is closed after {written} slots"
        );
        block.state = State::Closed;
        block.written = written;
        block.valid == 0
    }

    /// Frees a superblock without valid units.
    pub fn release(&mut self, index: u32) {
        let block = &mut self.all[index as usize];
        assert!(
            block.state == State::Closed && block.valid == 0,
            "{block:?} is freed with what it holds"
        );
        block.owners = None;
        block.state = State::Free;
        let erases = block.erases;
        self.free.push(Reverse((erases, index)));
    }

    pub fn is_low(&self) -> bool {
        self.free.len() < Self::LOW
    }

    pub fn is_exhausted(&self) -> bool {
        self.free.len() < Self::EXHAUSTED
    }

    pub fn has_plenty(&self) -> bool {
        self.free.len() >= Self::PLENTY
    }

    /// The closed superblock with the fewest valid units. For wear levelling, the least worn one,
    /// if it lags behind.
    pub fn victim(&self, level: bool) -> Option<u32> {
        let closed =
            || self.all.iter().enumerate().filter(|(_, block)| block.state == State::Closed);
        if level {
            let most = self.all.iter().map(|block| block.erases).max().unwrap_or(0);
            let coldest = closed().min_by_key(|(_, block)| block.erases);
            if let Some((index, block)) = coldest
                && most - block.erases > LEVEL_GAP
            {
                return Some(index as u32);
            }
        }
        // Moving a block full of valid units frees nothing.
        let gives = |block: &Block| block.valid < self.capacity;
        closed()
            .filter(|(_, block)| gives(block))
            .min_by_key(|(_, block)| block.valid)
            .map(|(index, _)| index as u32)
    }

    /// The superblock of one-bit flash with the fewest valid units.
    pub fn folding_victim(&self) -> Option<u32> {
        let slc = |block: &Block| block.state == State::Closed && block.cells == Cells::OneBit;
        let closed = self.all.iter().enumerate().filter(|(_, block)| slc(block));
        closed.min_by_key(|(_, block)| block.valid).map(|(index, _)| index as u32)
    }

    /// Erase counts of the least and the most worn superblock.
    #[cfg(test)]
    pub fn erases_range(&self) -> (u32, u32) {
        let erases = || self.all.iter().map(|block| block.erases);
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }

    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        let owners = self.all.iter().filter_map(|block| block.owners.as_ref());
        size_of_val::<[Block]>(&self.all)
            + owners.map(|owners| size_of_val::<[Unit]>(owners)).sum::<usize>()
    }
}
