//! Why a text could not be read.

use measurement::DocumentError;

use crate::origin::Origin;

/// Why nothing was read of a text. Each sentence says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is no text.
    #[error("it is empty")]
    Empty,
    /// It has to be unpacked first.
    #[error("it is compressed ({format}); unpack it first: {command} FILE | flushmark results import -")]
    Compressed {
        /// The format.
        format: &'static str,
        /// What prints the file that is in it.
        command: &'static str,
    },
    /// No known tool wrote it.
    #[error(
        "it is nothing that is read here: a result document of check or run, fio's output (JSON, JSON+ or text), diskinfo -S, pg_test_fsync"
    )]
    Unknown,
    /// fio's lines of semicolons, which carry no names, and a different number of fields in each version.
    #[error(
        "it is fio's terse output, whose fields differ from version to version; run fio with --output-format=json+ and import that"
    )]
    Terse,
    /// The end is missing.
    #[error("the output of {0} ends in the middle ({1}): it was cut short. Import all of it")]
    CutShort(Origin, String),
    /// It begins like a tool's output and goes on like something else.
    #[error("it begins as the output of {0} and does not go on as one: {1}")]
    Damaged(Origin, String),
    /// A whole output, of a run in which nothing was read or written.
    #[error("it is an output of {0} that holds no test that read or wrote anything{1}")]
    Nothing(Origin, String),
    /// A document that says that it is flushmark's own.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl ImportError {
    /// JSON that does not parse: cut short where its end is missing, damaged otherwise.
    pub(crate) fn unreadable(origin: Origin, error: &serde_json::Error) -> Self {
        if error.is_eof() {
            Self::CutShort(origin, error.to_string())
        } else {
            Self::Damaged(origin, error.to_string())
        }
    }
}
