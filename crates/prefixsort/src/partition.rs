//! One pass over a partition: splits off the keys without the common prefix, and makes windows for
//! the others.
//!
//! The published sort uses a key of the partition as pivot, and learns from the comparisons with it
//! how long a prefix each side shares. A single key that diverges early then keeps the known prefix
//! short for all others, and the same bytes are read again one level deeper. Here the pivot is a
//! *prefix*: the longest one that seven eighths of a sample begin with. Keys that begin with it
//! form the middle part of a three-way split, with the right depth for them; the few that do not go
//! left or right and are processed separately. Measured at a million keys of which one in a hundred
//! diverges at its first byte: 0.93 of the time needed with a prefix of the whole sample.

use std::cmp::Ordering;

use crate::bits::Gather;
use crate::entry::{Entry, GOES_ON};
use crate::keys::{Keys, Prefix, beyond, shared, word, words};
use crate::lens::{Differences, Lens, Seen, WORDS};

/// The distance at which a key is prefetched ahead of its use, in entries; its row is prefetched
/// twice as far ahead. A miss costs 100 to 200 ns and a window 10. The processor keeps about ten
/// misses in flight, so a greater distance gains nothing. Measured at a million keys, relative to
/// no prefetching: URLs 0.6, composite keys 0.45, reads of a genome 0.8. All lines that are read
/// must be prefetched, including that of the prefix: in one key of eight, eight bytes are in
/// another line than those after them, and without this 48 bytes shared by all took 1.4 times as
/// long.
const AHEAD: usize = 12;

/// Keys in a sample, few enough for an insertion sort.
const SAMPLE: usize = 16;

/// One key in [`SHARE`] is read for the bits that differ, up to [`SAMPLED_MAX`]; more find little.
const SHARE: usize = 32;
const SAMPLED_MAX: usize = 256;

/// The result of a pass over a partition: `..less` sorts before the prefix, `more..` after it, and
/// the entries between begin with it and have windows.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) less: usize,
    pub(crate) more: usize,
    /// The depth at which keys in the middle may first differ after their windows.
    pub(crate) depth: usize,
}

/// Makes windows of eight bytes for the keys of a small partition, beyond the prefix that all
/// share. Returns the depth that keys with equal windows have in common. A sample would be most of
/// a small partition, so all of its keys are read and no lens is made. Measured at a million keys,
/// relative to [`split`] down to a dozen keys: URLs 0.93, paths 0.9, words 0.9.
pub(crate) fn fill<K: Keys>(keys: &K, entries: &mut [Entry], depth: usize) -> usize {
    let mut at = depth;
    entries.iter().for_each(|entry| keys.prefetch_row(entry.row));
    entries.iter().for_each(|entry| keys.prefetch_key(entry.row, at..at + 8));
    loop {
        let mut differ = 0;
        let mut going_on = true;
        let mut first = None;
        for entry in entries.iter_mut() {
            let key = keys.key(entry.row);
            let left = key.len().saturating_sub(at);
            entry.window = word(key, at);
            entry.ends_at = if left > 8 { GOES_ON } else { left as u32 };
            going_on &= left > 8;
            differ |= entry.window ^ *first.get_or_insert(entry.window);
        }
        at += 8;
        if differ != 0 || !going_on {
            return at;
        }
        let first = beyond(keys.key(entries[0].row), at);
        at += entries
            .iter()
            .map(|entry| shared(first, beyond(keys.key(entry.row), at)))
            .min()
            .unwrap_or(0);
    }
}

/// Splits keys that share `depth` bytes.
pub(crate) fn split<K: Keys>(
    keys: &K,
    entries: &mut [Entry],
    depth: usize,
    gather: Option<Gather>,
) -> Split {
    let mut places = [0_u32; SAMPLE];
    let sampled = spread(entries, &mut places);
    let prefix = longest_shared(keys, sampled, depth);
    let at = depth + prefix.len();
    let mut lens = Lens::over(&differences(keys, entries, depth, prefix, sampled), gather);
    let (mut below, mut above) = (0, entries.len());
    let mut apart = Prefix::new(prefix);
    loop {
        let middle = &mut entries[below..above];
        let (first, last, seen) = match lens.words() {
            1 => pass::<K, 1>(keys, middle, depth, apart, at, &lens),
            2 => pass::<K, 2>(keys, middle, depth, apart, at, &lens),
            3 => pass::<K, 3>(keys, middle, depth, apart, at, &lens),
            _ => pass::<K, 4>(keys, middle, depth, apart, at, &lens),
        };
        above = below + last;
        below += first;
        match seen {
            Seen::All => return Split { less: below, more: above, depth: at + lens.span() },
            Seen::UpTo(cut) => {
                entries[below..above].iter_mut().for_each(|entry| cut.shorten(entry));
                return Split { less: below, more: above, depth: at + cut.span() };
            }
            // They are already split; only the windows are made again.
            Seen::TooLittle(better) => {
                apart = Prefix::new(&[]);
                lens = better;
            }
        }
    }
}

/// Rows at evenly spaced places. A random sample would not be harder to defeat, since the order of
/// entries within a partition results from earlier partitioning; and a bad sample costs one pass
/// (see the engine).
fn spread<'s>(entries: &[Entry], sampled: &'s mut [u32; SAMPLE]) -> &'s [u32] {
    let many = SAMPLE.min(entries.len());
    for (index, row) in sampled.iter_mut().take(many).enumerate() {
        *row = entries[index * entries.len() / many].row;
    }
    &sampled[..many]
}

/// The bits in which keys that begin with `prefix` differ after it, according to a sample. The
/// sample is larger than that for the prefix, because a missed bit can cost a second pass.
fn differences<K: Keys>(
    keys: &K,
    entries: &[Entry],
    depth: usize,
    prefix: &[u8],
    sampled: &[u32],
) -> Differences {
    let at = depth + prefix.len();
    let more = (entries.len() / SHARE).min(SAMPLED_MAX);
    let row = |index: usize| entries[index * entries.len() / more].row;
    (0..more).for_each(|index| keys.prefetch_row(row(index)));
    (0..more).for_each(|index| keys.prefetch_key(row(index), depth..at + 8 * WORDS));
    let mut begin_with_it = (sampled.iter().copied())
        .chain((0..more).map(row))
        .map(|row| keys.key(row))
        .filter(|key| beyond(key, depth).starts_with(prefix));
    // The prefix is that of a sampled key, so there is one. If a key function returns a different
    // key each time, the result is in some order.
    let mut differences = Differences::from(begin_with_it.next().unwrap_or_default(), at);
    begin_with_it.for_each(|key| differences.add(key, at));
    differences
}

/// The longest prefix beyond `depth` that seven eighths of the rows begin with.
fn longest_shared<'k, K: Keys>(keys: &'k K, rows: &[u32], depth: usize) -> &'k [u8] {
    let mut sorted: [&[u8]; SAMPLE] = [&[]; SAMPLE];
    for (place, &row) in sorted.iter_mut().zip(rows) {
        *place = beyond(keys.key(row), depth);
    }
    let sorted = &mut sorted[..rows.len()];
    // The prefix that the first and the last of some sorted keys share is shared by all of them.
    let first = sorted.first().copied().unwrap_or_default();
    let all = sorted.iter().map(|key| shared(first, key)).min().unwrap_or(0);
    sorted.sort_unstable_by(|a, b| beyond(a, all).cmp(beyond(b, all)));
    let most = rows.len() - rows.len() / 8;
    let window = |keys: &[&'k [u8]]| match keys {
        [first, .., last] => &first[..shared(first, last)],
        [only] => only,
        [] => &[],
    };
    sorted.windows(most.max(1)).map(window).max_by_key(|prefix| prefix.len()).unwrap_or_default()
}

/// Splits by the prefix and makes windows at `at`. Returns where the middle begins and ends, and
/// the validity of the windows.
fn pass<K: Keys, const N: usize>(
    keys: &K,
    entries: &mut [Entry],
    depth: usize,
    prefix: Prefix<'_>,
    at: usize,
    lens: &Lens,
) -> (usize, usize, Seen) {
    let mut unseen = [0; N];
    let (mut below, mut next, mut above) = (0, 0, entries.len());
    for entry in entries.iter().take(2 * AHEAD) {
        keys.prefetch_row(entry.row);
    }
    let prefetch = |entry: &Entry| keys.prefetch_key(entry.row, depth..at + 8 * N);
    entries.iter().take(AHEAD).for_each(prefetch);
    while next < above {
        if let Some(entry) = entries.get(next + 2 * AHEAD) {
            keys.prefetch_row(entry.row);
            prefetch(&entries[next + AHEAD]);
        } else if let Some(entry) = entries.get(next + AHEAD) {
            prefetch(entry);
        }
        let key = keys.key(entries[next].row);
        match prefix.against(beyond(key, depth)) {
            Ordering::Equal => {
                let entry = &mut entries[next];
                (entry.window, entry.ends_at) =
                    lens.window::<N>(words(key, at), key.len().saturating_sub(at), &mut unseen);
                next += 1;
            }
            Ordering::Less => {
                entries.swap(below, next);
                below += 1;
                next += 1;
            }
            Ordering::Greater => {
                above -= 1;
                entries.swap(next, above);
            }
        }
    }
    (below, above, lens.seen(&unseen))
}

/// The rows that decide on the prefix.
#[cfg(test)]
pub(crate) fn looked_at(entries: &[Entry]) -> Vec<u32> {
    spread(entries, &mut [0; SAMPLE]).to_vec()
}
