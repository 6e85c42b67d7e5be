//! Asks the kernel for pages of 2 MiB for memory that is accessed at random.
//!
//! Distribution writes to 2,048 places in turn. With pages of 4 KiB that is more than the
//! processor's TLB holds, and each page of new memory costs a fault. Measured at a million entries:
//! a tenth of the time of short keys.
#![expect(unsafe_code, reason = "advice on memory is a system call on addresses")]

use crate::entry::Entry;

/// Less memory than this is not worth a system call.
#[cfg(all(target_os = "linux", not(miri)))]
const WORTH_IT: usize = 4 << 20;

/// Fills in an entry for each of `rows` rows.
pub(crate) fn fill(entries: &mut Vec<Entry>, rows: u32) {
    entries.clear();
    reserve(entries, rows as usize);
    entries.extend((0..rows).map(Entry::of_row));
}

/// Reserves capacity for `more` items, in large pages if the kernel has any.
fn reserve<T>(items: &mut Vec<T>, more: usize) {
    let before = items.capacity();
    items.reserve(more);
    if items.capacity() > before {
        advise(items);
    }
}

/// Asks for large pages for the whole capacity of `items`, if it is large.
pub(crate) fn advise<T>(items: &mut Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if items.capacity() * size_of::<T>() >= WORTH_IT {
        let page = rustix::param::page_size();
        let begin = items.as_mut_ptr().cast::<u8>();
        let unaligned = begin.align_offset(page);
        let length = (items.capacity() * size_of::<T>()).saturating_sub(unaligned) / page * page;
        // SAFETY: the range is within memory that the vector owns; the advice changes neither its
        // content nor its validity. A kernel that rejects the advice is not an error.
        let _ = unsafe {
            rustix::mm::madvise(
                begin.wrapping_add(unaligned).cast(),
                length,
                rustix::mm::Advice::LinuxHugepage,
            )
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
