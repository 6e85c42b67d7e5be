//! Records in memory, and putting them in order.

use crate::keys::shared;
use crate::sort::{Options, Scratch, sort_in_arena};

/// Where in the buffer a record is: its key, then its payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    at: u32,
    key: u32,
    payload: u32,
}

/// Bytes that a record takes beside its own: its row here, and its entry while it is being sorted.
pub(super) const PER_RECORD: usize = size_of::<Row>() + 16;

/// Records, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

impl Buffer {
    /// With room for so many bytes.
    pub(super) fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), rows: Vec::new() }
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

    /// Adds a record if offsets of 32 bits still reach it; gives back whether they do.
    pub(super) fn push(&mut self, key: &[u8], payload: &[u8]) -> bool {
        let (Ok(at), Ok(_)) =
            (u32::try_from(self.bytes.len()), u32::try_from(self.bytes.len() + key.len() + payload.len()))
        else {
            return false;
        };
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
        self.rows.push(Row { at, key: key.len() as u32, payload: payload.len() as u32 });
        true
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

    /// Forgets the records and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
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
        Some(shared(self.buffer.key(self.index - 1), self.buffer.key(self.index)))
    }
}
