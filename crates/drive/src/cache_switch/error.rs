//! Errors of switching a cache.

use std::path::PathBuf;

use blame::Blame;

use crate::cache_switch::StateError;
use crate::{CommandError, Occupied, Signature};

/// Why a cache was not switched. Unless a variant says otherwise, the cache is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
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
    #[error("{} contains {}; switching its cache loses no data: pass --in-use to allow it", .device.display(), list(.what))]
    Signed {
        device: PathBuf,
        /// Signatures found on the drive.
        what: Vec<Signature>,
    },
    #[error("{} has no volatile write cache, so there is nothing to switch", .device.display())]
    NoCache { device: PathBuf },
    #[error("{} has its write cache {} and cannot switch it", .device.display(), if *.on { "on" } else { "off" })]
    Fixed {
        device: PathBuf,
        /// Current state of the cache.
        on: bool,
    },
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
    #[error(
        "{} would cache writes while the kernel sends it no flushes, and every fsync would be a \
         lie; its cache was left off: make the kernel rescan the drive (echo 1 > \
         /sys/block/{}/device/rescan) and repeat",
        .device.display(), .device.file_name().unwrap_or_default().display()
    )]
    KernelWouldNotFlush { device: PathBuf },
    #[error("{cause}; the state of its write cache is now unknown: run `flushmark cache restore \
             {}` to restore it", .device.display())]
    LeftUncertain { device: PathBuf, cause: Box<SwitchError> },
    #[error("several attached drives match {drive}: {}; its record is kept: name the drive that \
             you mean", list(.paths))]
    Ambiguous {
        /// Model and serial number.
        drive: String,
        /// Paths of the matching drives.
        paths: Vec<String>,
    },
    #[error(
        "{drive} is not attached, so its write cache cannot be restored; its record is kept: \
         attach the drive and repeat"
    )]
    Absent {
        /// Model and serial number.
        drive: String,
    },
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Drive(#[from] crate::DriveError),
}

impl SwitchError {
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
