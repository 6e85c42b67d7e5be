//! The errors of replacing a file.

use std::io;
use std::path::PathBuf;

use blame::Blame;
use drive::{DriveError, Occupied};
use rustix::io::Errno;

/// A file cannot be replaced. The message contains the path if the file is refused for what it is.
/// Errors of the kernel do not: the caller knows what it wanted to write there.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    #[error(
        "{} is in use and will not be overwritten: {}; choose another file",
        path.display(), reasons(by)
    )]
    InUse {
        /// The file, without symbolic links, or the device as the caller named it.
        path: PathBuf,
        /// Its users; never empty.
        by: Vec<Occupied>,
    },
    /// A block device holds drives' content, not files.
    #[error("{} is a block device and will not be overwritten; choose a file", .0.display())]
    BlockDevice(PathBuf),
    /// A new file among the device nodes would be in memory, under the name of a missing device.
    #[error("{} does not exist, and no file is created among the devices; choose another file", .0.display())]
    NoSuchDevice(PathBuf),
    #[error(transparent)]
    Occupancy(#[from] DriveError),
    /// The file or its directory cannot be opened, or the content cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ReplaceError {
    pub const fn blame(&self) -> Blame {
        match self {
            ReplaceError::InUse { .. } | ReplaceError::BlockDevice(_) => Blame::Safety,
            ReplaceError::NoSuchDevice(_) => Blame::Usage,
            ReplaceError::Occupancy(_) | ReplaceError::Io(_) => Blame::System,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_drive_is_refused() {
        let device = PathBuf::from("/dev/sdx");
        let in_use =
            ReplaceError::InUse { path: device.clone(), by: vec![Occupied::Claim { device }] };
        assert_eq!(in_use.blame(), Blame::Safety);
        let said = in_use.to_string();
        assert!(said.starts_with("/dev/sdx is in use and will not be overwritten: "), "{said}");
        assert!(said.ends_with("; choose another file"), "{said}");
        let device = ReplaceError::BlockDevice("/dev/sdx".into());
        assert_eq!(device.blame(), Blame::Safety);
        assert_eq!(ReplaceError::from(Errno::ACCESS).blame(), Blame::System);
    }

    /// A reader that goes away is found by its error, not by its words.
    #[test]
    fn the_kernels_error_is_a_cause() {
        let error = ReplaceError::from(Errno::PIPE);
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
        assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::BrokenPipe));
    }
}
