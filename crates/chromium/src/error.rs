//! Errors between a test and the browser.

use std::path::PathBuf;

/// Why Chromium did not do what a test requested.
#[derive(Debug, thiserror::Error)]
pub enum ChromiumError {
    #[error("`chromium` not found in PATH; on Debian, run apt-get install chromium")]
    NotInstalled,
    /// The process could not be started.
    #[error("cannot start chromium: {0}")]
    Start(std::io::Error),
    /// It did not report its DevTools port in time.
    #[error("chromium did not report its port within {0:?}")]
    Silent(std::time::Duration),
    /// It does not respond, or a promise that a script awaits is never resolved.
    #[error("chromium has not responded for {0:?}")]
    Unanswered(std::time::Duration),
    #[error("the connection to chromium broke: {0}")]
    Connection(#[from] Box<tungstenite::Error>),
    /// It rejected a command.
    #[error("chromium rejected {method}: {message}")]
    Refused {
        /// The rejected DevTools method.
        method: String,
        message: String,
    },
    /// A script on the page threw an exception.
    #[error("the script `{script}` threw: {message}")]
    Threw {
        script: String,
        /// The exception as text.
        message: String,
    },
    /// A condition did not become true in time.
    #[error("`{what}` did not become true within {within:?}")]
    Late {
        /// Source of the condition.
        what: String,
        /// The time that the test waited.
        within: std::time::Duration,
    },
    /// A screenshot or PDF could not be written.
    #[error("cannot write {path}: {error}")]
    Keep {
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}
