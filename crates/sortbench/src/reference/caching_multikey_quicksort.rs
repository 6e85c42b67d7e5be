//! Multikey quicksort with eight cached bytes per item.
//!
//! Bentley & Sedgewick, Fast algorithms for sorting and searching strings, SODA 1997, split three
//! ways on one character; Ng & Kakehi, Cache efficient radix sort for string sorting, IEICE
//! Transactions E90-A, 2007, compare a machine word of cached characters instead. Items less or
//! greater than the pivot keep their window; only those equal to it load the next one, so no byte
//! of a key is read twice. A long common prefix costs one pass, and one access to every key, for
//! each eight bytes.

use std::cmp::Ordering;
use std::ops::Range;

use super::{WINDOW, window};

/// Below this size an insertion sort on the windows is faster; the value that published string
/// sorts use.
const SMALL: usize = 32;

#[derive(Debug, Clone, Copy)]
struct Item<'k> {
    window: u64,
    key: &'k [u8],
}

/// Not stable; needs an item of a window and a slice per key.
pub fn caching_multikey_quicksort(keys: &mut [&[u8]]) {
    let mut items: Vec<Item<'_>> =
        keys.iter().map(|key| Item { window: window(key, 0), key }).collect();
    let mut parts: Vec<(Range<usize>, usize)> = vec![(0..items.len(), 0)];
    while let Some((range, depth)) = parts.pop() {
        let (start, end) = (range.start, range.end);
        let part = &mut items[range];
        if part.len() < SMALL {
            insertion_sort(part, depth);
            continue;
        }
        let equal = split(part);
        let beyond = ended_first(&mut part[equal.clone()], depth) + equal.start;
        part[beyond..equal.end]
            .iter_mut()
            .for_each(|item| item.window = window(item.key, depth + WINDOW));
        parts.push((start..start + equal.start, depth));
        parts.push((start + beyond..start + equal.end, depth + WINDOW));
        parts.push((start + equal.end..end, depth));
    }
    keys.iter_mut().zip(&items).for_each(|(key, item)| *key = item.key);
}

/// Splits three ways on a window; returns the range of items equal to it.
fn split(part: &mut [Item<'_>]) -> Range<usize> {
    let pivot = pseudo_median(part);
    let (mut less, mut at, mut greater) = (0, 0, part.len());
    while at < greater {
        match part[at].window.cmp(&pivot) {
            Ordering::Less => {
                part.swap(less, at);
                (less, at) = (less + 1, at + 1);
            }
            Ordering::Equal => at += 1,
            Ordering::Greater => {
                greater -= 1;
                part.swap(at, greater);
            }
        }
    }
    less..greater
}

/// The median of three medians of three.
fn pseudo_median(part: &[Item<'_>]) -> u64 {
    let step = part.len() / 9;
    let of_three =
        |at: usize| median([part[at].window, part[at + step].window, part[at + 2 * step].window]);
    median([of_three(0), of_three(3 * step), of_three(6 * step)])
}

fn median([a, b, c]: [u64; 3]) -> u64 {
    a.max(b).min(a.min(b).max(c))
}

/// Moves the keys that end in this window before those that continue, shorter ones first; returns
/// the start of the latter.
fn ended_first(equal: &mut [Item<'_>], depth: usize) -> usize {
    let mut ended = 0;
    for at in 0..equal.len() {
        if equal[at].key.len() <= depth + WINDOW {
            equal.swap(ended, at);
            ended += 1;
        }
    }
    equal[..ended].sort_unstable_by_key(|item| item.key.len());
    ended
}

fn insertion_sort(part: &mut [Item<'_>], depth: usize) {
    let after = |left: &Item<'_>, right: &Item<'_>| match left.window.cmp(&right.window) {
        // Equal windows of keys that both continue contain equal bytes.
        Ordering::Equal if left.key.len().min(right.key.len()) > depth + WINDOW => {
            left.key[depth + WINDOW..] > right.key[depth + WINDOW..]
        }
        // If one of them ends in its window, the other one has only zeros up to there.
        Ordering::Equal => left.key.len() > right.key.len(),
        unequal => unequal.is_gt(),
    };
    for next in 1..part.len() {
        let item = part[next];
        let mut at = next;
        while at > 0 && after(&part[at - 1], &item) {
            part[at] = part[at - 1];
            at -= 1;
        }
        part[at] = item;
    }
}
