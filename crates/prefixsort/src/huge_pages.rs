//! A wish to the kernel: memory that is read and written here and there in pages of 2 MiB.
//!
//! Distribution writes to 2,048 places by turns; with pages of 4 KiB that is more than the processor's translation buffers
//! hold, and each page of fresh memory costs a fault. Measured at a million entries: a tenth of the time of short keys.
#![expect(unsafe_code, reason = "advice on memory is a system call on addresses")]

use crate::entry::Entry;

/// Less memory than this is not worth a system call.
#[cfg(all(target_os = "linux", not(miri)))]
const WORTH_IT: usize = 4 << 20;

/// An entry for each of so many rows.
pub(crate) fn fill(entries: &mut Vec<Entry>, rows: u32) {
    entries.clear();
    reserve(entries, rows as usize);
    entries.extend((0..rows).map(Entry::of_row));
}

/// Room for so many more items, in large pages where the kernel has any to give.
fn reserve<T>(items: &mut Vec<T>, more: usize) {
    let before = items.capacity();
    items.reserve(more);
    if items.capacity() > before {
        wish(items);
    }
}

/// Asks for large pages for all that `items` has room for, if that is much.
pub(crate) fn wish<T>(items: &mut Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if items.capacity() * size_of::<T>() >= WORTH_IT {
        let page = rustix::param::page_size();
        let begin = items.as_mut_ptr().cast::<u8>();
        let unaligned = begin.align_offset(page);
        let length = (items.capacity() * size_of::<T>()).saturating_sub(unaligned) / page * page;
        // SAFETY: the range lies within memory that the vector owns; this advice changes neither its content nor whether
        // it may be used. That a kernel does not take it is no error.
        let _ = unsafe {
            rustix::mm::madvise(begin.wrapping_add(unaligned).cast(), length, rustix::mm::Advice::LinuxHugepage)
        };
    }
    #[cfg(any(not(target_os = "linux"), miri))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_entry_whether_or_not_pages_are_large() {
        let mut entries = Vec::new();
        for rows in [0, 1, 1000, if cfg!(miri) { 2000 } else { 1 << 19 }, 3] {
            fill(&mut entries, rows);
            assert!(entries.iter().copied().eq((0..rows).map(Entry::of_row)));
        }
    }
}
