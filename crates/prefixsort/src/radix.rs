//! Distribution by the highest bits in which windows differ.
//!
//! The published sort distributes by the next byte of the key. Using up to 11 bits of the windows
//! in which they differ takes 0.9 to 0.95 of that time, and does not touch the keys.

use crate::bits::{Gather, prefetch};
use crate::entry::Entry;

/// Most bits per digit. 2,048 counters of four bytes fill a quarter of a first-level data cache of
/// 32 KiB, and 2,048 places to write to match the number of entries in a second-level TLB.
const BITS_MAX: u32 = 11;

/// Up to this many entries are distributed through a second buffer (128 KiB, which fits the
/// second-level cache); larger partitions are distributed in place.
pub(crate) const SPARE: usize = 8192;

/// The end of each bucket, in the order of the digits.
pub(crate) type Ends = [u32; 1 << BITS_MAX];

/// The counters and the second buffer.
#[derive(Debug)]
pub(crate) struct Buckets {
    ends: Box<Ends>,
    begins: Box<Ends>,
    spare: Vec<Entry>,
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            ends: Box::new([0; 1 << BITS_MAX]),
            begins: Box::new([0; 1 << BITS_MAX]),
            spare: Vec::new(),
        }
    }
}

/// Some bits of a window as a number; keeps the order of windows that agree in all higher bits.
#[derive(Clone, Copy)]
struct Digit {
    mask: u64,
    shift: u32,
    bits: u32,
    gather: Option<Gather>,
}

impl Digit {
    /// The highest of the differing bits, as many as suit the number of entries.
    fn of(differ: u64, entries: usize, gather: Option<Gather>) -> Self {
        // One or two counters per entry leave little work for comparison. More counters cost what
        // they save, since empty ones are walked over as well.
        let wanted = (entries.ilog2() + 1).clamp(1, BITS_MAX);
        let Some(gather) = gather else {
            let above = u64::BITS - differ.leading_zeros();
            let bits = wanted.min(above);
            return Self { mask: (1 << bits) - 1, shift: above - bits, bits, gather: None };
        };
        let mut mask = differ;
        // Removes all but the highest `wanted` bits from below.
        for _ in wanted..mask.count_ones() {
            mask &= mask - 1;
        }
        Self { mask, shift: 0, bits: mask.count_ones(), gather: Some(gather) }
    }

    #[inline(always)]
    fn of_window(self, window: u64) -> usize {
        match self.gather {
            Some(gather) => gather.gather(window, self.mask) as usize,
            None => ((window >> self.shift) & self.mask) as usize,
        }
    }
}

impl Buckets {
    /// Distributes `entries`, whose windows differ in `differ` (not 0), and returns the end of each
    /// bucket.
    pub(crate) fn distribute(
        &mut self,
        entries: &mut [Entry],
        differ: u64,
        gather: Option<Gather>,
    ) -> &[u32] {
        let digit = Digit::of(differ, entries.len(), gather);
        let buckets = 1 << digit.bits;
        let begins = &mut self.begins[..buckets];
        begins.fill(0);
        for entry in entries.iter() {
            begins[digit.of_window(entry.window) & (buckets - 1)] += 1;
        }
        let mut sum = 0;
        let ends = &mut self.ends[..buckets];
        for (begin, end) in begins.iter_mut().zip(ends.iter_mut()) {
            let count = *begin;
            *begin = sum;
            sum += count;
            *end = sum;
        }
        if entries.len() <= SPARE {
            if self.spare.is_empty() {
                self.spare.resize(SPARE, Entry::default());
            }
            let spare = &mut self.spare[..entries.len()];
            spare.copy_from_slice(entries);
            for entry in spare.iter() {
                let place = &mut begins[digit.of_window(entry.window) & (buckets - 1)];
                entries[*place as usize] = *entry;
                *place += 1;
            }
        } else {
            in_place(entries, begins, ends, digit);
        }
        ends
    }
}

/// Swaps each entry to the next free place of its bucket, bucket by bucket, until all are full.
///
/// Carrying one entry from place to place until its cycle closes would need fewer moves. But then
/// the place of the next move is known only after the last one has read its memory, and the
/// processor waits for one miss after the other. Here the entries of a bucket are swapped
/// independently, and a few are prefetched: three times as fast, measured at a million entries.
fn in_place(entries: &mut [Entry], begins: &mut [u32], ends: &[u32], digit: Digit) {
    const AHEAD: usize = 8;
    let mask = begins.len() - 1;
    let mut unfinished = true;
    while unfinished {
        unfinished = false;
        for bucket in 0..begins.len() {
            let (begin, end) = (begins[bucket] as usize, ends[bucket] as usize);
            for place in begin..end {
                if let Some(later) = entries.get(place + AHEAD) {
                    let to = begins[digit.of_window(later.window) & mask];
                    prefetch(entries.as_ptr().wrapping_add(to as usize));
                }
                let to = &mut begins[digit.of_window(entries[place].window) & mask];
                entries.swap(place, *to as usize);
                *to += 1;
            }
            unfinished |= begins[bucket] < ends[bucket];
        }
    }
}

/// The bits in which windows differ.
pub(crate) fn differing(entries: &[Entry]) -> u64 {
    let first = entries.first().map_or(0, |entry| entry.window);
    entries.iter().fold(0, |differ, entry| differ | (entry.window ^ first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn buckets_are_in_order_and_nothing_is_lost(
            seeds in prop_oneof![vec(any::<u64>(), 2..500), vec(any::<u64>(), SPARE + 1..SPARE + 200)],
            mask: u64,
            gathering: bool,
        ) {
            let mut entries: Vec<Entry> = seeds
                .iter()
                .zip(0..)
                .map(|(seed, row)| Entry { window: (seed & mask) | !mask, row, ends_at: 8 })
                .collect();
            let differ = differing(&entries);
            prop_assume!(differ != 0);
            let before = entries.clone();
            let mut buckets = Buckets::default();
            let ends = buckets.distribute(&mut entries, differ, Gather::here().filter(|_| gathering)).to_vec();
            prop_assert_eq!(ends.last().copied(), Some(entries.len() as u32));
            let mut begin = 0;
            let mut highest = None;
            for end in ends {
                let bucket = &entries[begin..end as usize];
                let lowest = bucket.iter().map(|entry| entry.window).min();
                prop_assert!(lowest.is_none() || highest < lowest);
                highest = bucket.iter().map(|entry| entry.window).max().or(highest);
                begin = end as usize;
            }
            entries.sort_unstable_by_key(|entry| entry.row);
            prop_assert_eq!(entries, before);
        }
    }
}
