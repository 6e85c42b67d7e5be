//! Why a cache was not switched.

use std::path::PathBuf;

use crate::cache_switch::StateError;
use crate::{CommandError, Occupied, Signature};

/// Why a cache was not switched. Unless it says otherwise, the cache stands as it stood.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// A partition or a layer has no cache of its own.
    #[error("{} is no drive but lies on one: name the drive itself (`flushmark drives` shows which)", .device.display())]
    NoDrive {
        /// As asked.
        device: PathBuf,
    },
    /// Somebody uses the drive.
    #[error("{} is in use: {}; switching its cache loses no data, and --in-use allows it", .device.display(), list(.by))]
    InUse {
        /// The drive.
        device: PathBuf,
        /// By whom.
        by: Vec<Occupied>,
    },
    /// Somebody's data lies on the drive.
    #[error("{} holds {}; switching its cache loses no data, and --in-use allows it", .device.display(), list(.what))]
    Signed {
        /// The drive.
        device: PathBuf,
        /// What was found.
        what: Vec<Signature>,
    },
    /// There is nothing to switch.
    #[error("{} has no volatile write cache, so there is nothing to switch", .device.display())]
    NoCache {
        /// The drive.
        device: PathBuf,
    },
    /// The drive says that it cannot.
    #[error("{} keeps its write cache {} and has no switch for it", .device.display(), if *.on { "on" } else { "off" })]
    Fixed {
        /// The drive.
        device: PathBuf,
        /// As it stands.
        on: bool,
    },
    /// The drive accepted the command, and its cache stands as before.
    #[error(
        "{} accepted the command to switch its write cache {}, but says that it stands as before: this drive (or what stands before it, a RAID controller or USB bridge) cannot be trusted with the setting",
        .device.display(), if *.on { "on" } else { "off" }
    )]
    SaidAndDidNot {
        /// The drive.
        device: PathBuf,
        /// What was asked.
        on: bool,
    },
    /// The cache would be on, and the kernel would send no flushes. It was switched off again.
    #[error(
        "{} would cache writes while the kernel sends it no flushes, so that every fsync would be a lie; its cache was left off: let the kernel look again (echo 1 > /sys/block/{}/device/rescan) and repeat",
        .device.display(), .device.file_name().unwrap_or_default().display()
    )]
    KernelWouldNotFlush {
        /// The drive.
        device: PathBuf,
    },
    /// The switch failed, and so did the way back.
    #[error("{cause}; how its write cache stands now is uncertain: `flushmark cache restore {}` puts it back", .device.display())]
    LeftUncertain {
        /// The drive.
        device: PathBuf,
        /// What went wrong first.
        cause: Box<SwitchError>,
    },
    /// Several attached drives fit a record.
    #[error("{drive} cannot be told from its twin: attached are {}; its record is kept, name the one that is meant", list(.paths))]
    Ambiguous {
        /// Model and serial number.
        drive: String,
        /// Their paths.
        paths: Vec<String>,
    },
    /// The drive on record is not there.
    #[error("{drive} is not attached, so its write cache cannot be put back; its record is kept: attach it and repeat")]
    Absent {
        /// Model and serial number.
        drive: String,
    },
    /// The drive did not answer, or this user may not ask.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The state file.
    #[error(transparent)]
    State(#[from] StateError),
    /// A fact about the drive that safety needs.
    #[error(transparent)]
    Drive(#[from] crate::DriveError),
}

impl SwitchError {
    /// Whether it was refused for safety, and not for want of anything.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            SwitchError::InUse { .. }
                | SwitchError::Signed { .. }
                | SwitchError::KernelWouldNotFlush { .. }
                | SwitchError::State(StateError::Locked { .. })
        )
    }

    /// Whether the person asked for what cannot be.
    pub fn is_wrong_use(&self) -> bool {
        matches!(
            self,
            SwitchError::NoDrive { .. }
                | SwitchError::NoCache { .. }
                | SwitchError::Fixed { .. }
                | SwitchError::Command(CommandError::NotSupported { .. })
        )
    }
}

fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
