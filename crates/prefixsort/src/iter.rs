//! Returns rows in order while they are being sorted.

use std::iter::FusedIterator;

use crate::engine::Engine;
use crate::entry::Entry;
use crate::huge_pages;
use crate::keys::{Rows, Within};

/// An iterator over rows in the order of their bytes. It sorts only as far as it is consumed: the
/// first rows are available long before a whole sort would have ended. Rows with equal bytes keep
/// their order.
///
/// Useful for a query with LIMIT, a pipeline that processes rows one by one, or a run that is
/// written while it is sorted.
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
    /// Iterates over the rows of a slice in the order of their bytes.
    ///
    /// # Panics
    ///
    /// If there are more than 4,294,967,295 rows.
    pub fn new(rows: &'a [T]) -> Self {
        Self::by_key_bytes(rows, T::as_ref)
    }
}

impl<'a, T, F: Fn(&T) -> &[u8]> SortedIter<'a, T, F> {
    /// Iterates over the rows of a slice in the order of the bytes that `key` returns for each.
    ///
    /// ```
    /// let cities = [("Turin", "it"), ("Bergen", "no"), ("Porto", "pt")];
    /// let first = prefixsort::SortedIter::by_key_bytes(&cities, |city| city.0.as_bytes()).next();
    /// assert_eq!(first, Some(&("Bergen", "no")));
    /// ```
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

    /// Returns the index of the next row, for callers that store keys and payloads separately.
    ///
    /// ```
    /// let (cities, countries) = (["Turin", "Bergen", "Porto"], ["it", "no", "pt"]);
    /// let mut order = prefixsort::SortedIter::new(&cities);
    /// assert_eq!(order.next_index().map(|index| countries[index as usize]), Some("no"));
    /// ```
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

/// The first `k` rows in the order of their bytes; all of them if there are fewer. Rows with equal
/// bytes keep their order.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A row that counts how often its bytes are read.
    struct Counted<'a> {
        bytes: Vec<u8>,
        reads: &'a Cell<usize>,
    }

    impl AsRef<[u8]> for Counted<'_> {
        fn as_ref(&self) -> &[u8] {
            self.reads.set(self.reads.get() + 1);
            &self.bytes
        }
    }

    /// Paths whose directories have names longer than a window: each level reads each key once.
    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of keys take Miri hours")]
    fn the_first_rows_take_little_more_than_one_read_of_each_key() {
        let many = 50_000;
        let reads = Cell::new(0);
        let name = |number: u64| {
            format!("{:032b}{:032b}", number.wrapping_mul(0x9e37_79b9) & 0xffff_ffff, number)
        };
        let row = |number: u64| {
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let bytes = format!("{}/{}/{}", name(mixed % 20), name(mixed / 20 % 20), name(mixed))
                .into_bytes();
            Counted { bytes, reads: &reads }
        };
        let rows: Vec<Counted<'_>> = (0..many).map(row).collect();
        let reads_of = |work: &dyn Fn() -> usize| {
            reads.set(0);
            assert!(work() > 0);
            reads.get()
        };
        let whole = reads_of(&|| SortedIter::new(&rows).count());
        let few = rows.len() / 100;
        let first = reads_of(&|| SortedIter::new(&rows).take(few).count());
        let top = reads_of(&|| top_k(&rows, few).len());
        for reads in [first, top] {
            assert!(reads < whole / 3, "{reads} reads of {whole}");
        }
    }
}
