//! The counts of one job, and the way it ended.

use std::sync::atomic::{AtomicBool, Ordering};

use measurement::{PriorityLatency, SortFigures, TargetKind};
use rustix::io::Errno;
use workload::{BelowRateMin, ErrorKind, IoPriority, JobPart, Workload};

use crate::recorder::Recorder;

/// The latencies of a job, readable by other threads while it runs.
#[derive(Debug)]
pub struct Tally {
    pub read: Recorder,
    pub write: Recorder,
    pub sync: Recorder,
    /// Latencies from the first write of a commit to its durability, if that takes a separate call.
    pub commit: Recorder,
}

impl Tally {
    pub fn new() -> Tally {
        Tally {
            read: Recorder::new(),
            write: Recorder::new(),
            sync: Recorder::new(),
            commit: Recorder::new(),
        }
    }
}

/// A one-way request to stop, shared by all jobs.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Creates a request that has not been made yet.
    pub const fn new() -> Stop {
        Stop(AtomicBool::new(false))
    }

    /// Asks every job to stop after its current operation.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once a stop has been requested.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The results of a job, and the way it ended.
#[derive(Debug)]
pub struct JobEnd {
    /// Reads that completed in full.
    pub reads: u64,
    /// Writes that completed in full.
    pub writes: u64,
    /// Successful sync calls.
    pub syncs: u64,
    /// Turns of a step program.
    pub turns: u64,
    /// Bytes of the completed reads.
    pub read_bytes: u64,
    /// Bytes of the completed writes.
    pub written_bytes: u64,
    /// Zones that were reset.
    pub zone_resets: u64,
    /// Errors that were ignored.
    pub ignored: IgnoredErrors,
    /// The job ended because the disk was full, as its workload expects.
    pub filled: bool,
    /// Processor time of the job's thread in nanoseconds, if it computes.
    pub computed_ns: Option<u64>,
    /// The breakdown of a sort's time.
    pub sort: Option<Box<SortFigures>>,
    /// Latencies by priority, if some I/Os have a separate one.
    pub priorities: Vec<PriorityLatency>,
    /// The error that ended the job.
    pub failure: Option<Failure>,
}

impl JobEnd {
    pub const fn new() -> JobEnd {
        JobEnd {
            reads: 0,
            writes: 0,
            syncs: 0,
            turns: 0,
            read_bytes: 0,
            written_bytes: 0,
            zone_resets: 0,
            ignored: IgnoredErrors::new(),
            filled: false,
            computed_ns: None,
            sort: None,
            priorities: Vec::new(),
            failure: None,
        }
    }

    /// Decides what a failure does to a job of this workload.
    ///
    /// # Errors
    /// Returns the failure if it ends the job.
    #[cold]
    pub fn forgive(&mut self, workload: &Workload, failure: Failure) -> Result<Forgiven, Failure> {
        let Some((kind, number)) = failure.kind() else { return Err(failure) };
        let is_full = || number.is_some_and(|number| DISK_FULL.contains(&number));
        if workload.fills && kind == ErrorKind::Write && is_full() {
            self.filled = true;
            return Ok(Forgiven::Full);
        }
        if !workload.tolerance.ignores(kind, number) {
            return Err(failure);
        }
        self.ignored.add(kind, 1, &failure);
        Ok(Forgiven::Ignored(kind))
    }
}

/// The errors of a write that finds the disk full.
const DISK_FULL: [i32; 2] = [Errno::NOSPC.raw_os_error(), Errno::DQUOT.raw_os_error()];

/// The outcome of a failure that does not fail the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgiven {
    /// The job continues.
    Ignored(ErrorKind),
    /// The disk is full, which is the job's normal end.
    Full,
}

/// The errors that a job or a test ignored.
#[derive(Debug, Clone, Default)]
pub struct IgnoredErrors(Vec<(ErrorKind, u64, Failure)>);

impl IgnoredErrors {
    pub const fn new() -> IgnoredErrors {
        IgnoredErrors(Vec::new())
    }

    fn add(&mut self, kind: ErrorKind, errors: u64, first: &Failure) {
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, count, _)) => *count += errors,
            None => self.0.push((kind, errors, first.clone())),
        }
    }

    /// The errors of several jobs.
    pub fn sum<'a>(jobs: impl Iterator<Item = &'a IgnoredErrors>) -> IgnoredErrors {
        let mut sum = IgnoredErrors::new();
        for (kind, count, first) in jobs.flat_map(|job| &job.0) {
            sum.add(*kind, *count, first);
        }
        sum
    }

    /// The first error of each kind with its offset translated to that within its file.
    pub fn within_file(&mut self, part: &JobPart) {
        for (_, _, first) in &mut self.0 {
            *first = first.clone().within_file(part);
        }
    }

    /// One sentence for each kind of error.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|(kind, count, first)| {
            let kind = kind.name();
            format!("{kind} that were counted and ignored: {count}; the first: {first}")
        })
    }
}

/// A failed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The kernel reported an error.
    Errno {
        /// The name of the operation: `write`, `read`, `fsync`…
        operation: &'static str,
        offset: Option<u64>,
        errno: Errno,
    },
    /// The system cannot provide a queue of the job's depth.
    Interface {
        /// The name of the asynchronous interface.
        interface: &'static str,
        errno: Errno,
    },
    /// The kernel does not permit an I/O priority.
    Priority { priority: IoPriority, errno: Errno },
    /// Fewer bytes were transferred than requested, without an error.
    Short {
        operation: &'static str,
        offset: u64,
        /// Bytes transferred.
        moved: u64,
        /// Bytes requested.
        asked: u64,
    },
    /// A block that was read back differs from the one written.
    Mismatch { offset: u64, mismatch: &'static str },
    /// The job was slower than its workload allows.
    BelowRateMin(BelowRateMin),
    /// The server of an export sent something invalid, or the connection to it failed.
    Server(String),
    /// A sort failed, but no single operation did.
    Sort(String),
    /// The job's thread panicked; its measurements are lost.
    Panic,
}

impl Failure {
    /// An error that belongs to no single block.
    pub const fn of(operation: &'static str, errno: Errno) -> Failure {
        Failure::Errno { operation, offset: None, errno }
    }

    /// The kind of operation that failed and the kernel's error number, if a workload can ignore
    /// such failures.
    fn kind(&self) -> Option<(ErrorKind, Option<i32>)> {
        match self {
            // Only operations of a job's pattern have an offset, and the reads of a check.
            Failure::Errno { operation: "reading back", .. }
            | Failure::Errno { offset: None, .. } => None,
            Failure::Errno { operation, errno, .. } => {
                let is_read = matches!(*operation, "read" | "stat");
                let kind = if is_read { ErrorKind::Read } else { ErrorKind::Write };
                Some((kind, Some(errno.raw_os_error())))
            }
            // A write is cut short where the space ends.
            Failure::Short { operation: "write", .. } => {
                Some((ErrorKind::Write, Some(Errno::NOSPC.raw_os_error())))
            }
            Failure::Mismatch { .. } => Some((ErrorKind::Mismatch, None)),
            _ => None,
        }
    }

    /// Returns `true` if the target is broken, and not only slow, or busy: ext4 refuses to exchange
    /// blocks whose pages are in use.
    pub const fn breaks_target(&self) -> bool {
        !matches!(self, Failure::BelowRateMin(_) | Failure::Errno { errno: Errno::BUSY, .. })
    }

    /// The same failure with its offset translated to that within its file.
    #[must_use]
    pub fn within_file(mut self, part: &JobPart) -> Failure {
        match &mut self {
            Failure::Errno { offset: Some(offset), .. }
            | Failure::Short { offset, .. }
            | Failure::Mismatch { offset, .. } => *offset = part.locate(*offset).1,
            _ => {}
        }
        self
    }

    /// Checks that an operation transferred all of its bytes.
    #[inline]
    pub fn check(
        operation: &'static str,
        offset: u64,
        asked: usize,
        moved: Result<usize, Errno>,
    ) -> Result<(), Failure> {
        match moved {
            Ok(moved) if moved == asked => Ok(()),
            Ok(moved) => {
                Err(Failure::Short { operation, offset, moved: moved as u64, asked: asked as u64 })
            }
            Err(errno) => Err(Failure::Errno { operation, offset: Some(offset), errno }),
        }
    }
}

/// A failure on a target of this kind, as a sentence.
pub struct Explained<'a>(pub &'a Failure, pub TargetKind);

impl std::fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Explained(
                Failure::Errno { operation, offset: Some(offset), errno },
                TargetKind::Image | TargetKind::Objects,
            ) => write!(f, "{operation} at offset {offset} failed: {}", rados::reason(*errno)),
            Explained(failure, _) => failure.fmt(f),
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
                // io_setup(2): EAGAIN means only that limit. io_uring_setup(2): ENOMEM means the
                // limit on locked memory, or no memory.
                let cause = match (*interface, *errno) {
                    ("libaio", Errno::AGAIN) => {
                        "the system limit on requests in flight (fs.aio-max-nr) is reached"
                    }
                    (_, Errno::NOMEM) => {
                        "the limit on locked memory (ulimit -l) is reached, or memory is exhausted"
                    }
                    (_, Errno::MFILE | Errno::NFILE) => {
                        "the limit on open files (ulimit -n) is reached"
                    }
                    (_, other) => {
                        return write!(f, "setting up {interface} failed: {}", plain(other));
                    }
                };
                write!(
                    f,
                    "setting up {interface} failed: {cause}; raise the limit, or use fewer jobs or \
                     a lower depth"
                )
            }
            Failure::Priority { priority, errno } => {
                write!(f, "setting the I/O priority {priority} failed: {}", plain(*errno))?;
                match *errno {
                    Errno::PERM => f.write_str("; class realtime requires root (CAP_SYS_NICE)"),
                    Errno::INVAL => f.write_str("; this kernel supports no hints"),
                    _ => Ok(()),
                }
            }
            Failure::Short { operation, offset, moved, asked } => {
                // The causes named by write(2) and read(2). No error number distinguishes them.
                let cause =
                    if *operation == "read" { "the file ends there" } else { "the disk is full" };
                write!(
                    f,
                    "{operation} at offset {offset} transferred only {moved} of {asked} bytes, as \
                     happens when {cause}"
                )
            }
            Failure::Mismatch { offset, mismatch } => {
                write!(
                    f,
                    "the block at offset {offset} differs from what was written there: {mismatch}"
                )
            }
            Failure::BelowRateMin(below) => below.fmt(f),
            Failure::Server(what) | Failure::Sort(what) => f.write_str(what),
            Failure::Panic => {
                f.write_str("a job of the engine panicked; this is a bug in flushmark")
            }
        }
    }
}

/// The system's message for an error, without Rust's error number suffix.
pub fn plain(errno: Errno) -> String {
    match errno {
        Errno::NOSPC => "the disk is full (ENOSPC)".to_owned(),
        Errno::IO => "the device reported an I/O error (EIO)".to_owned(),
        Errno::ROFS => "the filesystem is read-only (EROFS)".to_owned(),
        Errno::DQUOT => "the disk quota is exceeded (EDQUOT)".to_owned(),
        other => {
            let text = std::io::Error::from(other).to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use workload::{BlockBytes, Pattern, PriorityClass, Tolerance};

    use super::*;

    #[test]
    fn only_what_the_workload_lists_is_ignored_and_counted() {
        let mut workload = Workload::new(Pattern::Write, BlockBytes::new(4096).unwrap());
        workload.tolerance = Tolerance { writes: vec![28], ..Tolerance::default() };
        let write = |errno| Failure::Errno { operation: "write", offset: Some(4096), errno };
        let (mut one, mut other) = (JobEnd::new(), JobEnd::new());
        let short = Failure::Short { operation: "write", offset: 0, moved: 512, asked: 4096 };
        let ignored = Ok(Forgiven::Ignored(ErrorKind::Write));
        assert_eq!(one.forgive(&workload, write(Errno::NOSPC)), ignored);
        assert_eq!(one.forgive(&workload, short.clone()), ignored);
        assert_eq!(other.forgive(&workload, write(Errno::NOSPC)), ignored);
        for fatal in [write(Errno::IO), Failure::of("fsync", Errno::NOSPC)] {
            assert_eq!(one.forgive(&workload, fatal.clone()), Err(fatal));
        }
        let damaged = Failure::Mismatch { offset: 0, mismatch: "checksum mismatch" };
        assert_eq!(one.forgive(&workload, damaged.clone()), Err(damaged));
        let sum = IgnoredErrors::sum([&one, &other].into_iter().map(|end| &end.ignored));
        insta::assert_snapshot!(sum.notes().collect::<String>(), @"write errors that were counted and ignored: 3; the first: write at offset 4096 failed: the disk is full (ENOSPC)");
        workload.fills = true;
        assert_eq!(one.forgive(&workload, short), Ok(Forgiven::Full));
        assert!(one.filled);
    }

    #[test]
    fn failures_are_sentences() {
        let errno =
            |operation, errno| Failure::Errno { operation, offset: Some(8192), errno }.to_string();
        insta::assert_snapshot!(errno("write", Errno::NOSPC), @"write at offset 8192 failed: the disk is full (ENOSPC)");
        insta::assert_snapshot!(errno("read", Errno::IO), @"read at offset 8192 failed: the device reported an I/O error (EIO)");
        insta::assert_snapshot!(errno("write", Errno::INVAL), @"write at offset 8192 failed: invalid argument");
        let fsync = Failure::Errno { operation: "fsync", offset: None, errno: Errno::IO };
        insta::assert_snapshot!(fsync.to_string(), @"fsync failed: the device reported an I/O error (EIO)");
        let interface = |interface, errno| Failure::Interface { interface, errno }.to_string();
        insta::assert_snapshot!(interface("libaio", Errno::AGAIN), @"setting up libaio failed: the system limit on requests in flight (fs.aio-max-nr) is reached; raise the limit, or use fewer jobs or a lower depth");
        insta::assert_snapshot!(interface("io_uring", Errno::NOMEM), @"setting up io_uring failed: the limit on locked memory (ulimit -l) is reached, or memory is exhausted; raise the limit, or use fewer jobs or a lower depth");
        insta::assert_snapshot!(interface("io_uring", Errno::INVAL), @"setting up io_uring failed: invalid argument");
        let priority = IoPriority { class: PriorityClass::Realtime, level: 0, hint: 0 };
        let refused = |errno| Failure::Priority { priority, errno }.to_string();
        insta::assert_snapshot!(refused(Errno::PERM), @"setting the I/O priority realtime 0 failed: operation not permitted; class realtime requires root (CAP_SYS_NICE)");
        insta::assert_snapshot!(refused(Errno::INVAL), @"setting the I/O priority realtime 0 failed: invalid argument; this kernel supports no hints");
        let short = Failure::Short { operation: "write", offset: 4096, moved: 512, asked: 4096 };
        insta::assert_snapshot!(short.to_string(), @"write at offset 4096 transferred only 512 of 4096 bytes, as happens when the disk is full");
    }
}
