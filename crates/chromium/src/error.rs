//! What may go wrong between a test and the browser.

use std::path::PathBuf;

/// Why Chromium did not do what a test asked.
#[derive(Debug, thiserror::Error)]
pub enum ChromiumError {
    /// It is not installed.
    #[error("there is no `chromium` in PATH; on Debian: apt-get install chromium")]
    NotInstalled,
    /// It could not be started.
    #[error("chromium cannot be started: {0}")]
    Start(std::io::Error),
    /// It did not say where it listens.
    #[error("chromium did not say within {0:?} where it listens")]
    Silent(std::time::Duration),
    /// It answers no more, or a promise that a script waits for is not kept.
    #[error("chromium has said nothing for {0:?}")]
    Unanswered(std::time::Duration),
    /// The connection broke.
    #[error("the connection to chromium broke: {0}")]
    Connection(#[from] Box<tungstenite::Error>),
    /// It refused a command.
    #[error("chromium refused {method}: {message}")]
    Refused {
        /// The command.
        method: String,
        /// What it said.
        message: String,
    },
    /// A script on the page threw.
    #[error("the script `{script}` threw: {message}")]
    Threw {
        /// The script.
        script: String,
        /// What it threw.
        message: String,
    },
    /// Something did not come true in time.
    #[error("`{what}` did not come true within {within:?}")]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        within: std::time::Duration,
    },
    /// A picture or PDF could not be kept.
    #[error("cannot write {path}: {error}")]
    Keep {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}
