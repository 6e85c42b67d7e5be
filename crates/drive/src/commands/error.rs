//! Why a drive did not answer.

use std::io;
use std::path::PathBuf;

/// Why a command to a drive came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// This user may not send commands to drives.
    #[error("{} takes commands from root only: run it with sudo", .device.display())]
    NeedsRoot {
        /// The drive.
        device: PathBuf,
    },
    /// There is no such command for this kind of device.
    #[error("{} has no command for that: {because}", .device.display())]
    NotSupported {
        /// The drive.
        device: PathBuf,
        /// Why, half a sentence.
        because: String,
    },
    /// The drive answered that it will not.
    #[error("{} refused {command}: {answer}", .device.display())]
    Refused {
        /// The drive.
        device: PathBuf,
        /// The command's name in its standard.
        command: &'static str,
        /// Sense data or status, in words.
        answer: String,
    },
    /// The answer makes no sense.
    #[error("{} answered {command} with nonsense: {what}", .device.display())]
    Nonsense {
        /// The drive.
        device: PathBuf,
        /// The command's name in its standard.
        command: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The drive is gone.
    #[error("{} is gone: it was unplugged, or its driver gave it up", .device.display())]
    Gone {
        /// The drive.
        device: PathBuf,
    },
    /// The kernel could not carry the command.
    #[error("cannot send {command} to {}: {source}", .device.display())]
    Io {
        /// The drive.
        device: PathBuf,
        /// The command's name in its standard.
        command: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// An answer that cannot be understood: what is wrong with it.
#[derive(Debug)]
pub(super) struct Nonsense(pub(super) String);
