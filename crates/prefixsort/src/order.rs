//! Keys that are in order already, or in the opposite one.

use std::cmp::Ordering;

use crate::keys::{KeyOf, expect, word};

/// How far ahead of its use a key is asked for: rows lie in a line, keys wherever they were allocated.
const AHEAD: usize = 16;

/// So much of a key is asked for where eight bytes did not tell two apart. Measured at a million equal keys of 32 bytes, half of
/// which lie in two lines: three quarters of the time that asking for the first line takes.
const MOST: usize = 128;

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
    let mut alike = false;
    for (index, row) in others.iter().enumerate() {
        if let Some(row) = others.get(index + AHEAD) {
            let key = key.of(row);
            // What one pair needs, others will.
            expect(key, 0..if alike { key.len().min(MOST) } else { 1 });
        }
        // By eight bytes first: they are in the line that was asked for, while a comparison of whole keys reads vectors that
        // reach into the next one.
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
