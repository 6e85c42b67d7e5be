//! The errors of spilling.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use thiserror::Error;

use super::run::RECORD_MAX;

/// Records could not be written to a spill space, or not be read back, or an input cannot be merged.
/// The caller's input is unchanged in any case, and no file is left behind.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpillError {
    /// A file could not be created in any of the directories.
    #[error("cannot create a temporary file in {}: {source}", directory.display())]
    Create {
        /// The directory that was tried last.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A run could not be written to any directory.
    #[error("cannot write a run to {} after {}: {source}{}", directory.display(), bytes(*spilled), advice(source))]
    Write {
        /// The directory that was tried last.
        directory: PathBuf,
        /// Number of bytes of the run that had been written.
        spilled: u64,
        /// The system's error.
        source: io::Error,
    },
    /// A run could not be read back.
    #[error("cannot read back a run in {}: {source}", directory.display())]
    Read {
        /// The directory of the run.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A run contains something else than was written.
    #[error(
        "a run in {} is damaged: {what}. The sort was stopped; check the drive and its cabling, or \
         use \
         another directory", directory.display()
    )]
    Damaged {
        /// The directory of the run.
        directory: PathBuf,
        /// The damage found.
        what: String,
    },
    /// More than the memory limit, and no spill space.
    #[error("{limit} bytes of memory are used up, and there is no directory for temporary files")]
    NoDirectory {
        /// The memory limit, in bytes.
        limit: usize,
    },
    /// A record longer than a run can contain. It was not added, and the sorter is unchanged.
    #[error("a record of {0} bytes is too long: expected at most {RECORD_MAX}")]
    TooLong(usize),
    /// A sorted input could not be opened or read.
    #[error("input {} cannot be read: {source}", number + 1)]
    Input {
        /// Its position in the inputs, from 0.
        number: usize,
        /// The error that its functions returned.
        source: io::Error,
    },
    /// An input that should be sorted is not.
    #[error("record {record} of input {} is out of order", number + 1)]
    Disorder {
        /// Its position in the inputs, from 0.
        number: usize,
        /// Number of the record, from 1, that comes before the previous one.
        record: u64,
    },
    /// [`with_progress`](crate::ExternalSorter::with_progress) cancelled the sort.
    #[error("the sort was cancelled while a run was being written")]
    Cancelled,
    /// The sorter has failed before, and records are missing.
    #[error("the sort has failed before and records are missing; start a new one")]
    Failed,
    /// The system could not start a thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

fn bytes(count: u64) -> String {
    if count < 1 << 20 { format!("{} KiB", count >> 10) } else { format!("{} MiB", count >> 20) }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ". Use a directory with more space, or allow more memory"
        }
        _ => "",
    }
}
