//! The outcome of a question to a drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CommandError;

/// The outcome of a question to a drive. It is data, because "only root may ask" is a fact, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer<T> {
    /// The drive answered.
    Told { told: T },
    /// Only root may ask.
    NeedsRoot,
    /// The drive has no such information, or was not asked.
    NotAsked {
        /// The reason, as half a sentence.
        because: String,
    },
    /// The drive was asked, but failed or gave an invalid answer.
    Failed { error: String },
}

impl<T> From<Result<T, CommandError>> for Answer<T> {
    fn from(result: Result<T, CommandError>) -> Answer<T> {
        match result {
            Ok(told) => Answer::Told { told },
            Err(CommandError::NeedsRoot { .. }) => Answer::NeedsRoot,
            Err(CommandError::NotSupported { because, .. }) => Answer::NotAsked { because },
            Err(error) => Answer::Failed { error: error.to_string() },
        }
    }
}

impl<T> Answer<T> {
    pub fn told(&self) -> Option<&T> {
        match self {
            Answer::Told { told } => Some(told),
            _ => None,
        }
    }

    /// Returns whether root would get an answer.
    pub fn needs_root(&self) -> bool {
        matches!(self, Answer::NeedsRoot)
    }
}
