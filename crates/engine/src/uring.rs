//! io_uring, for depths above 1.
//!
//! One system call submits a batch and waits for completions. The files and the buffer region are
//! registered. A write that must be durable by itself has `RWF_DSYNC`; a linked sync is a second
//! entry that the kernel starts once the write is complete.

mod durable_write;
mod ring;

use std::time::Duration;

use io_uring::opcode;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, FsyncFlags};
use rustix::io::{Errno, ReadWriteFlags};
use workload::{IoPriority, JobPart, SyncCall};

pub use self::durable_write::DurableWrites;
use self::ring::{Ring, moved};
use crate::buffers::Buffers;
use crate::open_files::OpenFiles;
use crate::queue::{Completion, Operation, Queue};

/// The kernel accepts registered buffers up to this size.
const REGISTERED_BYTES_MAX: usize = 1 << 30;

/// The ring of one job.
#[derive(Debug)]
pub struct Uring {
    ring: Ring,
    part: JobPart,
    /// The address of each slot.
    blocks: Vec<u64>,
    write_flags: ReadWriteFlags,
    sync: Option<FsyncFlags>,
    linked: bool,
    registered_buffers: bool,
}

/// The parameters of a job's ring.
#[derive(Debug, Clone, Copy)]
pub struct UringSetup<'a> {
    pub files: &'a OpenFiles,
    /// Number of slots, and so of operations in flight.
    pub depth: u32,
    /// The flags of every write.
    pub write_flags: ReadWriteFlags,
    /// The sync linked to each write, if any.
    pub linked: Option<SyncCall>,
    /// The sync queued as a separate operation, if any.
    pub queued: Option<SyncCall>,
}

impl Uring {
    /// Creates a ring of the calling thread for a job's files and its buffers, which must have
    /// `depth` slots. The caller keeps the buffers alive, and does not touch their slots while
    /// operations are in flight.
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` if io_uring is not supported or disabled, `ENOMEM` above a limit.
    pub fn new(setup: UringSetup<'_>, buffers: &Buffers) -> Result<Uring, Errno> {
        let UringSetup { files, depth, write_flags, linked, queued } = setup;
        let sync = linked.or(queued);
        let ring = Ring::new(if sync.is_some() { 2 * depth } else { depth }, files.iter())?;
        let registered_buffers = Uring::register(&ring, buffers);
        let blocks = (0..depth).map(|slot| buffers.address(slot as usize).0).collect();
        let sync = sync.map(|call| match call {
            SyncCall::Fsync => FsyncFlags::empty(),
            SyncCall::Fdatasync => FsyncFlags::DATASYNC,
        });
        Ok(Uring {
            ring,
            part: files.part(),
            blocks,
            write_flags,
            sync,
            linked: linked.is_some(),
            registered_buffers,
        })
    }

    #[expect(unsafe_code, reason = "the kernel pins the region")]
    fn register(ring: &Ring, buffers: &Buffers) -> bool {
        let (address, length) = buffers.region();
        // SAFETY: the region is the mapping of the buffers, which outlives the ring: the job drops
        // its queue first.
        length <= REGISTERED_BYTES_MAX && unsafe { ring.register_buffer(address, length) }.is_ok()
    }

    /// Checks that io_uring is available.
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` if it is not supported or disabled.
    pub fn probe() -> Result<(), Errno> {
        Ring::probe()
    }

    /// Returns `true` if the buffers are registered. `RLIMIT_MEMLOCK` can prevent it, which only
    /// costs some CPU time per I/O.
    pub fn has_registered_buffers(&self) -> bool {
        self.registered_buffers
    }
}

impl Uring {
    #[inline]
    fn block_entry(
        &self,
        slot: u32,
        operation: Operation,
        offset: u64,
        bytes: u32,
        priority: u16,
    ) -> Entry {
        // Registered files have the numbers of the job's files.
        let (file, offset) = self.part.locate(offset);
        let file = Fixed(file);
        let address = self.blocks[slot as usize] as *mut u8;
        let flags = self.write_flags.bits() as i32;
        match (operation, self.registered_buffers) {
            (Operation::Read, true) => opcode::ReadFixed::new(file, address, bytes, 0)
                .offset(offset)
                .ioprio(priority)
                .build(),
            (Operation::Read, false) => {
                opcode::Read::new(file, address, bytes).offset(offset).ioprio(priority).build()
            }
            (Operation::Write, true) => opcode::WriteFixed::new(file, address, bytes, 0)
                .offset(offset)
                .rw_flags(flags)
                .ioprio(priority)
                .build(),
            (Operation::Write, false) => opcode::Write::new(file, address, bytes)
                .offset(offset)
                .rw_flags(flags)
                .ioprio(priority)
                .build(),
            (Operation::Sync, _) => {
                opcode::Fsync::new(file).flags(self.sync.unwrap_or(FsyncFlags::empty())).build()
            }
        }
    }
}

impl Uring {
    /// Prepares an operation. A priority of 0 is that of the thread.
    #[inline]
    #[expect(unsafe_code, reason = "passes addresses to the kernel")]
    fn prepare(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32, priority: u16) {
        let entry = self.block_entry(slot, operation, offset, bytes, priority);
        let entry = entry.user_data(user_data(slot, operation));
        // SAFETY: a slot is part of the buffers, which the job keeps until it has drained the
        // queue.
        unsafe {
            if self.linked && operation != Operation::Sync {
                let sync = self.block_entry(slot, Operation::Sync, offset, 0, 0);
                self.ring.prepare(&entry.flags(Flags::IO_LINK));
                self.ring.prepare(&sync.user_data(user_data(slot, Operation::Sync)));
            } else {
                self.ring.prepare(&entry);
            }
        }
    }
}

impl Queue for Uring {
    #[inline]
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32) {
        self.prepare(slot, operation, offset, bytes, 0);
    }

    fn push_prioritised(
        &mut self,
        slot: u32,
        operation: Operation,
        offset: u64,
        bytes: u32,
        priority: Option<IoPriority>,
    ) {
        self.prepare(slot, operation, offset, bytes, priority.map_or(0, IoPriority::value));
    }

    #[inline]
    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        self.ring.enter(least, timeout)
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        let finished = self.ring.next_completion_entry()?;
        let (slot, is_sync) = (finished.user_data() as u32, finished.user_data() & SYNC != 0);
        Some(Completion { slot, linked_sync: is_sync && self.linked, moved: moved(&finished) })
    }
}

/// Marks the completion of a sync.
const SYNC: u64 = 1 << 32;

fn user_data(slot: u32, operation: Operation) -> u64 {
    u64::from(slot) | if operation == Operation::Sync { SYNC } else { 0 }
}
