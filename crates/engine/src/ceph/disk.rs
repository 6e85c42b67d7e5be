//! An image or objects for the loops: one operation at a time, and many in flight.

use std::time::Duration;

use rados::{Completions, Done};
use rustix::io::Errno;
use workload::{JobPart, SyncCall};

use super::{CephTarget, Storage, errno};
use crate::buffers::Buffers;
use crate::disk::{Backed, BlockDisk, Disk};
use crate::queue::{Completion, Operation, Queue};

/// A job's view of an image or of objects.
#[derive(Debug, Clone, Copy)]
pub struct CephDisk<'a> {
    target: &'a CephTarget,
    part: JobPart,
    discards: bool,
}

impl<'a> CephDisk<'a> {
    /// `discards`: a write discards its block.
    pub const fn new(target: &'a CephTarget, part: JobPart, discards: bool) -> CephDisk<'a> {
        CephDisk { target, part, discards }
    }

    #[inline]
    fn offset(&self, offset: u64) -> u64 {
        self.part.locate(offset).1
    }
}

impl Disk for CephDisk<'_> {
    fn write_name(&self) -> &'static str {
        if self.discards { "discard" } else { "write" }
    }

    #[inline]
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let mut offset = self.offset(offset);
        match self.target.storage() {
            Storage::Image(image) => image.read(block, offset).map_err(errno),
            Storage::Objects(objects) => {
                let mut moved = 0;
                while moved < block.len() {
                    let (name, within, left) = objects.locate(offset).ok_or(Errno::INVAL)?;
                    let end = block.len().min(moved + left as usize);
                    let piece = &mut block[moved..end];
                    let read = objects.pool().read(name, piece, within).map_err(errno)?;
                    moved += read;
                    offset += read as u64;
                    if read < left as usize && moved < end {
                        break;
                    }
                }
                Ok(moved)
            }
        }
    }

    #[inline]
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        let mut offset = self.offset(offset);
        match self.target.storage() {
            Storage::Image(image) if self.discards => {
                image.discard(offset, block.len() as u64).map_err(errno)?;
            }
            Storage::Image(image) => image.write(block, offset).map_err(errno)?,
            Storage::Objects(objects) => {
                let mut rest = block;
                while !rest.is_empty() {
                    let (name, within, left) = objects.locate(offset).ok_or(Errno::NOSPC)?;
                    let (piece, later) = rest.split_at(rest.len().min(left as usize));
                    objects.pool().write(name, piece, within).map_err(errno)?;
                    offset += piece.len() as u64;
                    rest = later;
                }
            }
        }
        Ok(block.len())
    }

    /// Objects need no sync: their writes are durable on all replicas when they are acknowledged.
    #[inline]
    fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
        match self.target.storage() {
            Storage::Image(image) => image.flush().map_err(errno),
            Storage::Objects(_) => Ok(()),
        }
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

impl BlockDisk for CephDisk<'_> {}

impl<'a> Backed for CephDisk<'a> {
    type Storage = CephDisk<'a>;

    fn storage(&self) -> &CephDisk<'a> {
        self
    }
}

/// The operations in flight of one job.
#[derive(Debug)]
pub struct CephQueue<'a> {
    disk: CephDisk<'a>,
    completions: Completions,
    /// The address of each slot.
    blocks: Vec<*mut u8>,
    /// The operation and size of each slot.
    pushed: Vec<(Operation, u32)>,
    done: Vec<Done>,
    /// Slots whose operation was refused.
    refused: Vec<(u32, Errno)>,
    is_stuck: bool,
}

impl<'a> CephQueue<'a> {
    /// `buffers` has one slot for each operation in flight. The caller keeps the buffers alive, and
    /// does not touch their slots while operations are in flight.
    pub fn new(disk: CephDisk<'a>, buffers: &Buffers) -> CephQueue<'a> {
        let blocks: Vec<*mut u8> =
            (0..buffers.slots()).map(|slot| buffers.address(slot).0 as *mut u8).collect();
        CephQueue {
            disk,
            completions: Completions::new(blocks.len() as u32),
            pushed: vec![(Operation::Sync, 0); blocks.len()],
            done: Vec::with_capacity(blocks.len()),
            refused: Vec::new(),
            blocks,
            is_stuck: false,
        }
    }

    #[expect(unsafe_code, reason = "the operation accesses its block by its address")]
    fn submit(
        &mut self,
        slot: u32,
        operation: Operation,
        offset: u64,
        bytes: u32,
    ) -> Result<(), Errno> {
        let (block, length, token) = (self.blocks[slot as usize], bytes as usize, u64::from(slot));
        let offset = if operation == Operation::Sync { 0 } else { self.disk.offset(offset) };
        let completions = &mut self.completions;
        // SAFETY: a slot is part of the buffers, which the job keeps until it has drained the
        // queue, or for ever if the queue is stuck. It touches no slot whose operation is in
        // flight.
        let submitted = unsafe {
            match (self.disk.target.storage(), operation) {
                (Storage::Image(image), Operation::Sync) => completions.flush_image(image, token),
                (Storage::Image(image), Operation::Read) => {
                    completions.read_image(image, block, length, offset, token)
                }
                (Storage::Image(image), Operation::Write) if self.disk.discards => {
                    completions.discard_image(image, offset, u64::from(bytes), token)
                }
                (Storage::Image(image), Operation::Write) => {
                    completions.write_image(image, block, length, offset, token)
                }
                (Storage::Objects(_), Operation::Sync) => return Err(Errno::OPNOTSUPP),
                (Storage::Objects(objects), _) => {
                    let (name, within, left) = objects.locate(offset).ok_or(Errno::NOSPC)?;
                    // `CephTarget::check` admits no block that crosses the end of an object.
                    debug_assert!(u64::from(bytes) <= left);
                    if operation == Operation::Read {
                        completions.read(objects.pool(), name, block, length, within, token)
                    } else {
                        completions.write(objects.pool(), name, block, length, within, token)
                    }
                }
            }
        };
        submitted.map_err(errno)
    }
}

impl Queue for CephQueue<'_> {
    #[inline]
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32) {
        self.pushed[slot as usize] = (operation, bytes);
        if let Err(errno) = self.submit(slot, operation, offset, bytes) {
            self.refused.push((slot, errno));
        }
    }

    #[inline]
    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        let missing = (least as usize).saturating_sub(self.done.len() + self.refused.len());
        self.completions.wait(missing, timeout, &mut self.done).map_err(|_stalled| {
            self.is_stuck = true;
            Errno::TIMEDOUT
        })
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        if let Some((slot, errno)) = self.refused.pop() {
            return Some(Completion { slot, linked_sync: false, moved: Err(errno) });
        }
        let Done { token, result } = self.done.pop()?;
        let (operation, bytes) = self.pushed[token as usize];
        let moved = result.map(|read| match operation {
            Operation::Read => read,
            Operation::Write => bytes as usize,
            Operation::Sync => 0,
        });
        Some(Completion { slot: token as u32, linked_sync: false, moved })
    }

    fn is_stuck(&self) -> bool {
        self.is_stuck
    }
}
