//! Keys that are in order already, or in the opposite one.

use crate::bits::prefetch;
use crate::keys::KeyOf;

/// How far ahead of its use a key is asked for: rows lie in a line, keys wherever they were allocated.
const AHEAD: usize = 16;

/// Puts rows in order that are ascending already, or strictly descending. Says whether they were; stops at the first
/// two rows that are neither, and has changed nothing then.
///
/// Strictly, because equal rows would be turned round, which a stable sort must not do.
pub(crate) fn settle<T, K: KeyOf<T>>(rows: &mut [T], key: &K) -> bool {
    let Some((first, [second, ..])) = rows.split_first() else { return true };
    if key.of(first) <= key.of(second) {
        return run(rows, key, |a, b| a <= b);
    }
    let descending = run(rows, key, |a, b| a > b);
    if descending {
        rows.reverse();
    }
    descending
}

fn run<T, K: KeyOf<T>>(rows: &[T], key: &K, in_order: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let mut previous = rows.first().map(|row| key.of(row)).unwrap_or_default();
    for index in 1..rows.len() {
        if let Some(row) = rows.get(index + AHEAD) {
            prefetch(key.of(row).as_ptr());
        }
        let this = key.of(&rows[index]);
        if !in_order(previous, this) {
            return false;
        }
        previous = this;
    }
    true
}
