//! A cluster's answers, and the reasons for those that are missing.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ask::Question;
use crate::lenient;

/// Why a question has no answer. It leaves facts unknown, and is never a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    #[error("not permitted: {0}")]
    NotPermitted(String),
    #[error("this release does not know the command")]
    UnknownCommand,
    #[error("no answer in time")]
    TimedOut,
    #[error("not asked")]
    NotAsked,
    #[error("the answer could not be read: {0}")]
    Unreadable(String),
    #[error("{0}")]
    Other(String),
}

impl Missing {
    /// From the return value of a librados call and the daemon's message.
    pub fn from_errno(errno: i32, message: &str) -> Missing {
        let message = message.trim();
        let lower = message.to_ascii_lowercase();
        let or = |words: &str| if message.is_empty() { words } else { message }.to_owned();
        let unknown = ["unknown command", "invalid command", "command not known", "not valid"];
        match errno.unsigned_abs() {
            1 | 13 => Missing::NotPermitted(or("the client lacks the capability")),
            22 if message.is_empty() || unknown.iter().any(|words| lower.contains(words)) => {
                Missing::UnknownCommand
            }
            38 | 95 => Missing::UnknownCommand,
            110 => Missing::TimedOut,
            number => Missing::Other(or(&format!("error {number}"))),
        }
    }
}

/// A question without an answer, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotKnown {
    /// The question's name, such as `osd metadata`.
    pub question: String,
    pub reason: Missing,
}

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.question, self.reason)
    }
}

/// A document of answers is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("invalid document of answers: {0}")]
    NotJson(String),
    #[error("unknown question `{0}`; expected one such as `status` or `osd.0 perf dump`")]
    UnknownQuestion(String),
}

/// Everything that was asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    answers: BTreeMap<Question, Result<Vec<u8>, Missing>>,
}

impl Answers {
    /// Records an answer; a later one to the same question replaces it.
    pub fn insert(&mut self, question: Question, answer: Result<Vec<u8>, Missing>) {
        self.answers.insert(question, answer);
    }

    /// One JSON object with a key for each question: `{"status": {…}, "osd.0 perf dump": {…}}`.
    pub fn from_document(document: &str) -> Result<Answers, DocumentError> {
        let not_json = |error: serde_json::Error| DocumentError::NotJson(error.to_string());
        let document: BTreeMap<String, Value> = serde_json::from_str(document).map_err(not_json)?;
        let mut answers = Answers::default();
        for (name, answer) in document {
            answers.insert(name.parse()?, Ok(answer.to_string().into_bytes()));
        }
        Ok(answers)
    }

    /// The answer as a structure.
    pub(crate) fn read<T: DeserializeOwned>(&self, question: &Question) -> Result<T, Missing> {
        match self.answers.get(question) {
            None => Err(Missing::NotAsked),
            Some(Err(reason)) => Err(reason.clone()),
            Some(Ok(bytes)) => {
                lenient::parse(bytes).map_err(|error| Missing::Unreadable(error.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_follow_the_errors_of_librados() {
        let reasons = [
            Missing::from_errno(-13, "access denied: does your client key have mgr caps?"),
            Missing::from_errno(-1, ""),
            Missing::from_errno(-22, "command not known"),
            Missing::from_errno(-22, "Invalid value for who"),
            Missing::from_errno(110, ""),
            Missing::from_errno(-2, "pool nosuch does not exist"),
            Missing::from_errno(-6, ""),
        ];
        insta::assert_snapshot!(reasons.map(|reason| reason.to_string()).join("\n"), @"
        not permitted: access denied: does your client key have mgr caps?
        not permitted: the client lacks the capability
        this release does not know the command
        Invalid value for who
        no answer in time
        pool nosuch does not exist
        error 6
        ");
    }

    #[test]
    fn a_document_names_its_questions() {
        let answers = Answers::from_document(r#"{"status": {"fsid": "a"}}"#);
        let status = answers.map(|answers| answers.answers.get(&Question::Status).cloned());
        assert!(matches!(status, Ok(Some(Ok(_)))), "{status:?}");
        for (document, words) in [
            ("[]", "invalid document of answers: "),
            (r#"{"osd purge": {}}"#, "unknown question `osd purge`; expected one such as"),
        ] {
            let error = Answers::from_document(document).map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.starts_with(words)), "{document}");
        }
    }
}
