//! What came of a question to a drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CommandError;

/// What came of a question to a drive: data, because "only root may ask" is a fact, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer<T> {
    /// It told.
    Told {
        /// What.
        told: T,
    },
    /// This user may not ask.
    NeedsRoot,
    /// It has no such thing to tell, or nobody asked.
    NotAsked {
        /// Why, half a sentence.
        because: String,
    },
    /// It was asked, and did not answer as it should.
    Failed {
        /// What happened, one sentence.
        error: String,
    },
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
    /// What it told, if it did.
    pub fn told(&self) -> Option<&T> {
        match self {
            Answer::Told { told } => Some(told),
            _ => None,
        }
    }

    /// Whether root would get an answer.
    pub fn needs_root(&self) -> bool {
        matches!(self, Answer::NeedsRoot)
    }
}
