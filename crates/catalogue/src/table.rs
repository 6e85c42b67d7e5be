//! A published table: tests of one source, made by one method.

use serde::{Deserialize, Serialize};
use workload::Submission;

use crate::row::Row;

/// Tests of a drive that one source measured with one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// The source's name for the test or table.
    pub workload: String,
    /// The title of the publication.
    pub source: String,
    /// Address of the publication.
    pub source_url: String,
    /// Year of the measurement; `None` if the source does not state it.
    pub year: Option<u16>,
    /// Operating system, as far as the source states it.
    pub os: Option<String>,
    pub tool: Tool,
    pub filesystem: PublishedFilesystem,
    /// Blocking or asynchronous calls; `None` if the source does not state it.
    pub calls: Option<Submission>,
    /// True if the page cache was bypassed; `None` if the source does not state it.
    pub direct: Option<bool>,
    /// Bytes that each job wrote to; `None` if the source does not state it, or for all of a device.
    pub file_bytes: Option<u64>,
    /// Duration of each test; `None` if the source does not state it.
    pub seconds: Option<u32>,
    /// Anything else about the method, as a phrase.
    pub note: Option<String>,
    /// Why the figures may be wrong or may mean something else, as a phrase; `None` if nothing
    /// speaks against them.
    pub doubt: Option<String>,
    /// Models are not fitted to these tests, which check them instead.
    pub held_out: bool,
    /// The published tests, in the order of the source.
    pub rows: Vec<Row>,
}

/// The program that measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tool {
    #[serde(rename = "fio")]
    Fio,
    /// FreeBSD's diskinfo.
    #[serde(rename = "diskinfo")]
    Diskinfo,
    /// PostgreSQL's `pg_test_fsync`.
    #[serde(rename = "pg_test_fsync")]
    PgTestFsync,
    /// One of several Python scripts of this name: writes a block and calls fsync, 1000 times.
    #[serde(rename = "fsync.py")]
    FsyncPy,
    /// Changes a random page of a mapped file and calls msync.
    #[serde(rename = "hdd-speed-test")]
    HddSpeedTest,
    #[serde(rename = "fsyncperf")]
    Fsyncperf,
    #[serde(rename = "flushmark")]
    Flushmark,
}

impl Tool {
    pub const ALL: [Tool; 7] = [
        Tool::Fio,
        Tool::Diskinfo,
        Tool::PgTestFsync,
        Tool::FsyncPy,
        Tool::HddSpeedTest,
        Tool::Fsyncperf,
        Tool::Flushmark,
    ];

    /// The name in data files, which is also shown to users.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Fio => "fio",
            Tool::Diskinfo => "diskinfo",
            Tool::PgTestFsync => "pg_test_fsync",
            Tool::FsyncPy => "fsync.py",
            Tool::HddSpeedTest => "hdd-speed-test",
            Tool::Fsyncperf => "fsyncperf",
            Tool::Flushmark => "flushmark",
        }
    }
}

/// The filesystem that held the test files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PublishedFilesystem {
    /// No filesystem: the tests wrote to the block device.
    None,
    Ext4,
    Xfs,
    Btrfs,
    Zfs,
    Ntfs,
    /// Files on a filesystem that the source does not name.
    Unknown,
}

impl PublishedFilesystem {
    /// The filesystem of a mount table's type; [`PublishedFilesystem::Unknown`] for one that has no
    /// name here.
    pub fn of_type(name: &str) -> PublishedFilesystem {
        let known = [
            PublishedFilesystem::Ext4,
            PublishedFilesystem::Xfs,
            PublishedFilesystem::Btrfs,
            PublishedFilesystem::Zfs,
            PublishedFilesystem::Ntfs,
        ];
        let found = known.into_iter().find(|filesystem| filesystem.name() == name);
        found.unwrap_or(PublishedFilesystem::Unknown)
    }

    /// The name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            PublishedFilesystem::None => "none",
            PublishedFilesystem::Ext4 => "ext4",
            PublishedFilesystem::Xfs => "xfs",
            PublishedFilesystem::Btrfs => "btrfs",
            PublishedFilesystem::Zfs => "zfs",
            PublishedFilesystem::Ntfs => "ntfs",
            PublishedFilesystem::Unknown => "unknown",
        }
    }

    /// The name shown to users.
    pub const fn label(self) -> &'static str {
        match self {
            PublishedFilesystem::None => "raw",
            PublishedFilesystem::Unknown => "files",
            named => named.name(),
        }
    }
}
