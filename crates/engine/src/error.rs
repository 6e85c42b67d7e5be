//! The reasons why a target cannot be opened or a test cannot run. Each message is one sentence:
//! the problem, its cause, and what to do.

use std::path::PathBuf;

use blame::Blame;
use drive::{DriveError, Occupied, Signature};
use nbd::{InvalidUri, NbdError};
use rados::RadosError;
use rustix::io::Errno;
use workload::format_bytes;

use crate::job::plain;

/// A target cannot be opened or a test cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The target has an unknown prefix.
    #[error(
        "unknown kind of target `{scheme}:` in `{given}`; expected a directory, a file, a device \
         under /dev, sim:MODEL, nbd://HOST/EXPORT, rbd:POOL/IMAGE, rados:POOL, or null:"
    )]
    UnknownScheme {
        /// The target as given by the user.
        given: String,
        /// The part before the colon.
        scheme: String,
    },
    /// The address of an export is invalid.
    #[error(transparent)]
    InvalidUri(#[from] InvalidUri),
    /// An export cannot be reached.
    #[error("cannot use {given}: {source}")]
    Export {
        /// The target as given by the user.
        given: String,
        source: NbdError,
    },
    /// A later connection found an export of another size or with other flags.
    #[error("{given} has changed since the run began; run it again")]
    ExportChanged {
        /// The target as given by the user.
        given: String,
    },
    /// The export is read-only.
    #[error("{given} is a read-only export; only read-only plans can run on it")]
    ReadOnlyExport {
        /// The target as given by the user.
        given: String,
    },
    /// A Ceph cluster, or what was named in it, cannot be used.
    #[error("cannot use {given}: {source}")]
    Ceph {
        /// The target as given by the user.
        given: String,
        source: RadosError,
    },
    /// The name of an image or a pool is incomplete.
    #[error("invalid target `{given}`: expected {expected}")]
    CephName {
        /// The target as given by the user.
        given: String,
        expected: &'static str,
    },
    /// Others have the image open.
    #[error(
        "{given} is in use and will not be overwritten: {} has it open; use another image, or \
         close it there", .users.join(", ")
    )]
    ImageInUse {
        /// The target as given by the user.
        given: String,
        /// Addresses of the clients.
        users: Vec<String>,
    },
    /// Existing content would be overwritten, without permission from the user.
    #[error(
        "{given} would be overwritten; to allow this, add --destroy-data, or use rados:POOL, where \
         flushmark creates objects of its own"
    )]
    WouldOverwriteImage {
        /// The target as given by the user.
        given: String,
    },
    /// The target could not be inspected.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// No permission to create a file in the directory, or to open the file or device.
    #[error("no permission to {action} {}; {advice}", .path.display())]
    Permission {
        /// The verb, such as `write to` or `open`.
        action: &'static str,
        /// The directory, file or device.
        path: PathBuf,
        /// The advice on what to do instead.
        advice: &'static str,
    },
    /// The filesystem is mounted read-only.
    #[error("{} is on a read-only filesystem; use a writable directory", .path.display())]
    ReadOnlyFilesystem {
        /// A path on the filesystem.
        path: PathBuf,
    },
    /// The device is read-only.
    #[error("{} is a read-only device; only read-only plans can run on it", .path.display())]
    ReadOnlyDevice {
        /// The path of the device.
        path: PathBuf,
    },
    /// Existing content would be overwritten, without permission from the user.
    #[error("{} would be overwritten{}; to allow this, add --destroy-data, or use a directory, \
             where flushmark creates temporary files", .path.display(), holds(.signatures))]
    WouldOverwrite {
        /// The device or file.
        path: PathBuf,
        /// The signatures found on it.
        signatures: Vec<Signature>,
    },
    /// The device or file is in use.
    #[error("{} is in use and will not be overwritten: {}; use another target", .path.display(), reasons(.occupied))]
    Occupied {
        /// The device or file.
        path: PathBuf,
        /// The users of the device or file.
        occupied: Vec<Occupied>,
    },
    /// Another run is using the same directory.
    #[error("another flushmark run is using {}; concurrent runs would distort each other's \
             results, so wait until it ends", .path.display())]
    AnotherRun {
        /// The directory.
        path: PathBuf,
    },
    /// Not enough free space.
    #[error("{} has {} free, of which flushmark uses at most half, but this test needs {}; free \
             some space or use a smaller size", .path.display(), format_bytes_rounded(*.free_bytes), format_bytes(*.needed_bytes))]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Bytes available to this user.
        free_bytes: u64,
        /// The minimum number of bytes.
        needed_bytes: u64,
    },
    /// The file or device is smaller than the smallest part of a test.
    #[error("{} has a size of {}, but this test needs at least {}", .path.display(), format_bytes_rounded(*.size_bytes), format_bytes(*.needed_bytes))]
    TooSmall {
        /// The file or device.
        path: PathBuf,
        /// The size of the file or device.
        size_bytes: u64,
        /// The minimum number of bytes.
        needed_bytes: u64,
    },
    /// Not enough memory for the buffers.
    #[error("{jobs} jobs with {depth} blocks of {} in flight need {} of memory, but only {} may be \
             used; use fewer jobs or a lower depth", format_bytes(*.block_bytes), format_bytes_rounded(*.needed_bytes), format_bytes_rounded(*.available_bytes))]
    NoMemory {
        /// Number of jobs.
        jobs: u32,
        /// I/Os in flight per job.
        depth: u32,
        /// Block size in bytes.
        block_bytes: u64,
        /// Bytes required.
        needed_bytes: u64,
        /// Bytes that may be used.
        available_bytes: u64,
    },
    /// Not enough memory for the sorts.
    #[error("{jobs} sorts, including runs kept in memory by `null:`, need {} of memory, but only \
             {} may be used; use less memory per sort, fewer records or fewer jobs", format_bytes_rounded(*.needed_bytes), format_bytes_rounded(*.available_bytes))]
    NoMemoryForSorts {
        /// Number of concurrent sorts.
        jobs: u32,
        /// Bytes required.
        needed_bytes: u64,
        /// Bytes that may be used.
        available_bytes: u64,
    },
    /// The limit on open files is too low.
    #[error(
        "{jobs} jobs need {needed} open files, but the limit is {limit}; raise it (ulimit -n \
         {needed}) or use fewer jobs"
    )]
    OpenFiles {
        /// Number of jobs.
        jobs: u32,
        /// Number of files required.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// A thread could not be started.
    #[error(
        "cannot start a thread for job {job} of {jobs} ({}); raise the limit (ulimit -u) or use \
         fewer jobs",
        plain(*.errno)
    )]
    Threads {
        /// Number of the job.
        job: u32,
        /// Number of jobs.
        jobs: u32,
        /// The error of the system.
        errno: Errno,
    },
    /// A call on the target failed before the measurement.
    #[error("cannot {action} {}: {}", .path.display(), plain(*.errno))]
    Call {
        /// The verb, such as `open` or `prepare`.
        action: &'static str,
        /// The target.
        path: PathBuf,
        /// The error of the kernel.
        errno: Errno,
    },
    /// An asynchronous interface that was requested by name is not available.
    #[error("{engine} is not available: {}; {advice}", plain(*.errno))]
    Interface {
        /// The name of the interface.
        engine: &'static str,
        /// The error of the kernel.
        errno: Errno,
        /// The advice on what to do instead.
        advice: &'static str,
    },
    /// A stop was requested before the measurement.
    #[error("interrupted before the test began")]
    Interrupted,
}

impl EngineError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            EngineError::UnknownScheme { .. }
            | EngineError::InvalidUri(_)
            | EngineError::CephName { .. } => Blame::Usage,
            EngineError::Ceph { source, .. } => source.blame(),
            EngineError::Drive(error) => error.blame(),
            EngineError::WouldOverwrite { .. }
            | EngineError::WouldOverwriteImage { .. }
            | EngineError::ImageInUse { .. }
            | EngineError::Occupied { .. }
            | EngineError::AnotherRun { .. } => Blame::Safety,
            _ => Blame::System,
        }
    }

    /// Classifies a failed open of `path` by its cause.
    pub(crate) fn opening(path: &std::path::Path, errno: Errno) -> EngineError {
        let path = path.to_owned();
        match errno {
            Errno::ACCESS | Errno::PERM => EngineError::Permission {
                action: "open",
                path,
                advice: "run as a user with access (devices require root), or use a directory that \
                         you own",
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
            let names: Vec<String> =
                some.iter().map(|signature| signature.kind.to_string()).collect();
            format!(" and holds {}", names.join(", "))
        }
    }
}

fn reasons(occupied: &[Occupied]) -> String {
    occupied.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A size rounded to three digits, which is enough to see that something is too small.
fn format_bytes_rounded(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift {
            return format!(
                "{:.1} {unit}",
                bytes as f64 / f64::from(1 << (shift / 2)) / f64::from(1 << (shift / 2))
            );
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
            EngineError::WouldOverwrite { path: path.clone(), signatures: vec![] },
            @"/dev/sdb would be overwritten; to allow this, add --destroy-data, or use a directory, where flushmark creates temporary files"
        );
        let signatures = vec![Signature { kind: drive::SignatureKind::Xfs, offset_bytes: 0 }];
        insta::assert_snapshot!(
            EngineError::WouldOverwrite { path: path.clone(), signatures },
            @"/dev/sdb would be overwritten and holds an XFS filesystem; to allow this, add --destroy-data, or use a directory, where flushmark creates temporary files"
        );
        let occupied =
            vec![Occupied::Mount { device: "/dev/sdb1".into(), mount_point: "/srv".into() }];
        insta::assert_snapshot!(
            EngineError::Occupied { path: path.clone(), occupied },
            @"/dev/sdb is in use and will not be overwritten: /dev/sdb1 is mounted on /srv; use another target"
        );
        insta::assert_snapshot!(
            EngineError::NoSpace { path: path.clone(), free_bytes: 3 << 19, needed_bytes: 1 << 20 },
            @"/dev/sdb has 1.5 MiB free, of which flushmark uses at most half, but this test needs 1 MiB; free some space or use a smaller size"
        );
        insta::assert_snapshot!(
            EngineError::NoMemory { jobs: 256, depth: 1024, block_bytes: 64 << 20, needed_bytes: 16 << 40, available_bytes: 12 << 30 },
            @"256 jobs with 1024 blocks of 64 MiB in flight need 16.0 TiB of memory, but only 12.0 GiB may be used; use fewer jobs or a lower depth"
        );
        insta::assert_snapshot!(
            EngineError::NoMemoryForSorts { jobs: 4, needed_bytes: 40 << 30, available_bytes: 12 << 30 },
            @"4 sorts, including runs kept in memory by `null:`, need 40.0 GiB of memory, but only 12.0 GiB may be used; use less memory per sort, fewer records or fewer jobs"
        );
        insta::assert_snapshot!(
            EngineError::OpenFiles { jobs: 256, needed: 544, limit: 256 },
            @"256 jobs need 544 open files, but the limit is 256; raise it (ulimit -n 544) or use fewer jobs"
        );
        insta::assert_snapshot!(
            EngineError::opening(&path, Errno::ACCESS),
            @"no permission to open /dev/sdb; run as a user with access (devices require root), or use a directory that you own"
        );
        insta::assert_snapshot!(
            EngineError::UnknownScheme { given: "emu:x".into(), scheme: "emu".into() },
            @"unknown kind of target `emu:` in `emu:x`; expected a directory, a file, a device under /dev, sim:MODEL, nbd://HOST/EXPORT, rbd:POOL/IMAGE, rados:POOL, or null:"
        );
        insta::assert_snapshot!(
            EngineError::AnotherRun { path: "/srv".into() },
            @"another flushmark run is using /srv; concurrent runs would distort each other's results, so wait until it ends"
        );
        insta::assert_snapshot!(
            EngineError::ReadOnlyFilesystem { path: "/srv".into() },
            @"/srv is on a read-only filesystem; use a writable directory"
        );
    }
}
