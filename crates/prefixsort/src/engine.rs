//! Partitions, one after the other, the leftmost first.
//!
//! Two kinds of them are on the stack. *Fresh* ones share a number of bytes with which all of their keys begin, and
//! have windows no longer, or not yet, that say more: [`partition::split`] reads their keys. *Windowed* ones are
//! ordered by their windows alone, by distribution while they are large and by comparison when they are small; what is
//! equal after that shares the windows' bytes as well, and is fresh again, that much deeper.
//!
//! **Why no input is worst.** A fresh partition either gets past its depth, by a byte at least and most often by a window's
//! bytes, or falls apart. A pass looks at what all keys share, and at no more than 32 bytes of a key beyond that, so that
//! each byte of a key is looked at 32 times or so at the most, and most bytes once. A sample that says too little of the
//! keys makes it fall apart unevenly; after [`STRIKES`] such passes the partition is left to std's sort by comparison.
//! Small partitions have no sample: all of their keys are looked at ([`partition::fill`]).

use std::ops::Range;

use crate::bits::Gather;
use crate::entry::{Entry, GOES_ON};
use crate::keys::{Keys, beyond, word};
use crate::partition::{self, Split};
use crate::radix::{Buckets, differing};

/// So few keys are compared, not partitioned.
const FEW: usize = 12;

/// From so many windows on, distribution is quicker than comparison.
const RADIX_FROM: usize = 64;

/// Larger buckets are sorted each by itself. What stands in smaller ones is near its place already, and is put there by
/// insertion through all of them at once: a call for each bucket, and the end of each foretold wrongly, cost more. Measured at
/// a million keys, with as many counters as suit it: random keys 0.92 to 0.95 of the time, URLs 0.98.
const INSERTED: usize = 16;

/// So many windows in order are looked through at once for equal ones. Buckets are often small and their equal windows few:
/// one bucket after the other would wait for the memory of a few keys each time.
const TOGETHER: usize = 1024;

/// From so many keys on a sample is worth its reading.
const SAMPLED_FROM: usize = 257;

/// How often in a row most of a partition may lie outside the prefix that its sample gave.
const STRIKES: u32 = 16;

/// Entries that still have to be put in order among themselves.
#[derive(Clone, Copy, Debug)]
struct Task {
    begin: u32,
    end: u32,
    /// Bytes that all of their keys have in common; of windowed ones, those that equal windows will have in common.
    depth: u32,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// No windows; passes that have brought little.
    Fresh(u32),
    Windowed,
}

/// Keys are told apart up to here; beyond it they are compared as a whole.
const DEEPEST: usize = u32::MAX as usize - 64;

/// What a sort needs besides its entries.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    pending: Pending,
    buckets: Buckets,
    gather: Option<Gather>,
}

/// What remains to be done, the leftmost on top.
#[derive(Debug, Default)]
struct Pending {
    tasks: Vec<Task>,
    /// Whether equal keys are put in the order of their rows.
    stable: bool,
    /// Runs of equal windows that are being told apart.
    tied: Vec<Range<usize>>,
}

impl Engine {
    /// Makes ready to sort so many entries, which know their rows only.
    pub(crate) fn start(&mut self, entries: u32, stable: bool) {
        self.gather = Gather::here();
        self.pending.tasks.clear();
        self.pending.stable = stable;
        self.pending.push(0, entries as usize, 0, State::Fresh(0));
    }

    /// How many entries from the left are in their final order.
    pub(crate) fn finished(&self, entries: &[Entry]) -> usize {
        self.pending.tasks.last().map_or(entries.len(), |task| task.begin as usize)
    }

    /// Does the next step, the leftmost one; says whether there was one.
    pub(crate) fn step<K: Keys>(&mut self, keys: &K, entries: &mut [Entry]) -> bool {
        let Some(task) = self.pending.tasks.pop() else { return false };
        let (begin, end, depth) = (task.begin as usize, task.end as usize, task.depth as usize);
        match task.state {
            State::Fresh(strikes) => self.fresh(keys, entries, begin, end, depth, strikes),
            State::Windowed => self.windowed(keys, entries, begin, end, depth),
        }
        true
    }

    fn fresh<K: Keys>(
        &mut self,
        keys: &K,
        entries: &mut [Entry],
        begin: usize,
        end: usize,
        depth: usize,
        strikes: u32,
    ) {
        let part = &mut entries[begin..end];
        if part.len() <= FEW {
            return few(keys, part, depth, self.pending.stable);
        }
        if strikes > STRIKES || depth > DEEPEST {
            return by_comparison(keys, part, depth, self.pending.stable);
        }
        if part.len() < SAMPLED_FROM {
            let deeper = partition::fill(keys, part, depth);
            return self.windowed(keys, entries, begin, end, deeper);
        }
        let Split { less, more, depth: deeper } = partition::split(keys, part, depth, self.gather);
        let apart = |length: usize| State::Fresh(if length > part.len() / 2 { strikes + 1 } else { 0 });
        let (left, right) = (apart(less), apart(part.len() - more));
        self.pending.push(begin + more, end, depth, right);
        self.pending.push(begin + less, begin + more, deeper, State::Windowed);
        self.pending.push(begin, begin + less, depth, left);
    }

    fn windowed<K: Keys>(&mut self, keys: &K, entries: &mut [Entry], begin: usize, end: usize, depth: usize) {
        let part = &mut entries[begin..end];
        if part.len() < RADIX_FROM {
            part.sort_unstable_by_key(|entry| entry.window);
            return self.pending.ties(keys, entries, begin, end, depth);
        }
        let differ = differing(part);
        if differ == 0 {
            return self.pending.tie(keys, entries, begin, end, depth);
        }
        let ends = self.buckets.distribute(part, differ, self.gather);
        // From the right, because what is pushed last is done first. Small buckets are put in order at once, all that stand
        // together: their entries are in the cache now, and the processor waits for the memory of what is tied in all of them
        // at the same time.
        let (mut from, mut until) = (end, end);
        for bucket in (0..ends.len()).rev() {
            let to = from;
            from = begin + if bucket == 0 { 0 } else { ends[bucket - 1] as usize };
            if to - from >= RADIX_FROM {
                insert_by_window(&mut entries[to..until]);
                self.pending.ties(keys, entries, to, until, depth);
                self.pending.push(from, to, depth, State::Windowed);
                until = from;
                continue;
            }
            if to - from > INSERTED {
                entries[from..to].sort_unstable_by_key(|entry| entry.window);
            }
            if until - from >= TOGETHER {
                insert_by_window(&mut entries[from..until]);
                self.pending.ties(keys, entries, from, until, depth);
                until = from;
            }
        }
        insert_by_window(&mut entries[begin..until]);
        self.pending.ties(keys, entries, begin, until, depth);
    }
}

impl Pending {
    fn push(&mut self, begin: usize, end: usize, depth: usize, state: State) {
        if end - begin > 1 {
            // Less than the keys share is true as well, and deep enough for them to be compared.
            let depth = u32::try_from(depth).unwrap_or(u32::MAX);
            self.tasks.push(Task { begin: begin as u32, end: end as u32, depth, state });
        }
    }

    /// Entries in the order of their windows: those with equal ones are told apart.
    fn ties<K: Keys>(&mut self, keys: &K, entries: &mut [Entry], begin: usize, end: usize, depth: usize) {
        // Looked for first and told apart afterwards, so that the memory of all their keys is on its way meanwhile.
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
                entries[from..to].iter().for_each(|entry| keys.expect_row(entry.row));
            }
            from = to;
        }
        for entry in tied.iter().flat_map(|tie| &entries[tie.clone()]).filter(|entry| entry.held == GOES_ON) {
            keys.expect_key(entry.row, depth..depth + 16);
        }
        for tie in tied.iter().rev() {
            self.tie(keys, entries, tie.start, tie.end, depth);
        }
        self.tied = tied;
    }

    /// Entries with equal windows: first those whose keys end within them, the shorter first; the others are fresh.
    fn tie<K: Keys>(&mut self, keys: &K, entries: &mut [Entry], begin: usize, end: usize, depth: usize) {
        let part = &mut entries[begin..end];
        let mut going_on = 0;
        let mut ended = part.len();
        // Those that go on are most often all of them.
        while going_on < ended {
            if part[ended - 1].held == GOES_ON {
                ended -= 1;
            } else {
                part.swap(going_on, ended - 1);
                going_on += 1;
            }
        }
        let ending = &mut part[..ended];
        if self.stable {
            ending.sort_unstable_by_key(|entry| (entry.held, entry.row));
        } else if ending.windows(2).any(|pair| pair[0].held > pair[1].held) {
            ending.sort_unstable_by_key(|entry| entry.held);
        }
        let rest = begin + ended;
        if end - rest <= FEW {
            few(keys, &mut entries[rest..end], depth, self.stable);
        } else {
            self.push(rest, end, depth, State::Fresh(0));
        }
    }
}

/// Sorts by insertion entries that are few, or each near its place.
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

/// Sorts by windows alone entries that are each near their place.
fn insert_by_window(part: &mut [Entry]) {
    insert(part, |a, b| a.window < b.window);
}

/// Sorts a few keys that share `depth` bytes by insertion: windows of eight bytes first, keys only where those are equal.
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

/// Sorts keys that share `depth` bytes by comparing them.
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

        fn expect_row(&self, _: u32) {}

        fn expect_key(&self, _: u32, _: Range<usize>) {}
    }

    fn sorted(keys: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, usize) {
        let rows = keys.len() as u32;
        let keys = Counted { keys, reads: Cell::new(0) };
        let mut entries: Vec<Entry> = (0..rows).map(Entry::of_row).collect();
        let mut engine = Engine::default();
        engine.start(rows, false);
        while engine.step(&keys, &mut entries) {}
        (entries.iter().map(|entry| keys.keys[entry.row as usize].clone()).collect(), keys.reads.get())
    }

    /// Keys that fool each sample: what it sees begins with a byte that nothing else begins with, and all the rest sorts
    /// before that. Made by going through the partitions with the sort's own hand, as quicksort killers are.
    fn killer(rows: usize) -> Vec<Vec<u8>> {
        let mut keys = vec![vec![0]; rows];
        let mut entries: Vec<Entry> = (0..rows as u32).map(Entry::of_row).collect();
        for level in (1..=255).rev() {
            for row in partition::looked_at(&entries) {
                keys[row as usize] = [&[level][..], &[b'x'; 40], &row.to_be_bytes()].concat();
            }
            let split =
                partition::split(&Counted { keys: keys.clone(), reads: Cell::new(0) }, &mut entries, 0, Gather::here());
            assert!(split.less > entries.len() / 2, "level {level} fools nobody");
            entries.truncate(split.less);
        }
        for entry in entries {
            keys[entry.row as usize] = [&[0][..], &entry.row.to_le_bytes()].concat();
        }
        keys
    }

    #[test]
    fn a_small_partition_jumps_over_what_its_keys_share() {
        let rows = SAMPLED_FROM - 1;
        let shared = [b'p'; 500];
        let keys: Vec<Vec<u8>> =
            (0..rows).map(|row| [&shared[..], &(row * 7919 % 1000).to_be_bytes()].concat()).collect();
        let mut expected = keys.clone();
        expected.sort();
        let (sorted, reads) = sorted(keys);
        assert!(sorted == expected);
        assert!(reads <= 4 * rows, "{} reads a key", reads / rows);
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of keys take Miri hours")]
    fn keys_that_fool_every_sample_take_no_more_than_some_passes_and_a_comparison_sort() {
        let rows = 20_000;
        let keys = killer(rows);
        let mut expected = keys.clone();
        expected.sort();
        let (sorted, reads) = sorted(keys);
        assert!(sorted == expected);
        let passes = STRIKES as usize + 4;
        let comparisons = 2 * rows.ilog2() as usize;
        assert!(reads < rows * (passes + 2 * comparisons), "{} reads a key", reads / rows);
    }
}
