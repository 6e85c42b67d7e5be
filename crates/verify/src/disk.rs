//! The interface to storage for lanes and survey. Implemented by files and devices
//! ([`crate::file_disk`]), and in tests by a drive that lies.

use std::io;

/// Storage that is accessed record by record. A call returns when the operation is complete;
/// operations overlap only between lanes.
pub trait Disk {
    /// Writes a block, which may remain in a volatile cache.
    ///
    /// # Errors
    /// Errors of the system call; a short write is one.
    fn write(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()>;

    /// Writes a block that is durable when the call returns.
    ///
    /// # Errors
    /// Errors of the system call. After an error, the state of the block is unknown.
    fn write_durably(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()>;

    /// Makes every write durable that had *completed* before this call.
    ///
    /// # Errors
    /// Errors of the system call. After an error, no earlier write may be assumed durable, even if
    /// a later sync succeeds.
    fn sync(&mut self) -> io::Result<()>;

    /// Reads a block from the drive and not from a cache of the system.
    ///
    /// # Errors
    /// Errors of the system call; a short read is one.
    fn read(&mut self, offset_bytes: u64, block: &mut [u8]) -> io::Result<()>;

    fn size_bytes(&self) -> u64;
}

/// A drive that no longer responds.
#[derive(Debug, Clone, Copy)]
pub struct DeadDisk;

impl DeadDisk {
    fn no_response<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::NotConnected, "the drive does not respond"))
    }
}

impl Disk for DeadDisk {
    fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        DeadDisk::no_response()
    }

    fn write_durably(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        DeadDisk::no_response()
    }

    fn sync(&mut self) -> io::Result<()> {
        DeadDisk::no_response()
    }

    fn read(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
        DeadDisk::no_response()
    }

    fn size_bytes(&self) -> u64 {
        0
    }
}

/// Storage that every lane opens separately.
pub trait OpenDisk: Sync {
    type Disk: Disk;

    /// Opens the storage on the lane's own thread. `with_fua` prepares for FUA writes.
    fn open_disk(&self, with_fua: bool) -> io::Result<Self::Disk>;
}
