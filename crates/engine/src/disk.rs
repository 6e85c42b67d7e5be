//! The interface to blocking storage: one read, write or sync at a time.
//!
//! The depth-1 loop accesses storage only through this trait. Implementations are a real file, no
//! storage at all (`null:`) and, in tests, a disk that fails.

use std::collections::HashMap;

use rustix::fd::BorrowedFd;
use rustix::fs::{FallocateFlags, fallocate, fdatasync, fsync, ftruncate};
use rustix::io::{Errno, IoSlice, ReadWriteFlags, pread, pwrite, pwritev2};
use workload::SyncCall;

use crate::job::{Failure, Stop};
use crate::open_files::OpenFiles;

/// Receives each mismatch; an error ends the job.
pub type OnMismatch<'a> = &'a mut dyn FnMut(Failure) -> Result<(), Failure>;

/// Blocking storage.
pub trait Disk {
    /// The name of a read in errors.
    fn read_name(&self) -> &'static str {
        "read"
    }

    /// The name of a write in errors.
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

    /// Makes completed writes to the file that contains `offset` durable.
    ///
    /// # Errors
    /// As the kernel reports them. After an error, no earlier write can be assumed durable.
    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno>;

    /// Restores the initial state of a layout that is consumed by writing.
    ///
    /// # Errors
    /// As the kernel reports them.
    fn renew(&mut self) -> Result<(), Errno>;
}

/// The disk of a block pattern, whose blocks can be checked.
pub trait BlockDisk: Disk {
    /// The disk checks blocks; otherwise the loops omit the calls that serve this.
    const VERIFIES: bool = false;
    /// The disk decides where each operation goes; otherwise the loops omit the calls that serve
    /// this.
    const PLACES: bool = false;

    /// Decides where the next operation goes, given the block that was drawn. It then occupies that
    /// place until [`BlockDisk::performed`].
    ///
    /// # Errors
    /// Fails if the place cannot be prepared.
    fn place(&mut self, block: Block) -> Result<Placing, Failure> {
        Ok(Placing::At(block))
    }

    /// Ends an operation; `done` is set if all of it was performed.
    fn performed(&mut self, _block: Block, _done: bool) {}

    /// Waits until a place may have become free, briefly.
    fn await_place(&self) {}

    /// Checks a block that has been read.
    ///
    /// # Errors
    /// Fails if it is not what was written there.
    fn has_read(&mut self, _block: &[u8], _offset: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// Remembers a block that has been written.
    fn has_written(&mut self, _block: &[u8], _offset: u64) {}

    /// Returns `true` once enough blocks have been written to check them.
    fn check_is_due(&self) -> bool {
        false
    }

    /// Reads back the written blocks that are not yet checked, with nothing in flight.
    ///
    /// # Errors
    /// Fails as `on_mismatch` does.
    fn check_written(&mut self, _stop: &Stop, _on_mismatch: OnMismatch<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The block of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub reads: bool,
    pub offset: u64,
    pub bytes: u32,
}

/// The place of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    At(Block),
    /// Operations in flight, or those of other jobs, must end first.
    Later,
    /// There is none, so the job ends.
    Nowhere,
}

/// The method that restores the initial state of each file's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// Overwriting consumes nothing.
    Unneeded,
    /// Empties a file that has grown.
    Empty,
    /// Empties a file, then reserves this many bytes.
    Reserve(u64),
}

/// A block device or the files of a job, accessed by plain system calls.
#[derive(Debug)]
pub struct FileDisk {
    files: OpenFiles,
    write_flags: ReadWriteFlags,
    renewal: Renewal,
}

impl FileDisk {
    /// All writes have `write_flags` (`RWF_DSYNC`, or none).
    pub const fn new(files: OpenFiles, write_flags: ReadWriteFlags, renewal: Renewal) -> FileDisk {
        FileDisk { files, write_flags, renewal }
    }
}

/// A disk over storage that a queue can access as well.
pub trait Backed: BlockDisk {
    type Storage;

    fn storage(&self) -> &Self::Storage;
}

impl BlockDisk for FileDisk {}

impl Backed for FileDisk {
    type Storage = OpenFiles;

    fn storage(&self) -> &OpenFiles {
        &self.files
    }
}

impl Disk for FileDisk {
    #[inline]
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let (file, offset) = self.files.at(offset);
        pread(file, block, offset)
    }

    #[inline]
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        let (file, offset) = self.files.at(offset);
        // pwrite if there are no flags: the kernel then does not copy an I/O vector.
        if self.write_flags.is_empty() {
            pwrite(file, block, offset)
        } else {
            pwritev2(file, &[IoSlice::new(block)], offset, self.write_flags)
        }
    }

    #[inline]
    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno> {
        sync(self.files.at(offset).0, call)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        if self.renewal == Renewal::Unneeded {
            return Ok(());
        }
        for file in self.files.iter() {
            ftruncate(file, 0)?;
            if let Renewal::Reserve(bytes) = self.renewal {
                fallocate(file, FallocateFlags::empty(), 0, bytes)?;
            }
            // Must be durable before the next commit, which would otherwise include this change.
            fsync(file)?;
        }
        Ok(())
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

/// `null:` completes every request immediately, so only the engine's overhead remains.
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
    fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

impl BlockDisk for NullDisk {}

/// An in-memory variant of `null:` that returns the blocks written to it.
#[derive(Debug, Default)]
pub struct MemoryDisk(HashMap<u64, Box<[u8]>>);

impl Disk for MemoryDisk {
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        // Reading an offset that was never written is treated as end of file.
        let Some(kept) = self.0.get(&offset).filter(|kept| kept.len() == block.len()) else {
            return Ok(0);
        };
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

    fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Errno> {
        self.0.clear();
        Ok(())
    }
}

#[cfg(test)]
pub mod failing {
    //! A disk that fails after a number of requests.

    use super::{BlockDisk, Disk, Errno, SyncCall};

    /// Accepts `requests` requests, then fails with `error`.
    #[derive(Debug)]
    pub struct FailingDisk {
        pub requests: u64,
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

    impl BlockDisk for FailingDisk {}

    impl Disk for FailingDisk {
        fn read(&mut self, block: &mut [u8], _offset: u64) -> Result<usize, Errno> {
            self.request(block.len())
        }

        fn write(&mut self, block: &[u8], _offset: u64) -> Result<usize, Errno> {
            self.request(block.len())
        }

        fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
            self.request(())
        }

        fn renew(&mut self) -> Result<(), Errno> {
            self.request(())
        }
    }
}
