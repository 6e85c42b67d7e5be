//! The sketch that started it: std's sort on (next eight bytes, row), then on the following eight
//! bytes for each run of equal windows.
//!
//! AlphaSort's idea (Nyberg et al., AlphaSort: a cache-sensitive parallel external sort, VLDB
//! Journal 4, 1995) in thirty lines, with the cache refilled. Anyone who knows std well writes this
//! first, so nothing slower deserves a crate.

use super::{WINDOW, window};

/// Not stable; needs an entry of eight bytes and a row per key.
pub fn sketch(keys: &mut [&[u8]]) {
    let mut rows: Vec<(u64, u32)> = (0..keys.len() as u32).map(|row| (0, row)).collect();
    // Runs whose keys share `depth` bytes. An explicit list instead of recursion, because a key of
    // a megabyte must not overflow the stack.
    let mut runs = vec![(0..rows.len(), 0)];
    while let Some((run, depth)) = runs.pop() {
        let (start, rows) = (run.start, &mut rows[run]);
        rows.iter_mut().for_each(|(next, row)| *next = window(keys[*row as usize], depth));
        rows.sort_unstable_by_key(|&(next, _)| next);
        let mut at = start;
        for equal in rows.chunk_by_mut(|left, right| left.0 == right.0) {
            let first = at;
            at += equal.len();
            if equal.len() == 1 {
                continue;
            }
            // Keys that end in this window differ only in their length, and come before those that
            // continue.
            let length = |row: &(u64, u32)| keys[row.1 as usize].len().min(depth + WINDOW + 1);
            equal.sort_unstable_by_key(length);
            let ended = equal.partition_point(|row| length(row) <= depth + WINDOW);
            if equal.len() - ended > 1 {
                runs.push((first + ended..at, depth + WINDOW));
            }
        }
    }
    let sorted: Vec<&[u8]> = rows.iter().map(|&(_, row)| keys[row as usize]).collect();
    keys.copy_from_slice(&sorted);
}
