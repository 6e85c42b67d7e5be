//! Keys that are in order already, or in the opposite one.

use std::cmp::Ordering;

use crate::bits::prefetch;
use crate::keys::{KeyOf, word};

/// How far ahead of its use a key is asked for: rows lie in a line, keys wherever they were allocated.
const AHEAD: usize = 16;

/// Puts rows in order that are ascending already, or strictly descending. Says whether they were; stops at the first
/// two rows that are neither, and has changed nothing then.
///
/// Strictly, because equal rows would be turned round, which a stable sort must not do.
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

/// Whether every row stands so to the next.
fn run<T, K: KeyOf<T>>(rows: &[T], key: &K, in_order: impl Fn(Ordering) -> bool) -> bool {
    let Some((first, others)) = rows.split_first() else { return true };
    let mut previous = key.of(first);
    let mut before = word(previous, 0);
    for (index, row) in others.iter().enumerate() {
        if let Some(row) = others.get(index + AHEAD) {
            prefetch(key.of(row).as_ptr());
        }
        // By eight bytes first: they are in the line that was asked for, while a comparison of whole keys reads vectors that
        // reach into the next one.
        let this = key.of(row);
        let begins = word(this, 0);
        if !in_order(before.cmp(&begins).then_with(|| previous.cmp(this))) {
            return false;
        }
        (previous, before) = (this, begins);
    }
    true
}
