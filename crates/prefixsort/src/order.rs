//! Detects keys that are already in ascending or descending order.

use std::cmp::Ordering;

use crate::keys::{KeyOf, prefetch_bytes, word};

/// The number of rows by which a key is prefetched ahead of its use: rows are contiguous, keys are
/// wherever they were allocated.
const AHEAD: usize = 16;

/// Bytes of a key to prefetch if eight bytes do not distinguish two. Measured at a million equal
/// keys of 32 bytes, half of which span two lines: three quarters of the time of prefetching only
/// the first line.
const BYTES_MAX: usize = 128;

/// Sorts rows that are already ascending or strictly descending, and returns whether they were.
/// Stops at the first two rows that are neither, without having changed anything.
///
/// Strictly, because reversing would reorder equal rows, which a stable sort must not do.
pub(crate) fn settle<T, K: KeyOf<T>>(rows: &mut [T], key: &K) -> bool {
    let Some((first, [second, ..])) = rows.split_first() else { return true };
    if key.of(first) <= key.of(second) {
        return run(rows, key, Ordering::is_le);
    }
    let descending = run(rows, key, Ordering::is_gt);
    if descending {
        rows.reverse();
    }
    descending
}

/// Returns whether every pair of neighbouring rows is in this order.
fn run<T, K: KeyOf<T>>(rows: &[T], key: &K, in_order: impl Fn(Ordering) -> bool) -> bool {
    let Some((first, others)) = rows.split_first() else { return true };
    let mut previous = key.of(first);
    let mut before = word(previous, 0);
    let mut alike = false;
    for (index, row) in others.iter().enumerate() {
        if let Some(row) = others.get(index + AHEAD) {
            let key = key.of(row);
            // If one pair needs it, others will.
            prefetch_bytes(key, 0..if alike { key.len().min(BYTES_MAX) } else { 1 });
        }
        // Compares eight bytes first: they are in the prefetched line, while a comparison of whole
        // keys reads vectors that extend into the next one.
        let this = key.of(row);
        let begins = word(this, 0);
        if !in_order(before.cmp(&begins).then_with(|| previous.cmp(this))) {
            return false;
        }
        alike = before == begins;
        (previous, before) = (this, begins);
    }
    true
}
