//! The location of each logical unit in the flash.
//!
//! A drive of 4 TB has 10^9 units of 4 KiB. Units laid out in order before the simulation started
//! are located at their own number and take no memory; only units written since then have an entry.
//! The map is cut into leaves of 4096 units (16 MiB of the drive). A leaf with few entries is a
//! small hash table, one with many a plain array. Writes within one gibibyte use one mebibyte of
//! the map, which fits in the processor's cache; ten million writes all over 4 TB use an eighth of
//! a gibibyte. The lookup is the most expensive step of a simulated write, because it is the one
//! that misses the cache. Arrays are allocated together, in pages of 2 MiB if the kernel has any:
//! with pages of 4 KiB, each lookup in an area of 8 GiB would miss the TLB as well, and take four
//! times as long.

use memmap2::MmapMut;

/// The number of a logical unit.
pub type Unit = u32;
/// A location for a unit in the flash.
pub type Slot = u32;

/// Marks the absence of a unit or slot.
pub const NONE: u32 = u32::MAX;

const LEAF_BITS: u32 = 12;
const LEAF_UNITS: usize = 1 << LEAF_BITS;
/// A table of this size uses as much memory as the array.
const TABLE_MAX: usize = LEAF_UNITS / 2;
const TABLE_MIN: usize = 8;

/// The map from units to slots.
#[derive(Debug, Default)]
pub struct PageMap {
    /// Units below this are at the slot of the same number, unless a leaf has an entry.
    in_order: Unit,
    leaves: Vec<Leaf>,
    arrays: Arrays,
}

#[derive(Debug)]
enum Leaf {
    Few {
        table: Box<[(Unit, Slot)]>,
        used: usize,
    },
    /// The number of its array.
    Many(u32),
}

/// Arrays of [`LEAF_UNITS`] slots.
#[derive(Debug, Default)]
struct Arrays {
    /// Slots are stored inverted, because fresh memory is zero and [`NONE`] is all ones.
    chunks: Vec<MmapMut>,
    count: u32,
}

impl Arrays {
    const PER_CHUNK: u32 = 1024;
    const BYTES: usize = LEAF_UNITS * size_of::<Slot>();

    /// Allocates an array without any slots, and returns its number.
    fn add(&mut self) -> u32 {
        if self.count == self.chunks.len() as u32 * Arrays::PER_CHUNK {
            let chunk = MmapMut::map_anon(Arrays::PER_CHUNK as usize * Arrays::BYTES);
            let chunk = chunk.expect("memory for the page map");
            // A kernel without large pages uses small ones.
            #[cfg(target_os = "linux")]
            let _ = chunk.advise(memmap2::Advice::HugePage);
            self.chunks.push(chunk);
        }
        self.count += 1;
        self.count - 1
    }

    /// The chunk of an array, and the bytes of one of its slots in there.
    const fn place(array: u32, unit: Unit) -> (usize, std::ops::Range<usize>) {
        let start = (array % Arrays::PER_CHUNK) as usize * LEAF_UNITS + unit as usize % LEAF_UNITS;
        let start = start * size_of::<Slot>();
        ((array / Arrays::PER_CHUNK) as usize, start..start + size_of::<Slot>())
    }

    #[inline]
    fn prefetch(&self, array: u32, unit: Unit) {
        let (chunk, bytes) = Arrays::place(array, unit);
        prefetch(&self.chunks[chunk][bytes]);
    }

    #[inline]
    fn get(&self, array: u32, unit: Unit) -> Slot {
        let (chunk, bytes) = Arrays::place(array, unit);
        let mut slot = [0; size_of::<Slot>()];
        slot.copy_from_slice(&self.chunks[chunk][bytes]);
        !Slot::from_ne_bytes(slot)
    }

    /// Returns the previous slot.
    #[inline]
    fn set(&mut self, array: u32, unit: Unit, slot: Slot) -> Slot {
        let (chunk, bytes) = Arrays::place(array, unit);
        let bytes = &mut self.chunks[chunk][bytes];
        let mut before = [0; size_of::<Slot>()];
        before.copy_from_slice(bytes);
        bytes.copy_from_slice(&(!slot).to_ne_bytes());
        !Slot::from_ne_bytes(before)
    }
}

impl PageMap {
    pub fn new() -> PageMap {
        PageMap::default()
    }

    /// Clears the map and lays out the first `units` in order.
    pub fn lay_out(&mut self, units: Unit) {
        *self = PageMap { in_order: units, ..PageMap::new() };
    }

    /// Number of units laid out in order from the start, including those written since.
    pub const fn in_order(&self) -> Unit {
        self.in_order
    }

    #[inline]
    pub fn get(&self, unit: Unit) -> Option<Slot> {
        let entry = match self.leaves.get((unit >> LEAF_BITS) as usize) {
            Some(Leaf::Many(array)) => self.arrays.get(*array, unit),
            Some(Leaf::Few { table, .. }) => table[place(table, unit)].1,
            None => NONE,
        };
        if entry == NONE { (unit < self.in_order).then_some(unit) } else { Some(entry) }
    }

    /// Starts to load a unit's entry into the processor's cache.
    #[inline]
    pub fn prefetch(&self, unit: Unit) {
        if let Some(Leaf::Many(array)) = self.leaves.get((unit >> LEAF_BITS) as usize) {
            self.arrays.prefetch(*array, unit);
        }
    }

    /// Moves a unit to another slot, and returns its previous one.
    #[inline]
    pub fn set(&mut self, unit: Unit, slot: Slot) -> Option<Slot> {
        let index = (unit >> LEAF_BITS) as usize;
        if index >= self.leaves.len() {
            self.reach(index);
        }
        let before = match &mut self.leaves[index] {
            Leaf::Many(array) => self.arrays.set(*array, unit, slot),
            Leaf::Few { table, used } => {
                let entry = &mut table[place(table, unit)];
                let before = entry.1;
                *entry = (unit, slot);
                if before == NONE {
                    *used += 1;
                    if *used * 4 > table.len() * 3 {
                        self.grow(index);
                    }
                }
                before
            }
        };
        if before == NONE { (unit < self.in_order).then_some(unit) } else { Some(before) }
    }

    #[cold]
    fn reach(&mut self, index: usize) {
        let empty =
            || Leaf::Few { table: vec![(NONE, NONE); TABLE_MIN].into_boxed_slice(), used: 0 };
        self.leaves.resize_with(index + 1, empty);
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        let Leaf::Few { table, used } = &self.leaves[index] else { return };
        let entries = table.iter().filter(|entry| entry.1 != NONE);
        let size = table.len() * 2;
        self.leaves[index] = if size >= TABLE_MAX {
            let array = self.arrays.add();
            entries.for_each(|&(unit, slot)| {
                self.arrays.set(array, unit, slot);
            });
            Leaf::Many(array)
        } else {
            let mut larger = vec![(NONE, NONE); size].into_boxed_slice();
            entries.for_each(|&entry| larger[place(&larger, entry.0)] = entry);
            Leaf::Few { table: larger, used: *used }
        };
    }

    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        let bytes = |leaf: &Leaf| match leaf {
            Leaf::Few { table, .. } => size_of_val::<[(Unit, Slot)]>(table),
            Leaf::Many(_) => Arrays::BYTES,
        };
        self.leaves.iter().map(|leaf| size_of::<Leaf>() + bytes(leaf)).sum()
    }
}

#[inline]
fn prefetch(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[expect(unsafe_code, reason = "a hint to the cache, which accesses no memory of the program")]
    // SAFETY: the instruction never faults, and the address is that of a reference.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(
            bytes.as_ptr().cast(),
        );
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = bytes;
}

/// The position of a unit's entry in a table, or of the empty entry for it.
#[inline]
fn place(table: &[(Unit, Slot)], unit: Unit) -> usize {
    let mask = table.len() - 1;
    // Fibonacci hashing: the high bits of a product with 2^32 / golden ratio spread neighbours
    // evenly.
    let mut place = (unit.wrapping_mul(0x9E37_79B1) >> 16) as usize & mask;
    while table[place].0 != unit && table[place].0 != NONE {
        place = (place + 1) & mask;
    }
    place
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_map_over_an_identity(
            in_order in 0u32..9000,
            writes in prop::collection::vec((0u32..20_000, 0u32..1_000_000), 0..6000),
        ) {
            let mut map = PageMap::new();
            map.lay_out(in_order);
            let mut expected: HashMap<Unit, Slot> = (0..in_order).map(|unit| (unit, unit)).collect();
            for (unit, slot) in writes {
                prop_assert_eq!(map.set(unit, slot), expected.insert(unit, slot));
            }
            for unit in 0..20_000 {
                prop_assert_eq!(map.get(unit), expected.get(&unit).copied());
            }
        }
    }

    #[test]
    fn ten_million_entries_all_over_4_tb_stay_within_a_quarter_of_a_gibibyte() {
        let mut map = PageMap::new();
        for unit in 0..10_000_000 {
            map.set(unit * 97, unit);
        }
        assert!(map.memory_bytes() <= 256 << 20, "{}", map.memory_bytes());
    }
}
