//! The target of a run, as the document records it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::database::DatabaseRecord;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// The target as the user wrote it.
    pub given: String,
    /// `directory`, `file`, `block-device`, `nbd`, `rbd`, `rados`, `database`, `null`, `model`, or
    /// `unknown` for another tool that does not report it.
    pub kind: TargetKind,
    /// What the server of an NBD export offers; `null` for any other target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportRecord>,
    /// Where in a Ceph cluster the tests ran; absent for any other target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceph: Option<CephRecord>,
    /// The server that clients committed on; absent for any other target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseRecord>,
}

impl TargetRecord {
    pub fn new(given: impl Into<String>, kind: TargetKind) -> TargetRecord {
        TargetRecord { given: given.into(), kind, export: None, ceph: None, database: None }
    }

    #[must_use]
    pub fn with_export(self, export: ExportRecord) -> TargetRecord {
        TargetRecord { export: Some(export), ..self }
    }

    #[must_use]
    pub fn with_ceph(self, ceph: CephRecord) -> TargetRecord {
        TargetRecord { ceph: Some(ceph), ..self }
    }

    #[must_use]
    pub fn with_database(self, database: DatabaseRecord) -> TargetRecord {
        TargetRecord { database: Some(database), ..self }
    }
}

/// A pool or an image of a Ceph cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CephRecord {
    /// The cluster's identifier, a UUID.
    pub cluster: String,
    pub pool: String,
    /// The image, with its namespace if it has one; absent for objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Bytes that the tests could use.
    pub size_bytes: u64,
    /// Size of the objects in which the data is stored.
    pub object_bytes: u64,
    /// Copies of each object, or data and coding chunks of an erasure-coded pool; absent if the
    /// cluster does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// librbd acknowledges writes from its cache, before they are durable.
    #[serde(default)]
    pub cached: bool,
}

/// An NBD export, as its server describes it.
#[expect(clippy::struct_excessive_bools, reason = "independent flags of the protocol")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportRecord {
    /// The address in the form of the NBD URI standard.
    pub uri: String,
    pub size_bytes: u64,
    /// It refuses writes.
    pub read_only: bool,
    /// A flush makes completed writes durable; without it, nothing does, or each write already is.
    pub flush: bool,
    /// Single writes can be made durable (forced unit access).
    pub fua: bool,
    /// Blocks can be discarded.
    pub trim: bool,
    /// The server reports that the drive rotates.
    pub rotational: bool,
    /// Several connections see each other's writes, and a flush on one covers all.
    pub several_connections: bool,
    /// Offsets and lengths are multiples of this.
    pub request_bytes_min: u32,
    /// Multiples of this are efficient.
    pub request_bytes_preferred: u32,
    /// Largest read or write.
    pub request_bytes_max: u32,
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
    /// An export of an NBD server, reached over a socket.
    Nbd,
    /// A block device image of a Ceph cluster, reached through librbd.
    Image,
    /// Objects in a pool of a Ceph cluster, reached through librados.
    Objects,
    /// A database server, reached as its clients reach it.
    Database,
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
    const KNOWN: [TargetKind; 10] = [
        TargetKind::Directory,
        TargetKind::File,
        TargetKind::BlockDevice,
        TargetKind::Nbd,
        TargetKind::Image,
        TargetKind::Objects,
        TargetKind::Database,
        TargetKind::Null,
        TargetKind::Model,
        TargetKind::Unknown,
    ];

    pub fn name(&self) -> &str {
        match self {
            TargetKind::Directory => "directory",
            TargetKind::File => "file",
            TargetKind::BlockDevice => "block-device",
            TargetKind::Nbd => "nbd",
            TargetKind::Image => "rbd",
            TargetKind::Objects => "rados",
            TargetKind::Database => "database",
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
        let texts = [
            "directory", "file", "block-device", "nbd", "rbd", "rados", "database", "null",
            "model", "unknown",
        ];
        assert_eq!(TargetKind::KNOWN.map(String::from), texts);
        for text in texts.into_iter().chain(["tape", ""]) {
            let kind: TargetKind = serde_json::from_value(text.into()).unwrap();
            assert_eq!(TargetKind::KNOWN.contains(&kind), texts.contains(&text), "{text}");
            assert_eq!(serde_json::to_value(&kind).unwrap(), text);
        }
    }
}
