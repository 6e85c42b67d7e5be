//! Inputs that are already sorted, which are merged as they are read.

use std::cmp::Ordering;
use std::fmt::{self, Debug};
use std::io;
use std::sync::Arc;

use super::figures::Meter;
use super::run::RECORD_MAX;
use crate::keys::shared;

/// Appends key and payload of the next record to two empty buffers; returns `false` after the last
/// record.
pub type NextRecord = Box<dyn FnMut(&mut Vec<u8>, &mut Vec<u8>) -> io::Result<bool> + Send>;

/// Records that are already sorted, for
/// [`ExternalSorter::merging`](crate::ExternalSorter::merging).
pub struct SortedInput {
    /// Opens the input at its first record. Called when its turn comes, so any number of inputs can
    /// be merged with few of them open; and again if a spill space fails and the merge is restarted
    /// in the next one.
    pub open: Box<dyn FnMut() -> io::Result<NextRecord> + Send>,
    /// Memory that the open input needs, in bytes. It determines how many are merged at a time.
    pub memory: usize,
    /// Total number of bytes, 0 if unknown. If not all inputs can be merged at a time, those that
    /// are cheapest to write are merged first.
    pub bytes: u64,
}

impl Debug for SortedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedInput")
            .field("memory", &self.memory)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// Why an input cannot be merged.
#[derive(Debug)]
pub(super) enum InputError {
    Io(io::Error),
    TooLong(usize),
    /// The number of the record, from 1, that comes before the previous one.
    Disorder(u64),
}

/// An open input.
pub(super) struct InputReader {
    input: SortedInput,
    next: NextRecord,
    descending: bool,
    key: Vec<u8>,
    payload: Vec<u8>,
    /// The key before this one.
    last: Vec<u8>,
    records: u64,
    bytes: u64,
    meter: Arc<Meter>,
}

impl Debug for InputReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputReader")
            .field("input", &self.input)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl InputReader {
    pub(super) fn open(
        mut input: SortedInput,
        descending: bool,
        meter: Arc<Meter>,
    ) -> io::Result<Self> {
        let next = (input.open)()?;
        let (key, payload, last) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { input, next, descending, key, payload, last, records: 0, bytes: 0, meter })
    }

    /// Opens the input once more.
    pub(super) fn rewind(&mut self) -> Result<(), InputError> {
        self.next = (self.input.open)().map_err(InputError::Io)?;
        (self.records, self.bytes) = (0, 0);
        self.key.clear();
        Ok(())
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Moves to the next record; returns how many bytes its key shares with the previous one,
    /// `None` at the end.
    pub(super) fn advance(&mut self) -> Result<Option<usize>, InputError> {
        std::mem::swap(&mut self.key, &mut self.last);
        self.key.clear();
        self.payload.clear();
        if !(self.next)(&mut self.key, &mut self.payload).map_err(InputError::Io)? {
            self.meter.input_read(self.records, self.bytes);
            return Ok(None);
        }
        let bytes = self.key.len() + self.payload.len();
        if bytes > RECORD_MAX {
            return Err(InputError::TooLong(bytes));
        }
        self.records += 1;
        self.bytes += bytes as u64;
        let alike = shared(&self.last, &self.key);
        let order = self.last.get(alike).cmp(&self.key.get(alike));
        let wrong = if self.descending { Ordering::Less } else { Ordering::Greater };
        if order == wrong && self.records > 1 {
            return Err(InputError::Disorder(self.records));
        }
        Ok(Some(alike))
    }
}
