//! What a run went to, as the document records it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// As the person wrote it.
    pub given: String,
    /// What it is: `directory`, `file`, `block-device`, `null`, `model`, or `unknown` where another tool does not say.
    pub kind: TargetKind,
}

/// What a target turned out to be. Documents hold its [name](TargetKind::name).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(inline)]
pub enum TargetKind {
    /// Tests make files of their own in it.
    Directory,
    /// A file that was there before.
    File,
    /// A block device.
    BlockDevice,
    /// `null:`.
    Null,
    /// A modelled drive, in virtual time.
    Model,
    /// Another tool measured, and does not say.
    Unknown,
    /// A word from a later version of the document. It is kept, so that a document that is read and
    /// written again stays the same.
    Other(OtherKind),
}

/// A kind that this version does not know; only reading a document makes one.
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

    /// As documents write it.
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
