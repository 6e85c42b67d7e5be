//! Why a file is not replaced.

use std::io;
use std::path::PathBuf;

use drive::{DriveError, Occupied};
use rustix::io::Errno;

/// A file cannot be replaced. Except for [`ReplaceError::InUse`], the message does not contain the
/// path: the caller knows what it wanted to write there.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The file or device is in use as a drive.
    #[error(
        "{} is in use and will not be overwritten: {}; choose another file",
        path.display(), reasons(by)
    )]
    InUse {
        /// The file, without symbolic links, or the device as the caller named it.
        path: PathBuf,
        /// Who uses it; never empty.
        by: Vec<Occupied>,
    },
    /// The kernel's tables do not show whether the file is in use.
    #[error(transparent)]
    Occupancy(#[from] DriveError),
    /// The file or its directory cannot be opened, or the content cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ReplaceError {
    /// Returns whether the file could be written, but must not be.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, ReplaceError::InUse { .. })
    }
}

impl From<Errno> for ReplaceError {
    fn from(errno: Errno) -> Self {
        ReplaceError::Io(errno.into())
    }
}

fn reasons(by: &[Occupied]) -> String {
    by.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
