//! The seam to asynchronous storage: many operations in flight.

use std::time::Duration;

use rustix::io::Errno;

/// What a slot is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read one block.
    Read,
    /// Write one block (and whatever the queue was told to link behind each write).
    Write,
    /// Make completed writes durable, by the call that the queue was set up with.
    Sync,
}

/// What has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Whose operation it was.
    pub slot: u32,
    /// Whether this is the sync that was linked behind the slot's write, and not the write itself.
    pub linked_sync: bool,
    /// Bytes moved (0 for a sync), or the error.
    pub moved: Result<usize, Errno>,
}

/// Storage that takes operations and answers later. Each slot has one block of memory and at most one operation in flight.
pub trait Queue {
    /// Prepares a slot's operation on at most the slot's own number of bytes; the kernel does not see it yet.
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32);

    /// Hands over what was prepared, and waits until `least` completions are there or the time is over.
    ///
    /// # Errors
    /// As the kernel reports them. A wait that ran out of time or was interrupted by a signal is no error.
    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno>;

    /// The next completion that is there, if any.
    fn next_completion(&mut self) -> Option<Completion>;
}

/// `null:` at depth: every operation is complete as soon as it is handed over.
#[derive(Debug)]
pub struct NullQueue {
    taken: Vec<(u32, u32)>,
}

impl NullQueue {
    /// For as many slots as `depth`.
    pub fn new(depth: u32) -> NullQueue {
        NullQueue { taken: Vec::with_capacity(depth as usize) }
    }
}

impl Queue for NullQueue {
    #[inline]
    fn push(&mut self, slot: u32, _operation: Operation, _offset: u64, bytes: u32) {
        self.taken.push((slot, bytes));
    }

    #[inline]
    fn submit_and_wait(&mut self, _least: u32, _timeout: Option<Duration>) -> Result<(), Errno> {
        Ok(())
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        let (slot, bytes) = self.taken.pop()?;
        Some(Completion { slot, linked_sync: false, moved: Ok(bytes as usize) })
    }
}
