//! Reads a process's output without waiting for more.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::ioctl_fionbio;

/// Bytes per read: the default capacity of a pipe.
const READ_BYTES: usize = 64 << 10;
/// Capacity of the largest pipe of an ordinary user (`fs.pipe-max-size`). No more can have been
/// printed before a [`Pipe::drain`] started.
const PIPE_BYTES_MAX: usize = 1 << 20;

/// The reading end of a pipe.
#[derive(Debug)]
pub(crate) struct Pipe {
    pipe: std::fs::File,
    buffer: Vec<u8>,
}

impl Pipe {
    /// Makes the pipe non-blocking, for all processes that have it open.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Pipe> {
        ioctl_fionbio(&pipe, true)?;
        Ok(Pipe { pipe: pipe.into(), buffer: vec![0; READ_BYTES] })
    }

    /// Passes on what was printed before the call, piece by piece. Returns `false` at the end of
    /// the pipe, when no process can print any more.
    pub(crate) fn drain(
        &mut self,
        mut hear: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let mut bytes = 0;
        // A process that never stops printing does not block the reader.
        while bytes < PIPE_BYTES_MAX {
            match self.pipe.read(&mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    bytes += read;
                    hear(&self.buffer[..read])?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Assembles lines from pieces.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Adds a piece, and calls `line` for each line that it completes.
    pub(crate) fn add(
        &mut self,
        piece: &[u8],
        mut line: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut parts = piece.split(|&byte| byte == b'\n');
        self.begun.extend(parts.next().unwrap_or_default());
        for part in parts {
            line(&std::mem::replace(&mut self.begun, part.to_vec()))?;
        }
        Ok(())
    }

    /// The last line, if it has no line end.
    pub(crate) fn unfinished(self) -> Option<Vec<u8>> {
        Some(self.begun).filter(|line| !line.is_empty())
    }
}

/// A pipe that contains the output of a process that has ended.
#[cfg(test)]
pub(crate) fn after_printing(text: &str) -> Pipe {
    use std::io::Write as _;

    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(text.as_bytes()).unwrap();
    Pipe::new(reader.into()).unwrap()
}

/// Waits for the end of a pipe whose writing end was dropped. A process that another test's thread
/// forks meanwhile has a copy of it until it calls `exec`.
#[cfg(test)]
pub(crate) fn until_the_end(mut has_ended: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !has_ended() {
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(20),
            "some process can still print"
        );
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pipe_gives_what_it_holds_and_reports_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut pipe = Pipe::new(reader.into()).unwrap();
        let mut heard = Vec::new();
        let mut drain = |heard: &mut Vec<u8>| {
            pipe.drain(|piece| {
                heard.extend_from_slice(piece);
                Ok(())
            })
        };
        assert!(drain(&mut heard).unwrap());
        writer.write_all(b"one\ntwo").unwrap();
        assert!(drain(&mut heard).unwrap());
        assert_eq!(heard, b"one\ntwo");
        drop(writer);
        until_the_end(|| !drain(&mut heard).unwrap());
    }

    #[test]
    fn a_process_that_never_stops_printing_is_heard_for_a_while() {
        let mut pipe = Pipe::new(std::fs::File::open("/dev/zero").unwrap().into()).unwrap();
        let mut heard = 0;
        let open = pipe.drain(|piece| {
            heard += piece.len();
            Ok(())
        });
        assert_eq!((open.unwrap(), heard), (true, PIPE_BYTES_MAX));
    }

    #[test]
    fn an_error_of_the_listener_is_passed_on() {
        let mut pipe = Pipe::new(std::fs::File::open("/dev/zero").unwrap().into()).unwrap();
        let error = pipe.drain(|_| Err(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn lines_are_put_together_from_pieces() {
        let mut lines = Lines::default();
        let mut whole = Vec::new();
        for piece in ["on", "e\n\ntwo\nth", "r", "ee"] {
            lines
                .add(piece.as_bytes(), |line| {
                    whole.push(String::from_utf8(line.to_vec()).unwrap());
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(whole, ["one", "", "two"]);
        assert_eq!(lines.unfinished().unwrap(), b"three");
        assert_eq!(Lines::default().unfinished(), None);
    }
}
