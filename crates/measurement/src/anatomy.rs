//! The time of commits, stage by stage, and the requests that reached the drive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// What a commit does at one moment. Each nanosecond of it belongs to exactly one stage.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its thread works: system call, filesystem, block layer.
    Thread,
    /// Data waits in the block layer.
    DataQueue,
    /// The drive writes data.
    DataWrite,
    /// It waits for a commit of the journal that began before it.
    EarlierCommit,
    /// It waits until the journal's thread begins.
    JournalStart,
    /// The journal's thread works, or waits for other threads.
    Journal,
    /// Blocks of the journal wait in the block layer.
    LogQueue,
    /// The drive writes blocks of the journal.
    LogWrite,
    /// It waits for a flush to be sent, perhaps because another one is at the drive.
    FlushQueue,
    /// The drive flushes its cache.
    Flush,
    /// Its thread waits while the drive has writes of other threads, such as write-back.
    OtherWrites,
    /// What it waited for is done, but its thread does not run yet.
    WakeUp,
    /// Its thread waits, and no event shows for what.
    Unexplained,
}

impl Stage {
    /// All stages, in the order in which a commit passes them.
    pub const ALL: [Stage; 13] = [
        Stage::Thread,
        Stage::DataQueue,
        Stage::DataWrite,
        Stage::EarlierCommit,
        Stage::JournalStart,
        Stage::Journal,
        Stage::LogQueue,
        Stage::LogWrite,
        Stage::FlushQueue,
        Stage::Flush,
        Stage::OtherWrites,
        Stage::WakeUp,
        Stage::Unexplained,
    ];

    /// The layer that is busy, or that keeps the commit waiting.
    pub const fn layer(self) -> Layer {
        match self {
            Stage::Thread | Stage::WakeUp | Stage::Unexplained => Layer::Thread,
            Stage::EarlierCommit | Stage::JournalStart | Stage::Journal => Layer::Journal,
            Stage::DataQueue | Stage::LogQueue | Stage::FlushQueue => Layer::BlockLayer,
            Stage::DataWrite | Stage::LogWrite | Stage::Flush | Stage::OtherWrites => Layer::Drive,
        }
    }
}

/// A layer that a commit passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    Thread,
    Journal,
    BlockLayer,
    Drive,
}

impl Layer {
    /// From the application down to the drive.
    pub const ALL: [Layer; 4] = [Layer::Thread, Layer::Journal, Layer::BlockLayer, Layer::Drive];

    pub const fn name(self) -> &'static str {
        match self {
            Layer::Thread => "thread",
            Layer::Journal => "journal",
            Layer::BlockLayer => "block layer",
            Layer::Drive => "drive",
        }
    }
}

/// The commits of one kind: the same call, on the same filesystem or device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anatomy {
    /// The system call, and what makes it durable: `fsync`, `pwrite64 with O_DSYNC`.
    pub call: String,
    /// `ext4`, `xfs` or `btrfs`; absent for a raw device and where the filesystem does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
    /// Kernel names of the drives that the commits used.
    pub devices: Vec<String>,
    /// How long they took, in nanoseconds.
    pub commits: Histogram,
    /// How long they were in each stage, in nanoseconds, one value for each commit; stages that
    /// none of them passed are absent.
    pub stages: BTreeMap<Stage, StageTimes>,
    pub reached: Reached,
    pub company: Company,
    /// The mean time of the slowest 1 % in each stage, in microseconds.
    pub slowest_us: BTreeMap<Stage, f64>,
    /// The commit in the middle and the slowest one.
    pub median: Drawn,
    pub longest: Drawn,
    /// Who committed, most commits first.
    pub committers: Vec<Committer>,
}

/// The time in one stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    pub times: Histogram,
    /// The exact sum, in nanoseconds.
    pub total_ns: u64,
}

/// What all the commits together sent to the drives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    pub data_writes: u64,
    pub journal_writes: u64,
    pub bytes: u64,
    /// Flushes that the commits asked for without data.
    pub bare_flushes: u64,
    /// Flushes before a write that asked for one.
    pub flushes_before: u64,
    /// Flushes after a write, in place of FUA.
    pub flushes_after: u64,
    /// Flushes that served other requests too.
    pub shared_flushes: u64,
    /// Writes with FUA: asked for by the filesystem, and sent to the driver.
    pub fua_asked: u64,
    pub fua_sent: u64,
    pub merged: u64,
    pub split: u64,
    pub discards: u64,
    pub failed: u64,
    /// How long requests were held by the I/O scheduler, in nanoseconds.
    pub scheduler_ns: u64,
}

impl Anatomy {
    /// The mean time of a commit, in microseconds.
    pub fn commit_us(&self) -> f64 {
        Stage::ALL.into_iter().map(|stage| self.mean_us(stage)).sum()
    }

    /// The mean time of a commit in a stage, in microseconds.
    pub fn mean_us(&self, stage: Stage) -> f64 {
        let times = self.stages.get(&stage);
        times.map_or(0.0, |times| times.total_ns as f64 / self.commits.count().max(1) as f64 / 1e3)
    }
}

impl Reached {
    /// Flushes of the drive, of all kinds.
    pub fn flushes(&self) -> u64 {
        self.bare_flushes + self.flushes_before + self.flushes_after
    }
}

/// Requests of others at the same drive while a commit's own were there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Company {
    /// Commits during which there were none.
    pub alone: u64,
    /// Their mean time, in microseconds.
    pub alone_mean_us: f64,
    pub accompanied: u64,
    pub accompanied_mean_us: f64,
    /// Commits that waited for an earlier commit of the journal.
    pub after_earlier_commit: u64,
    /// Whose requests they were, most requests first.
    pub others: Vec<Committer>,
}

/// A thread, by name and number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Committer {
    pub command: String,
    pub thread: u32,
    /// Its commits, or its requests.
    pub count: u64,
}

/// One commit, drawn to scale. Times are nanoseconds since its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drawn {
    pub ns: u64,
    /// The stages, without gaps.
    pub stages: Vec<DrawnStage>,
    /// The requests, in the order of submission.
    pub requests: Vec<DrawnRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnStage {
    pub stage: Stage,
    pub from_ns: u64,
    pub to_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnRequest {
    /// The kernel's abbreviation of what was asked for, such as `FWFSM`. Bios that the kernel
    /// merged are one.
    pub flags: String,
    pub sector: u64,
    pub sectors: u32,
    pub command: String,
    /// True if the journal, not the committing thread, asked for it.
    pub journal: bool,
    pub spans: Vec<DrawnStage>,
}
