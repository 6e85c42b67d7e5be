//! Sorts partitions one after the other, leftmost first.
//!
//! There are two kinds of partitions on the stack. The keys of a *fresh* partition share a number
//! of bytes, and its windows are missing or used up: [`partition::split`] reads its keys. A
//! *windowed* partition is sorted by its windows alone, by distribution while it is large and by
//! comparison when it is small. Keys with equal windows also share the bytes of the window and
//! become a fresh partition, that much deeper.
//!
//! **Why no input is slow.** A pass over a fresh partition either advances its depth, by at least a
//! byte and usually by the bytes of a window, or splits it. It reads what all keys share and at
//! most 32 bytes of a key beyond that, so each byte of a key is read at most about 32 times, and
//! most bytes once. If a sample is not representative, the split is uneven; after more than
//! [`STRIKES`] such passes the partition is sorted with std's comparison sort. Small partitions need
//! no sample: all of their keys are read ([`partition::fill`]).

use std::ops::Range;

use crate::bits::Gather;
use crate::entry::{Entry, GOES_ON};
use crate::keys::{Keys, beyond, word};
use crate::partition::{self, Split};
use crate::radix::{Buckets, differing};

/// Up to this many keys are compared instead of partitioned.
const FEW: usize = 12;

/// From this many windows on, distribution is faster than comparison.
const RADIX_FROM: usize = 64;

/// Larger buckets are sorted separately. Entries in smaller ones are already close to their place,
/// and a single insertion sort across all of them finishes the work: a call for each bucket, and a
/// mispredicted end of each, cost more. Measured at a million keys with the best number of
/// counters: random keys 0.92 to 0.95 of the time, URLs 0.98.
const INSERTED: usize = 16;

/// This many sorted windows are searched for equal ones at once. Buckets are often small and have
/// few equal windows: handling them one by one would wait for the memory of a few keys each time.
const TOGETHER: usize = 1024;

/// From this many keys on, a sample is worth the reads.
const SAMPLED_FROM: usize = 257;

/// The number of passes in a row in which most of a partition may be outside the prefix of its
/// sample.
const STRIKES: u32 = 16;

/// Entries that still have to be sorted among themselves.
#[derive(Clone, Copy, Debug)]
struct Task {
    begin: u32,
    end: u32,
    /// Number of bytes that all keys share; in a windowed partition, that keys with equal windows
    /// will share.
    depth: u32,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// No windows; the number of successive passes that gained little.
    Fresh(u32),
    Windowed,
}

/// Keys are distinguished up to this depth; beyond it they are compared as a whole.
const DEEPEST: usize = u32::MAX as usize - 64;

/// Adjacent entries whose keys share their first `depth` bytes.
#[derive(Debug, Clone, Copy)]
struct Partition {
    begin: usize,
    end: usize,
    depth: usize,
}

impl Partition {
    /// These entries of it.
    const fn part(self, begin: usize, end: usize) -> Partition {
        Partition { begin, end, ..self }
    }

    fn of(self, entries: &mut [Entry]) -> &mut [Entry] {
        &mut entries[self.begin..self.end]
    }
}

/// The state of a sort besides its entries.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    pending: Pending,
    buckets: Buckets,
    gather: Option<Gather>,
}

/// The remaining partitions, the leftmost on top.
#[derive(Debug, Default)]
struct Pending {
    tasks: Vec<Task>,
    /// True if equal keys keep the order of their rows.
    stable: bool,
    /// Runs of equal windows that are being resolved.
    tied: Vec<Range<usize>>,
}

impl Engine {
    /// Prepares for sorting this many entries, which contain only their row numbers.
    pub(crate) fn start(&mut self, entries: u32, stable: bool) {
        self.gather = Gather::here();
        self.pending.tasks.clear();
        self.pending.stable = stable;
        self.pending.push(Partition { begin: 0, end: entries as usize, depth: 0 }, State::Fresh(0));
    }

    /// Number of entries from the left that are in their final place.
    pub(crate) fn finished(&self, entries: &[Entry]) -> usize {
        self.pending.tasks.last().map_or(entries.len(), |task| task.begin as usize)
    }

    /// Performs the next step; returns whether there was one.
    pub(crate) fn step<K: Keys>(&mut self, keys: &K, entries: &mut [Entry]) -> bool {
        let Some(task) = self.pending.tasks.pop() else { return false };
        let partition = Partition {
            begin: task.begin as usize,
            end: task.end as usize,
            depth: task.depth as usize,
        };
        match task.state {
            State::Fresh(strikes) => self.fresh(keys, entries, partition, strikes),
            State::Windowed => self.windowed(keys, entries, partition),
        }
        true
    }

    fn fresh<K: Keys>(
        &mut self,
        keys: &K,
        entries: &mut [Entry],
        partition: Partition,
        strikes: u32,
    ) {
        let Partition { begin, end, depth } = partition;
        let part = partition.of(entries);
        if part.len() <= FEW {
            return few(keys, part, depth, self.pending.stable);
        }
        if strikes > STRIKES || depth > DEEPEST {
            return by_comparison(keys, part, depth, self.pending.stable);
        }
        if part.len() < SAMPLED_FROM {
            let deeper = partition::fill(keys, part, depth);
            return self.windowed(keys, entries, Partition { depth: deeper, ..partition });
        }
        let Split { less, more, depth: deeper } = partition::split(keys, part, depth, self.gather);
        let apart =
            |length: usize| State::Fresh(if length > part.len() / 2 { strikes + 1 } else { 0 });
        let (left, right) = (apart(less), apart(part.len() - more));
        let middle = Partition { begin: begin + less, end: begin + more, depth: deeper };
        self.pending.push(partition.part(begin + more, end), right);
        self.pending.push(middle, State::Windowed);
        self.pending.push(partition.part(begin, begin + less), left);
    }

    fn windowed<K: Keys>(&mut self, keys: &K, entries: &mut [Entry], partition: Partition) {
        let Partition { begin, end, .. } = partition;
        let part = partition.of(entries);
        if part.len() < RADIX_FROM {
            part.sort_unstable_by_key(|entry| entry.window);
            return self.pending.ties(keys, entries, partition);
        }
        let differ = differing(part);
        if differ == 0 {
            return self.pending.tie(keys, entries, partition);
        }
        let ends = self.buckets.distribute(part, differ, self.gather);
        // From the right, because what is pushed last is processed first. Adjacent small buckets
        // are sorted at once: their entries are in the cache now, and the memory of the tied keys
        // of all of them is fetched at the same time.
        let (mut from, mut until) = (end, end);
        for bucket in (0..ends.len()).rev() {
            let to = from;
            from = begin + if bucket == 0 { 0 } else { ends[bucket - 1] as usize };
            if to - from >= RADIX_FROM {
                insert_by_window(&mut entries[to..until]);
                self.pending.ties(keys, entries, partition.part(to, until));
                self.pending.push(partition.part(from, to), State::Windowed);
                until = from;
                continue;
            }
            if to - from > INSERTED {
                entries[from..to].sort_unstable_by_key(|entry| entry.window);
            }
            if until - from >= TOGETHER {
                insert_by_window(&mut entries[from..until]);
                self.pending.ties(keys, entries, partition.part(from, until));
                until = from;
            }
        }
        insert_by_window(&mut entries[begin..until]);
        self.pending.ties(keys, entries, partition.part(begin, until));
    }
}

impl Pending {
    fn push(&mut self, Partition { begin, end, depth }: Partition, state: State) {
        if end - begin > 1 {
            // A smaller depth than the keys share is also correct, and deep enough to compare them.
            let depth = u32::try_from(depth).unwrap_or(u32::MAX);
            self.tasks.push(Task { begin: begin as u32, end: end as u32, depth, state });
        }
    }

    /// Resolves entries with equal windows among entries sorted by window.
    fn ties<K: Keys>(&mut self, keys: &K, entries: &mut [Entry], partition: Partition) {
        let Partition { begin, end, depth } = partition;
        // All of them are found first and resolved afterwards, so the memory of their keys is
        // fetched in the meantime.
        let mut tied = std::mem::take(&mut self.tied);
        tied.clear();
        let mut from = begin;
        while from < end {
            let window = entries[from].window;
            let mut to = from + 1;
            while to < end && entries[to].window == window {
                to += 1;
            }
            if to - from > 1 {
                tied.push(from..to);
                entries[from..to].iter().for_each(|entry| keys.prefetch_row(entry.row));
            }
            from = to;
        }
        for entry in tied
            .iter()
            .flat_map(|tie| &entries[tie.clone()])
            .filter(|entry| entry.ends_at == GOES_ON)
        {
            keys.prefetch_key(entry.row, depth..depth + 16);
        }
        for tie in tied.iter().rev() {
            self.tie(keys, entries, partition.part(tie.start, tie.end));
        }
        self.tied = tied;
    }

    /// Resolves entries with equal windows: keys that end within the window come first, shorter
    /// ones before longer ones; the others are a fresh partition.
    fn tie<K: Keys>(&mut self, keys: &K, entries: &mut [Entry], partition: Partition) {
        let Partition { begin, end, depth } = partition;
        let part = partition.of(entries);
        let mut going_on = 0;
        let mut ended = part.len();
        // Usually all of them continue beyond the window.
        while going_on < ended {
            if part[ended - 1].ends_at == GOES_ON {
                ended -= 1;
            } else {
                part.swap(going_on, ended - 1);
                going_on += 1;
            }
        }
        let ending = &mut part[..ended];
        if self.stable {
            ending.sort_unstable_by_key(|entry| (entry.ends_at, entry.row));
        } else if ending.windows(2).any(|pair| pair[0].ends_at > pair[1].ends_at) {
            ending.sort_unstable_by_key(|entry| entry.ends_at);
        }
        let rest = begin + ended;
        if end - rest <= FEW {
            few(keys, &mut entries[rest..end], depth, self.stable);
        } else {
            self.push(partition.part(rest, end), State::Fresh(0));
        }
    }
}

/// Insertion sort, for entries that are few or close to their place.
#[inline(always)]
fn insert(part: &mut [Entry], goes_before: impl Fn(&Entry, &Entry) -> bool) {
    for sorted in 1..part.len() {
        let inserted = part[sorted];
        let mut place = sorted;
        while place > 0 && goes_before(&inserted, &part[place - 1]) {
            part[place] = part[place - 1];
            place -= 1;
        }
        part[place] = inserted;
    }
}

/// Insertion sort by window, for entries that are close to their place.
fn insert_by_window(part: &mut [Entry]) {
    insert(part, |a, b| a.window < b.window);
}

/// Insertion sort for a few keys that share `depth` bytes: by windows of eight bytes, and by key
/// only if those are equal.
fn few<K: Keys>(keys: &K, part: &mut [Entry], depth: usize, stable: bool) {
    if part.len() < 2 {
        return;
    }
    for entry in part.iter_mut() {
        entry.window = word(keys.key(entry.row), depth);
    }
    insert(part, |a, b| goes_before(keys, a, b, depth, stable));
}

#[inline(always)]
fn goes_before<K: Keys>(keys: &K, a: &Entry, b: &Entry, depth: usize, stable: bool) -> bool {
    if a.window != b.window {
        return a.window < b.window;
    }
    let order = beyond(keys.key(a.row), depth).cmp(beyond(keys.key(b.row), depth));
    order.is_lt() || (stable && order.is_eq() && a.row < b.row)
}

/// Comparison sort for keys that share `depth` bytes.
fn by_comparison<K: Keys>(keys: &K, part: &mut [Entry], depth: usize, stable: bool) {
    part.sort_unstable_by(|a, b| {
        let order = beyond(keys.key(a.row), depth).cmp(beyond(keys.key(b.row), depth));
        if stable { order.then(a.row.cmp(&b.row)) } else { order }
    });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Keys that count how often they are read.
    struct Counted {
        keys: Vec<Vec<u8>>,
        reads: Cell<usize>,
    }

    impl Keys for Counted {
        fn key(&self, row: u32) -> &[u8] {
            self.reads.set(self.reads.get() + 1);
            &self.keys[row as usize]
        }

        fn prefetch_row(&self, _: u32) {}

        fn prefetch_key(&self, _: u32, _: Range<usize>) {}
    }

    fn sorted(keys: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, usize) {
        let rows = keys.len() as u32;
        let keys = Counted { keys, reads: Cell::new(0) };
        let mut entries: Vec<Entry> = (0..rows).map(Entry::of_row).collect();
        let mut engine = Engine::default();
        engine.start(rows, false);
        while engine.step(&keys, &mut entries) {}
        (
            entries.iter().map(|entry| keys.keys[entry.row as usize].clone()).collect(),
            keys.reads.get(),
        )
    }

    /// Keys that defeat every sample: the sampled keys begin with a byte that no other key begins
    /// with, and all the others sort before them. Generated by running the partitioning itself,
    /// like killer inputs for quicksort.
    fn killer(rows: usize) -> Vec<Vec<u8>> {
        let mut keys = vec![vec![0]; rows];
        let mut entries: Vec<Entry> = (0..rows as u32).map(Entry::of_row).collect();
        for level in (1..=255).rev() {
            for row in partition::looked_at(&entries) {
                keys[row as usize] = [&[level][..], &[b'x'; 40], &row.to_be_bytes()].concat();
            }
            let split = partition::split(
                &Counted { keys: keys.clone(), reads: Cell::new(0) },
                &mut entries,
                0,
                Gather::here(),
            );
            assert!(split.less > entries.len() / 2, "level {level} does not defeat the sample");
            entries.truncate(split.less);
        }
        for entry in entries {
            keys[entry.row as usize] = [&[0][..], &entry.row.to_le_bytes()].concat();
        }
        keys
    }

    #[test]
    fn a_small_partition_skips_the_shared_prefix() {
        let rows = SAMPLED_FROM - 1;
        let shared = [b'p'; 500];
        let keys: Vec<Vec<u8>> = (0..rows)
            .map(|row| [&shared[..], &(row * 7919 % 1000).to_be_bytes()].concat())
            .collect();
        let mut expected = keys.clone();
        expected.sort();
        let (sorted, reads) = sorted(keys);
        assert!(sorted == expected);
        assert!(reads <= 4 * rows, "{} reads per key", reads / rows);
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of keys take Miri hours")]
    fn keys_that_defeat_every_sample_cost_a_few_passes_and_a_comparison_sort() {
        let rows = 20_000;
        let keys = killer(rows);
        let mut expected = keys.clone();
        expected.sort();
        let (sorted, reads) = sorted(keys);
        assert!(sorted == expected);
        let passes = STRIKES as usize + 4;
        let comparisons = 2 * rows.ilog2() as usize;
        assert!(reads < rows * (passes + 2 * comparisons), "{} reads per key", reads / rows);
    }
}
