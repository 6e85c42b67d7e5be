//! The kernel's events, in one vocabulary for every source of a trace.

use std::fmt;

use drive::{DeviceNumber, DriverAddress};

/// One event of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds on the trace's clock.
    pub at: u64,
    /// The thread that was running; 0 for an idle CPU, whose interrupt handler it was.
    pub thread: u32,
    pub what: What,
}

impl Event {
    /// True if what happened next is not known completely.
    pub fn is_loss(&self) -> bool {
        matches!(self.what, What::Lost { .. })
    }
}

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The thread enters a system call that may commit.
    Enter { call: Syscall, file: i32, flags: u32 },
    /// The thread returns from it, with this result.
    Return { result: i64 },
    /// The thread submits a request of io_uring; `call` says which kind of commit it may be. The
    /// next one begins when this one is complete if `links`.
    UringSubmit { request: u64, call: Option<Syscall>, links: bool },
    /// A worker is to do it, because it would wait.
    UringQueue { request: u64 },
    /// It is complete.
    UringComplete { request: u64, result: i64 },
    /// The thread begins to open a file.
    Open { flags: u32 },
    /// It has opened it, as this number unless negative.
    Opened { file: i64 },
    /// It makes a number another name of an open file.
    Duplicate { file: i32, into: i32 },
    /// A filesystem begins to sync a file. Btrfs names no device, because it may have several.
    SyncFile { filesystem: Filesystem, device: Option<DeviceNumber> },
    /// XFS begins to force its log to the drive.
    ForceLog { device: DeviceNumber },
    /// jbd2's thread begins or ends a commit of its journal.
    JournalCommit { device: DeviceNumber, edge: Edge },
    /// The thread creates another thread, perhaps as the first one of a process.
    Create { thread: u32 },
    /// The thread ends.
    End,
    /// The scheduler replaces one thread with another.
    Switch { from: u32, from_state: Left, to: u32 },
    /// A thread may run again.
    Waking { thread: u32 },
    /// A bio is submitted.
    Bio { extent: Extent, flags: Flags, command: Command },
    /// A bio is merged into a request that waits.
    Merge { extent: Extent },
    /// A bio is split, because the device takes no larger requests.
    Split { extent: Extent, at_sector: u64 },
    /// A request is handed to the I/O scheduler.
    Insert { extent: Extent, flags: Flags },
    /// A request is sent to the driver.
    Issue { extent: Extent, flags: Flags },
    /// A request, or a part of it, is complete.
    Complete { extent: Extent, flags: Flags, failed: bool },
    /// A bio of a driver that takes no requests is complete.
    BioComplete { extent: Extent, flags: Flags },
    /// A driver gives a drive a command.
    CommandGiven { address: DriverAddress, flags: Flags },
    /// The controller refused the command, which will be given again.
    CommandRefused { address: DriverAddress, flags: Flags },
    /// A command ended without success.
    CommandFailed { address: DriverAddress },
    /// The kernel dropped events between this one and that time.
    Lost { until: u64 },
}

/// The beginning or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Start,
    End,
}

/// The state in which a thread left its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It could have gone on: another thread took its place.
    Runnable,
    /// It waits for something.
    Waiting,
}

/// Sectors (512 bytes) of a device. A flush has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub device: DeviceNumber,
    pub sector: u64,
    pub sectors: u32,
}

impl Extent {
    pub fn end(&self) -> u64 {
        self.sector.saturating_add(u64::from(self.sectors))
    }
}

/// The system calls that can make data durable. `sync_file_range` is not one of them: it only
/// starts or awaits write-out, without metadata and without a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Syscall {
    Fsync,
    Fdatasync,
    Msync,
    Sync,
    Syncfs,
    Write,
    Pwrite,
    Writev,
    Pwritev,
    Pwritev2,
    IoUringEnter,
    /// An `fsync` or `fdatasync` through io_uring.
    UringFsync,
    /// A write through io_uring.
    UringWrite,
    /// Not a call: the requests of a thread that belong together, in a trace without calls.
    Inferred,
}

impl Syscall {
    pub const ALL: [Syscall; 11] = [
        Syscall::Fsync,
        Syscall::Fdatasync,
        Syscall::Msync,
        Syscall::Sync,
        Syscall::Syncfs,
        Syscall::Write,
        Syscall::Pwrite,
        Syscall::Writev,
        Syscall::Pwritev,
        Syscall::Pwritev2,
        Syscall::IoUringEnter,
    ];

    /// The kernel's name, as in `sys_enter_NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Syscall::Fsync => "fsync",
            Syscall::Fdatasync => "fdatasync",
            Syscall::Msync => "msync",
            Syscall::Sync => "sync",
            Syscall::Syncfs => "syncfs",
            Syscall::Write => "write",
            Syscall::Pwrite => "pwrite64",
            Syscall::Writev => "writev",
            Syscall::Pwritev => "pwritev",
            Syscall::Pwritev2 => "pwritev2",
            Syscall::IoUringEnter => "io_uring_enter",
            Syscall::UringFsync => "io_uring fsync",
            Syscall::UringWrite => "io_uring write",
            Syscall::Inferred => "commit",
        }
    }

    /// True if the call exists to make something durable. A write does so only on a file opened
    /// with `O_SYNC` or `O_DSYNC`, or if the call itself has such a flag.
    pub fn is_sync(self) -> bool {
        matches!(
            self,
            Syscall::Fsync
                | Syscall::Fdatasync
                | Syscall::Msync
                | Syscall::Sync
                | Syscall::Syncfs
                | Syscall::UringFsync
                | Syscall::Inferred
        )
    }
}

/// A filesystem that announces its syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filesystem {
    Ext4,
    Xfs,
    Btrfs,
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Read,
    Write,
    Flush,
    Discard,
    Other,
}

/// The operation of a request and its flags, as the kernel abbreviates them: `WS`, `FF`, `FWFSM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    pub operation: Operation,
    bits: u8,
}

const PREFLUSH: u8 = 1;
const FUA: u8 = 2;
const AHEAD: u8 = 4;
const SYNC: u8 = 8;
const META: u8 = 16;
const ALL_BITS: u8 = PREFLUSH | FUA | AHEAD | SYNC | META;

const OPERATIONS: [Operation; 5] =
    [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard, Operation::Other];

impl Flags {
    /// An operation without flags.
    pub(crate) fn of(operation: Operation) -> Flags {
        Flags { operation, bits: 0 }
    }

    pub(crate) fn with_fua(self, fua: bool) -> Flags {
        Flags { bits: if fua { self.bits | FUA } else { self.bits & !FUA }, ..self }
    }

    /// Reads the abbreviation; unknown letters are skipped, as newer kernels add some.
    pub fn parse(text: &[u8]) -> Flags {
        let mut letters = text.iter().copied().take_while(|&letter| letter != 0).peekable();
        let mut bits = 0;
        // A leading F asks for a flush before the request, whose operation follows. `F` as the
        // operation is a flush request.
        if letters.peek() == Some(&b'F') {
            bits |= PREFLUSH;
            letters.next();
        }
        let operation = match letters.next() {
            Some(b'R') => Operation::Read,
            // `WZ` writes zeroes, which older kernels abbreviate as `N`.
            Some(b'W') if letters.peek() == Some(&b'Z') => Operation::Other,
            Some(b'W') => Operation::Write,
            Some(b'D') => Operation::Discard,
            Some(b'F') => Operation::Flush,
            // `FN` and a lone `F` of old kernels: a flush without data.
            Some(b'N') | None if bits == PREFLUSH => Operation::Flush,
            _ => Operation::Other,
        };
        for letter in letters {
            bits |= match letter {
                b'F' => FUA,
                b'A' => AHEAD,
                b'S' => SYNC,
                b'M' => META,
                _ => 0,
            };
        }
        Flags { operation, bits }
    }

    /// All of it as a number.
    pub(crate) fn number(self) -> u64 {
        let operation = OPERATIONS.iter().position(|&one| one == self.operation).unwrap_or(0);
        (operation as u64) | (u64::from(self.bits) << 3)
    }

    /// From [`Flags::number`].
    pub(crate) fn from_number(number: u64) -> Option<Flags> {
        let operation = *OPERATIONS.get((number & 7) as usize)?;
        let bits = u8::try_from(number >> 3).ok().filter(|bits| bits & !ALL_BITS == 0)?;
        Some(Flags { operation, bits })
    }

    fn has(self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// The drive's cache is to be flushed before the request.
    pub fn preflush(self) -> bool {
        self.has(PREFLUSH)
    }

    /// The data is to be on the medium when the request is complete.
    pub fn fua(self) -> bool {
        self.has(FUA)
    }

    /// A thread waits for it.
    pub fn sync(self) -> bool {
        self.has(SYNC)
    }

    /// A filesystem's own data.
    pub fn meta(self) -> bool {
        self.has(META)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.preflush() {
            f.write_str("F")?;
        }
        f.write_str(match self.operation {
            Operation::Read => "R",
            Operation::Write => "W",
            Operation::Flush => "F",
            Operation::Discard => "D",
            Operation::Other => "N",
        })?;
        for (bit, letter) in [(FUA, "F"), (AHEAD, "A"), (SYNC, "S"), (META, "M")] {
            if self.has(bit) {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}

/// The name of a thread, as the kernel keeps it: at most 15 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Command([u8; 16]);

impl Command {
    /// The bytes up to the first zero; longer names are cut.
    pub fn new(name: &[u8]) -> Command {
        let mut bytes = [0; 16];
        let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len()).min(15);
        bytes[..length].copy_from_slice(&name[..length]);
        Command(bytes)
    }

    fn bytes(&self) -> &[u8] {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        &self.0[..length]
    }

    /// All of it as two numbers; a short name has a small first one.
    pub(crate) fn numbers(self) -> (u64, u64) {
        let both = u128::from_le_bytes(self.0);
        (both as u64, (both >> 64) as u64)
    }

    /// From [`Command::numbers`].
    pub(crate) fn from_numbers(low: u64, high: u64) -> Command {
        Command::new(&(u128::from(low) | (u128::from(high) << 64)).to_le_bytes())
    }

    /// True for a thread that does requests of io_uring which would wait.
    pub fn is_uring_worker(&self) -> bool {
        self.bytes().starts_with(b"iou-wrk-")
    }

    /// True for a thread with which the kernel does deferred work.
    pub fn is_kernel_worker(&self) -> bool {
        self.bytes().starts_with(b"kworker/")
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.bytes()))
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Operation, [bool; 4], String) {
        let flags = Flags::parse(text.as_bytes());
        let said = [flags.preflush(), flags.fua(), flags.sync(), flags.meta()];
        (flags.operation, said, flags.to_string())
    }

    #[test]
    fn the_kernels_abbreviations() {
        let (no, yes) = (false, true);
        for (text, operation, said) in [
            ("R", Operation::Read, [no, no, no, no]),
            ("WS", Operation::Write, [no, no, yes, no]),
            ("WFS", Operation::Write, [no, yes, yes, no]),
            ("FWS", Operation::Write, [yes, no, yes, no]),
            ("FWFSM", Operation::Write, [yes, yes, yes, yes]),
            ("FF", Operation::Flush, [yes, no, no, no]),
            ("D", Operation::Discard, [no, no, no, no]),
        ] {
            assert_eq!(read(text), (operation, said, text.to_owned()));
        }
        assert_eq!(read("FN").0, Operation::Flush);
        assert_eq!(read("F").0, Operation::Flush);
        assert_eq!(read("N").0, Operation::Other);
        assert_eq!(read("WZS").0, Operation::Other);
        assert_eq!(read("WSU\0M").2, "WS");
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(Command::new(b"kworker/u9:1-events_unbound").to_string(), "kworker/u9:1-ev");
        assert!(Command::new(b"kworker/u9:1").is_kernel_worker());
        assert!(!Command::new(b"postgres\0\0").is_kernel_worker());
    }
}
