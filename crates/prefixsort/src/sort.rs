//! Sorts a slice in place, or returns the order in which it would be sorted.

use thiserror::Error;

use crate::engine::Engine;
use crate::entry::Entry;
use crate::huge_pages;
use crate::keys::{Elsewhere, KeyOf, Keys, Rows, Within};
use crate::order::settle;
use crate::permute::permute;

/// Memory of a sort that can be reused for the next one: 16 bytes per row, a stack, and about 150
/// KiB.
///
/// ```
/// let mut scratch = prefixsort::Scratch::default();
/// for mut batch in [vec!["b", "a"], vec!["d", "c"]] {
///     prefixsort::sort_with(&mut batch, |row| row.as_bytes(), prefixsort::Options::default(), &mut scratch)?;
///     assert!(batch.is_sorted());
/// }
/// # Ok::<(), prefixsort::Cancelled>(())
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) engine: Engine,
    pub(crate) entries: Vec<Entry>,
}

/// Options of [`sort_with`], [`sort_in_arena`] and [`sort_indices_with`].
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// True if rows with equal keys keep their order.
    pub stable: bool,
    /// Called between steps; returning `true` cancels the sort and leaves the rows unchanged. Most
    /// steps read each key of a partition once. It is not called while the rows are first checked
    /// for being in order, while they are moved at the end, and while a partition whose keys keep
    /// defeating the samples, or more than 4,294,967,295 rows, are sorted by comparison.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use prefixsort::{Cancelled, Options, Scratch, sort_with};
    ///
    /// let begun = Instant::now();
    /// let late = || begun.elapsed() > Duration::from_secs(60);
    /// let mut rows = vec!["c", "a", "b"];
    /// let options = Options { cancelled: Some(&late), ..Options::default() };
    /// if sort_with(&mut rows, |row| row.as_bytes(), options, &mut Scratch::default()) == Err(Cancelled) {
    ///     assert_eq!(rows, ["c", "a", "b"]);
    /// }
    /// ```
    pub cancelled: Option<&'a dyn Fn() -> bool>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("stable", &self.stable)
            .field("cancelled", &self.cancelled.map(|_| ".."))
            .finish()
    }
}

/// A cancelled sort: the rows are unchanged.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the sort was cancelled; the rows are unchanged")]
pub struct Cancelled;

/// Sorts rows by their bytes. Rows with equal bytes may be reordered.
///
/// ```
/// let mut rows = vec!["tenant/7/b", "tenant/7/a", "tenant/6"];
/// prefixsort::sort(&mut rows);
/// assert_eq!(rows, ["tenant/6", "tenant/7/a", "tenant/7/b"]);
/// ```
pub fn sort<T: AsRef<[u8]>>(rows: &mut [T]) {
    sort_by_key_bytes(rows, T::as_ref);
}

/// Sorts rows by their bytes. Rows with equal bytes keep their order.
///
/// ```
/// let mut rows = vec![String::from("b"), String::from("a")];
/// prefixsort::sort_stable(&mut rows);
/// assert_eq!(rows, ["a", "b"]);
/// ```
pub fn sort_stable<T: AsRef<[u8]>>(rows: &mut [T]) {
    sort_stable_by_key_bytes(rows, T::as_ref);
}

/// Sorts rows by the bytes that `key` returns for each. Rows with equal bytes may be reordered.
///
/// If `key` panics, the rows are unchanged. If it returns different bytes for the same row, the
/// order is unspecified, or the sort panics like std's sorts; no row is lost.
///
/// ```
/// let mut people = vec![("Lovelace", 1815), ("Hopper", 1906)];
/// prefixsort::sort_by_key_bytes(&mut people, |person| person.0.as_bytes());
/// assert_eq!(people[0].1, 1906);
/// ```
pub fn sort_by_key_bytes<T, F: Fn(&T) -> &[u8]>(rows: &mut [T], key: F) {
    // Cannot be cancelled, so it always finishes.
    let _ = sort_with(rows, key, Options::default(), &mut Scratch::default());
}

/// Sorts rows by the bytes that `key` returns for each. Rows with equal bytes keep their order.
/// Otherwise like [`sort_by_key_bytes`].
///
/// ```
/// let mut people = vec![("Hopper", 2), ("Hopper", 1), ("Backus", 3)];
/// prefixsort::sort_stable_by_key_bytes(&mut people, |person| person.0.as_bytes());
/// assert_eq!(people, [("Backus", 3), ("Hopper", 2), ("Hopper", 1)]);
/// ```
pub fn sort_stable_by_key_bytes<T, F: Fn(&T) -> &[u8]>(rows: &mut [T], key: F) {
    let _ = sort_with(
        rows,
        key,
        Options { stable: true, ..Options::default() },
        &mut Scratch::default(),
    );
}

/// Sorts rows by the bytes that `key` returns for each, with options and reusable memory.
///
/// # Errors
///
/// [`Cancelled`] if the option `cancelled` returned `true`.
pub fn sort_with<T, F: Fn(&T) -> &[u8]>(
    rows: &mut [T],
    key: F,
    options: Options<'_>,
    scratch: &mut Scratch,
) -> Result<(), Cancelled> {
    sort_rows(rows, Within(key), options, scratch)
}

/// Sorts rows whose keys are in other memory that the rows refer to, such as an arena.
///
/// # Errors
///
/// [`Cancelled`] if the option `cancelled` returned `true`.
///
/// ```
/// let arena = b"pearapplefig";
/// let mut fruit = [0..4, 4..9, 9..12];
/// let mut scratch = prefixsort::Scratch::default();
/// prefixsort::sort_in_arena(&mut fruit, |range| &arena[range.clone()], Default::default(), &mut scratch)?;
/// assert_eq!(fruit, [4..9, 9..12, 0..4]);
/// # Ok::<(), prefixsort::Cancelled>(())
/// ```
pub fn sort_in_arena<'k, T, F: Fn(&T) -> &'k [u8]>(
    rows: &mut [T],
    key: F,
    options: Options<'_>,
    scratch: &mut Scratch,
) -> Result<(), Cancelled> {
    sort_rows(rows, Elsewhere::new(key), options, scratch)
}

fn sort_rows<T, K: KeyOf<T>>(
    rows: &mut [T],
    key: K,
    options: Options<'_>,
    scratch: &mut Scratch,
) -> Result<(), Cancelled> {
    if settle(rows, &key) {
        return Ok(());
    }
    if u32::try_from(rows.len()).is_err() {
        // An entry numbers its row with 32 bits; beyond 64 GiB of entries other sorts are as good.
        sort_by_comparison(rows, &key, options.stable);
        return Ok(());
    }
    order(&Rows { rows, key }, rows.len(), options, scratch)?;
    #[expect(unsafe_code, reason = "the entries are known to be a permutation of the rows")]
    // SAFETY: `order` made an entry for each row; since then entries have only been swapped.
    unsafe {
        permute(rows, &mut scratch.entries);
    }
    Ok(())
}

/// Sorts any number of rows. They are moved only after all keys have been compared, so they are
/// unchanged if a key function panics.
fn sort_by_comparison<T, K: KeyOf<T>>(rows: &mut [T], key: &K, stable: bool) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_unstable_by(|&a, &b| {
        let order = key.of(&rows[a]).cmp(key.of(&rows[b]));
        if stable { order.then(a.cmp(&b)) } else { order }
    });
    for start in 0..rows.len() {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == start {
                break;
            }
            rows.swap(place, from);
            place = from;
        }
    }
}

/// The order in which rows would be sorted by their bytes: the first index is that of the least
/// row. Equal rows keep their order.
///
/// # Panics
///
/// If there are more than 4,294,967,295 rows.
///
/// ```
/// assert_eq!(prefixsort::sort_indices(&["b", "c", "a"]), [2, 0, 1]);
/// ```
pub fn sort_indices<T: AsRef<[u8]>>(rows: &[T]) -> Vec<u32> {
    let options = Options { stable: true, ..Options::default() };
    // Cannot be cancelled, so it always finishes.
    sort_indices_with(rows, T::as_ref, options, &mut Scratch::default()).unwrap_or_default()
}

/// The order in which rows would be sorted by the bytes that `key` returns for each, with options
/// and reusable memory.
///
/// # Errors
///
/// [`Cancelled`] if the option `cancelled` returned `true`.
///
/// # Panics
///
/// If there are more than 4,294,967,295 rows.
///
/// ```
/// use prefixsort::{Options, Scratch, sort_indices_with};
///
/// let cities = [("Turin", "it"), ("Bergen", "no"), ("Porto", "pt")];
/// let mut scratch = Scratch::default();
/// let order = sort_indices_with(&cities, |city| city.0.as_bytes(), Options::default(), &mut scratch)?;
/// assert_eq!(order, [1, 2, 0]);
/// # Ok::<(), prefixsort::Cancelled>(())
/// ```
pub fn sort_indices_with<T, F: Fn(&T) -> &[u8]>(
    rows: &[T],
    key: F,
    options: Options<'_>,
    scratch: &mut Scratch,
) -> Result<Vec<u32>, Cancelled> {
    order(&Rows { rows, key: Within(key) }, rows.len(), options, scratch)?;
    Ok(scratch.entries.iter().map(|entry| entry.row).collect())
}

/// Stores the order of the rows in the scratch's entries.
fn order<K: Keys>(
    keys: &K,
    rows: usize,
    options: Options<'_>,
    scratch: &mut Scratch,
) -> Result<(), Cancelled> {
    let rows = u32::try_from(rows).expect("no more than 4,294,967,295 rows");
    huge_pages::fill(&mut scratch.entries, rows);
    scratch.engine.start(rows, options.stable);
    while scratch.engine.step(keys, &mut scratch.entries) {
        if options.cancelled.is_some_and(|cancelled| cancelled()) {
            return Err(Cancelled);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Small enough for Miri, but large enough for samples, lenses, distribution and all ways to
    /// move rows.
    #[test]
    fn rows_of_many_kinds() {
        let numbers = || (0..300_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut strings: Vec<String> =
            numbers().map(|n| format!("shared/by/all/of/them/{:06}", n % 1000)).collect();
        let mut expected = strings.clone();
        expected.sort();
        let mut slices: Vec<&str> = strings.iter().map(String::as_str).collect();
        sort(&mut slices);
        assert!(slices.iter().eq(&expected));
        sort(&mut strings);
        assert_eq!(strings, expected);
        let mut arrays: Vec<[u8; 8]> = numbers().map(u64::to_be_bytes).collect();
        let mut expected = arrays.clone();
        expected.sort_unstable();
        sort_stable(&mut arrays);
        assert_eq!(arrays, expected);
        let mut wide: Vec<([u64; 9], String)> =
            numbers().map(|n| ([n; 9], (n % 7).to_string())).collect();
        let mut expected = wide.clone();
        expected.sort_by(|a, b| a.1.cmp(&b.1));
        sort_stable_by_key_bytes(&mut wide, |row| row.1.as_bytes());
        assert_eq!(wide, expected);
    }

    /// The scratch contains no bytes of rows after a sort, since their padding is uninitialised:
    /// Miri detects it if they are read.
    #[test]
    fn a_used_scratch_holds_nothing_of_the_rows() {
        let mut scratch = Scratch::default();
        for size in [20, 70] {
            let mut padded: Vec<(u8, u64, String)> =
                (0..size).map(|n| (n as u8, n, (n % 17).to_string())).collect();
            let mut wide: Vec<([u64; 9], String)> =
                (0..size).map(|n| ([n; 9], (n % 17).to_string())).collect();
            sort_with(&mut padded, |row| row.2.as_bytes(), Options::default(), &mut scratch)
                .unwrap();
            assert_eq!(format!("{:?}", scratch.entries), "[]");
            sort_with(&mut wide, |row| row.1.as_bytes(), Options::default(), &mut scratch).unwrap();
            assert_eq!(format!("{:?}", scratch.entries), "[]");
        }
    }

    #[test]
    fn too_many_rows_for_32_bits_are_sorted_by_comparison_and_unchanged_if_a_key_panics() {
        let unsorted: Vec<(String, u64)> =
            (0..100).map(|n| ((n * 37 % 11).to_string(), n)).collect();
        let mut expected = unsorted.clone();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        let mut rows = unsorted.clone();
        compared(&mut rows, |row| row.0.as_bytes(), true);
        assert_eq!(rows, expected);
        let mut rows = unsorted.clone();
        compared(&mut rows, |row| row.0.as_bytes(), false);
        assert!(rows.is_sorted_by(|a, b| a.0 <= b.0));
        let mut rows = unsorted.clone();
        let calls = Cell::new(0);
        let failing = || {
            compared(
                &mut rows,
                |row| {
                    calls.set(calls.get() + 1);
                    if calls.get() > 400 {
                        std::panic::resume_unwind(Box::new("the key function panics"));
                    }
                    row.0.as_bytes()
                },
                false,
            );
        };
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
        assert_eq!(rows, unsorted);
    }

    fn compared<T, F: Fn(&T) -> &[u8]>(rows: &mut [T], key: F, stable: bool) {
        sort_by_comparison(rows, &Within(key), stable);
    }
}
