//! Moves the caller's rows into the order of the sorted entries. Rows are moved only here.
#![expect(unsafe_code, reason = "rows of any type are moved as bytes, without being cloned")]

use std::mem::MaybeUninit;
use std::ptr;

use crate::bits::prefetch;
use crate::entry::Entry;

/// Rows up to this size are gathered through the entries' memory; larger ones are moved along the
/// cycles of the permutation, where each costs one cache miss whatever its size.
const GATHERED: usize = 64;

/// The distance at which a row is prefetched ahead of its use, in rows.
const AHEAD: usize = 16;

/// Moves `rows[entries[i].row]` to `rows[i]` for all `i`. Clears the entries: bytes of rows, which
/// may be uninitialised, were copied through them and must not be read.
///
/// # Safety
///
/// There must be as many `entries` as `rows`, and each row must be named by exactly one of them.
pub(crate) unsafe fn permute<T>(rows: &mut [T], entries: &mut Vec<Entry>) {
    debug_assert_eq!(rows.len(), entries.len());
    if size_of::<T>() > GATHERED {
        // SAFETY: the caller's promise is passed on.
        unsafe { along_cycles(rows, entries) }
    } else {
        // SAFETY: the caller's promise is passed on.
        unsafe { gather(rows, entries) }
    }
    entries.clear();
}

/// Moves eight bytes of every row per pass: reads them in sorted order into the entries' windows,
/// then writes them back. The reads of a pass do not depend on each other, unlike those along a
/// cycle. The last pass moves 16 bytes, the whole entry, which is no longer needed. So slices and
/// `Arc<[u8]>` take one pass, `Vec` and `String` two.
///
/// # Safety
///
/// As for [`permute`].
unsafe fn gather<T>(rows: &mut [T], entries: &mut [Entry]) {
    const WINDOW: usize = 8;
    const WHOLE: usize = size_of::<Entry>();
    let size = size_of::<T>();
    let base = rows.as_mut_ptr().cast::<MaybeUninit<u8>>();
    let mut at = 0;
    while size - at > WHOLE {
        for index in 0..entries.len() {
            if let Some(entry) = entries.get(index + AHEAD) {
                prefetch(base.wrapping_add(entry.row as usize * size));
            }
            let from = entries[index].row as usize * size + at;
            // SAFETY: `row` is less than the number of rows, so `from..from + 8` is within one of
            // them; `window` is the first field of an entry (`repr(C)`) and eight bytes long. Bytes
            // are copied as possibly uninitialised (padding) and are never read.
            unsafe {
                ptr::copy_nonoverlapping(
                    base.add(from),
                    ptr::from_mut(&mut entries[index]).cast(),
                    WINDOW,
                );
            }
        }
        for (index, entry) in entries.iter().enumerate() {
            // SAFETY: the reverse. What this overwrites was read by the loop above: the same eight
            // bytes of another row.
            unsafe {
                ptr::copy_nonoverlapping(
                    ptr::from_ref(entry).cast(),
                    base.add(index * size + at),
                    WINDOW,
                );
            }
        }
        at += WINDOW;
    }
    let rest = size - at;
    for index in 0..entries.len() {
        if let Some(entry) = entries.get(index + AHEAD) {
            prefetch(base.wrapping_add(entry.row as usize * size + at));
        }
        let from = entries[index].row as usize * size + at;
        // SAFETY: as above, with up to 16 bytes, the size of an entry; its row number has been
        // read.
        unsafe {
            ptr::copy_nonoverlapping(
                base.add(from),
                ptr::from_mut(&mut entries[index]).cast(),
                rest,
            );
        }
    }
    for (index, entry) in entries.iter().enumerate() {
        // SAFETY: as above.
        unsafe {
            ptr::copy_nonoverlapping(
                ptr::from_ref(entry).cast(),
                base.add(index * size + at),
                rest,
            );
        }
    }
}

/// Moves each row once, to its final place; one row is kept aside while its cycle is followed.
///
/// # Safety
///
/// As for [`permute`].
unsafe fn along_cycles<T>(rows: &mut [T], entries: &mut [Entry]) {
    let base = rows.as_mut_ptr();
    for start in 0..entries.len() {
        if entries[start].row as usize == start {
            continue;
        }
        // SAFETY: `start` and every `row` are less than the number of rows. The row at `start` is
        // kept aside, so its place is free; each round fills the free place and frees another,
        // until the place of the row kept aside is free. Nothing here can panic: the caller
        // promises that every entry is in bounds.
        unsafe {
            let aside = ptr::read(base.add(start));
            let mut free = start;
            loop {
                let from = entries[free].row as usize;
                entries[free].row = free as u32;
                if from == start {
                    break;
                }
                ptr::copy_nonoverlapping(base.add(from), base.add(free), 1);
                free = from;
            }
            ptr::write(base.add(free), aside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Clone + PartialEq + std::fmt::Debug>(order: &[u32], make: impl Fn(u32) -> T) {
        let mut rows: Vec<T> = (0..order.len() as u32).map(&make).collect();
        let mut entries: Vec<Entry> = order.iter().map(|&row| Entry::of_row(row)).collect();
        // SAFETY: proptest's shuffle contains each number once.
        unsafe { permute(&mut rows, &mut entries) };
        assert_eq!(rows, order.iter().map(|&row| make(row)).collect::<Vec<_>>());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 64 }))]
        #[test]
        fn rows_of_any_size_go_where_they_belong(order in (0..60_u32).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle())) {
            check(&order, |_| ());
            check(&order, |row| row as u8);
            check(&order, |row| (row as u8, u64::from(row)));
            check(&order, |row| [row as u8; 3]);
            check(&order, |row| [row as u8; 17]);
            check(&order, |row| [row as u16; 13]);
            check(&order, |row| row.to_string());
            check(&order, |row| vec![row.to_string(), "x".into()].into_boxed_slice());
            check(&order, |row| (row.to_string(), row, row.to_string()));
            check(&order, |row| ([u64::from(row); 9], row.to_string()));
        }
    }
}
