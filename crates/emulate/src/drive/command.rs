//! Commands of a host, and their results.

use std::io;

use simdrive::{Ns, SECTOR_BYTES};

/// A host's command. Offsets and lengths are multiples of [`SECTOR_BYTES`].
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    /// Reads; the data is fetched with [`super::Drive::fetch`] when the command is done.
    Read { offset: u64, bytes: u64 },
    Write {
        offset: u64,
        /// Data of whole sectors.
        data: &'a [u8],
        /// Forced unit access: safe when acknowledged.
        fua: bool,
    },
    /// Writes zeros, which takes as long as writing anything else.
    Zero {
        offset: u64,
        bytes: u64,
        /// Forced unit access: safe when acknowledged.
        fua: bool,
        /// True if the range stays allocated in the image file.
        keeps_space: bool,
    },
    /// Discards a range. It reads as zeros afterwards; a power cut may bring back anything. Takes
    /// no time.
    Trim {
        offset: u64,
        bytes: u64,
        /// Safe when acknowledged: takes as long as a flush.
        fua: bool,
    },
    /// Makes all writes safe that were acknowledged before.
    Flush,
}

/// Why a command failed immediately.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The drive is off, or dead.
    #[error("the drive has no power")]
    NoPower,
    #[error("the drive is read-only since its last power cut")]
    ReadOnly,
    #[error("the drive ends at {capacity_bytes} bytes")]
    BeyondEnd { capacity_bytes: u64 },
    #[error("the drive has sectors of {SECTOR_BYTES} bytes")]
    Alignment,
    #[error("this drive has no flash that would wear")]
    DoesNotWear,
    #[error("the image file failed: {0}")]
    Image(#[from] io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    pub tag: u64,
    /// Time at which the model finished it.
    pub at: Ns,
    /// The error, if the image failed.
    pub failed: Option<io::ErrorKind>,
}
