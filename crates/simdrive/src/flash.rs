//! Flash and its translation layer: pages are written once, blocks are erased as a whole.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`page_map`] | the location of each unit of 4 KiB |
//! | [`dies`] | the schedule of dies and channels |
//! | `blocks` | erase blocks: free blocks, valid units, wear |
//! | `contents` | the contents of units, for power cuts |
//! | this module | the data flow: host writes fill word lines, which go to the dies in turn; garbage collection and folding free space |
//!
//! Assumptions. One erase block from every die together form a superblock, which is opened, filled,
//! collected and erased as a unit, as firmware of page-mapped drives does (NVMeVirt calls it a
//! line). Writes go to the dies in turn. Garbage collection selects the superblock with the fewest
//! valid units (greedy; Xiang and Kurkoski, arXiv 1110.4245, give its write amplification). Its
//! work is spread over the host's writes as soon as free superblocks run low. Moved data goes to
//! separate superblocks. The least worn free superblock is opened first, and a block that has not
//! been erased for a long time is occasionally moved. Folding out of one-bit flash uses the idle
//! time of the dies.

mod blocks;
pub mod contents;
pub mod dies;
pub mod page_map;

use std::collections::VecDeque;

use catalogue::model::{self, Bytes};
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::Stamp;
use crate::time::{Ns, Speed, from_us};
use blocks::{Blocks, Cells};
use contents::{Contents, SECTORS, Sectors, UNIT_BYTES};
use dies::{Dies, Sense};
use page_map::{NONE, PageMap, Slot, Unit};

/// A partially filled word line is written after this time: no firmware keeps data in volatile
/// memory indefinitely.
const LINGER_NS: Ns = 10_000_000;
/// Minimum number of superblocks of a scaled-down drive, so that spare flash can still be set in
/// percent.
const SUPERBLOCKS_MIN: u64 = 400;

/// The geometry and timing of the flash.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Units of 4 KiB visible to the host.
    pub units: u64,
    pub multi: Program,
    /// One-bit flash, if there is any.
    pub slc: Option<SlcShape>,
    pub dies: u32,
    /// Programs per erase block of one die.
    pub programs_per_block: u32,
    pub erase_ns: Ns,
    /// Spare flash, as a fraction of the visible capacity.
    pub spare: f64,
}

impl Shape {
    /// The shape for a model's flash with this many visible units.
    pub fn of(flash: &model::Flash, units: u64) -> Shape {
        let program = |bytes: Bytes, us: f64| Program {
            units: (bytes.0 / UNIT_BYTES) as u32,
            ns: from_us(us),
        };
        Shape {
            units,
            multi: program(flash.program, flash.program_us),
            slc: flash.slc.map(|slc| SlcShape {
                program: program(slc.program, slc.program_us),
                size_bytes: slc.size.0,
                request_bytes_max: slc.request_most.map_or(u64::MAX, |most| most.0),
                free_bytes: slc.free.0,
            }),
            dies: flash.dies,
            programs_per_block: flash.programs_per_block,
            erase_ns: from_us(flash.erase_us),
            spare: flash.spare_percent / 100.0,
        }
    }
}

/// One program of one die.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub units: u32,
    pub ns: Ns,
}

/// The geometry of one-bit flash.
#[derive(Debug, Clone, Copy)]
pub struct SlcShape {
    pub program: Program,
    pub size_bytes: u64,
    /// Larger requests bypass it.
    pub request_bytes_max: u64,
    /// Bytes that are initially free.
    pub free_bytes: u64,
}

/// A superblock that is being filled.
#[derive(Debug, Clone, Copy)]
struct Open {
    block: u32,
    /// The next free slot.
    next: u32,
    /// Units waiting for their word line to fill.
    waiting: u32,
    /// The time at which the last of these units was available.
    ready: Ns,
    /// Dies that have not erased their block yet.
    to_erase: u32,
}

/// The source of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    HostMulti,
    HostSlc,
    Moved,
}

/// Written units by cause, and erases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wear {
    /// Units written by the host.
    pub host_units: u64,
    /// Units moved by garbage collection.
    pub moved_units: u64,
    /// Slots left empty because a word line had to be written early.
    pub padded_units: u64,
    pub erases: u64,
}

#[derive(Debug)]
pub struct Flash {
    shape: Shape,
    dies: Dies,
    map: PageMap,
    blocks: Blocks,
    open: [Option<Open>; 3],
    /// Host data being written to the flash, in order: time of completion, and bytes.
    programs: VecDeque<(Ns, u64)>,
    /// Bytes of these, and of word lines being filled.
    waiting_bytes: u64,
    last_write: Ns,
    last_end: Ns,
    idle_since: Ns,
    fold_credit_ns: Ns,
    /// Bytes of free one-bit flash.
    slc_room: u64,
    /// The current request is too large for one-bit flash.
    bypasses_slc: bool,
    /// Bytes in one-bit flash from before the simulation started.
    slc_old: u64,
    victim: Option<u32>,
    victim_next: u32,
    move_debt: f64,
    erases_since_leveling: u32,
    wear: Wear,
    contents: Option<Contents>,
}

impl Flash {
    /// New flash. Each of the `channels` has a speed of `channel_speed`.
    pub fn new(
        mut shape: Shape,
        channels: u32,
        channel_speed: Speed,
        sense: Sense,
        track_contents: bool,
    ) -> Flash {
        let stripe = u64::from(shape.dies) * u64::from(shape.multi.units);
        let programs =
            (shape.units / SUPERBLOCKS_MIN / stripe).clamp(2, u64::from(shape.programs_per_block));
        // Keep the ratio of erase time to program time.
        shape.erase_ns = shape.erase_ns * programs / u64::from(shape.programs_per_block);
        shape.programs_per_block = programs as u32;
        let superblock = stripe * programs;
        let physical = (shape.units as f64 * (1.0 + shape.spare)) as u64;
        let slc_units =
            shape.slc.map(|slc| shape.dies * slc.program.units * shape.programs_per_block);
        let data = shape.units.div_ceil(superblock);
        let count = (physical.div_ceil(superblock) + u64::from(Blocks::RESERVE))
            .max(data + u64::from(Blocks::MIN));
        Flash {
            dies: Dies::new(shape.dies, channels, channel_speed, sense),
            map: PageMap::new(),
            blocks: Blocks::new(count as u32, superblock as u32, slc_units),
            open: [None; 3],
            programs: VecDeque::new(),
            waiting_bytes: 0,
            last_write: 0,
            last_end: 0,
            idle_since: 0,
            fold_credit_ns: 0,
            slc_room: shape.slc.map_or(0, |slc| slc.free_bytes),
            bypasses_slc: false,
            slc_old: shape.slc.map_or(0, |slc| slc.size_bytes.saturating_sub(slc.free_bytes)),
            victim: None,
            victim_next: 0,
            move_debt: 0.0,
            erases_since_leveling: 0,
            wear: Wear::default(),
            contents: track_contents.then(Contents::default),
            shape,
        }
    }

    /// Lays the first units out in order, in no time.
    pub fn lay_out(&mut self, units: Unit) {
        self.map.lay_out(units);
        self.blocks.lay_out(units);
        self.open = [None; 3];
        self.victim = None;
        self.forget_contents();
    }

    /// Overwrites the laid-out units at random, `overwrites` times, in no time.
    pub fn wear_out(&mut self, now: Ns, overwrites: f64, chance: &mut Xoshiro256PlusPlus) {
        self.forget_contents();
        let units = u64::from(self.laid_out().max(1));
        let dies = self.dies.clone();
        for write in 0..(units as f64 * overwrites) as u64 {
            self.write(below(chance, units) as Unit, now, None::<fn(Sectors) -> Sectors>);
            // No program needs to be waited for.
            if write.is_multiple_of(1 << 16) {
                self.programs.clear();
            }
        }
        // A half-filled word line would add waiting time when it is written, although nobody waits
        // for its data any more.
        self.force(now);
        self.dies = dies;
        self.programs.clear();
        self.waiting_bytes = 0;
        self.last_end = now;
    }

    /// Makes all contents permanent: no power cut affects them.
    fn forget_contents(&mut self) {
        if let Some(contents) = &mut self.contents {
            *contents = Contents::default();
        }
    }

    /// Number of units that were laid out in order.
    pub const fn laid_out(&self) -> Unit {
        self.map.in_order()
    }

    /// Wear so far.
    pub const fn wear(&self) -> Wear {
        self.wear
    }

    /// Memory used by the translation layer, in bytes.
    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        self.map.memory_bytes() + self.blocks.memory_bytes()
    }

    /// Advances to `now`: idle dies fold, and a word line that has waited long enough is written.
    pub fn catch_up(&mut self, now: Ns) {
        if self.waiting_bytes > 0 && now > self.last_write + LINGER_NS && self.has_partial() {
            self.force(self.last_write + LINGER_NS);
        }
        if self.shape.slc.is_some() {
            let idle_since = self.idle_since.max(self.dies.busy_until());
            if now > idle_since {
                self.fold_credit_ns += now - idle_since;
                self.idle_since = now;
                self.fold();
            }
        }
        if let Some(contents) = &mut self.contents {
            contents.settle(now);
        }
    }

    /// The time, at or after `now`, at which there is space for `bytes` more in a cache of
    /// `cache_bytes`.
    #[inline]
    pub fn room_at(&mut self, now: Ns, bytes: u64, cache_bytes: u64) -> Ns {
        while let Some(&(end, part)) = self.programs.front() {
            if end > now {
                break;
            }
            self.waiting_bytes -= part;
            self.programs.pop_front();
        }
        let mut at = now;
        while self.waiting_bytes + bytes > cache_bytes && self.waiting_bytes > 0 {
            match self.programs.pop_front() {
                Some((end, part)) => {
                    at = at.max(end);
                    self.waiting_bytes -= part;
                }
                None => drop(self.force(at)),
            }
        }
        at
    }

    /// A request of this size follows.
    #[inline]
    pub fn begin_request(&mut self, bytes: u64) {
        self.bypasses_slc = self.shape.slc.is_some_and(|slc| bytes > slc.request_bytes_max);
    }

    /// Units of one program of every die.
    pub const fn stripe_units(&self) -> u64 {
        self.shape.dies as u64 * self.shape.multi.units as u64
    }

    /// Accepts one unit that is available at `ready`. `new` updates its sectors.
    #[inline]
    pub fn write(&mut self, unit: Unit, ready: Ns, new: Option<impl FnOnce(Sectors) -> Sectors>) {
        let stream = self.host_stream();
        self.last_write = ready;
        self.waiting_bytes += UNIT_BYTES;
        self.wear.host_units += 1;
        let sectors = match (&self.contents, new) {
            (Some(contents), Some(new)) => {
                let old = self.map.get(unit).map_or([0; SECTORS], |slot| contents.at(slot));
                Some((old, new(old)))
            }
            _ => None,
        };
        let slot = self.place(stream, unit, ready);
        if let (Some(contents), Some((old, new))) = (&mut self.contents, sectors) {
            contents.write(unit, slot, old, new, ready);
        }
        self.complete_word_line(stream);
    }

    /// A write to a unit will follow soon.
    #[inline]
    pub fn anticipate(&self, unit: Unit) {
        self.map.prefetch(unit);
    }

    /// Writes partially filled word lines. Returns when all host data is in the flash.
    pub fn force(&mut self, now: Ns) -> Ns {
        for stream in [Stream::HostMulti, Stream::HostSlc] {
            self.pad(stream, now);
        }
        self.last_end.max(now)
    }

    /// Prevents folding until `until`, while the controller writes its tables.
    pub fn keep_busy(&mut self, until: Ns) {
        self.idle_since = self.idle_since.max(until);
    }

    /// Returns `true` if host data is not in the flash at `now`.
    pub fn is_dirty(&self, now: Ns) -> bool {
        self.last_end > now || self.has_partial()
    }

    /// Returns `true` if the next write goes to one-bit flash.
    pub fn writes_one_bit(&self) -> bool {
        self.host_stream() == Stream::HostSlc
    }

    /// Reads a unit. Returns when it is at the controller, or `None` if it was never written.
    /// Consecutive units on one word line are read with one access: `units` is the number
    /// requested, the second part of the result the number read.
    pub fn read(&mut self, unit: Unit, units: u32, now: Ns) -> Option<(Ns, u32)> {
        let slot = self.map.get(unit)?;
        let (die, left) = self.blocks.locate(slot, &self.shape);
        // One sense operation reads a page of 16 KiB.
        let page_left = 4 - slot % 4;
        let mut count = 1;
        while count < units.min(left).min(page_left)
            && self.map.get(unit + count) == Some(slot + count)
        {
            count += 1;
        }
        Some((self.dies.read(die, now, u64::from(count) * UNIT_BYTES), count))
    }

    /// The stamp of the oldest write that has arrived and that a power cut could lose.
    pub fn at_risk_from(&self, now: Ns, protected: bool) -> Option<Stamp> {
        self.contents.as_ref()?.at_risk_from(now, protected)
    }

    /// Bytes of host data that have arrived and are not in the flash at `now`.
    pub fn dirty_bytes(&self, now: Ns) -> u64 {
        let programmed =
            self.programs.iter().take_while(|(end, _)| *end <= now).map(|(_, bytes)| bytes).sum();
        self.waiting_bytes.saturating_sub(programmed)
    }

    pub fn contents(&self, unit: Unit) -> Sectors {
        match (&self.contents, self.map.get(unit)) {
            (Some(contents), Some(slot)) => contents.at(slot),
            _ => [0; SECTORS],
        }
    }

    pub fn power_cut(&mut self, now: Ns, protected: bool, chance: &mut Xoshiro256PlusPlus) {
        if let Some(contents) = &mut self.contents {
            contents.cut(now, protected, chance, |unit| self.map.get(unit));
        }
        self.dies.stop();
        self.programs.clear();
        self.waiting_bytes = 0;
        self.last_end = 0;
        // A partially filled word line is written as it is. The rest of the host's blocks is not
        // used, because the progress of the last program is unknown. For moved units, the originals
        // still exist, so the controller continues in that block; otherwise repeated cuts would use
        // up all free blocks.
        self.program_in_idle_time(self.shape.multi);
        for stream in [Stream::HostMulti, Stream::HostSlc] {
            if let Some(open) = self.open[stream as usize].take()
                && self.blocks.close(open.block, open.next)
            {
                self.reclaim(open.block);
            }
        }
    }

    fn has_partial(&self) -> bool {
        let partial =
            |stream: Stream| self.open[stream as usize].is_some_and(|open| open.waiting > 0);
        partial(Stream::HostMulti) || partial(Stream::HostSlc)
    }

    #[inline]
    fn host_stream(&self) -> Stream {
        match &self.shape.slc {
            Some(_) if self.bypasses_slc => Stream::HostMulti,
            Some(slc) => {
                let filling =
                    self.open[Stream::HostSlc as usize].is_some_and(|open| open.waiting > 0);
                let program_bytes = u64::from(slc.program.units) * UNIT_BYTES;
                let open =
                    self.open[Stream::HostSlc as usize].is_some() || self.blocks.has_plenty();
                if filling || (open && self.slc_room >= program_bytes) {
                    Stream::HostSlc
                } else {
                    Stream::HostMulti
                }
            }
            None => Stream::HostMulti,
        }
    }

    fn program_of(&self, stream: Stream) -> Program {
        match (stream, &self.shape.slc) {
            (Stream::HostSlc, Some(slc)) => slc.program,
            _ => self.shape.multi,
        }
    }

    /// Assigns a unit its next slot.
    #[inline]
    fn place(&mut self, stream: Stream, unit: Unit, ready: Ns) -> Slot {
        if self.open[stream as usize].is_none() {
            let opened = self.open_block(stream, ready);
            self.open[stream as usize] = Some(opened);
        }
        // Modified in place: copying it out and back costs a tenth of a simulated write.
        let (block, next) = match &mut self.open[stream as usize] {
            Some(open) => {
                let next = open.next;
                open.next += 1;
                open.waiting += 1;
                open.ready = open.ready.max(ready);
                (open.block, next)
            }
            None => (0, 0),
        };
        let slot = self.blocks.slot(block, next);
        self.blocks.fill(block, next, unit);
        if let Some(old) = self.map.set(unit, slot) {
            self.release(old);
        }
        slot
    }

    #[inline]
    fn release(&mut self, slot: Slot) {
        if let Some(contents) = &mut self.contents {
            contents.released(slot);
        }
        let block = self.blocks.block_of(slot);
        if self.blocks.invalidate(block) {
            self.reclaim(block);
        }
    }

    /// Frees a closed superblock without valid units. It is erased when it is opened again.
    fn reclaim(&mut self, block: u32) {
        if let Cells::OneBit = self.blocks.cells(block) {
            self.slc_room += u64::from(self.blocks.written(block)) * UNIT_BYTES;
        }
        if self.victim == Some(block) {
            self.victim = None;
        }
        self.blocks.release(block);
    }

    #[cold]
    fn open_block(&mut self, stream: Stream, now: Ns) -> Open {
        if stream != Stream::Moved {
            self.make_room(now);
        }
        let cells = if stream == Stream::HostSlc { Cells::OneBit } else { Cells::MultiBit };
        let (block, used_before) = self.blocks.open(cells);
        if used_before {
            self.wear.erases += 1;
            self.erases_since_leveling += 1;
        }
        Open {
            block,
            next: 0,
            waiting: 0,
            ready: 0,
            to_erase: if used_before { self.shape.dies } else { 0 },
        }
    }

    #[inline]
    fn complete_word_line(&mut self, stream: Stream) {
        let program = self.program_of(stream);
        if self.open[stream as usize].is_some_and(|open| open.waiting == program.units) {
            self.program(stream, program);
        }
    }

    fn pad(&mut self, stream: Stream, now: Ns) {
        let program = self.program_of(stream);
        if let Some(open) = &mut self.open[stream as usize]
            && open.waiting > 0
        {
            let padding = program.units - open.waiting;
            open.ready = open.ready.max(now);
            open.next += padding;
            self.wear.padded_units += u64::from(padding);
            self.program(stream, program);
        }
    }

    /// Sends a word line to its die.
    fn program(&mut self, stream: Stream, program: Program) {
        let Some(mut open) = self.open[stream as usize] else { return };
        let index = open.next / program.units - 1;
        let die = (index % self.shape.dies) as usize;
        if open.to_erase > 0 {
            open.to_erase -= 1;
            self.dies.occupy(die, open.ready, self.shape.erase_ns);
        }
        let bytes = u64::from(program.units) * UNIT_BYTES;
        let (begin, end) = self.dies.program(die, open.ready, bytes, program.ns);
        if let Some(contents) = &mut self.contents {
            let first = self.blocks.slot(open.block, open.next - program.units);
            contents.programmed(first, program.units, begin, end);
        }
        if stream != Stream::Moved {
            self.last_end = self.last_end.max(end);
            self.programs.push_back((self.last_end, u64::from(open.waiting) * UNIT_BYTES));
        }
        if stream == Stream::HostSlc {
            self.slc_room = self.slc_room.saturating_sub(bytes);
        }
        open.waiting = 0;
        let ready = open.ready;
        if open.next >= self.blocks.capacity(open.block) {
            self.open[stream as usize] = None;
            if self.blocks.close(open.block, open.next) {
                self.reclaim(open.block);
            }
        } else {
            self.open[stream as usize] = Some(open);
        }
        if stream != Stream::Moved && self.blocks.is_low() {
            self.collect_a_little(program.units, ready);
        }
    }

    /// Moves enough units to keep pace with the host: a victim with the valid share v frees 1 - v
    /// of itself each time it is moved.
    fn collect_a_little(&mut self, host_units: u32, now: Ns) {
        let Some(victim) = self.choose_victim() else { return };
        let size = f64::from(self.blocks.capacity(victim));
        let valid = f64::from(self.blocks.valid(victim));
        self.move_debt += f64::from(host_units) * (valid / (size - valid).max(1.0)).min(64.0);
        while self.move_debt >= 1.0 {
            let Some(victim) = self.choose_victim() else { return };
            self.move_debt -= 1.0;
            self.move_one(victim, now, true);
        }
    }

    /// Moves units until there is a free superblock: the stall that a host sees if incremental
    /// collection was not enough.
    fn make_room(&mut self, now: Ns) {
        while self.blocks.is_exhausted() {
            let Some(victim) = self.choose_victim() else { return };
            self.move_one(victim, now, true);
        }
    }

    fn choose_victim(&mut self) -> Option<u32> {
        if self.victim.is_none() {
            let level = self.erases_since_leveling >= blocks::LEVEL_EVERY;
            if level {
                self.erases_since_leveling = 0;
            }
            self.victim = self.blocks.victim(level);
            self.victim_next = 0;
        }
        self.victim
    }

    /// Moves the victim's next valid unit; the last one frees the victim. If `timed`, this occupies
    /// the dies.
    fn move_one(&mut self, victim: u32, now: Ns, timed: bool) {
        let capacity = self.blocks.capacity(victim);
        while self.victim_next < capacity {
            let place = self.victim_next;
            self.victim_next += 1;
            let slot = self.blocks.slot(victim, place);
            let unit = self.blocks.owner(victim, place);
            if unit == NONE || self.map.get(unit) != Some(slot) {
                continue;
            }
            if timed {
                let (die, _) = self.blocks.locate(slot, &self.shape);
                self.dies.read(die, now, UNIT_BYTES);
            }
            self.wear.moved_units += 1;
            let sectors = self.contents.as_ref().map(|contents| contents.at(slot));
            let to = self.place(Stream::Moved, unit, now);
            if let (Some(contents), Some(sectors)) = (&mut self.contents, sectors) {
                contents.put(to, sectors);
            }
            let program = self.shape.multi;
            if self.open[Stream::Moved as usize].is_some_and(|open| open.waiting == program.units) {
                if timed {
                    self.program(Stream::Moved, program);
                } else {
                    self.program_in_idle_time(program);
                }
            }
            return;
        }
        // Nothing valid was left. The victim was freed with its last unit, unless it never had one.
        if self.victim == Some(victim) {
            self.reclaim(victim);
        }
    }

    /// Folds in the accumulated idle time.
    fn fold(&mut self) {
        let Some(slc) = self.shape.slc else { return };
        let step_units = self.shape.dies * self.shape.multi.units;
        let step_bytes = u64::from(step_units) * UNIT_BYTES;
        let step_ns = self.shape.multi.ns;
        while self.fold_credit_ns >= step_ns {
            if self.slc_old > 0 {
                let bytes = step_bytes.min(self.slc_old);
                self.slc_old -= bytes;
                self.slc_room = (self.slc_room + bytes).min(slc.size_bytes);
            } else {
                if self.victim.is_none() {
                    self.victim = self.blocks.folding_victim();
                    self.victim_next = 0;
                }
                let Some(first) = self.victim else {
                    self.fold_credit_ns = 0;
                    return;
                };
                let mut victim = Some(first);
                for _ in 0..step_units {
                    if let Some(block) = victim {
                        self.move_one(block, self.idle_since, false);
                    }
                    victim = self.victim;
                }
            }
            self.fold_credit_ns -= step_ns;
        }
    }

    /// Writes a word line in idle time that has already passed, so no die is busy from now on.
    fn program_in_idle_time(&mut self, program: Program) {
        let stream = Stream::Moved as usize;
        if let Some(open) = &mut self.open[stream] {
            if open.waiting > 0 {
                open.next += program.units - open.waiting;
            }
            open.waiting = 0;
            open.to_erase = 0;
            if let Some(contents) = &mut self.contents {
                let first = self.blocks.slot(open.block, open.next.saturating_sub(program.units));
                contents.programmed(first, program.units, 0, 0);
            }
            if open.next >= self.blocks.capacity(open.block) {
                let Open { block, next, .. } = *open;
                self.open[stream] = None;
                if self.blocks.close(block, next) {
                    self.reclaim(block);
                }
            }
        }
    }
}

/// A number below `bound`, uniform up to 2^-32.
fn below(chance: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(chance.next_u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests;
