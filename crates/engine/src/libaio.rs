//! The kernel's older asynchronous interface, for kernels without io_uring.
//!
//! `io_submit` submits a batch, `io_getevents` waits. It is truly asynchronous only for direct I/O;
//! a buffered operation is performed within `io_submit`. The layout is the kernel's
//! (`include/uapi/linux/aio_abi.h`).

#![expect(unsafe_code, reason = "the interface passes pointers and has no safe wrapper")]

use std::os::fd::AsRawFd as _;
use std::time::Duration;

use rustix::io::{Errno, ReadWriteFlags};

use workload::{IoPriority, JobPart, SyncCall};

use crate::buffers::Buffers;
use crate::open_files::OpenFiles;
use crate::queue::{Completion, Operation, Queue};

const READ: u16 = 0;
const WRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
/// `IOCB_FLAG_IOPRIO`: the kernel reads `priority`.
const HAS_PRIORITY: u32 = 1 << 1;

/// A request (`struct iocb`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    slot: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    write_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    address: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// A completion (`struct io_event`).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    slot: u64,
    request: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Request>() == 64 && size_of::<Event>() == 32);

/// The aio context of a job.
#[derive(Debug)]
pub struct Libaio {
    context: libc::c_ulong,
    part: JobPart,
    /// The job's files, in order.
    files: Vec<u32>,
    requests: Vec<Request>,
    /// Separate requests, because a sync must have neither address nor length.
    syncs: Vec<Request>,
    prepared: Vec<*mut Request>,
    events: Vec<Event>,
    taken: usize,
    there: usize,
}

impl Libaio {
    /// Creates a context for a job's files and its buffers, which must have `depth` slots. The
    /// caller keeps both alive, and does not touch the slots while operations are in flight.
    ///
    /// # Errors
    /// `EAGAIN` above `/proc/sys/fs/aio-max-nr`, `ENOSYS` if the kernel was built without it.
    pub fn new(
        files: &OpenFiles,
        depth: u32,
        write_flags: ReadWriteFlags,
        queued: Option<SyncCall>,
        buffers: &Buffers,
    ) -> Result<Libaio, Errno> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one context number.
        check(unsafe {
            libc::syscall(libc::SYS_io_setup, depth as libc::c_uint, &raw mut context)
        })?;
        let request = |slot: u32| {
            let (address, length) = buffers.address(slot as usize);
            Request {
                slot: u64::from(slot),
                address,
                length: u64::from(length),
                write_flags: write_flags.bits(),
                ..Request::default()
            }
        };
        let sync = |call: SyncCall| {
            let opcode = if call == SyncCall::Fsync { FSYNC } else { FDSYNC };
            let sync = move |slot| Request { slot: u64::from(slot), opcode, ..Request::default() };
            (0..depth).map(sync).collect()
        };
        Ok(Libaio {
            context,
            part: files.part(),
            files: files.iter().map(|file| file.as_raw_fd() as u32).collect(),
            requests: (0..depth).map(request).collect(),
            syncs: queued.map(sync).unwrap_or_default(),
            prepared: Vec::with_capacity(depth as usize),
            events: vec![Event::default(); depth as usize],
            taken: 0,
            there: 0,
        })
    }
}

/// Converts a system call's return value.
fn check(answer: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(answer)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

impl Queue for Libaio {
    fn push(&mut self, slot: u32, operation: Operation, offset: u64, bytes: u32) {
        let (file, offset) = self.part.locate(offset);
        let fd = self.files[file as usize];
        if operation == Operation::Sync {
            let sync = &mut self.syncs[slot as usize];
            sync.fd = fd;
            self.prepared.push(sync);
            return;
        }
        let request = &mut self.requests[slot as usize];
        request.opcode = if operation == Operation::Read { READ } else { WRITE };
        request.fd = fd;
        request.offset = offset as i64;
        request.length = u64::from(bytes);
        self.prepared.push(request);
    }

    fn push_prioritised(
        &mut self,
        slot: u32,
        operation: Operation,
        offset: u64,
        bytes: u32,
        priority: Option<IoPriority>,
    ) {
        let request = &mut self.requests[slot as usize];
        request.priority = priority.map_or(0, |priority| priority.value().cast_signed());
        request.flags = if priority.is_some() { HAS_PRIORITY } else { 0 };
        self.push(slot, operation, offset, bytes);
    }

    fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        let mut first = 0;
        while first < self.prepared.len() {
            let rest = &mut self.prepared[first..];
            // SAFETY: the pointers refer to `requests` and `syncs`, which neither move nor shrink
            // during the lifetime of the context. These refer to memory and files that the job
            // keeps until it has drained the queue.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_mut_ptr())
            };
            first += check(taken)?;
        }
        self.prepared.clear();
        if least == 0 && timeout.is_none() {
            return Ok(());
        }
        let mut span = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        });
        let span = span.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: the kernel writes at most `events.len()` events and reads the span within the
        // call.
        let there = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::from(least),
                self.events.len(),
                self.events.as_mut_ptr(),
                span,
            )
        };
        self.taken = 0;
        self.there = match check(there) {
            Err(Errno::INTR) => 0,
            answer => answer?,
        };
        Ok(())
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let event = self.events[..self.there].get(self.taken)?;
        self.taken += 1;
        let moved = usize::try_from(event.result)
            .map_err(|_| Errno::from_raw_os_error(-(event.result as i32)));
        Some(Completion { slot: event.slot as u32, linked_sync: false, moved })
    }
}

impl Drop for Libaio {
    fn drop(&mut self) {
        // SAFETY: the context was created in `new`; the kernel waits for operations in flight.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
