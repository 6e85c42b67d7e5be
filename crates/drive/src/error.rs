//! What can keep the facts from being known.

use std::io;
use std::path::PathBuf;

use crate::DeviceNumber;

/// Why a fact that somebody must have could not be read. Facts that nobody must have are `None` instead.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The path does not exist.
    #[error("{} does not exist: name an existing directory, regular file or block device", .path.display())]
    NoSuchPath {
        /// As given.
        path: PathBuf,
    },

    /// The path exists (or may), but may not be looked at.
    #[error("cannot look at {}: {source}", .path.display())]
    Inaccessible {
        /// As given.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },

    /// A workload cannot write to this kind of thing.
    #[error("{} is a {kind}: name a directory, a regular file or a block device", .path.display())]
    WrongKind {
        /// After following links.
        path: PathBuf,
        /// What it is: `character device`, `socket`, `named pipe`.
        kind: &'static str,
    },

    /// A kernel table that safety depends on is not there.
    #[error("cannot read {}, without which nobody can say what is in use: {source}; is procfs mounted?", .path.display())]
    Table {
        /// Where the table should be.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },

    /// The mount table has a line that cannot be understood, so nothing can be said about what is mounted.
    #[error(
        "line {line} of /proc/self/mountinfo is malformed, so nobody can say what is mounted; please report it: {text}"
    )]
    MalformedMount {
        /// Counted from 1.
        line: usize,
        /// The line, as far as it is text.
        text: String,
    },

    /// No mount holds the path (possible in a chroot without mounts of its own).
    #[error("no mount in /proc/self/mountinfo holds {}: run outside the chroot, or mount the directory into it", .path.display())]
    NoMount {
        /// After following links.
        path: PathBuf,
    },

    /// sysfs does not know the device.
    #[error("/sys/dev/block does not list the block device {device}: is sysfs mounted, and is the device still there?")]
    NoSuchDevice {
        /// Its number.
        device: DeviceNumber,
    },

    /// The device's counters are no numbers.
    #[error("the counters of block device {device} in sysfs are no row of numbers; please report them: {text}")]
    MalformedCounters {
        /// The whole disk's number.
        device: DeviceNumber,
        /// What stood in `stat`.
        text: String,
    },

    /// The bytes that would show a signature could not be read.
    #[error("cannot read {} to see whether it holds data: {source}", .path.display())]
    Unreadable {
        /// The device or image.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_says_what_why_and_what_to_do() {
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
        cannot look at /srv/db: permission denied
        /dev/null is a character device: name a directory, a regular file or a block device
        cannot read /proc/self/mountinfo, without which nobody can say what is in use: permission denied; is procfs mounted?
        line 3 of /proc/self/mountinfo is malformed, so nobody can say what is mounted; please report it: 36 35 98:0 /
        no mount in /proc/self/mountinfo holds /srv/db: run outside the chroot, or mount the directory into it
        /sys/dev/block does not list the block device 8:1: is sysfs mounted, and is the device still there?
        the counters of block device 8:1 in sysfs are no row of numbers; please report them: 1 2 x
        cannot read /dev/sda to see whether it holds data: permission denied
        ");
    }
}
