//! A file in the kernel: its location, its pages in the page cache, and its unsynced metadata.

use std::collections::{BTreeSet, HashSet};

use super::journal::{BLOCK_BYTES, Tid};
use crate::time::Ns;

/// A file, or a whole raw block device.
#[derive(Debug, Clone)]
pub struct File {
    /// Offset of the file on the device.
    pub base: u64,
    /// Length in bytes.
    pub length: u64,
    pub allocated: u64,
    /// Reserved space that was never written; the first write converts it.
    pub unwritten: bool,
    /// Bypasses the page cache.
    pub direct: bool,
    /// The last change of its timestamp.
    pub time_moved: Option<Ns>,
    /// The transaction that `fsync` waits for.
    pub sync_tid: Tid,
    /// The transaction that `fdatasync` waits for.
    pub datasync_tid: Tid,
    converted: HashSet<u64>,
    cached: HashSet<u64>,
    dirty: BTreeSet<u64>,
    /// Calls that are writing back pages: these pages are no longer dirty, but not yet durable.
    pub writing_back: u32,
    /// Calls that wait for this, each with a flag for data-only syncs.
    pub waiters: Vec<(u32, bool)>,
}

impl File {
    /// A file that was written once: allocated, with no dirty data or metadata.
    pub fn settled(base: u64, size: u64, direct: bool) -> File {
        File {
            base,
            length: size,
            allocated: size,
            unwritten: false,
            direct,
            time_moved: None,
            sync_tid: 0,
            datasync_tid: 0,
            converted: HashSet::new(),
            cached: HashSet::new(),
            dirty: BTreeSet::new(),
            writing_back: 0,
            waiters: Vec::new(),
        }
    }

    /// An empty file without allocated space.
    pub fn empty(base: u64, direct: bool) -> File {
        File::settled(base, 0, direct)
    }

    /// A file reserved by `fallocate` but never written.
    pub fn reserved(base: u64, size: u64, direct: bool) -> File {
        File { unwritten: true, ..File::settled(base, size, direct) }
    }

    /// Converts the reserved parts of this range; returns `true` if there were any.
    pub fn convert(&mut self, offset: u64, bytes: u64) -> bool {
        if !self.unwritten {
            return false;
        }
        let mut any = false;
        for page in pages(offset, bytes) {
            any |= self.converted.insert(page);
        }
        any
    }

    /// Writes to the page cache.
    pub fn cache_write(&mut self, offset: u64, bytes: u64) {
        for page in pages(offset, bytes) {
            self.cached.insert(page);
            self.dirty.insert(page);
        }
    }

    /// Reads through the page cache; returns `true` if everything was cached. Afterwards, it is.
    pub fn cache_read(&mut self, offset: u64, bytes: u64) -> bool {
        let mut all = true;
        for page in pages(offset, bytes) {
            all &= !self.cached.insert(page);
        }
        all
    }

    /// Bytes waiting for writeback.
    pub fn dirty_bytes(&self) -> u64 {
        self.dirty.len() as u64 * BLOCK_BYTES
    }

    /// Takes the dirty pages, as contiguous ranges.
    pub fn write_back(&mut self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for page in std::mem::take(&mut self.dirty) {
            let offset = page * BLOCK_BYTES;
            match ranges.last_mut() {
                Some((start, bytes)) if *start + *bytes == offset => *bytes += BLOCK_BYTES,
                _ => ranges.push((offset, BLOCK_BYTES)),
            }
        }
        ranges
    }

    /// Truncates the file, or extends it by a hole.
    pub fn truncate(&mut self, length: u64) {
        self.length = length;
        self.allocated = self.allocated.min(length.next_multiple_of(BLOCK_BYTES));
        let last = length.div_ceil(BLOCK_BYTES);
        self.dirty.retain(|page| *page < last);
        self.cached.retain(|page| *page < last);
        self.converted.retain(|page| *page < last);
    }
}

fn pages(offset: u64, bytes: u64) -> std::ops::Range<u64> {
    offset / BLOCK_BYTES..(offset + bytes).div_ceil(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_pages_are_written_back_together() {
        let mut file = File::settled(0, 1 << 20, false);
        for (offset, bytes) in [(8192, 100), (0, 4096), (12288, 1), (4000, 200)] {
            file.cache_write(offset, bytes);
        }
        assert_eq!(file.dirty_bytes(), 16384);
        file.cache_write(40960, 1);
        assert_eq!(file.write_back(), [(0, 16384), (40960, 4096)]);
        assert_eq!(file.write_back(), []);
    }

    #[test]
    fn reserved_space_is_converted_once() {
        let mut file = File::reserved(0, 1 << 20, true);
        assert!(file.convert(0, 8192) && !file.convert(4096, 4096) && file.convert(4096, 8192));
    }

    #[test]
    fn what_is_cut_off_is_neither_dirty_nor_cached_nor_converted() {
        let mut file = File { unwritten: true, ..File::settled(0, 16_384, false) };
        for page in 0..4 {
            file.cache_write(page * BLOCK_BYTES, BLOCK_BYTES);
            file.convert(page * BLOCK_BYTES, BLOCK_BYTES);
        }
        // The second page is only partially present.
        file.truncate(BLOCK_BYTES + 1);
        assert_eq!((file.length, file.allocated, file.dirty_bytes()), (4097, 8192, 8192));
        assert!(file.cache_read(0, 8192) && !file.cache_read(8192, 1));
        assert!(!file.convert(0, 8192) && file.convert(8192, 1));
        assert_eq!(file.write_back(), [(0, 8192)]);
        // A hole uses no space.
        file.truncate(1 << 20);
        assert_eq!((file.length, file.allocated), (1 << 20, 8192));
    }

    #[test]
    fn a_read_finds_what_was_read_or_written_before() {
        let mut file = File::settled(0, 1 << 20, false);
        file.cache_write(0, 4096);
        assert_eq!(
            [file.cache_read(0, 4096), file.cache_read(0, 4097), file.cache_read(0, 8192)],
            [true, false, true]
        );
        assert!(!file.convert(0, 4096), "nothing was reserved only");
        let empty = File::empty(4096, true);
        assert_eq!((empty.base, empty.length, empty.allocated, empty.direct), (4096, 0, 0, true));
    }
}
