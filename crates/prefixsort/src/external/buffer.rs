//! Holds and sorts records in memory.

use crate::entry::Entry;
use crate::huge_pages;
use crate::keys::{prefetch_bytes, shared};
use crate::sort::{Options, Scratch, sort_in_arena};

/// The position of a record in the buffer: its key, followed by its payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    at: u32,
    key: u32,
    payload: u32,
}

/// Bytes that a record needs besides its own: its row here, and its entry while it is being sorted.
pub(super) const PER_RECORD: usize = size_of::<Row>() + size_of::<Entry>();

/// The number of records ahead of the cursor that are prefetched. In sorted order, each record is
/// somewhere else, and a merge that waits for each one does little else. Measured on a gibibyte of
/// URLs without a memory limit: merging and writing took 6 s without prefetching, 3.4 s with it,
/// and 2.9 s with large pages, since prefetching waits if the page is not in the TLB. 2 and 4 ahead
/// took a little longer than 8.
const AHEAD: usize = 8;

/// Records stored one after the other.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

/// Capacity of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    bytes: usize,
    rows: usize,
}

impl Buffer {
    /// An empty buffer with this capacity.
    pub(super) fn with_room(room: Room) -> Self {
        let mut buffer =
            Self { bytes: Vec::with_capacity(room.bytes), rows: Vec::with_capacity(room.rows) };
        huge_pages::advise(&mut buffer.bytes);
        buffer
    }

    /// Capacity for a few more records than this buffer has, since the next ones are probably
    /// similar; but not for one that is longer than a buffer of `most` bytes.
    pub(super) fn room(&self, most: usize) -> Room {
        let some_more = |length: usize| length + length / 16;
        Room {
            bytes: some_more(self.bytes.len()).min(most),
            rows: some_more(self.rows.len()).min(most / PER_RECORD),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Memory that the records need while they are being sorted, in bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.rows.len() * PER_RECORD
    }

    /// Memory of the whole capacity, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.rows.capacity() * size_of::<Row>()
            + self.rows.len() * size_of::<Entry>()
    }

    /// Adds a record. Offsets have 32 bits: the first record may have any length, others must fit
    /// into the capacity.
    pub(super) fn push(&mut self, key: &[u8], payload: &[u8]) {
        debug_assert!(
            u32::try_from(self.bytes.len() + key.len() + payload.len()).is_ok(),
            "the record does not fit"
        );
        make_room(&mut self.rows, 1);
        make_room(&mut self.bytes, key.len() + payload.len());
        self.rows.push(Row {
            at: self.bytes.len() as u32,
            key: key.len() as u32,
            payload: payload.len() as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
    }

    /// Sorts the records; those with equal keys keep their order.
    pub(super) fn sort(&mut self, descending: bool, scratch: &mut Scratch) {
        let bytes = &self.bytes;
        let key = |row: &Row| key_of(bytes, row);
        // Cannot be cancelled, so it always finishes.
        let _ = sort_in_arena(
            &mut self.rows,
            key,
            Options { stable: true, ..Options::default() },
            scratch,
        );
        if descending {
            self.rows.reverse();
            // Reversing the order also reversed records with equal keys.
            self.rows.chunk_by_mut(|a, b| key(a) == key(b)).for_each(<[Row]>::reverse);
        }
    }

    pub(super) fn key(&self, index: usize) -> &[u8] {
        key_of(&self.bytes, &self.rows[index])
    }

    pub(super) fn payload(&self, index: usize) -> &[u8] {
        let row = self.rows[index];
        &self.bytes[row.at as usize + row.key as usize..][..row.payload as usize]
    }

    /// Prefetches a record that will be read soon, if there is one.
    fn prefetch(&self, index: usize) {
        let Some(row) = self.rows.get(index) else { return };
        let at = row.at as usize;
        prefetch_bytes(&self.bytes, at..at + row.key as usize + row.payload as usize);
    }

    /// Removes the records but keeps the memory, up to that of a buffer of `room` bytes: the memory
    /// of a long record is released.
    pub(super) fn clear(&mut self, room: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(room);
        self.rows.clear();
        self.rows.shrink_to(room / PER_RECORD);
    }
}

/// Grows by a quarter instead of std's doubling, because the unused part of the capacity does not
/// count towards the limit, and half of the memory would be too much for that.
fn make_room<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        vec.reserve_exact(more.max(vec.len() / 4));
        huge_pages::advise(vec);
    }
}

fn key_of<'b>(bytes: &'b [u8], row: &Row) -> &'b [u8] {
    &bytes[row.at as usize..][..row.key as usize]
}

/// A position in a sorted buffer.
#[derive(Debug)]
pub(super) struct Cursor {
    buffer: Buffer,
    index: usize,
}

impl Cursor {
    pub(super) fn new(buffer: Buffer) -> Self {
        Self { buffer, index: 0 }
    }

    pub(super) fn rewind(&mut self) {
        self.index = 0;
    }

    pub(super) fn into_buffer(self) -> Buffer {
        self.buffer
    }

    pub(super) fn key(&self) -> &[u8] {
        self.buffer.key(self.index)
    }

    pub(super) fn payload(&self) -> &[u8] {
        self.buffer.payload(self.index)
    }

    /// Moves to the next record; returns how many bytes its key shares with the previous one.
    pub(super) fn advance(&mut self) -> Option<usize> {
        if self.index + 1 >= self.buffer.len() {
            return None;
        }
        self.index += 1;
        self.buffer.prefetch(self.index + AHEAD);
        Some(shared(self.buffer.key(self.index - 1), self.buffer.key(self.index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_record_s_memory_is_not_kept() {
        let mut buffer = Buffer::default();
        buffer.push(&vec![1; 1 << 20], &[]);
        assert!(Buffer::with_room(buffer.room(1 << 10)).bytes.capacity() < 1 << 11);
        buffer.clear(1 << 10);
        assert!(buffer.is_empty());
        assert!(
            (1 << 10..1 << 11).contains(&buffer.bytes.capacity()),
            "{}",
            buffer.bytes.capacity()
        );
    }
}
