//! An io_uring of the calling thread with registered files.
//!
//! The shared memory is the `io-uring` crate's. What is added here is the choice of mode by kernel,
//! one call that submits and waits, and what must happen before a ring is closed.

#![expect(unsafe_code, reason = "the kernel uses the memory that entries point to")]

use std::marker::PhantomData;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;
use std::{fmt, io};

use io_uring::squeue::Entry;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue};
use rustix::io::Errno;

/// `IORING_ENTER_GETEVENTS` and `IORING_ENTER_EXT_ARG` of `include/uapi/linux/io_uring.h`.
const GETEVENTS: u32 = 1;
const EXT_ARG: u32 = 1 << 3;

/// An io_uring owned by the calling thread. It cannot be sent to another thread.
pub struct Ring {
    ring: IoUring,
    /// Only the thread that made a ring with a single issuer may use it.
    _one_thread: PhantomData<*const ()>,
}

impl Ring {
    /// Creates a ring with `entries` entries for these files, which are numbered from 0 in their
    /// entries, with as many of the cheaper modes as the kernel supports.
    ///
    /// # Errors
    /// `ENOSYS` without io_uring, `EPERM` if it is disabled, `ENOMEM` above a limit.
    pub fn new<'a>(
        entries: u32,
        files: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> Result<Ring, Errno> {
        let ring = open(entries)?;
        let files: Vec<i32> = files.map(|file| file.as_raw_fd()).collect();
        // Saves a reference count per I/O.
        ring.submitter().register_files(&files).map_err(|error| errno(&error))?;
        Ok(Ring { ring, _one_thread: PhantomData })
    }

    /// Checks that io_uring is available.
    ///
    /// # Errors
    /// As for [`Ring::new`].
    pub fn probe() -> Result<(), Errno> {
        open(1).map(drop)
    }

    /// Registers this region as buffer 0 for entries, which saves pinning its pages per I/O.
    ///
    /// # Errors
    /// `ENOMEM` above `RLIMIT_MEMLOCK`, `EFAULT` above 1 GiB.
    ///
    /// # Safety
    /// The region must be mapped, and stay mapped for the lifetime of the ring.
    pub unsafe fn register_buffer(&self, address: u64, length: usize) -> Result<(), Errno> {
        let region = libc::iovec { iov_base: address as *mut _, iov_len: length };
        // SAFETY: the caller guarantees the region.
        unsafe { self.ring.submitter().register_buffers(&[region]) }.map_err(|error| errno(&error))
    }

    /// Queues an entry for submission.
    ///
    /// # Panics
    /// If more entries are queued than the ring has.
    ///
    /// # Safety
    /// The memory that the entry points to must stay valid until its completion has been seen.
    #[inline]
    pub unsafe fn prepare(&mut self, entry: &Entry) {
        // SAFETY: the caller guarantees the memory.
        let queued = unsafe { self.ring.submission().push(entry) };
        assert!(queued.is_ok(), "more operations than the ring has entries");
    }

    /// Submits the queued entries and waits for `least` completions or the timeout, in one system
    /// call. It also ends early, without an error, on a signal.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn enter(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        let span = timeout
            .map(|timeout| Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos()));
        let until = span.as_ref().map(|span| SubmitArgs::new().timespec(span));
        // Always with GETEVENTS, without which this thread's completions are not processed.
        let flags = GETEVENTS | if until.is_some() { EXT_ARG } else { 0 };
        loop {
            let queued = self.ring.submission().len() as u32;
            // SAFETY: with these flags the argument is none, or the time in the form it has here.
            let answer =
                unsafe { self.ring.submitter().enter(queued, least, flags, until.as_ref()) };
            match answer.map_err(|error| errno(&error)) {
                // The kernel may accept only some of the entries.
                Ok(accepted) if (accepted as u32) < queued => {}
                // Timeout or signal: the queued entries have been submitted, only the wait ended.
                Ok(_) | Err(Errno::TIME | Errno::INTR) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Removes the next completion, if there is one.
    #[inline]
    pub fn next_completion_entry(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("entries", &self.ring.params().sq_entries())
            .finish_non_exhaustive()
    }
}

impl Drop for Ring {
    /// Unregisters everything. The kernel tears a closed ring down some tens of milliseconds later
    /// (`io_ring_exit_work`), and until then a registered file keeps its filesystem busy: `umount`
    /// right after a run would fail. Unregistering takes effect before the call returns.
    fn drop(&mut self) {
        // Refused where nothing is registered.
        let _ = self.ring.submitter().unregister_files();
        let _ = self.ring.submitter().unregister_buffers();
    }
}

/// Newest mode first: without an array of indices that entries are fetched through (6.6),
/// completions processed only on request of this thread (6.1), then without interrupting it (5.19),
/// then the original mode.
fn open(entries: u32) -> Result<IoUring, Errno> {
    let [mut direct, mut deferred, mut cooperative, original] =
        [(); 4].map(|()| IoUring::builder());
    direct.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
    deferred.setup_single_issuer().setup_defer_taskrun();
    cooperative.setup_coop_taskrun();
    for builder in [direct, deferred, cooperative, original] {
        match builder.build(entries).map_err(|error| errno(&error)) {
            Err(Errno::INVAL) => {}
            decided => return decided,
        }
    }
    Err(Errno::INVAL)
}

/// The kernel's error number.
fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The bytes that a completed operation moved, or its error.
pub fn moved(finished: &cqueue::Entry) -> Result<usize, Errno> {
    usize::try_from(finished.result()).map_err(|_| Errno::from_raw_os_error(-finished.result()))
}
