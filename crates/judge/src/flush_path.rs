//! The fate of a sync on its way to the medium, as far as facts and counters show.

use drive::{BlockDevice, DriveRecord, NoBlockDevice, Place, Transport, WriteCache};

use crate::case::{Case, syncs_by_call};

/// Commits that a test must have made before the absence of flushes is significant.
const COMMITS_MIN: u64 = 20;
/// With fewer flushes per commit of a single job than this, flushes are lost: a single job has no
/// other job to share a flush with.
const LOST_FLUSHES_MAX: f64 = 0.02;

#[derive(Debug, Clone, PartialEq)]
pub enum FlushPath {
    InMemory {
        /// For example `tmpfs` or `zram`.
        what: String,
    },
    /// A mount option disables flushes.
    SwitchedOffByMount {
        /// As written in the mount options.
        option: String,
    },
    /// The drive reports a volatile cache, but the kernel is configured to send no flush.
    SwitchedOffByQueue {
        /// The cache state as the drive reports it.
        drive_says: String,
    },
    /// The kernel assumes a volatile cache and a test synced, but no flush reached the device.
    Vanished {
        commits: u64,
        /// Flushes counted by the device during the test.
        flushes: u64,
    },
    /// The kernel assumes no volatile cache and sends no flush.
    NotNeeded,
    /// The device counted flushes while a test synced.
    Counted {
        /// Flushes per commit of a single job.
        per_commit: f64,
    },
    /// No counter was available, or no test synced.
    Unobserved,
}

impl FlushPath {
    pub fn of(case: &Case<'_>) -> FlushPath {
        if let Some(what) = memory(case) {
            return FlushPath::InMemory { what };
        }
        let mount = case.place.and_then(|place| place.mount.as_ref());
        if let Some(option) = mount.and_then(drive::Mount::flushes_disabled_by) {
            return FlushPath::SwitchedOffByMount { option: option.to_owned() };
        }
        if let Some(drive_says) =
            case.drives().into_iter().find_map(|drive| overridden(drive, case.records))
        {
            return FlushPath::SwitchedOffByQueue { drive_says };
        }
        if case.cache_belief() == Some(WriteCache::WriteThrough) {
            return FlushPath::NotNeeded;
        }
        let counted =
            case.small_commits().filter(|result| syncs_by_call(result)).find_map(|result| {
                let flushes = result.proof.device?.flushes?;
                Some((result.proof.commits, flushes, result.flushes_per_commit()?))
            });
        match counted {
            Some((commits, flushes, per_commit))
                if commits >= COMMITS_MIN
                    && per_commit < LOST_FLUSHES_MAX
                    && case.cache_belief() == Some(WriteCache::WriteBack) =>
            {
                FlushPath::Vanished { commits, flushes }
            }
            Some((_, flushes, per_commit)) if flushes > 0 => FlushPath::Counted { per_commit },
            _ => FlushPath::Unobserved,
        }
    }

    /// Why an acknowledged commit is certainly not durable, as a clause; `None` if it may be.
    pub(crate) fn not_durable_because(&self) -> Option<String> {
        match self {
            FlushPath::InMemory { what } => {
                Some(format!("{what} keeps everything in memory, and a power cut loses all of it"))
            }
            FlushPath::SwitchedOffByMount { option } => {
                Some(format!("the filesystem is mounted with `{option}`, so no sync flushes the \
                              drive's cache"))
            }
            FlushPath::SwitchedOffByQueue { .. } => {
                Some("the kernel is configured to send no flushes to a drive that reports a \
                      volatile cache".to_owned())
            }
            FlushPath::Vanished { .. } => Some(
                "syncs are acknowledged although no flush reaches the device, so a power cut loses \
                 commits".to_owned(),
            ),
            FlushPath::NotNeeded | FlushPath::Counted { .. } | FlushPath::Unobserved => None,
        }
    }
}

fn memory(case: &Case<'_>) -> Option<String> {
    kept_in_memory(case.place?)
}

/// The name of a storage that keeps everything written to this place in memory, such as `tmpfs`;
/// `None` if a drive stores it.
pub fn kept_in_memory(place: &Place) -> Option<String> {
    if let Some(NoBlockDevice::Memory { fs_type }) = place.no_block_device() {
        return Some(fs_type.clone());
    }
    let drives = place.block_device().map(BlockDevice::drives).unwrap_or_default();
    let in_memory = |drive: &&BlockDevice| match drive.transport {
        Transport::Zram => Some("zram".to_owned()),
        Transport::Ram => Some("a RAM disk".to_owned()),
        Transport::NullBlk => Some("null_blk, the kernel's test device,".to_owned()),
        // /dev/shm is a tmpfs on every distribution.
        Transport::Loop
            if drive.backing_file.as_ref().is_some_and(|file| file.starts_with("/dev/shm")) =>
        {
            Some("a loop device on a file in /dev/shm".to_owned())
        }
        _ => None,
    };
    drives.iter().find_map(in_memory)
}

/// The cache state as the drive reports it, if the kernel's setting contradicts it. Writing
/// `write through` to `queue/write_cache` changes only the kernel's view
/// (Documentation/ABI/stable/sysfs-block); `scsi_disk/*/cache_type` still shows the drive's report.
fn overridden(drive: &BlockDevice, records: &[DriveRecord]) -> Option<String> {
    if drive.queue.write_cache != Some(WriteCache::WriteThrough) {
        return None;
    }
    // A fresh answer of the drive outweighs what its driver read when the drive was attached.
    let record = records.iter().find(|record| record.device.device == drive.disk_device());
    if let Some(reading) = record.and_then(|record| record.cache.drive.told()) {
        return reading.enabled.then(|| "its write cache is on".to_owned());
    }
    let says = drive.cache_type.as_deref()?;
    says.starts_with("write back").then(|| says.to_owned())
}
