//! An export for the loops: one operation at a time, and many in flight on the same connection.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use nbd::wire::{command, command_flag};
use rustix::io::Errno;
use workload::{JobPart, SyncCall};

use super::channel::{Channel, SlotRequest};
use crate::buffers::Buffers;
use crate::disk::{Backed, BlockDisk, Disk};
use crate::queue::{Completion, Operation, Queue};

/// The NBD command that a write of a job becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteRequest {
    /// `NBD_CMD_WRITE`
    Write,
    /// `NBD_CMD_WRITE` that is durable when it is acknowledged.
    WriteFua,
    /// `NBD_CMD_TRIM`
    Trim,
}

impl WriteRequest {
    const fn command_and_flags(self) -> (u16, u16) {
        match self {
            WriteRequest::Write => (command::WRITE, 0),
            WriteRequest::WriteFua => (command::WRITE, command_flag::FUA),
            WriteRequest::Trim => (command::TRIM, 0),
        }
    }
}

/// A job's view of an export.
#[derive(Debug, Clone)]
pub struct ExportDisk {
    channel: Rc<RefCell<Channel>>,
    part: JobPart,
    write: WriteRequest,
}

impl ExportDisk {
    pub const fn new(
        channel: Rc<RefCell<Channel>>,
        part: JobPart,
        write: WriteRequest,
    ) -> ExportDisk {
        ExportDisk { channel, part, write }
    }

    #[expect(unsafe_code, reason = "the request accesses its block by its address")]
    fn perform(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        block: Block<'_>,
    ) -> Result<usize, Errno> {
        let offset = self.part.locate(offset).1;
        let (address, bytes) = block.address();
        let request = SlotRequest { command, flags, offset, bytes, address };
        // SAFETY: the block is borrowed until the call returns. Only a read writes to it, and its
        // block is borrowed mutably.
        unsafe { self.channel.borrow_mut().perform(request) }
    }
}

/// The block of a request.
enum Block<'a> {
    Read(&'a mut [u8]),
    Written(&'a [u8]),
}

impl Block<'_> {
    fn address(self) -> (u64, u32) {
        match self {
            Block::Read(block) => (block.as_mut_ptr() as u64, block.len() as u32),
            Block::Written(block) => (block.as_ptr() as u64, block.len() as u32),
        }
    }
}

impl Disk for ExportDisk {
    fn write_name(&self) -> &'static str {
        if self.write == WriteRequest::Trim { "discard" } else { "write" }
    }

    #[inline]
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.perform(command::READ, 0, offset, Block::Read(block))
    }

    #[inline]
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        let (command, flags) = self.write.command_and_flags();
        self.perform(command, flags, offset, Block::Written(block))
    }

    #[inline]
    fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
        // A flush covers the whole export and has no offset.
        let request =
            SlotRequest { command: command::FLUSH, flags: 0, offset: 0, bytes: 0, address: 0 };
        flushed(&self.channel, request)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

#[expect(unsafe_code, reason = "a flush has no block")]
fn flushed(channel: &RefCell<Channel>, request: SlotRequest) -> Result<(), Errno> {
    // SAFETY: the block is empty.
    unsafe { channel.borrow_mut().perform(request).map(drop) }
}

impl BlockDisk for ExportDisk {}

impl Backed for ExportDisk {
    type Storage = ExportDisk;

    fn storage(&self) -> &ExportDisk {
        self
    }
}

/// The requests in flight of one job.
#[derive(Debug)]
pub struct ExportQueue {
    disk: ExportDisk,
    /// The address of each slot.
    blocks: Vec<u64>,
}

impl ExportQueue {
    /// `buffers` has one slot for each request in flight. The caller keeps the buffers alive, and
    /// does not touch their slots while requests are in flight.
    pub fn new(disk: ExportDisk, buffers: &Buffers) -> ExportQueue {
        let blocks = (0..buffers.slots()).map(|slot| buffers.address(slot).0).collect();
        ExportQueue { disk, blocks }
    }
}

impl Queue for ExportQueue {
    #[inline]
    #[expect(unsafe_code, reason = "the request accesses its block by its address")]
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32) {
        let (command, flags) = match operation {
            Operation::Read => (command::READ, 0),
            Operation::Write => self.disk.write.command_and_flags(),
            Operation::Sync => (command::FLUSH, 0),
        };
        let offset = if operation == Operation::Sync { 0 } else { self.disk.part.locate(offset).1 };
        let address = self.blocks[slot as usize];
        let request = SlotRequest { command, flags, offset, bytes, address };
        // SAFETY: a slot is part of the buffers, which the job keeps until it has drained the
        // queue.
        unsafe { self.disk.channel.borrow_mut().push(slot, request) };
    }

    #[inline]
    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        self.disk.channel.borrow_mut().submit_and_wait(least, timeout)
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        self.disk.channel.borrow_mut().next_completion()
    }
}
