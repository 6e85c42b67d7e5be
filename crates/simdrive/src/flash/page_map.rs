//! The location of each logical unit in the flash.
//!
//! A drive of 4 TB has 10^9 units of 4 KiB. Units laid out in order before the simulation started
//! are located at their own number and take no memory; only units written since then have an entry.
//! The map is cut into leaves of 4096 units (16 MiB of the drive). A leaf with few entries is a
//! small hash table, one with many a plain array. Writes within one gibibyte use one mebibyte of
//! the map, which fits in the processor's cache; ten million writes all over 4 TB use an eighth of
//! a gibibyte. The lookup is the most expensive step of a simulated write, because it is the one
//! that misses the cache.

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
#[derive(Debug, Clone, Default)]
pub struct PageMap {
    /// Units below this are at the slot of the same number, unless a leaf has an entry.
    in_order: Unit,
    leaves: Vec<Leaf>,
}

#[derive(Debug, Clone)]
enum Leaf {
    Few { table: Box<[(Unit, Slot)]>, used: usize },
    Many(Box<[Slot]>),
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
            Some(Leaf::Many(slots)) => slots[unit as usize % LEAF_UNITS],
            Some(Leaf::Few { table, .. }) => table[place(table, unit)].1,
            None => NONE,
        };
        if entry == NONE { (unit < self.in_order).then_some(unit) } else { Some(entry) }
    }

    /// Moves a unit to another slot, and returns its previous one.
    #[inline]
    pub fn set(&mut self, unit: Unit, slot: Slot) -> Option<Slot> {
        let index = (unit >> LEAF_BITS) as usize;
        if index >= self.leaves.len() {
            self.reach(index);
        }
        let before = match &mut self.leaves[index] {
            Leaf::Many(slots) => std::mem::replace(&mut slots[unit as usize % LEAF_UNITS], slot),
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
            let mut slots = vec![NONE; LEAF_UNITS].into_boxed_slice();
            entries.for_each(|&(unit, slot)| slots[unit as usize % LEAF_UNITS] = slot);
            Leaf::Many(slots)
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
            Leaf::Many(slots) => size_of_val::<[Slot]>(slots),
        };
        self.leaves.iter().map(|leaf| size_of::<Leaf>() + bytes(leaf)).sum()
    }
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
