//! Why spilling fails.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use thiserror::Error;

use super::run::LONGEST_RECORD;

/// Why records could not be kept outside of memory, or not be had back. The input is untouched in any case; no file is
/// left behind.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpillError {
    /// No file could be made in any of the directories.
    #[error("no temporary file can be made in {}: {source}", directory.display())]
    Create {
        /// The directory that was tried last.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No directory took a run as a whole.
    #[error("a run of {} could not be written to {}: {source}{}", bytes(*spilled), directory.display(), advice(source))]
    Write {
        /// The directory that was tried last.
        directory: PathBuf,
        /// How many bytes of the run had been written.
        spilled: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A run could not be read back.
    #[error("a run in {} could not be read back: {source}", directory.display())]
    Read {
        /// Where the run is.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A run is not what was written.
    #[error(
        "a run in {} came back damaged: {what}. Nothing more of it is used; check the drive and its cabling, or name \
         another directory", directory.display()
    )]
    Damaged {
        /// Where the run is.
        directory: PathBuf,
        /// What was noticed.
        what: String,
    },
    /// There is nowhere to spill to.
    #[error("{limit} bytes of memory are used up, and no directory for temporary files was named")]
    NoDirectory {
        /// The memory limit.
        limit: usize,
    },
    /// A record longer than what a run can hold. It was not taken, and the sorter is as it was.
    #[error("a record of {0} bytes is longer than the {LONGEST_RECORD} that one may have in all")]
    TooLong(usize),
    /// [`with_progress`](crate::ExternalSorter::with_progress) said not to go on.
    #[error("the sort was cancelled while a run was being written")]
    Cancelled,
    /// The sorter has failed before: records are missing from it.
    #[error("the sort has failed before, and records are missing from it; begin a new one")]
    Failed,
    /// The system gave no thread.
    #[error("no thread could be started to sort with: {0}")]
    Thread(io::Error),
}

fn bytes(count: u64) -> String {
    if count < 1 << 20 { format!("{} KiB", count >> 10) } else { format!("{} MiB", count >> 20) }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ". Name a directory with more room, or allow more memory",
        _ => "",
    }
}
