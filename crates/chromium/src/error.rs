//! Errors between a test and the browser.

use std::path::PathBuf;

/// Why Chromium did not do what a test requested.
#[derive(Debug, thiserror::Error)]
pub enum ChromiumError {
    #[error("`chromium` not found in PATH; on Debian, run apt-get install chromium")]
    NotInstalled,
    #[error("cannot start chromium: {0}")]
    Start(std::io::Error),
    #[error("chromium did not report its port within {0:?}")]
    Silent(std::time::Duration),
    /// It does not respond, or a promise that a script awaits is never resolved.
    #[error("chromium has not responded for {0:?}")]
    Unanswered(std::time::Duration),
    #[error("the connection to chromium broke: {0}")]
    Connection(#[from] Box<tungstenite::Error>),
    #[error("chromium rejected {method}: {message}")]
    Refused {
        /// The rejected DevTools method.
        method: String,
        message: String,
    },
    #[error("the script `{script}` threw: {message}")]
    Threw {
        script: String,
        /// The exception as text.
        message: String,
    },
    #[error("`{what}` did not become true within {within:?}")]
    Late {
        /// Source of the condition.
        what: String,
        /// The time that the test waited.
        within: std::time::Duration,
    },
    #[error("cannot write {path}: {error}")]
    Keep { path: PathBuf, error: std::io::Error },
}
