//! What becomes of a sync on its way to the medium, as far as facts and counters show.

use drive::{BlockDevice, DriveRecord, NoBlockDevice, Transport, WriteCache};

use crate::case::{Case, syncs_by_call};

/// Commits that a test must have made before the absence of flushes means anything.
const COMMITS_LEAST: u64 = 20;
/// With fewer flushes than this for each commit of a single job, flushes are getting lost. A job alone has nobody to share a flush with.
const LOST_FLUSHES_MOST: f64 = 0.02;

/// The fate of a sync.
#[derive(Debug, Clone, PartialEq)]
pub enum FlushPath {
    /// The target is memory: there is no medium.
    InMemory {
        /// What it is, such as `tmpfs` or `zram`.
        what: String,
    },
    /// A mount option keeps the filesystem from sending flushes.
    SwitchedOffByMount {
        /// The option, as the filesystem spells it.
        option: String,
    },
    /// The drive says that it has a volatile cache, and the kernel has been told to believe otherwise: no flush is sent.
    SwitchedOffByQueue {
        /// What the drive says of its cache.
        drive_says: String,
    },
    /// The kernel believes in a volatile cache, a test synced, and no flush reached the device.
    Vanished {
        /// Commits that were confirmed.
        commits: u64,
        /// Flushes that the device counted meanwhile.
        flushes: u64,
    },
    /// The kernel believes that there is no volatile cache, and sends no flush.
    NotNeeded,
    /// The device counted flushes while a test synced.
    Counted {
        /// Flushes for each commit of one job.
        per_commit: f64,
    },
    /// Nobody counts, or nobody has looked.
    OutOfSight,
}

impl FlushPath {
    /// Follows the syncs of a case.
    pub fn of(case: &Case<'_>) -> FlushPath {
        if let Some(what) = memory(case) {
            return FlushPath::InMemory { what };
        }
        let mount = case.place.and_then(|place| place.mount.as_ref());
        if let Some(option) = mount.and_then(drive::Mount::flushes_disabled_by) {
            return FlushPath::SwitchedOffByMount { option: option.to_owned() };
        }
        if let Some(drive_says) = case.drives().into_iter().find_map(|drive| overridden(drive, case.records)) {
            return FlushPath::SwitchedOffByQueue { drive_says };
        }
        if case.cache_belief() == Some(WriteCache::WriteThrough) {
            return FlushPath::NotNeeded;
        }
        let counted = case.small_commits().filter(|result| syncs_by_call(result)).find_map(|result| {
            let flushes = result.proof.device?.flushes?;
            Some((result.proof.commits, flushes, result.flushes_per_commit()?))
        });
        match counted {
            Some((commits, flushes, per_commit))
                if commits >= COMMITS_LEAST
                    && per_commit < LOST_FLUSHES_MOST
                    && case.cache_belief() == Some(WriteCache::WriteBack) =>
            {
                FlushPath::Vanished { commits, flushes }
            }
            Some((_, flushes, per_commit)) if flushes > 0 => FlushPath::Counted { per_commit },
            _ => FlushPath::OutOfSight,
        }
    }

    /// Why a confirmed commit is certainly not durable here, as half a sentence; `None` where it may be.
    pub(crate) fn not_durable_because(&self) -> Option<String> {
        match self {
            FlushPath::InMemory { what } => {
                Some(format!("{what} keeps everything in memory, a power cut loses all of it"))
            }
            FlushPath::SwitchedOffByMount { option } => {
                Some(format!("the filesystem is mounted with `{option}`, so that no sync flushes the drive's cache"))
            }
            FlushPath::SwitchedOffByQueue { .. } => Some(
                "the kernel has been told to send no flushes to a drive that says it has a volatile cache".to_owned(),
            ),
            FlushPath::Vanished { .. } => Some(
                "syncs are confirmed without a flush reaching the device, so that a power cut loses commits".to_owned(),
            ),
            FlushPath::NotNeeded | FlushPath::Counted { .. } | FlushPath::OutOfSight => None,
        }
    }
}

fn memory(case: &Case<'_>) -> Option<String> {
    let place = case.place?;
    if let Some(NoBlockDevice::Memory { fs_type }) = place.no_block_device() {
        return Some(fs_type.clone());
    }
    let drives = case.drives();
    let in_memory = |drive: &&BlockDevice| match drive.transport {
        Transport::Zram => Some("zram".to_owned()),
        Transport::Ram => Some("a RAM disk".to_owned()),
        Transport::NullBlk => Some("null_blk, the kernel's test device,".to_owned()),
        // Every distribution mounts a tmpfs there.
        Transport::Loop if drive.backing_file.as_ref().is_some_and(|file| file.starts_with("/dev/shm")) => {
            Some("a loop device on a file in /dev/shm".to_owned())
        }
        _ => None,
    };
    drives.iter().find_map(in_memory)
}

/// What the drive says of its cache, where the kernel has been told otherwise. Writing `write through` to `queue/write_cache` changes
/// the kernel's view alone (Documentation/ABI/stable/sysfs-block), while `scsi_disk/*/cache_type` still shows the drive's own word.
fn overridden(drive: &BlockDevice, records: &[DriveRecord]) -> Option<String> {
    if drive.queue.write_cache != Some(WriteCache::WriteThrough) {
        return None;
    }
    // The drive's own word counts more than what its driver heard at the start.
    let record = records.iter().find(|record| record.device.device == drive.disk_device());
    if let Some(reading) = record.and_then(|record| record.cache.drive.told()) {
        return reading.enabled.then(|| "its write cache is on".to_owned());
    }
    let says = drive.cache_type.as_deref()?;
    says.starts_with("write back").then(|| says.to_owned())
}
