//! io_uring, for depths above 1.
//!
//! One system call submits a batch and waits for completions. The files, the buffer region and
//! the ring itself are registered; each slot's entry is built once. A write that must be durable by
//! itself has `RWF_DSYNC`; a linked sync is a second entry that the kernel starts once the write is
//! complete.

mod durable_write;
mod ring;

use std::time::Duration;

use rustix::io::{Errno, ReadWriteFlags};
use rustix::io_uring::{IoringFsyncFlags, IoringOp, IoringSqeFlags};
use workload::{JobPart, SyncCall};

pub use self::durable_write::DurableWrites;
use self::ring::{Entry, Ring};
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
    depth: u32,
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
    /// Creates a ring of the calling thread for a job's files and its buffers, which must have `depth`
    /// slots. The caller keeps the buffers alive, and does not touch their slots while operations
    /// are in flight.
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` if io_uring is not supported or disabled, `ENOMEM` above a limit.
    pub fn new(setup: UringSetup<'_>, buffers: &Buffers) -> Result<Uring, Errno> {
        let UringSetup { files, depth, write_flags, linked, queued } = setup;
        let sync = linked.or(queued);
        let mut ring = Ring::new(if sync.is_some() { 2 * depth } else { depth })?;
        ring.register_files(files.iter())?;
        ring.register_self();
        let registered_buffers = Uring::register(&ring, buffers);
        for slot in 0..depth {
            let (address, length) = buffers.address(slot as usize);
            let link =
                if linked.is_some() { IoringSqeFlags::IO_LINK } else { IoringSqeFlags::empty() };
            *ring.entry(slot) = Entry {
                flags: (IoringSqeFlags::FIXED_FILE | link).bits(),
                address,
                length,
                op_flags: write_flags.bits(),
                user_data: u64::from(slot),
                ..Entry::default()
            };
            // Separate entries, because a sync must have neither address nor length.
            if let Some(call) = sync {
                let flags = match call {
                    SyncCall::Fsync => IoringFsyncFlags::empty(),
                    SyncCall::Fdatasync => IoringFsyncFlags::DATASYNC,
                };
                *ring.entry(depth + slot) = Entry {
                    opcode: IoringOp::Fsync as u8,
                    flags: IoringSqeFlags::FIXED_FILE.bits(),
                    op_flags: flags.bits(),
                    user_data: u64::from(depth + slot),
                    ..Entry::default()
                };
            }
        }
        Ok(Uring { ring, part: files.part(), depth, linked: linked.is_some(), registered_buffers })
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
        Ring::new(1).map(drop)
    }

    /// Returns `true` if the buffers are registered. `RLIMIT_MEMLOCK` can prevent it, which only
    /// costs some CPU time per I/O.
    pub fn has_registered_buffers(&self) -> bool {
        self.registered_buffers
    }
}

impl Queue for Uring {
    #[inline]
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32) {
        // Registered files have the numbers of the job's files.
        let (file, offset) = self.part.locate(offset);
        if operation == Operation::Sync {
            self.ring.entry(self.depth + slot).fd = file as i32;
            self.ring.prepare(self.depth + slot);
            return;
        }
        let opcode = match (operation, self.registered_buffers) {
            (Operation::Read, true) => IoringOp::ReadFixed,
            (Operation::Read, false) => IoringOp::Read,
            (Operation::Write | Operation::Sync, true) => IoringOp::WriteFixed,
            (Operation::Write | Operation::Sync, false) => IoringOp::Write,
        };
        let entry = self.ring.entry(slot);
        entry.opcode = opcode as u8;
        entry.length = bytes;
        entry.fd = file as i32;
        entry.offset = offset;
        self.ring.prepare(slot);
        if self.linked {
            self.ring.entry(self.depth + slot).fd = file as i32;
            self.ring.prepare(self.depth + slot);
        }
    }

    #[inline]
    #[expect(unsafe_code, reason = "passes addresses to the kernel")]
    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        // SAFETY: entries refer to the registered file and to slots of the buffers; the job keeps
        // both until it has drained the queue.
        unsafe { self.ring.enter(least, timeout) }
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        let finished = self.ring.next_completion_entry()?;
        let index = finished.user_data as u32;
        let is_sync = index >= self.depth;
        let moved = usize::try_from(finished.result)
            .map_err(|_| Errno::from_raw_os_error(-finished.result));
        let slot = if is_sync { index - self.depth } else { index };
        Some(Completion { slot, linked_sync: is_sync && self.linked, moved })
    }
}
