//! Output that a drive begins to write while more of it is made. The kernel keeps what is written to a file until a tenth of the memory is full of such, and
//! what it kept is then waited for in the call that makes the file durable: sorting a gibibyte took 0.7 s of 5.9 longer for that.

use std::io::{Result, Write};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

/// Bytes after which the kernel is told to go on: enough for a drive to be at its full rate, and written in no time.
const PIECE: usize = 8 << 20;

/// A file that is written out as it grows. Nothing is durable by that: whoever needs it to be makes it so at the end, and waits for little then.
pub struct WritingOut<W> {
    to: W,
    /// Bytes since the kernel was told last.
    kept: usize,
}

impl<W: Write + AsFd> WritingOut<W> {
    /// What is written to it goes to `to`.
    pub fn of(to: W) -> Self {
        Self { to, kept: 0 }
    }
}

impl<W: Write + AsFd> Write for WritingOut<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.to.write(bytes)?;
        self.kept += written;
        if self.kept >= PIECE {
            begin(self.to.as_fd());
            self.kept = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.to.flush()
    }
}

/// Hands everything of the file that is not being written yet to the drive, and waits for none of it unless the drive's queue is full. What has no such pages, as a
/// pipe, says so, and needs none of this; a drive's errors are told by the call that makes the file durable.
#[expect(unsafe_code, reason = "sync_file_range(2) has no safe wrapper")]
fn begin(file: BorrowedFd<'_>) {
    // SAFETY: the descriptor is open, and no memory is handed over. From 0, so many as 0: the whole file.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;

    fn written(to: impl Write + AsFd, bytes: &[u8]) -> usize {
        let mut out = WritingOut::of(to);
        bytes.chunks(1 << 20).for_each(|chunk| out.write_all(chunk).unwrap());
        out.flush().unwrap();
        out.kept
    }

    #[test]
    fn a_file_has_what_was_written() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..PIECE * 5 / 2).map(|at| (at % 251) as u8).collect();
        assert_eq!(written(&file, &bytes), PIECE / 2, "the kernel was told after two pieces");
        file.rewind().unwrap();
        let mut read = Vec::new();
        file.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }

    #[test]
    fn a_pipe_needs_none_of_it() {
        let (mut from, to) = std::io::pipe().unwrap();
        let reader = std::thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()).unwrap());
        written(&to, &vec![1; PIECE + 1]);
        drop(to);
        assert_eq!(reader.join().unwrap(), PIECE as u64 + 1);
    }
}
