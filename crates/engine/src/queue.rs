//! The interface to asynchronous storage: many operations in flight.

use std::time::Duration;

use rustix::io::Errno;
use workload::IoPriority;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read one block.
    Read,
    /// Write one block, and perform the linked sync if the queue has one.
    Write,
    /// Make completed writes durable, by the call selected at setup.
    Sync,
}

/// A completed operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub slot: u32,
    /// This is the sync linked to the slot's write, not the write itself.
    pub linked_sync: bool,
    /// Bytes transferred (0 for a sync), or the error.
    pub moved: Result<usize, Errno>,
}

/// Storage that accepts operations and completes them later. Each slot has one block of memory and
/// at most one operation in flight.
pub trait Queue {
    /// Prepares a slot's operation, of at most the slot's size. The kernel does not see it yet. A
    /// sync covers the file that contains `offset`.
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32);

    /// Prepares a slot's operation as [`Queue::push`] does, with a separate priority, which a
    /// queue that knows none ignores. A queue gets all of its reads and writes in one way or the
    /// other.
    fn push_prioritised(
        &mut self,
        slot: u32,
        operation: Operation,
        offset: u64,
        bytes: u32,
        _priority: Option<IoPriority>,
    ) {
        self.push(slot, operation, offset, bytes);
    }

    /// Submits the prepared operations, and waits for at least `least` completions or the timeout.
    ///
    /// # Errors
    /// As the kernel reports them. A timeout or an interruption by a signal is not an error.
    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno>;

    /// The next available completion.
    fn next_completion(&mut self) -> Option<Completion>;

    /// Operations may still access their blocks, although the queue is no longer used: the memory
    /// must not be freed.
    fn is_stuck(&self) -> bool {
        false
    }
}

/// `null:` at depth: every operation completes on submission.
#[derive(Debug)]
pub struct NullQueue {
    taken: Vec<(u32, u32)>,
}

impl NullQueue {
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
