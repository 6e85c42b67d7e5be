//! Records in memory, and putting them in order.

use crate::entry::Entry;
use crate::huge_pages;
use crate::keys::{expect, shared};
use crate::sort::{Options, Scratch, sort_in_arena};

/// Where in the buffer a record is: its key, then its payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    at: u32,
    key: u32,
    payload: u32,
}

/// Bytes that a record takes beside its own: its row here, and its entry while it is being sorted.
pub(super) const PER_RECORD: usize = size_of::<Row>() + size_of::<Entry>();

/// How many records ahead of the cursor are asked for: in order, each lies somewhere else, and a merge that waits for one
/// after the other does little else. Measured on a gibibyte of URLs, no limit on memory: merging and writing took 6 s
/// without, 3.4 s with, and 2.9 s with large pages, as asking waits where the page is unknown; 2 and 4 ahead took a little
/// longer than 8.
const AHEAD: usize = 8;

/// Records, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

/// What a buffer has room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    bytes: usize,
    rows: usize,
}

impl Buffer {
    /// With room for so much.
    pub(super) fn with_room(room: Room) -> Self {
        let mut buffer = Self { bytes: Vec::with_capacity(room.bytes), rows: Vec::with_capacity(room.rows) };
        huge_pages::wish(&mut buffer.bytes);
        buffer
    }

    /// Room for a few more records than these, as the next ones are most likely like them; but not for one that is longer
    /// than a buffer of `most` bytes.
    pub(super) fn room(&self, most: usize) -> Room {
        let some_more = |length: usize| length + length / 16;
        Room { bytes: some_more(self.bytes.len()).min(most), rows: some_more(self.rows.len()).min(most / PER_RECORD) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes that the records take here while they are sorted.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.rows.len() * PER_RECORD
    }

    /// Bytes that it takes with all that it has room for.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.rows.capacity() * size_of::<Row>() + self.rows.len() * size_of::<Entry>()
    }

    /// Adds a record. Offsets have 32 bits: the first record may be as long as records are, others go to buffers that have
    /// room for them.
    pub(super) fn push(&mut self, key: &[u8], payload: &[u8]) {
        debug_assert!(u32::try_from(self.bytes.len() + key.len() + payload.len()).is_ok(), "it has room");
        make_room(&mut self.rows, 1);
        make_room(&mut self.bytes, key.len() + payload.len());
        self.rows.push(Row { at: self.bytes.len() as u32, key: key.len() as u32, payload: payload.len() as u32 });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
    }

    /// Puts the records in order; those with equal keys stay as they came.
    pub(super) fn sort(&mut self, descending: bool, scratch: &mut Scratch) {
        let bytes = &self.bytes;
        let key = |row: &Row| key_of(bytes, row);
        // Without a way to cancel it ends.
        let _ = sort_in_arena(&mut self.rows, key, Options { stable: true, ..Options::default() }, scratch);
        if descending {
            self.rows.reverse();
            // Equal keys were turned round with the others.
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

    /// Asks for the cache lines of a record that will be read soon, if there is one.
    fn expect(&self, index: usize) {
        let Some(row) = self.rows.get(index) else { return };
        let at = row.at as usize;
        expect(&self.bytes, at..at + row.key as usize + row.payload as usize);
    }

    /// Forgets the records and keeps the memory, but no more than a buffer of so many bytes takes: a long record's is given
    /// back.
    pub(super) fn clear(&mut self, room: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(room);
        self.rows.clear();
        self.rows.shrink_to(room / PER_RECORD);
    }
}

/// Grows by a quarter where std would double: what nobody uses is not counted, and half of the memory is too much for that.
fn make_room<T>(vec: &mut Vec<T>, more: usize) {
    if vec.capacity() - vec.len() < more {
        vec.reserve_exact(more.max(vec.len() / 4));
        huge_pages::wish(vec);
    }
}

fn key_of<'b>(bytes: &'b [u8], row: &Row) -> &'b [u8] {
    &bytes[row.at as usize..][..row.key as usize]
}

/// A place in a buffer that has been sorted.
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

    /// To the next record: how many bytes its key has in common with the last one's.
    pub(super) fn advance(&mut self) -> Option<usize> {
        if self.index + 1 >= self.buffer.len() {
            return None;
        }
        self.index += 1;
        self.buffer.expect(self.index + AHEAD);
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
        assert!((1 << 10..1 << 11).contains(&buffer.bytes.capacity()), "{}", buffer.bytes.capacity());
    }
}
