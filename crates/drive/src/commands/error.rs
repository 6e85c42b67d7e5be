//! Errors of commands to drives.

use std::io;
use std::path::PathBuf;

/// Why a command to a drive failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("{} takes commands only from root: run flushmark with sudo", .device.display())]
    NeedsRoot { device: PathBuf },
    /// This kind of device does not know the command.
    #[error("{} does not support that: {because}", .device.display())]
    NotSupported {
        device: PathBuf,
        /// The reason, as half a sentence.
        because: String,
    },
    #[error("{} refused {command}: {answer}", .device.display())]
    Refused {
        device: PathBuf,
        /// The command's name in its standard.
        command: &'static str,
        /// Sense data or status, in words.
        answer: String,
    },
    #[error("{} gave an invalid answer to {command}: {what}", .device.display())]
    InvalidAnswer {
        device: PathBuf,
        /// The command's name in its standard.
        command: &'static str,
        /// The flaw in the answer, as half a sentence.
        what: String,
    },
    #[error("{} is gone: it was unplugged, or its driver gave up on it", .device.display())]
    Gone { device: PathBuf },
    #[error("cannot send {command} to {}: {source}", .device.display())]
    Io {
        device: PathBuf,
        /// The command's name in its standard.
        command: &'static str,
        source: io::Error,
    },
}

/// An answer that cannot be decoded: what is wrong with it.
#[derive(Debug)]
pub(super) struct InvalidAnswer(pub(super) String);
