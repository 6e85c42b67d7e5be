//! Durable writes through io_uring, one at a time.
//!
//! On a raw device, a blocking `pwritev2(RWF_DSYNC)` becomes a FUA write *and then* a FLUSH
//! (`blkdev_write_iter` ends in `generic_write_sync`). Through io_uring the same write is queued,
//! and the FUA write goes out alone. To find out how a drive handles FUA, write this way.

use std::os::fd::BorrowedFd;

use io_uring::opcode;
use io_uring::types::Fixed;
use rustix::io::{Errno, ReadWriteFlags};

use super::ring::{Ring, moved};

/// A ring of the calling thread for one file. It cannot be sent to another thread.
#[derive(Debug)]
pub struct DurableWrites {
    ring: Ring,
    flags: ReadWriteFlags,
    /// A submission failed half-way, so it is unknown what the kernel accepted.
    broken: bool,
}

impl DurableWrites {
    /// Creates a ring for a file. Each write has `flags`: `RWF_DSYNC`, or none if the file was
    /// opened with `O_DSYNC`.
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` if io_uring is not supported or disabled, `ENOMEM` above a limit.
    pub fn new(file: BorrowedFd<'_>, flags: ReadWriteFlags) -> Result<DurableWrites, Errno> {
        Ok(DurableWrites { ring: Ring::new(1, std::iter::once(file))?, flags, broken: false })
    }

    /// Writes a block and waits for it; returns the bytes written.
    ///
    /// # Errors
    /// As the kernel reports them; `EINVAL` for blocks above 4 GiB.
    #[expect(unsafe_code, reason = "passes an address to the kernel")]
    pub fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        if self.broken {
            return Err(Errno::IO);
        }
        let length = u32::try_from(block.len()).map_err(|_| Errno::INVAL)?;
        let write = opcode::Write::new(Fixed(0), block.as_ptr(), length);
        let entry = write.offset(offset).rw_flags(self.flags.bits() as i32).build();
        // SAFETY: `block` is borrowed until this function returns; that is after the completion has
        // been seen.
        unsafe { self.ring.prepare(&entry) };
        if let Err(errno) = self.ring.enter(1, None) {
            // Nothing was submitted (otherwise the kernel returns a count). The entry must not be
            // submitted later, and stays in a ring that is never entered again.
            self.broken = true;
            return Err(errno);
        }
        loop {
            if let Some(finished) = self.ring.next_completion_entry() {
                return moved(&finished);
            }
            // A signal interrupted the wait. The write is still in progress, so keep waiting,
            // whatever error the kernel returns.
            if self.ring.enter(1, None).is_err() {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn what_is_written_is_there() {
        let mut file = tempfile::tempfile().unwrap();
        let mut writes = match DurableWrites::new(file.as_fd(), ReadWriteFlags::DSYNC) {
            Ok(writes) => writes,
            Err(errno) => {
                return eprintln!("skipped: what_is_written_is_there: no io_uring ({errno})");
            }
        };
        assert_eq!(writes.write(&[1; 4096], 0), Ok(4096));
        assert_eq!(writes.write(&[2; 4096], 4096), Ok(4096));
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        assert_eq!(content, [[1; 4096], [2; 4096]].concat());
    }

    #[test]
    fn an_error_is_the_writes_own() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let Ok(mut writes) = DurableWrites::new(file.as_fd(), ReadWriteFlags::empty()) else {
            return;
        };
        assert_eq!(writes.write(&[1; 512], 0), Err(Errno::BADF));
    }
}
