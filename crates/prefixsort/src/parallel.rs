//! The same sorts on all processors, with `rayon`.
//!
//! A sample determines splitters; the keys between two splitters form a part, and each part is
//! sorted by a separate engine. Alternatives are sorting pieces and merging them, whose last merge
//! runs on one processor, and splitting the engine's first pass into pieces, which saves one read
//! of each key but needs a second version of the whole engine.

use rayon::prelude::*;

use crate::engine::Engine;
use crate::entry::Entry;
use crate::keys::{KeyOf, Keys, Rows, Within};
use crate::order::settle;
use crate::permute::permute;
use crate::sort::{Options, Scratch, sort_indices, sort_with};

/// Fewer rows than this are sorted before the first thread has woken up.
const ROWS_MIN: usize = 10_000;

/// Parts per thread, to even out differences in size.
const PARTS: usize = 4;

/// Sampled keys per part: the sizes of the parts then differ by about 20 %.
const SAMPLED: usize = 32;

/// Like [`sort`](crate::sort), on all processors. Needs twice the memory, 32 bytes per row, and 150
/// KiB per thread.
///
/// ```
/// let mut rows = vec!["b", "c", "a"];
/// prefixsort::par_sort(&mut rows);
/// assert_eq!(rows, ["a", "b", "c"]);
/// ```
pub fn par_sort<T: AsRef<[u8]> + Sync>(rows: &mut [T]) {
    par_sort_by_key_bytes(rows, T::as_ref);
}

/// Like [`sort_stable`](crate::sort_stable), on all processors. Memory as for [`par_sort`].
///
/// ```
/// let mut rows = vec!["b", "c", "a"];
/// prefixsort::par_sort_stable(&mut rows);
/// assert_eq!(rows, ["a", "b", "c"]);
/// ```
pub fn par_sort_stable<T: AsRef<[u8]> + Sync>(rows: &mut [T]) {
    par_sort_stable_by_key_bytes(rows, T::as_ref);
}

/// Like [`sort_by_key_bytes`](crate::sort_by_key_bytes), on all processors. Memory as for
/// [`par_sort`].
///
/// ```
/// let mut rows = vec![("b", 1), ("a", 2)];
/// prefixsort::par_sort_by_key_bytes(&mut rows, |row| row.0.as_bytes());
/// assert_eq!(rows[0].1, 2);
/// ```
pub fn par_sort_by_key_bytes<T: Sync, F: Fn(&T) -> &[u8] + Sync>(rows: &mut [T], key: F) {
    sort_rows(rows, key, false);
}

/// Like [`sort_stable_by_key_bytes`](crate::sort_stable_by_key_bytes), on all processors. Memory as
/// for [`par_sort`].
///
/// ```
/// let mut rows = vec![("a", 2), ("a", 1)];
/// prefixsort::par_sort_stable_by_key_bytes(&mut rows, |row| row.0.as_bytes());
/// assert_eq!(rows[0].1, 2);
/// ```
pub fn par_sort_stable_by_key_bytes<T: Sync, F: Fn(&T) -> &[u8] + Sync>(rows: &mut [T], key: F) {
    sort_rows(rows, key, true);
}

/// Like [`sort_indices`], on all processors. Memory as for [`par_sort`].
///
/// # Panics
///
/// If there are more than 4,294,967,295 rows.
///
/// ```
/// assert_eq!(prefixsort::par_sort_indices(&["b", "c", "a"]), [2, 0, 1]);
/// ```
pub fn par_sort_indices<T: AsRef<[u8]> + Sync>(rows: &[T]) -> Vec<u32> {
    if rows.len() < ROWS_MIN {
        return sort_indices(rows);
    }
    let count = u32::try_from(rows.len()).expect("no more than 4,294,967,295 rows");
    order(&Rows { rows, key: Within(T::as_ref) }, count, true)
        .into_par_iter()
        .map(|entry| entry.row)
        .collect()
}

fn sort_rows<T: Sync, F: Fn(&T) -> &[u8] + Sync>(rows: &mut [T], key: F, stable: bool) {
    let (ROWS_MIN.., Ok(count)) = (rows.len(), u32::try_from(rows.len())) else {
        let _ =
            sort_with(rows, key, Options { stable, ..Options::default() }, &mut Scratch::default());
        return;
    };
    let key = Within(key);
    if settle(rows, &key) {
        return;
    }
    let mut entries = order(&Rows { rows, key }, count, stable);
    #[expect(unsafe_code, reason = "the entries are known to be a permutation of the rows")]
    // SAFETY: `order` made an entry for each row.
    unsafe {
        permute(rows, &mut entries);
    }
}

/// Entries in the order of the rows' keys, one for each of `count` rows.
fn order<T: Sync, K: KeyOf<T> + Sync>(
    rows: &Rows<'_, T, K>,
    count: u32,
    stable: bool,
) -> Vec<Entry> {
    let parts = rayon::current_num_threads() * PARTS;
    let splitters = splitters(rows, count, parts);
    let piece = (count as usize).div_ceil(parts).max(1) as u32;
    // For each piece of the rows, its share of each part.
    let pieces: Vec<Vec<Vec<Entry>>> = (0..count)
        .step_by(piece as usize)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|begin| divide(rows, begin, count.min(begin.saturating_add(piece)), &splitters))
        .collect();
    // The pieces of each part are freed as soon as they have been joined.
    let sorted: Vec<Vec<Entry>> = by_part(pieces)
        .into_par_iter()
        .map(|pieces| {
            let mut entries = pieces.concat();
            drop(pieces);
            let mut engine = Engine::default();
            engine.start(entries.len() as u32, stable);
            while engine.step(rows, &mut entries) {}
            entries
        })
        .collect();
    sorted.concat()
}

/// Keys that divide the rows into parts of about equal size, sorted, without duplicates.
fn splitters<K: Keys>(rows: &K, count: u32, parts: usize) -> Vec<&[u8]> {
    let many = (parts * SAMPLED).min(count as usize);
    let mut sample: Vec<&[u8]> = (0..many)
        .map(|index| rows.key((index as u64 * u64::from(count) / many as u64) as u32))
        .collect();
    crate::sort(&mut sample);
    let mut splitters: Vec<&[u8]> =
        sample.into_iter().skip(SAMPLED / 2).step_by(SAMPLED).skip(1).collect();
    splitters.dedup();
    splitters
}

/// Regroups by part what was collected by piece.
fn by_part(pieces: Vec<Vec<Vec<Entry>>>) -> Vec<Vec<Vec<Entry>>> {
    let mut parts: Vec<Vec<Vec<Entry>>> = Vec::new();
    for piece in pieces {
        parts.resize_with(piece.len(), Vec::new);
        parts.iter_mut().zip(piece).for_each(|(part, entries)| part.push(entries));
    }
    parts
}

/// Divides the entries of some rows at the splitters: first those with keys less than the first
/// splitter, and so on. Each part takes as much memory as it needs, which is known after all keys
/// have been read.
fn divide<K: Keys>(rows: &K, begin: u32, end: u32, splitters: &[&[u8]]) -> Vec<Vec<Entry>> {
    const AHEAD: u32 = 16;
    let mut sizes = vec![0; splitters.len() + 1];
    let part_of = |row: u32| {
        if row + AHEAD < end {
            rows.prefetch_key(row + AHEAD, 0..8);
        }
        let key = rows.key(row);
        let part = splitters.partition_point(|splitter| *splitter <= key);
        sizes[part] += 1;
        part as u32
    };
    let numbers: Vec<u32> = (begin..end).map(part_of).collect();
    let mut parts: Vec<Vec<Entry>> = sizes.into_iter().map(Vec::with_capacity).collect();
    for (row, part) in (begin..end).zip(numbers) {
        parts[part as usize].push(Entry::of_row(row));
    }
    parts
}
