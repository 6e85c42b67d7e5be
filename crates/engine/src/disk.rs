//! The seam to the disk: one read, write or sync at a time.
//!
//! The depth-1 loop knows storage by these three calls only. Behind them stand a real file, nothing at all (`null:`), and, in tests, a disk
//! that fails.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fd::BorrowedFd;
use rustix::fs::{FallocateFlags, fallocate, fdatasync, fsync, ftruncate};
use rustix::io::{Errno, IoSlice, ReadWriteFlags, pread, pwrite, pwritev2};
use workload::SyncCall;

/// Blocking storage.
pub trait Disk {
    /// What a write is called where one fails.
    fn write_name(&self) -> &'static str {
        "write"
    }

    /// Reads into `block` from `offset`; returns the bytes read.
    ///
    /// # Errors
    /// As the kernel reports them.
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno>;

    /// Writes `block` at `offset`; returns the bytes written.
    ///
    /// # Errors
    /// As the kernel reports them.
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno>;

    /// Makes completed writes durable.
    ///
    /// # Errors
    /// As the kernel reports them. After one, no earlier write may be taken for durable.
    fn sync(&mut self, call: SyncCall) -> Result<(), Errno>;

    /// Puts a layout that writing uses up back to its beginning.
    ///
    /// # Errors
    /// As the kernel reports them.
    fn renew(&mut self) -> Result<(), Errno>;
}

/// How a file's layout is put back to its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// Overwriting uses nothing up.
    Unneeded,
    /// A growing file starts over, empty.
    Empty,
    /// A file is emptied, and this many bytes are reserved anew.
    Reserve(u64),
}

/// A file or block device, by plain system calls.
#[derive(Debug)]
pub struct FileDisk {
    file: OwnedFd,
    write_flags: ReadWriteFlags,
    renewal: Renewal,
}

impl FileDisk {
    /// Writes carry `write_flags` (`RWF_DSYNC`, or none).
    pub fn new(file: OwnedFd, write_flags: ReadWriteFlags, renewal: Renewal) -> FileDisk {
        FileDisk { file, write_flags, renewal }
    }
}

impl AsFd for FileDisk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Disk for FileDisk {
    #[inline]
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        pread(&self.file, block, offset)
    }

    #[inline]
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        // pwrite where no flag is asked: the kernel then copies in no vector of buffers.
        if self.write_flags.is_empty() {
            pwrite(&self.file, block, offset)
        } else {
            pwritev2(&self.file, &[IoSlice::new(block)], offset, self.write_flags)
        }
    }

    #[inline]
    fn sync(&mut self, call: SyncCall) -> Result<(), Errno> {
        sync(self.file.as_fd(), call)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        if self.renewal == Renewal::Unneeded {
            return Ok(());
        }
        ftruncate(&self.file, 0)?;
        if let Renewal::Reserve(bytes) = self.renewal {
            fallocate(&self.file, FallocateFlags::empty(), 0, bytes)?;
        }
        // Durable before the next commit, which would otherwise carry this change as well.
        fsync(&self.file)
    }
}

/// The sync call on a file.
///
/// # Errors
/// As the kernel reports them.
#[inline]
pub fn sync(file: BorrowedFd<'_>, call: SyncCall) -> Result<(), Errno> {
    match call {
        SyncCall::Fsync => fsync(file),
        SyncCall::Fdatasync => fdatasync(file),
    }
}

/// `null:` takes every request at once, so that only the engine's own cost remains.
#[derive(Debug)]
pub struct NullDisk;

impl Disk for NullDisk {
    #[inline]
    fn read(&mut self, block: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        Ok(block.len())
    }

    #[inline]
    fn write(&mut self, block: &[u8], _offset: u64) -> Result<usize, Errno> {
        Ok(block.len())
    }

    #[inline]
    fn sync(&mut self, _call: SyncCall) -> Result<(), Errno> {
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

/// `null:` for those who want back what they wrote: blocks in memory, each where it was written.
#[derive(Debug, Default)]
pub struct MemoryDisk(HashMap<u64, Box<[u8]>>);

impl Disk for MemoryDisk {
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        // A place that nobody wrote to is the end of the file.
        let Some(kept) = self.0.get(&offset).filter(|kept| kept.len() == block.len()) else { return Ok(0) };
        block.copy_from_slice(kept);
        Ok(block.len())
    }

    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        match self.0.get_mut(&offset).filter(|kept| kept.len() == block.len()) {
            Some(kept) => kept.copy_from_slice(block),
            None => drop(self.0.insert(offset, block.into())),
        }
        Ok(block.len())
    }

    fn sync(&mut self, _call: SyncCall) -> Result<(), Errno> {
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Errno> {
        self.0.clear();
        Ok(())
    }
}

#[cfg(test)]
pub mod failing {
    //! A disk that errors after a number of requests.

    use super::{Disk, Errno, SyncCall};

    /// Takes `requests` requests, then answers each with `error`.
    #[derive(Debug)]
    pub struct FailingDisk {
        /// Requests left.
        pub requests: u64,
        /// What follows.
        pub error: Errno,
    }

    impl FailingDisk {
        fn request<T>(&mut self, answer: T) -> Result<T, Errno> {
            match self.requests.checked_sub(1) {
                Some(left) => {
                    self.requests = left;
                    Ok(answer)
                }
                None => Err(self.error),
            }
        }
    }

    impl Disk for FailingDisk {
        fn read(&mut self, block: &mut [u8], _offset: u64) -> Result<usize, Errno> {
            self.request(block.len())
        }

        fn write(&mut self, block: &[u8], _offset: u64) -> Result<usize, Errno> {
            self.request(block.len())
        }

        fn sync(&mut self, _call: SyncCall) -> Result<(), Errno> {
            self.request(())
        }

        fn renew(&mut self) -> Result<(), Errno> {
            self.request(())
        }
    }
}
