//! Superblocks: which are free, what of each is still valid, how worn each is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::page_map::{NONE, Slot, Unit};
use super::{Program, Shape};

/// After so many erasures the least worn superblock is moved, so that data that never changes does not keep it from its share of the wear.
pub const LEVEL_EVERY: u32 = 64;
/// Difference of erasures that is worth a move.
const LEVEL_GAP: u32 = 16;

/// How many bits a cell holds.
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
    /// Places used when it was closed, padding included.
    written: u32,
    erases: u32,
    used: bool,
    /// Which unit was put where. `None` for a block that was laid out in order.
    owners: Option<Box<[Unit]>>,
}

/// All superblocks of a drive.
#[derive(Debug, Clone)]
pub struct Blocks {
    all: Vec<Block>,
    /// Places of a superblock in multi-bit flash, and in one-bit flash.
    capacity: u32,
    capacity_slc: u32,
    free: BinaryHeap<Reverse<(u32, u32)>>,
    open: u32,
    memory_bytes: usize,
}

impl Blocks {
    /// Superblocks beyond capacity and spare part, in place of those that are only half filled at a time, so that the spare part is one of data.
    pub const RESERVE: u32 = 2;
    /// Superblocks beyond capacity without which nothing can be moved: three are open at a time, and collecting needs some to move to.
    pub const LEAST: u32 = 6;
    /// With fewer free ones, collecting begins.
    const LOW: usize = 4;
    /// With fewer free ones, nothing is opened for the host before one is freed.
    const EXHAUSTED: usize = 2;
    /// With fewer free ones, none is used up for one-bit flash.
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
            memory_bytes: count as usize * size_of::<Block>(),
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
            if block.owners.take().is_some() {
                self.memory_bytes -= capacity as usize * size_of::<Unit>();
            }
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

    /// The die that holds a place, and how many places follow on the same word line, itself included.
    pub fn locate(&self, slot: Slot, shape: &Shape) -> (usize, u32) {
        let block = self.block_of(slot);
        let place = slot - block * self.capacity;
        let Program { units, .. } = match (self.cells(block), &shape.slc) {
            (Cells::OneBit, Some(slc)) => slc.program,
            _ => shape.multi,
        };
        ((place / units % shape.dies) as usize, units - place % units)
    }

    /// The unit that was put at a place; it may lie elsewhere by now.
    pub fn owner(&self, block: u32, place: u32) -> Unit {
        match &self.all[block as usize].owners {
            Some(owners) => owners[place as usize],
            None => self.slot(block, place),
        }
    }

    #[inline]
    pub fn fill(&mut self, block: u32, place: u32, unit: Unit) {
        let block = &mut self.all[block as usize];
        if let Some(owners) = &mut block.owners {
            owners[place as usize] = unit;
        }
        block.valid += 1;
    }

    /// One unit fewer is valid. Whether the superblock is closed and has none left.
    #[inline]
    pub fn invalidate(&mut self, block: u32) -> bool {
        let block = &mut self.all[block as usize];
        block.valid -= 1;
        block.valid == 0 && block.state == State::Closed
    }

    /// Takes the least worn free superblock. Whether it has to be erased first.
    pub fn open(&mut self, cells: Cells) -> (u32, bool) {
        // There is always one: collecting keeps some back, and the reserve is larger than what is open at once.
        debug_assert!(!self.free.is_empty(), "no superblock is free");
        let index = self.free.pop().map_or(0, |Reverse((_, index))| index);
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
        self.memory_bytes += capacity * size_of::<Unit>();
        (index, used)
    }

    /// It takes no more; `written` places of it are used. Whether nothing in it is valid any more.
    pub fn close(&mut self, block: u32, written: u32) -> bool {
        let block = &mut self.all[block as usize];
        block.state = State::Closed;
        block.written = written;
        block.valid == 0
    }

    /// Nothing in it is valid: it is free.
    pub fn release(&mut self, index: u32) {
        let block = &mut self.all[index as usize];
        if block.owners.take().is_some() {
            self.memory_bytes -= self.capacity as usize * size_of::<Unit>();
        }
        block.state = State::Free;
        block.valid = 0;
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

    /// The closed superblock with the fewest valid units; to level wear, the least worn one, if it lags behind.
    pub fn victim(&self, level: bool) -> Option<u32> {
        let closed = || self.all.iter().enumerate().filter(|(_, block)| block.state == State::Closed);
        if level {
            let most = self.all.iter().map(|block| block.erases).max().unwrap_or(0);
            let coldest = closed().min_by_key(|(_, block)| block.erases);
            if let Some((index, block)) = coldest
                && most - block.erases > LEVEL_GAP
            {
                return Some(index as u32);
            }
        }
        // A full one gives nothing back.
        let gives = |block: &Block| block.valid < self.capacity;
        closed().filter(|(_, block)| gives(block)).min_by_key(|(_, block)| block.valid).map(|(index, _)| index as u32)
    }

    /// The superblock of one-bit flash with the fewest valid units.
    pub fn folding_victim(&self) -> Option<u32> {
        let slc = |block: &Block| block.state == State::Closed && block.cells == Cells::OneBit;
        let closed = self.all.iter().enumerate().filter(|(_, block)| slc(block));
        closed.min_by_key(|(_, block)| block.valid).map(|(index, _)| index as u32)
    }

    pub fn erases_range(&self) -> (u32, u32) {
        let erases = || self.all.iter().map(|block| block.erases);
        (erases().max().unwrap_or(0), erases().min().unwrap_or(0))
    }

    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}
