//! What a host asks of a drive, and what it hears.

use std::io;

use simdrive::device::SECTOR_BYTES;
use simdrive::time::Ns;

/// What a host asks of a drive. Offsets and lengths are multiples of [`SECTOR_BYTES`].
#[derive(Debug, Clone, Copy)]
pub enum Command<'a> {
    /// Reads; the data is fetched with [`super::Drive::fetch`] when the command is done.
    Read {
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
    },
    /// Writes.
    Write {
        /// Where.
        offset: u64,
        /// What.
        data: &'a [u8],
        /// Safe when acknowledged.
        fua: bool,
    },
    /// Writes zeros, which takes a drive as long as writing anything else.
    Zero {
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Safe when acknowledged.
        fua: bool,
        /// The range keeps its place in the file that holds the data.
        keeps_space: bool,
    },
    /// Says that a range is not needed any more; it is zeros afterwards, until a power cut brings back what it likes. Takes no time.
    Trim {
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Safe when acknowledged: takes as long as a flush.
        fua: bool,
    },
    /// What was acknowledged before is safe afterwards.
    Flush,
}

/// Why a command fails at once.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The drive is off, or dead.
    #[error("the drive has no power")]
    NoPower,
    /// The drive takes no writes any more.
    #[error("the drive is read-only since its last power cut")]
    ReadOnly,
    /// The command goes beyond the drive's end.
    #[error("the drive ends at {capacity_bytes} bytes")]
    BeyondEnd {
        /// Its size.
        capacity_bytes: u64,
    },
    /// The command is not of whole sectors.
    #[error("the drive has sectors of {SECTOR_BYTES} bytes")]
    Alignment,
    /// There is no flash in it.
    #[error("this drive has no flash that would wear")]
    DoesNotWear,
    /// What holds the data failed.
    #[error("the file that holds the data: {0}")]
    Image(#[from] io::Error),
}

/// A command that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The tag with which it came.
    pub tag: u64,
    /// When it was, by the model.
    pub at: Ns,
    /// Why it failed, when what holds the data did not do it.
    pub failed: Option<io::ErrorKind>,
}
