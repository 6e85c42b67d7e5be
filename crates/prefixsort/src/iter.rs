//! Rows in order while they are being sorted.

use std::iter::FusedIterator;

use crate::engine::Engine;
use crate::entry::Entry;
use crate::huge_pages;
use crate::keys::{Rows, Within};

/// An iterator over rows in the order of their bytes, which sorts only as far as it is asked: the first rows come long
/// before a whole sort would have ended. Rows with equal bytes come in the order that they have.
///
/// For a query with LIMIT, a pipeline that goes on with each row, or a run that is written while it is sorted.
///
/// ```
/// let rows = ["c", "a", "b"];
/// let first: Vec<_> = prefixsort::SortedIter::new(&rows).take(2).collect();
/// assert_eq!(first, [&"a", &"b"]);
/// ```
pub struct SortedIter<'a, T, F = fn(&T) -> &[u8]> {
    keys: Rows<'a, T, Within<F>>,
    engine: Engine,
    entries: Vec<Entry>,
    given: usize,
    finished: usize,
}

impl<'a, T: AsRef<[u8]>> SortedIter<'a, T> {
    /// Over the rows of a slice, by their bytes.
    ///
    /// # Panics
    ///
    /// If there are more than 4,294,967,295 rows.
    pub fn new(rows: &'a [T]) -> Self {
        Self::by_key_bytes(rows, T::as_ref)
    }
}

impl<'a, T, F: Fn(&T) -> &[u8]> SortedIter<'a, T, F> {
    /// Over the rows of a slice, by the bytes that a function gives of each.
    ///
    /// # Panics
    ///
    /// If there are more than 4,294,967,295 rows.
    pub fn by_key_bytes(rows: &'a [T], key: F) -> Self {
        let count = u32::try_from(rows.len()).expect("no more than 4,294,967,295 rows");
        let mut engine = Engine::default();
        engine.start(count, true);
        let mut entries = Vec::new();
        huge_pages::fill(&mut entries, count);
        Self { keys: Rows { rows, key: Within(key) }, engine, entries, given: 0, finished: 0 }
    }

    /// The index of the next row, for those who keep rows and payloads apart.
    pub fn next_index(&mut self) -> Option<u32> {
        while self.given == self.finished {
            if self.finished == self.entries.len() {
                return None;
            }
            self.engine.step(&self.keys, &mut self.entries);
            self.finished = self.engine.finished(&self.entries);
        }
        let row = self.entries[self.given].row;
        self.given += 1;
        Some(row)
    }
}

impl<'a, T, F: Fn(&T) -> &[u8]> Iterator for SortedIter<'a, T, F> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.next_index().map(|row| &self.keys.rows[row as usize])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.entries.len() - self.given;
        (left, Some(left))
    }
}

impl<T, F: Fn(&T) -> &[u8]> ExactSizeIterator for SortedIter<'_, T, F> {}
impl<T, F: Fn(&T) -> &[u8]> FusedIterator for SortedIter<'_, T, F> {}

impl<T, F> std::fmt::Debug for SortedIter<'_, T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SortedIter")
            .field("rows", &self.entries.len())
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}

/// The first `k` rows in the order of their bytes; all of them if there are fewer.
///
/// ```
/// assert_eq!(prefixsort::top_k(&["d", "b", "c", "a"], 2), [&"a", &"b"]);
/// ```
///
/// # Panics
///
/// If there are more than 4,294,967,295 rows.
pub fn top_k<T: AsRef<[u8]>>(rows: &[T], k: usize) -> Vec<&T> {
    SortedIter::new(rows).take(k).collect()
}
