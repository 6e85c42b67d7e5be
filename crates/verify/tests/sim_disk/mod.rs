//! A simulated drive that is honest or lies in one of the known ways, and remembers what it did.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use verify::{Class, Disk, Geometry, RunHeader, fill_record};

/// A way of lying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A flush does nothing; blocks leave the cache in any order.
    IgnoreFlush,
    /// A FUA write stays in the cache.
    IgnoreFua,
    /// Everything is acknowledged at once and becomes durable this many operations later, in order.
    AckEarly(usize),
    /// A flush only prevents reordering.
    BarrierOnly,
    /// One in this many writes stops in the middle (torn).
    Shear(u64),
    /// One in this many writes goes to another slot (misdirected).
    Misdirect(u64),
    /// One in this many writes gets a wrong bit.
    BitFlip(u64),
    /// One in this many writes is dropped.
    Forget(u64),
    /// The whole drive reverts to an earlier moment at the cut.
    Rollback,
    /// A range reverts to its old content at the cut.
    OldRange,
    /// One in this many sectors is unreadable after the cut.
    Unreadable(u64),
    /// Nothing is readable after the cut.
    Dead,
}

/// The content of a sector: the number of the write to its slot, from 0, and any known fault.
#[derive(Debug, Clone, Default)]
struct Held {
    version: u32,
    wrong: BTreeSet<Class>,
}

#[derive(Debug, Clone)]
struct Medium {
    bytes: Vec<u8>,
    held: Vec<Held>,
}

struct Cached {
    version: u32,
    data: Vec<u8>,
}

pub struct SimDisk {
    geometry: Geometry,
    faults: Vec<Fault>,
    protected: bool,
    medium: Medium,
    /// By offset. Two writes to one place become one.
    cache: BTreeMap<u64, Cached>,
    /// For drives that lie in order: all writes that are not on the medium, oldest first; `None` is
    /// a barrier.
    queue: std::collections::VecDeque<Option<(u64, Cached)>>,
    written: HashMap<u64, u32>,
    earlier: Option<Medium>,
    after_cut: bool,
    draws: Xoshiro256PlusPlus,
}

impl SimDisk {
    /// A drive with version 0 everywhere.
    pub fn new(run: &RunHeader, faults: &[Fault], protected: bool, seed: u64) -> SimDisk {
        let geometry = run.geometry;
        let mut bytes = vec![0; geometry.size_bytes() as usize];
        for lane in 0..geometry.lanes() {
            for index in 0..geometry.slots_per_lane {
                let at = geometry.address_bytes(lane, index) as usize;
                fill_record(
                    run,
                    lane,
                    index,
                    &mut bytes[at..at + geometry.record_bytes() as usize],
                );
            }
        }
        let held = vec![Held::default(); geometry.sectors() as usize];
        SimDisk {
            geometry,
            faults: faults.to_vec(),
            protected,
            medium: Medium { bytes, held },
            cache: BTreeMap::new(),
            queue: std::collections::VecDeque::new(),
            written: HashMap::new(),
            earlier: None,
            after_cut: false,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.draws.next_u64() % bound.max(1)
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    fn in_order(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault, Fault::AckEarly(_) | Fault::BarrierOnly))
    }

    /// Puts a write on the medium, with this drive's fault.
    fn store(&mut self, offset: u64, cached: &Cached) {
        let sector_bytes = u64::from(self.geometry.sector_bytes);
        let length = cached.data.len() as u64;
        for fault in self.faults.clone() {
            match fault {
                Fault::Forget(one_in) if self.below(one_in) == 0 => return,
                Fault::Shear(one_in) if self.below(one_in) == 0 => {
                    // After the first header, on a word boundary.
                    let end = 64 + self.below((length - 64) / 8) * 8;
                    // The first word of a header is the same in all versions, so such a tear would
                    // not exist.
                    let end = if end % sector_bytes == 8 { end - 8 } else { end };
                    return self.put(offset, cached, end, None);
                }
                Fault::Misdirect(one_in) if self.below(one_in) == 0 => {
                    let slots = self.geometry.slots();
                    let slot = (offset - self.geometry.sector_address_bytes(0)) / length;
                    let other = (slot + 1 + self.below(slots - 1)) % slots;
                    let at = self.geometry.sector_address_bytes(0) + other * length;
                    return self.put(at, cached, length, Some(Class::Flying));
                }
                Fault::BitFlip(one_in) if self.below(one_in) == 0 => {
                    self.put(offset, cached, length, None);
                    let bit = self.below(length * 8);
                    self.medium.bytes[(offset + bit / 8) as usize] ^= 1 << (bit % 8);
                    let hit = self.number(offset + bit / 8 / sector_bytes * sector_bytes);
                    self.medium.held[hit].wrong.insert(Class::Corrupt);
                    return;
                }
                _ => {}
            }
        }
        self.put(offset, cached, length, None);
    }

    fn number(&self, address: u64) -> usize {
        self.geometry.sector_number(address).unwrap() as usize
    }

    /// Writes the first `end` bytes.
    fn put(&mut self, offset: u64, cached: &Cached, end: u64, wrong: Option<Class>) {
        let sector_bytes = u64::from(self.geometry.sector_bytes);
        self.medium.bytes[offset as usize..(offset + end) as usize]
            .copy_from_slice(&cached.data[..end as usize]);
        for sector in 0..end.div_ceil(sector_bytes) {
            let number = self.number(offset + sector * sector_bytes);
            let held = &mut self.medium.held[number];
            if (sector + 1) * sector_bytes > end {
                held.wrong.insert(Class::Shorn);
            } else {
                *held = Held { version: cached.version, wrong: wrong.into_iter().collect() };
            }
        }
    }

    /// Evicts blocks from the cache in any order.
    fn write_back(&mut self) {
        if self.below(4) == 0 && !self.cache.is_empty() {
            let at = self.below(self.cache.len() as u64) as usize;
            if let Some(&offset) = self.cache.keys().nth(at) {
                self.destage(offset);
            }
        }
    }

    fn destage(&mut self, offset: u64) {
        if let Some(cached) = self.cache.remove(&offset) {
            self.store(offset, &cached);
        }
    }

    fn destage_all(&mut self) {
        while let Some(&offset) = self.cache.keys().next() {
            self.destage(offset);
        }
    }

    fn accept(&mut self, offset: u64, block: &[u8]) -> Cached {
        let version = self.written.entry(offset).or_insert(0);
        *version += 1;
        Cached { version: *version, data: block.to_vec() }
    }

    fn age(&mut self) {
        let delay = self.faults.iter().find_map(|fault| match fault {
            Fault::AckEarly(operations) => Some(*operations),
            _ => None,
        });
        if let Some(delay) = delay {
            while self.queue.len() > delay {
                if let Some(Some((offset, cached))) = self.queue.pop_front() {
                    self.store(offset, &cached);
                }
            }
        } else if self.has(Fault::BarrierOnly) {
            // Epochs are written out whole while there are many.
            while self.queue.iter().filter(|entry| entry.is_none()).count() > 40 {
                if let Some(Some((offset, cached))) = self.queue.pop_front() {
                    self.store(offset, &cached);
                }
            }
        }
    }

    /// Remembers this state, including the cache, for faults that revert to it.
    pub fn remember(&mut self) {
        if !self.has(Fault::Rollback) && !self.has(Fault::OldRange) {
            return;
        }
        let kept = self.medium.clone();
        let entries: Vec<(u64, u32, Vec<u8>)> = self
            .cache
            .iter()
            .map(|(&offset, cached)| (offset, cached.version, cached.data.clone()))
            .collect();
        for (offset, version, data) in entries {
            let length = data.len() as u64;
            self.put(offset, &Cached { version, data }, length, None);
        }
        self.earlier = Some(std::mem::replace(&mut self.medium, kept));
    }

    /// Power is lost.
    pub fn cut(&mut self) {
        if self.protected {
            self.destage_all();
        }
        if self.has(Fault::BarrierOnly) {
            let epochs = self.queue.iter().filter(|entry| entry.is_none()).count() as u64;
            let mut whole = self.below(epochs + 1);
            while let Some(entry) = self.queue.pop_front() {
                match entry {
                    None if whole == 0 => break,
                    None => whole -= 1,
                    Some((offset, cached)) if whole > 0 || self.below(2) == 0 => {
                        self.store(offset, &cached);
                    }
                    Some(_) => {}
                }
            }
        }
        let lies = self.has(Fault::IgnoreFlush) || self.has(Fault::IgnoreFua);
        let offsets: Vec<u64> = self.cache.keys().copied().collect();
        for offset in offsets {
            match self.below(4) {
                0 | 1 => self.destage(offset),
                // Writes in flight may be there in part. A liar loses writes whole, so that the
                // tests can classify them.
                2 if !lies => {
                    if let Some(cached) = self.cache.remove(&offset) {
                        let sectors = u64::from(self.geometry.record_sectors);
                        let end = self.below(sectors + 1) * u64::from(self.geometry.sector_bytes);
                        self.put(offset, &cached, end, None);
                    }
                }
                _ => {}
            }
        }
        self.cache.clear();
        self.queue.clear();
        if let Some(earlier) = self.earlier.take() {
            if self.has(Fault::Rollback) {
                self.medium = earlier;
            } else if self.has(Fault::OldRange) {
                let sectors = self.geometry.sectors();
                let first = self.below(sectors - 64);
                for number in first..first + 64 {
                    let at = self.geometry.sector_address_bytes(number) as usize;
                    let range = at..at + self.geometry.sector_bytes as usize;
                    self.medium.bytes[range.clone()].copy_from_slice(&earlier.bytes[range]);
                    self.medium.held[number as usize] = earlier.held[number as usize].clone();
                }
            }
        }
        for fault in self.faults.clone() {
            if let Fault::Unreadable(one_in) = fault {
                for number in 0..self.geometry.sectors() {
                    if self.below(one_in) == 0 {
                        self.medium.held[number as usize].wrong.insert(Class::Unreadable);
                    }
                }
            }
        }
        self.after_cut = true;
    }

    /// The fault of a sector, or the version that it holds.
    pub fn truth(&self, number: u64) -> (u32, &BTreeSet<Class>) {
        let held = &self.medium.held[number as usize];
        (held.version, &held.wrong)
    }
}

impl Disk for SimDisk {
    fn write(&mut self, offset: u64, block: &[u8]) -> io::Result<()> {
        let cached = self.accept(offset, block);
        if self.in_order() {
            self.queue.push_back(Some((offset, cached)));
            self.age();
        } else {
            self.cache.insert(offset, cached);
            self.write_back();
        }
        Ok(())
    }

    fn write_durably(&mut self, offset: u64, block: &[u8]) -> io::Result<()> {
        if self.has(Fault::IgnoreFua) {
            return self.write(offset, block);
        }
        if self.in_order() {
            self.write(offset, block)?;
            self.queue.push_back(None);
            self.age();
            return Ok(());
        }
        let cached = self.accept(offset, block);
        self.cache.remove(&offset);
        self.store(offset, &cached);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.in_order() {
            self.queue.push_back(None);
            self.age();
        } else if !self.has(Fault::IgnoreFlush) {
            self.destage_all();
        } else {
            self.write_back();
        }
        Ok(())
    }

    fn read(&mut self, offset: u64, block: &mut [u8]) -> io::Result<()> {
        let gone = || io::Error::other("the medium gives nothing back");
        if self.after_cut {
            let sector_bytes = u64::from(self.geometry.sector_bytes);
            let first = self.number(offset);
            let touched =
                &self.medium.held[first..first + (block.len() as u64 / sector_bytes) as usize];
            if self.has(Fault::Dead)
                || touched.iter().any(|held| held.wrong.contains(&Class::Unreadable))
            {
                return Err(gone());
            }
        }
        let at = offset as usize;
        block.copy_from_slice(self.medium.bytes.get(at..at + block.len()).ok_or_else(gone)?);
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        self.medium.bytes.len() as u64
    }
}
