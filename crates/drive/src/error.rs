//! Errors of reading facts.

use std::io;
use std::path::PathBuf;

use blame::Blame;

use crate::DeviceNumber;

/// Why a required fact could not be read. Optional facts are `None` instead.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error("{} does not exist: name an existing directory, regular file or block device", .path.display())]
    NoSuchPath { path: PathBuf },

    /// The path may exist, but this user has no access.
    #[error("cannot access {}: {source}", .path.display())]
    Inaccessible { path: PathBuf, source: io::Error },

    #[error("{} is a {kind}: name a directory, a regular file or a block device", .path.display())]
    WrongKind {
        /// The path after following links.
        path: PathBuf,
        /// The kind: `character device`, `socket`, `named pipe`.
        kind: &'static str,
    },

    /// A kernel table that safety checks depend on is missing.
    #[error("cannot read {}, which shows what is in use: {source}; is procfs mounted?", .path.display())]
    Table {
        /// Expected path of the table.
        path: PathBuf,
        source: io::Error,
    },

    #[error(
        "line {line} of /proc/self/mountinfo is malformed, so flushmark cannot tell what is \
         mounted; please report it: {text}"
    )]
    MalformedMount {
        /// Counted from 1.
        line: usize,
        /// The line, as far as it is text.
        text: String,
    },

    /// No mount contains the path (possible in a chroot without mounts).
    #[error("no mount in /proc/self/mountinfo contains {}: run outside the chroot, or mount the \
             directory into it", .path.display())]
    NoMount {
        /// The path after following links.
        path: PathBuf,
    },

    #[error(
        "/sys/dev/block does not list the block device {device}: is sysfs mounted, and is the \
         device still there?"
    )]
    NoSuchDevice {
        /// Major and minor number of the device.
        device: DeviceNumber,
    },

    #[error(
        "the counters of block device {device} in sysfs are malformed; please report them: {text}"
    )]
    MalformedCounters {
        /// Major and minor number of the whole disk.
        device: DeviceNumber,
        /// Content of `stat`.
        text: String,
    },

    #[error("cannot read {} to see whether it contains data: {source}", .path.display())]
    Unreadable {
        /// The device or image.
        path: PathBuf,
        source: io::Error,
    },
}

impl DriveError {
    pub const fn blame(&self) -> Blame {
        match self {
            DriveError::NoSuchPath { .. } | DriveError::WrongKind { .. } => Blame::Usage,
            _ => Blame::System,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_names_problem_reason_and_remedy() {
        let path = || PathBuf::from("/srv/db");
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let device = DeviceNumber { major: 8, minor: 1 };
        let all = [
            DriveError::NoSuchPath { path: path() },
            DriveError::Inaccessible { path: path(), source: denied() },
            DriveError::WrongKind { path: "/dev/null".into(), kind: "character device" },
            DriveError::Table { path: "/proc/self/mountinfo".into(), source: denied() },
            DriveError::MalformedMount { line: 3, text: "36 35 98:0 /".to_owned() },
            DriveError::NoMount { path: path() },
            DriveError::NoSuchDevice { device },
            DriveError::MalformedCounters { device, text: "1 2 x".to_owned() },
            DriveError::Unreadable { path: "/dev/sda".into(), source: denied() },
        ];
        let text = all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @"
        /srv/db does not exist: name an existing directory, regular file or block device
        cannot access /srv/db: permission denied
        /dev/null is a character device: name a directory, a regular file or a block device
        cannot read /proc/self/mountinfo, which shows what is in use: permission denied; is procfs mounted?
        line 3 of /proc/self/mountinfo is malformed, so flushmark cannot tell what is mounted; please report it: 36 35 98:0 /
        no mount in /proc/self/mountinfo contains /srv/db: run outside the chroot, or mount the directory into it
        /sys/dev/block does not list the block device 8:1: is sysfs mounted, and is the device still there?
        the counters of block device 8:1 in sysfs are malformed; please report them: 1 2 x
        cannot read /dev/sda to see whether it contains data: permission denied
        ");
    }
}
