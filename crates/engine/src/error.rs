//! What keeps a target from being opened or a test from being run. Each message is one sentence: what, why, and what to do instead.

use std::path::PathBuf;

use drive::{DriveError, Occupied, Signature};
use rustix::io::Errno;
use workload::format_bytes;

use crate::job::plain;

/// Who has to act, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The person asked for something that does not exist or cannot be.
    Usage,
    /// It would endanger data.
    Safety,
    /// The system or the device did not do its part.
    System,
}

/// A target or a test that cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A kind of target that this version does not have.
    #[error(
        "`{given}`: targets of the kind `{scheme}:` do not exist in this version; name a directory, a file, a device under /dev, sim:MODEL, or null:"
    )]
    UnknownScheme {
        /// As the person wrote it.
        given: String,
        /// The part before the colon.
        scheme: String,
    },
    /// The target could not be looked at.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// No permission to make a file in the directory, or to open the file or device.
    #[error("no permission to {action} {}; {advice}", .path.display())]
    Permission {
        /// `write to`, `open`.
        action: &'static str,
        /// What.
        path: PathBuf,
        /// What to do instead.
        advice: &'static str,
    },
    /// The filesystem takes no writes.
    #[error("{} is on a read-only filesystem; name a directory that can be written to", .path.display())]
    ReadOnlyFilesystem {
        /// What.
        path: PathBuf,
    },
    /// The device takes no writes.
    #[error("{} is a read-only device; only plans that read can run on it", .path.display())]
    ReadOnlyDevice {
        /// What.
        path: PathBuf,
    },
    /// The content would be overwritten, and nobody asked for that.
    #[error("{} would be overwritten{}; to allow that, add --destroy-data, or name a directory, where flushmark makes a file of its own", .path.display(), holds(.signatures))]
    NotAskedToDestroy {
        /// What.
        path: PathBuf,
        /// What lies on it.
        signatures: Vec<Signature>,
    },
    /// The device or file is in use.
    #[error("{} is in use and is never overwritten: {}; name another target", .path.display(), reasons(.occupied))]
    Occupied {
        /// What.
        path: PathBuf,
        /// By whom.
        occupied: Vec<Occupied>,
    },
    /// Another run works here.
    #[error("another flushmark run is measuring in {}; both would measure each other, so wait until it has ended", .path.display())]
    AnotherRun {
        /// Where.
        path: PathBuf,
    },
    /// Too little space.
    #[error("{} has {} free; flushmark takes at most half of that and this test needs {}: free some space or ask for a smaller size", .path.display(), format_bytes_rounded(*.free_bytes), format_bytes(*.needed_bytes))]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Free for this user.
        free_bytes: u64,
        /// The least that would do.
        needed_bytes: u64,
    },
    /// The file or device is smaller than a test's smallest part.
    #[error("{} holds {} and this test needs at least {}", .path.display(), format_bytes_rounded(*.size_bytes), format_bytes(*.needed_bytes))]
    TooSmall {
        /// What.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// The least that would do.
        needed_bytes: u64,
    },
    /// More memory than there is.
    #[error("{jobs} jobs with {depth} blocks of {} in flight need {} of memory and {} are available; ask for fewer jobs or less depth", format_bytes(*.block_bytes), format_bytes_rounded(*.needed_bytes), format_bytes_rounded(*.available_bytes))]
    NoMemory {
        /// Jobs asked for.
        jobs: u32,
        /// Depth asked for.
        depth: u32,
        /// Block size.
        block_bytes: u64,
        /// Memory they take.
        needed_bytes: u64,
        /// Memory that may be taken.
        available_bytes: u64,
    },
    /// More memory than there is, for sorts.
    #[error("{jobs} sorts, and what `null:` keeps of their runs, need {} of memory and {} are available; ask for less memory, fewer records or fewer jobs", format_bytes_rounded(*.needed_bytes), format_bytes_rounded(*.available_bytes))]
    NoMemoryForSorts {
        /// Sorts side by side.
        jobs: u32,
        /// Memory they take.
        needed_bytes: u64,
        /// Memory that may be taken.
        available_bytes: u64,
    },
    /// More open files than allowed.
    #[error(
        "{jobs} jobs need {needed} open files and the limit is {limit}; raise it (ulimit -n {needed}) or ask for fewer jobs"
    )]
    OpenFiles {
        /// Jobs asked for.
        jobs: u32,
        /// Files they need.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// A thread could not be started.
    #[error(
        "the system gives no thread for job {job} of {jobs} ({}); raise the limit (ulimit -u) or ask for fewer jobs",
        plain(*.errno)
    )]
    Threads {
        /// Which job.
        job: u32,
        /// Of how many.
        jobs: u32,
        /// The system's answer.
        errno: Errno,
    },
    /// A call on the target failed before anything was measured.
    #[error("cannot {action} {}: {}", .path.display(), plain(*.errno))]
    Call {
        /// `open`, `prepare`, …
        action: &'static str,
        /// What.
        path: PathBuf,
        /// The error.
        errno: Errno,
    },
    /// An asynchronous interface that was asked for by name is not there.
    #[error("{engine} cannot be used here: {}; {advice}", plain(*.errno))]
    Interface {
        /// Which.
        engine: &'static str,
        /// The kernel's answer.
        errno: Errno,
        /// What to do.
        advice: &'static str,
    },
    /// Asked to stop before anything was measured.
    #[error("interrupted before the test began")]
    Interrupted,
}

impl EngineError {
    /// Who has to act.
    pub fn blame(&self) -> Blame {
        match self {
            EngineError::UnknownScheme { .. }
            | EngineError::Drive(DriveError::NoSuchPath { .. } | DriveError::WrongKind { .. }) => Blame::Usage,
            EngineError::NotAskedToDestroy { .. } | EngineError::Occupied { .. } | EngineError::AnotherRun { .. } => {
                Blame::Safety
            }
            _ => Blame::System,
        }
    }

    /// A failed open of `path`, told apart by its cause.
    pub(crate) fn opening(path: &std::path::Path, errno: Errno) -> EngineError {
        let path = path.to_owned();
        match errno {
            Errno::ACCESS | Errno::PERM => EngineError::Permission {
                action: "open",
                path,
                advice: "run as a user who may (devices belong to root), or name a directory of your own",
            },
            Errno::ROFS => EngineError::ReadOnlyDevice { path },
            errno => EngineError::Call { action: "open", path, errno },
        }
    }
}

fn holds(signatures: &[Signature]) -> String {
    match signatures {
        [] => String::new(),
        some => {
            let names: Vec<String> = some.iter().map(|signature| signature.kind.to_string()).collect();
            format!(" and holds {}", names.join(", "))
        }
    }
}

fn reasons(occupied: &[Occupied]) -> String {
    occupied.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A size as it is read at a glance: three digits are enough to see that something is too small.
fn format_bytes_rounded(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift {
            return format!("{:.1} {unit}", bytes as f64 / f64::from(1 << (shift / 2)) / f64::from(1 << (shift / 2)));
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_why_and_what_to_do() {
        let path = PathBuf::from("/dev/sdb");
        insta::assert_snapshot!(
            EngineError::NotAskedToDestroy { path: path.clone(), signatures: vec![] },
            @"/dev/sdb would be overwritten; to allow that, add --destroy-data, or name a directory, where flushmark makes a file of its own"
        );
        let signatures = vec![Signature { kind: drive::SignatureKind::Xfs, offset_bytes: 0 }];
        insta::assert_snapshot!(
            EngineError::NotAskedToDestroy { path: path.clone(), signatures },
            @"/dev/sdb would be overwritten and holds an XFS filesystem; to allow that, add --destroy-data, or name a directory, where flushmark makes a file of its own"
        );
        let occupied = vec![Occupied::Mount { device: "/dev/sdb1".into(), mount_point: "/srv".into() }];
        insta::assert_snapshot!(
            EngineError::Occupied { path: path.clone(), occupied },
            @"/dev/sdb is in use and is never overwritten: /dev/sdb1 is mounted on /srv; name another target"
        );
        insta::assert_snapshot!(
            EngineError::NoSpace { path: path.clone(), free_bytes: 3 << 19, needed_bytes: 1 << 20 },
            @"/dev/sdb has 1.5 MiB free; flushmark takes at most half of that and this test needs 1 MiB: free some space or ask for a smaller size"
        );
        insta::assert_snapshot!(
            EngineError::NoMemory { jobs: 256, depth: 1024, block_bytes: 64 << 20, needed_bytes: 16 << 40, available_bytes: 12 << 30 },
            @"256 jobs with 1024 blocks of 64 MiB in flight need 16.0 TiB of memory and 12.0 GiB are available; ask for fewer jobs or less depth"
        );
        insta::assert_snapshot!(
            EngineError::NoMemoryForSorts { jobs: 4, needed_bytes: 40 << 30, available_bytes: 12 << 30 },
            @"4 sorts, and what `null:` keeps of their runs, need 40.0 GiB of memory and 12.0 GiB are available; ask for less memory, fewer records or fewer jobs"
        );
        insta::assert_snapshot!(
            EngineError::OpenFiles { jobs: 256, needed: 544, limit: 256 },
            @"256 jobs need 544 open files and the limit is 256; raise it (ulimit -n 544) or ask for fewer jobs"
        );
        insta::assert_snapshot!(
            EngineError::opening(&path, Errno::ACCESS),
            @"no permission to open /dev/sdb; run as a user who may (devices belong to root), or name a directory of your own"
        );
        insta::assert_snapshot!(
            EngineError::UnknownScheme { given: "emu:x".into(), scheme: "emu".into() },
            @"`emu:x`: targets of the kind `emu:` do not exist in this version; name a directory, a file, a device under /dev, sim:MODEL, or null:"
        );
        insta::assert_snapshot!(
            EngineError::AnotherRun { path: "/srv".into() },
            @"another flushmark run is measuring in /srv; both would measure each other, so wait until it has ended"
        );
        insta::assert_snapshot!(
            EngineError::ReadOnlyFilesystem { path: "/srv".into() },
            @"/srv is on a read-only filesystem; name a directory that can be written to"
        );
    }
}
