//! What a run was made on, as the document records it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// The target as the user wrote it.
    pub given: String,
    /// `directory`, `file`, `block-device`, `null`, `model`, or `unknown` for another tool that
    /// does not report it.
    pub kind: TargetKind,
}

/// The kind of a target. Documents store its [name](TargetKind::name).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(inline)]
pub enum TargetKind {
    /// A directory in which tests create their files.
    Directory,
    /// An existing file.
    File,
    /// A whole drive, partition or volume.
    BlockDevice,
    /// `null:`, which discards everything without a drive.
    Null,
    /// A modelled drive, in virtual time.
    Model,
    /// Another tool measured and did not report it.
    Unknown,
    /// A kind added by a later version of the document, kept so that reading and writing a document
    /// does not change it.
    Other(OtherKind),
}

/// A kind that this version does not know; created only by reading a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherKind(String);

impl TargetKind {
    const KNOWN: [TargetKind; 6] = [
        TargetKind::Directory,
        TargetKind::File,
        TargetKind::BlockDevice,
        TargetKind::Null,
        TargetKind::Model,
        TargetKind::Unknown,
    ];

    pub fn name(&self) -> &str {
        match self {
            TargetKind::Directory => "directory",
            TargetKind::File => "file",
            TargetKind::BlockDevice => "block-device",
            TargetKind::Null => "null",
            TargetKind::Model => "model",
            TargetKind::Unknown => "unknown",
            TargetKind::Other(OtherKind(name)) => name,
        }
    }
}

impl From<String> for TargetKind {
    fn from(name: String) -> TargetKind {
        let known = TargetKind::KNOWN.into_iter().find(|kind| kind.name() == name);
        known.unwrap_or(TargetKind::Other(OtherKind(name)))
    }
}

impl From<TargetKind> for String {
    fn from(kind: TargetKind) -> String {
        kind.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_back_and_a_later_versions_word_is_kept() {
        let texts = ["directory", "file", "block-device", "null", "model", "unknown"];
        assert_eq!(TargetKind::KNOWN.map(String::from), texts);
        for text in texts.into_iter().chain(["tape", ""]) {
            let kind: TargetKind = serde_json::from_value(text.into()).unwrap();
            assert_eq!(TargetKind::KNOWN.contains(&kind), texts.contains(&text), "{text}");
            assert_eq!(serde_json::to_value(&kind).unwrap(), text);
        }
    }
}
