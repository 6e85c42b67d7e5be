//! Errors of importing a text.

use measurement::DocumentError;

use crate::origin::Origin;

/// Why a text was not imported, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("it is empty")]
    Empty,
    #[error(
        "it is compressed ({format}); unpack it first: {command} FILE | flushmark results import -"
    )]
    Compressed {
        /// Name of the compression format.
        format: &'static str,
        /// The command that prints the uncompressed contents.
        command: &'static str,
    },
    #[error(
        "unknown format; expected a result document of check or run, or output of fio (JSON, JSON+ \
         or text), diskinfo -S, pg_test_fsync, fsyncperf or sysbench fileio"
    )]
    Unknown,
    /// fio's terse format: fields separated by semicolons, without names, different in each
    /// version.
    #[error(
        "fio's terse output is not supported because its fields differ between versions; run fio \
         with --output-format=json+ and import that"
    )]
    Terse,
    #[error("the output of {0} is cut short ({1}): import the complete output")]
    CutShort(Origin, String),
    /// Several lines of the output in one, with the number of the line.
    #[error(
        "the output of {0} has lost its line breaks: line {1} contains several of its lines. Copy \
         it again with its line breaks, for example from the page's source"
    )]
    Flattened(Origin, usize),
    #[error("invalid output of {0}: {1}")]
    Damaged(Origin, String),
    #[error("the output of {0} contains no test that read or wrote anything{1}")]
    Nothing(Origin, String),
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl ImportError {
    /// The error for JSON that does not parse: cut short if the end is missing, otherwise damaged.
    pub(crate) fn unreadable(origin: Origin, error: &serde_json::Error) -> Self {
        if error.is_eof() {
            Self::CutShort(origin, error.to_string())
        } else {
            Self::Damaged(origin, error.to_string())
        }
    }
}
