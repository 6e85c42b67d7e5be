//! The seam to the disk. Lanes and survey know storage by these calls only; a file or device stands behind them ([`crate::file_disk`]), or in tests a disk that lies.

use std::io;

/// Storage that is written record by record. A call returns when the operation is complete: what overlaps is the work of several lanes.
pub trait Disk {
    /// Writes a block. It may lie in a volatile cache afterwards.
    ///
    /// # Errors
    /// As the system reports them; a short write is one.
    fn write(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()>;

    /// Writes a block that is durable when the call returns.
    ///
    /// # Errors
    /// As the system reports them. After one, nothing is known of the block.
    fn write_durably(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()>;

    /// Makes every write durable that had *completed* before this call.
    ///
    /// # Errors
    /// As the system reports them. After one, no earlier write may be taken for durable, whatever a later sync says.
    fn sync(&mut self) -> io::Result<()>;

    /// Reads as many bytes as the block holds, from the medium and not from a cache of the system.
    ///
    /// # Errors
    /// As the system reports them; an end before the block is full is one.
    fn read(&mut self, offset_bytes: u64, block: &mut [u8]) -> io::Result<()>;

    /// Its size.
    fn size_bytes(&self) -> u64;
}

/// A drive that does not answer any more.
#[derive(Debug, Clone, Copy)]
pub struct DeadDisk;

impl DeadDisk {
    fn silence<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::NotConnected, "the drive does not answer"))
    }
}

impl Disk for DeadDisk {
    fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        DeadDisk::silence()
    }

    fn write_durably(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        DeadDisk::silence()
    }

    fn sync(&mut self) -> io::Result<()> {
        DeadDisk::silence()
    }

    fn read(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
        DeadDisk::silence()
    }

    fn size_bytes(&self) -> u64 {
        0
    }
}

/// Storage that each lane opens for itself.
pub trait OpenDisk: Sync {
    /// What is opened.
    type Disk: Disk;

    /// Opens it for a lane, on the lane's own thread. Only lanes that write with FUA pay for what that takes.
    ///
    /// # Errors
    /// As the system reports them.
    fn open_disk(&self, with_fua: bool) -> io::Result<Self::Disk>;
}
