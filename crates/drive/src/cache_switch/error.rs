//! Errors of switching a cache.

use std::path::PathBuf;

use blame::Blame;

use crate::cache_switch::StateError;
use crate::{CommandError, Occupied, Signature};

/// Why a cache was not switched. Unless a variant says otherwise, the cache is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// A partition or a layer does not have a cache.
    #[error("{} is not a whole drive; name the drive below it (`flushmark drives` lists the \
             drives)", .device.display())]
    NoDrive {
        /// The path that the user named.
        device: PathBuf,
    },
    #[error("{} is in use: {}; switching its cache loses no data: pass --in-use to allow it", .device.display(), list(.by))]
    InUse {
        device: PathBuf,
        /// Its users: mounts, holders, swap, claims.
        by: Vec<Occupied>,
    },
    /// The drive contains data.
    #[error("{} contains {}; switching its cache loses no data: pass --in-use to allow it", .device.display(), list(.what))]
    Signed {
        device: PathBuf,
        /// Signatures found on the drive.
        what: Vec<Signature>,
    },
    /// The drive has no volatile cache.
    #[error("{} has no volatile write cache, so there is nothing to switch", .device.display())]
    NoCache { device: PathBuf },
    /// The drive reports that its cache cannot be switched.
    #[error("{} has its write cache {} and cannot switch it", .device.display(), if *.on { "on" } else { "off" })]
    Fixed {
        device: PathBuf,
        /// Current state of the cache.
        on: bool,
    },
    /// The drive accepted the command, but its cache did not change.
    #[error(
        "{} accepted the command to switch its write cache {}, but reports it unchanged: this \
         drive (or a RAID controller or USB bridge in front of it) cannot be trusted with the \
         setting",
        .device.display(), if *.on { "on" } else { "off" }
    )]
    SaidAndDidNot {
        device: PathBuf,
        /// The requested state.
        on: bool,
    },
    /// The cache would be on while the kernel sends no flushes. It was switched off again.
    #[error(
        "{} would cache writes while the kernel sends it no flushes, and every fsync would be a \
         lie; its cache was left off: make the kernel rescan the drive (echo 1 > \
         /sys/block/{}/device/rescan) and repeat",
        .device.display(), .device.file_name().unwrap_or_default().display()
    )]
    KernelWouldNotFlush { device: PathBuf },
    /// The switch failed, and so did the attempt to undo it.
    #[error("{cause}; the state of its write cache is now unknown: run `flushmark cache restore \
             {}` to restore it", .device.display())]
    LeftUncertain { device: PathBuf, cause: Box<SwitchError> },
    /// Several attached drives match a record.
    #[error("several attached drives match {drive}: {}; its record is kept: name the drive that \
             you mean", list(.paths))]
    Ambiguous {
        /// Model and serial number.
        drive: String,
        /// Paths of the matching drives.
        paths: Vec<String>,
    },
    /// The drive in the record is not attached.
    #[error(
        "{drive} is not attached, so its write cache cannot be restored; its record is kept: \
         attach the drive and repeat"
    )]
    Absent {
        /// Model and serial number.
        drive: String,
    },
    /// The drive did not answer, or this user may not ask.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The state file cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// A safety check could not be made.
    #[error(transparent)]
    Drive(#[from] crate::DriveError),
}

impl SwitchError {
    /// The party at fault.
    pub const fn blame(&self) -> Blame {
        match self {
            SwitchError::NoDrive { .. }
            | SwitchError::NoCache { .. }
            | SwitchError::Fixed { .. }
            | SwitchError::Command(CommandError::NotSupported { .. }) => Blame::Usage,
            SwitchError::InUse { .. }
            | SwitchError::Signed { .. }
            | SwitchError::KernelWouldNotFlush { .. }
            | SwitchError::State(StateError::Locked { .. }) => Blame::Safety,
            _ => Blame::System,
        }
    }
}

fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
