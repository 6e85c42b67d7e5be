//! One job: what it counts, and how it ended.

use std::sync::atomic::{AtomicBool, Ordering};

use measurement::SortFigures;
use rustix::io::Errno;

use crate::recorder::Recorder;

/// What a job counts while others look on.
#[derive(Debug)]
pub struct Tally {
    /// Read latencies.
    pub read: Recorder,
    /// Write latencies.
    pub write: Recorder,
    /// Sync latencies.
    pub sync: Recorder,
    /// Latencies from the first write of a commit to its durability, where that takes a call of its own.
    pub commit: Recorder,
}

impl Tally {
    /// All empty.
    pub fn new() -> Tally {
        Tally { read: Recorder::new(), write: Recorder::new(), sync: Recorder::new(), commit: Recorder::new() }
    }
}

/// Asks jobs to stop, once and for all.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Nobody has asked yet.
    pub const fn new() -> Stop {
        Stop(AtomicBool::new(false))
    }

    /// Asks every job to stop after the operation it is in.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether anyone has asked.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a job did, and how it ended.
#[derive(Debug)]
pub struct JobEnd {
    /// Reads that completed whole.
    pub reads: u64,
    /// Writes that completed whole.
    pub writes: u64,
    /// Sync calls that returned success.
    pub syncs: u64,
    /// Turns of a step program.
    pub turns: u64,
    /// Bytes of those reads.
    pub read_bytes: u64,
    /// Bytes of those writes.
    pub written_bytes: u64,
    /// Where the time of a sort went.
    pub sort: Option<Box<SortFigures>>,
    /// The error that ended it, if one did.
    pub failure: Option<Failure>,
}

impl JobEnd {
    /// Nothing done yet.
    pub const fn new() -> JobEnd {
        JobEnd { reads: 0, writes: 0, syncs: 0, turns: 0, read_bytes: 0, written_bytes: 0, sort: None, failure: None }
    }
}

/// An operation that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The kernel reported an error.
    Errno {
        /// What was asked: `write`, `read`, `fsync`…
        operation: &'static str,
        /// At which offset, where there is one.
        offset: Option<u64>,
        /// The error.
        errno: Errno,
    },
    /// The system gives a job no queue of its depth.
    Interface {
        /// Which asynchronous interface.
        interface: &'static str,
        /// The error.
        errno: Errno,
    },
    /// Fewer bytes were moved than asked, without an error.
    Short {
        /// What was asked.
        operation: &'static str,
        /// At which offset.
        offset: u64,
        /// Bytes moved.
        moved: u64,
        /// Bytes asked.
        asked: u64,
    },
    /// A block that was read back is not the one that was written.
    Mismatch {
        /// Where.
        offset: u64,
        /// How it differs.
        flaw: &'static str,
    },
    /// A sort came to an end that no single operation explains.
    Sort(String),
    /// The thread's code panicked; its measurements are gone.
    Panic,
}

impl Failure {
    /// Checks that an operation moved all of its bytes.
    #[inline]
    pub fn check(
        operation: &'static str,
        offset: u64,
        asked: usize,
        moved: Result<usize, Errno>,
    ) -> Result<(), Failure> {
        match moved {
            Ok(moved) if moved == asked => Ok(()),
            Ok(moved) => Err(Failure::Short { operation, offset, moved: moved as u64, asked: asked as u64 }),
            Err(errno) => Err(Failure::Errno { operation, offset: Some(offset), errno }),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Errno { operation, offset, errno } => {
                write!(f, "{operation}")?;
                if let Some(offset) = offset {
                    write!(f, " at offset {offset}")?;
                }
                write!(f, " failed: {}", plain(*errno))
            }
            Failure::Interface { interface, errno } => {
                // io_setup(2): EAGAIN is that limit and nothing else. io_uring_setup(2): ENOMEM is the limit of locked memory, or no memory.
                let cause = match (*interface, *errno) {
                    ("libaio", Errno::AGAIN) => "the system's limit of requests in flight, fs.aio-max-nr, is reached",
                    (_, Errno::NOMEM) => "the limit of locked memory, ulimit -l, or the memory itself is used up",
                    (_, Errno::MFILE | Errno::NFILE) => "the limit of open files, ulimit -n, is reached",
                    (_, other) => return write!(f, "setting up {interface} failed: {}", plain(other)),
                };
                write!(f, "setting up {interface} failed: {cause}; raise it, or ask for fewer jobs or less depth")
            }
            Failure::Short { operation, offset, moved, asked } => {
                // What write(2) and read(2) name as causes; there is no error number that tells them apart.
                let cause = if *operation == "read" { "the file ends there" } else { "the disk is full" };
                write!(f, "{operation} at offset {offset} moved {moved} of {asked} bytes, as when {cause}")
            }
            Failure::Mismatch { offset, flaw } => {
                write!(f, "the block at offset {offset} is not what was written there: {flaw}")
            }
            Failure::Sort(what) => f.write_str(what),
            Failure::Panic => f.write_str("a job of the engine broke down; this is a defect of flushmark"),
        }
    }
}

/// The system's words for an error, without Rust's error number suffix.
pub fn plain(errno: Errno) -> String {
    match errno {
        Errno::NOSPC => "the disk is full (ENOSPC)".to_owned(),
        Errno::IO => "the device reported an I/O error (EIO)".to_owned(),
        Errno::ROFS => "the filesystem is read-only (EROFS)".to_owned(),
        Errno::DQUOT => "the disk quota is used up (EDQUOT)".to_owned(),
        other => {
            let text = std::io::Error::from(other).to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_sentences() {
        let errno = |operation, errno| Failure::Errno { operation, offset: Some(8192), errno }.to_string();
        insta::assert_snapshot!(errno("write", Errno::NOSPC), @"write at offset 8192 failed: the disk is full (ENOSPC)");
        insta::assert_snapshot!(errno("read", Errno::IO), @"read at offset 8192 failed: the device reported an I/O error (EIO)");
        insta::assert_snapshot!(errno("write", Errno::INVAL), @"write at offset 8192 failed: invalid argument");
        let fsync = Failure::Errno { operation: "fsync", offset: None, errno: Errno::IO };
        insta::assert_snapshot!(fsync.to_string(), @"fsync failed: the device reported an I/O error (EIO)");
        let interface = |interface, errno| Failure::Interface { interface, errno }.to_string();
        insta::assert_snapshot!(interface("libaio", Errno::AGAIN), @"setting up libaio failed: the system's limit of requests in flight, fs.aio-max-nr, is reached; raise it, or ask for fewer jobs or less depth");
        insta::assert_snapshot!(interface("io_uring", Errno::NOMEM), @"setting up io_uring failed: the limit of locked memory, ulimit -l, or the memory itself is used up; raise it, or ask for fewer jobs or less depth");
        insta::assert_snapshot!(interface("io_uring", Errno::INVAL), @"setting up io_uring failed: invalid argument");
        let short = Failure::Short { operation: "write", offset: 4096, moved: 512, asked: 4096 };
        insta::assert_snapshot!(short.to_string(), @"write at offset 4096 moved 512 of 4096 bytes, as when the disk is full");
    }
}
