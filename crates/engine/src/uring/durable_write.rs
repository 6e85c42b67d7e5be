//! Writes that are durable by themselves, one at a time, through io_uring.
//!
//! A blocking `pwritev2(RWF_DSYNC)` on a raw device becomes a FUA write *and then* a FLUSH (`blkdev_write_iter` ends in `generic_write_sync`). Through io_uring the same write is queued, and
//! the FUA write goes out alone: whoever wants to know what a drive makes of FUA has to write this way.

use std::os::fd::BorrowedFd;

use rustix::io::{Errno, ReadWriteFlags};
use rustix::io_uring::{IoringOp, IoringSqeFlags};

use super::ring::{Entry, Ring};

/// A ring of the calling thread for one file. It cannot be sent to another.
#[derive(Debug)]
pub struct DurableWrites {
    ring: Ring,
    /// A submission failed half-way: nobody knows what the kernel took.
    broken: bool,
}

impl DurableWrites {
    /// For a file; each write carries `flags` (`RWF_DSYNC`, or none where the file was opened with `O_DSYNC`).
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` where io_uring is absent or switched off, `ENOMEM` beyond a limit.
    pub fn new(file: BorrowedFd<'_>, flags: ReadWriteFlags) -> Result<DurableWrites, Errno> {
        let mut ring = Ring::new(1)?;
        ring.register_file(file)?;
        ring.register_self();
        *ring.entry(0) = Entry {
            opcode: IoringOp::Write as u8,
            flags: IoringSqeFlags::FIXED_FILE.bits(),
            op_flags: flags.bits(),
            ..Entry::default()
        };
        Ok(DurableWrites { ring, broken: false })
    }

    /// Writes a block and waits for it; returns the bytes written.
    ///
    /// # Errors
    /// As the kernel reports them; `EINVAL` for blocks beyond 4 GiB.
    #[expect(unsafe_code, reason = "hands an address to the kernel")]
    pub fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        if self.broken {
            return Err(Errno::IO);
        }
        let entry = self.ring.entry(0);
        entry.address = block.as_ptr() as u64;
        entry.length = u32::try_from(block.len()).map_err(|_| Errno::INVAL)?;
        entry.offset = offset;
        self.ring.prepare(0);
        // SAFETY: the entry names the registered file and `block`, which is borrowed until this function returns; that is not before the completion was seen.
        if let Err(errno) = unsafe { self.ring.enter(1, None) } {
            // Nothing was submitted (the kernel says otherwise how much was), and the entry, which must not be submitted any more, stays in a ring that is never entered again.
            self.broken = true;
            return Err(errno);
        }
        loop {
            if let Some(finished) = self.ring.next_finished() {
                return usize::try_from(finished.result).map_err(|_| Errno::from_raw_os_error(-finished.result));
            }
            // A signal ended the wait; the write goes on, and so does the waiting, whatever else the kernel says to it.
            // SAFETY: nothing new is submitted.
            if unsafe { self.ring.enter(1, None) }.is_err() {
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
            Err(errno) => return eprintln!("skipped: what_is_written_is_there: no io_uring ({errno})"),
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
        let Ok(mut writes) = DurableWrites::new(file.as_fd(), ReadWriteFlags::empty()) else { return };
        assert_eq!(writes.write(&[1; 512], 0), Err(Errno::BADF));
    }
}
