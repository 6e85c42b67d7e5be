//! The two rings that io_uring shares with the kernel.
//!
//! Thanks to the submission queue's array of indices, every entry stays in place for the whole run.
//! Entry `i` is written once; to submit it again, only its offset is updated and its index is put
//! into the array. The interface allows no cheaper submission.
//!
//! The layout is the kernel's (`include/uapi/linux/io_uring.h`).

#![expect(unsafe_code, reason = "io_uring is shared memory and pointers by nature")]

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::io_uring::{
    IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringFeatureFlags, IoringRegisterOp,
    IoringSetupFlags, Timespec, io_uring_enter, io_uring_enter_arg, io_uring_getevents_arg,
    io_uring_params, io_uring_ptr, io_uring_register, io_uring_rsrc_update, io_uring_setup, iovec,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A submission queue entry.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    pub opcode: u8,
    pub flags: u8,
    pub ioprio: u16,
    pub fd: i32,
    pub offset: u64,
    pub address: u64,
    pub length: u32,
    pub op_flags: u32,
    pub user_data: u64,
    pub buffer_index: u16,
    pub personality: u16,
    pub file_index: u32,
    pub reserved: [u64; 2],
}

/// A completion queue entry.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CompletionEntry {
    pub user_data: u64,
    pub result: i32,
    flags: u32,
}

const _: () = assert!(size_of::<Entry>() == 64 && size_of::<CompletionEntry>() == 16);

/// An io_uring owned by the calling thread.
#[derive(Debug)]
pub struct Ring {
    /// Owns the memory that the pointers below refer to.
    _rings: Mapping,
    entries: Mapping,
    sq_tail: NonNull<AtomicU32>,
    sq_array: NonNull<u32>,
    sq_mask: u32,
    sq_tail_local: u32,
    cq_head: NonNull<AtomicU32>,
    cq_tail: NonNull<AtomicU32>,
    cq_entries: NonNull<CompletionEntry>,
    cq_mask: u32,
    prepared: u32,
    registered_index: Option<i32>,
    fd: OwnedFd,
}

impl Ring {
    /// Creates a ring with `entries` entries, and as many of the cheaper modes as the kernel
    /// supports.
    ///
    /// # Errors
    /// `ENOSYS` without io_uring, `EPERM` if it is disabled, `ENOMEM` above a limit.
    pub fn new(entries: u32) -> Result<Ring, Errno> {
        let single_issuer = IoringSetupFlags::SINGLE_ISSUER | IoringSetupFlags::DEFER_TASKRUN;
        // Newest first: completions are processed only on request of this thread (6.1), then
        // without interrupting it (5.19), then the original mode.
        let attempts = [single_issuer, IoringSetupFlags::COOP_TASKRUN, IoringSetupFlags::empty()];
        let mut refused = Errno::NOSYS;
        for flags in attempts {
            match Ring::with_flags(entries, flags) {
                Err(Errno::INVAL) => refused = Errno::INVAL,
                decided => return decided,
            }
        }
        Err(refused)
    }

    fn with_flags(entries: u32, flags: IoringSetupFlags) -> Result<Ring, Errno> {
        let mut params = io_uring_params::default();
        params.flags = flags;
        // SAFETY: `params` refers to no memory of this process.
        let fd = unsafe { io_uring_setup(entries, &mut params)? };
        if !params.features.contains(IoringFeatureFlags::SINGLE_MMAP) {
            // Kernels before 5.4 map the two rings separately; they lack most of the required
            // features anyway.
            return Err(Errno::NOSYS);
        }
        let (sq, cq) = (params.sq_off, params.cq_off);
        let sq_bytes = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let cq_bytes = cq.cqes as usize + params.cq_entries as usize * size_of::<CompletionEntry>();
        let rings = Mapping::new(&fd, sq_bytes.max(cq_bytes), IORING_OFF_SQ_RING)?;
        let entries =
            Mapping::new(&fd, params.sq_entries as usize * size_of::<Entry>(), IORING_OFF_SQES)?;
        // SAFETY: the kernel placed these fields at these offsets within the mapping it just made.
        let ring = unsafe {
            Ring {
                sq_tail: rings.at(sq.tail),
                sq_array: rings.at(sq.array),
                sq_mask: *rings.at::<u32>(sq.ring_mask).as_ref(),
                sq_tail_local: rings.at::<AtomicU32>(sq.tail).as_ref().load(Ordering::Relaxed),
                cq_head: rings.at(cq.head),
                cq_tail: rings.at(cq.tail),
                cq_entries: rings.at(cq.cqes),
                cq_mask: *rings.at::<u32>(cq.ring_mask).as_ref(),
                prepared: 0,
                registered_index: None,
                _rings: rings,
                entries,
                fd,
            }
        };
        Ok(ring)
    }

    /// Entry `index` of the submission queue, to be filled in.
    #[inline]
    pub fn entry(&mut self, index: u32) -> &mut Entry {
        assert!(index <= self.sq_mask);
        // SAFETY: the mapping holds `sq_mask + 1` entries, and the kernel reads an entry only
        // within `enter`, which borrows `self` mutably.
        unsafe { self.entries.at::<Entry>(0).add(index as usize).as_mut() }
    }

    /// Queues entry `index` for submission. At most as many entries can be queued as the ring has.
    #[inline]
    pub fn prepare(&mut self, index: u32) {
        debug_assert!(self.prepared <= self.sq_mask);
        // SAFETY: the masked position lies within the array of `sq_mask + 1` indices.
        unsafe {
            *self.sq_array.add((self.sq_tail_local & self.sq_mask) as usize).as_mut() = index;
        };
        self.sq_tail_local = self.sq_tail_local.wrapping_add(1);
        self.prepared += 1;
    }

    /// Submits the queued entries and waits for `least` completions or the timeout, in one system
    /// call.
    ///
    /// # Errors
    /// As the kernel reports them; a wait that ended early is not an error.
    ///
    /// # Safety
    /// The memory and files referenced by queued entries must stay valid until their completions
    /// have been seen.
    pub unsafe fn enter(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        // SAFETY: the tail is a live field of the mapping. Release: the kernel must see the entries
        // before the new tail.
        unsafe { self.sq_tail.as_ref() }.store(self.sq_tail_local, Ordering::Release);
        loop {
            let answer = match timeout {
                // SAFETY: the caller upholds the contract of `enter`.
                None => unsafe { self.enter_once(least) },
                // SAFETY: the caller upholds the contract of `enter`.
                Some(timeout) => unsafe { self.enter_until(least, timeout) },
            };
            match answer {
                Ok(submitted) => {
                    self.prepared -= submitted.min(self.prepared);
                    if self.prepared == 0 {
                        return Ok(());
                    }
                }
                // Timeout or signal: the queued entries have been submitted, only the wait ended
                // early.
                Err(Errno::TIME | Errno::INTR) => {
                    self.prepared = 0;
                    return Ok(());
                }
                Err(errno) => return Err(errno),
            }
        }
    }

    /// # Safety
    /// As for [`Ring::enter`].
    unsafe fn enter_once(&self, least: u32) -> Result<u32, Errno> {
        let (fd, flags) = self.handle();
        // SAFETY: the caller upholds the contract of `enter`.
        unsafe { io_uring_enter(fd, self.prepared, least, flags | IoringEnterFlags::GETEVENTS) }
    }

    /// # Safety
    /// As for [`Ring::enter`].
    unsafe fn enter_until(&self, least: u32, timeout: Duration) -> Result<u32, Errno> {
        let (fd, flags) = self.handle();
        let mut span = Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        let ts = io_uring_ptr::new((&raw mut span).cast());
        let arg = io_uring_getevents_arg { ts, ..io_uring_getevents_arg::default() };
        let flags = flags | IoringEnterFlags::GETEVENTS | IoringEnterFlags::EXT_ARG;
        // SAFETY: `span` outlives the call; the caller upholds the contract of `enter`.
        unsafe { io_uring_enter_arg(fd, self.prepared, least, flags, Some(&arg)) }
    }

    fn handle(&self) -> (BorrowedFd<'_>, IoringEnterFlags) {
        match self.registered_index {
            // SAFETY: with this flag the number is an index into this thread's registered rings,
            // valid while the ring lives.
            Some(index) => {
                (unsafe { BorrowedFd::borrow_raw(index) }, IoringEnterFlags::REGISTERED_RING)
            }
            // SAFETY: the ring's own descriptor, borrowed for as long as `self`.
            None => {
                (unsafe { BorrowedFd::borrow_raw(self.fd.as_raw_fd()) }, IoringEnterFlags::empty())
            }
        }
    }

    /// Removes the next completion, if there is one.
    #[inline]
    pub fn next_completion_entry(&mut self) -> Option<CompletionEntry> {
        // SAFETY: live fields of the mapping; this thread alone moves the head. Acquire: the entry
        // must be read after the tail.
        let (head, tail) = unsafe { (self.cq_head.as_ref(), self.cq_tail.as_ref()) };
        let position = head.load(Ordering::Relaxed);
        if position == tail.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the masked position lies within the completion entries, and the kernel filled it
        // before it moved the tail.
        let finished = unsafe { *self.cq_entries.add((position & self.cq_mask) as usize).as_ref() };
        head.store(position.wrapping_add(1), Ordering::Release);
        Some(finished)
    }

    /// Registers files for entries, numbered from 0 on, which saves a reference count per I/O.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn register_files<'a>(
        &self,
        files: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> Result<(), Errno> {
        let files: Vec<i32> = files.map(|file| file.as_raw_fd()).collect();
        let count = files.len() as u32;
        // SAFETY: the kernel reads `count` descriptors from `files` within the call and takes its
        // own references.
        unsafe {
            io_uring_register(
                &self.fd,
                IoringRegisterOp::RegisterFiles,
                files.as_ptr().cast(),
                count,
            )
        }
        .map(drop)
    }

    /// Registers this region as buffer 0 for entries, which saves pinning its pages per I/O.
    ///
    /// # Errors
    /// `ENOMEM` above `RLIMIT_MEMLOCK`, `EFAULT` above 1 GiB.
    ///
    /// # Safety
    /// The region must be mapped, and stay mapped for the lifetime of the ring.
    pub unsafe fn register_buffer(&self, address: u64, length: usize) -> Result<(), Errno> {
        let region = iovec { iov_base: address as *mut _, iov_len: length };
        // SAFETY: the kernel reads one iovec within the call; the caller guarantees the region.
        unsafe {
            io_uring_register(
                &self.fd,
                IoringRegisterOp::RegisterBuffers,
                (&raw const region).cast(),
                1,
            )
        }
        .map(drop)
    }

    /// Registers the ring itself, so `enter` need not look up its descriptor per call. Optional:
    /// everything works without it.
    pub fn register_self(&mut self) {
        let mut update = io_uring_rsrc_update::default();
        // The kernel chooses a free index.
        update.offset = u32::MAX;
        update.data = io_uring_ptr::new(self.fd.as_raw_fd() as usize as *mut _);
        // SAFETY: the kernel reads and answers in the one update within the call.
        let answer = unsafe {
            io_uring_register(
                &self.fd,
                IoringRegisterOp::RegisterRingFds,
                (&raw mut update).cast(),
                1,
            )
        };
        if answer == Ok(1) {
            self.registered_index = Some(update.offset as i32);
        }
    }
}

impl Drop for Ring {
    /// Unregisters everything. The kernel tears a closed ring down some tens of milliseconds later
    /// (`io_ring_exit_work`), and until then a registered file keeps its filesystem busy: `umount`
    /// right after a run would fail. Unregistering takes effect before the call returns.
    fn drop(&mut self) {
        for what in [IoringRegisterOp::UnregisterFiles, IoringRegisterOp::UnregisterBuffers] {
            // SAFETY: these calls take no argument. The kernel refuses a call that has nothing to
            // do or that is made by a different thread than the ring's.
            let _ = unsafe { io_uring_register(&self.fd, what, std::ptr::null(), 0) };
        }
    }
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    fn new(fd: &OwnedFd, length: usize, offset: u64) -> Result<Mapping, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choosing overlaps nothing.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED | MapFlags::POPULATE,
                fd,
                offset,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Mapping { start, length })
    }

    /// # Safety
    /// A `T` must lie at this offset within the mapping.
    unsafe fn at<T>(&self, offset: u32) -> NonNull<T> {
        // SAFETY: within the mapping, as the caller guarantees.
        unsafe { self.start.add(offset as usize).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length; only `Ring`, which owns it, has pointers into
        // it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
