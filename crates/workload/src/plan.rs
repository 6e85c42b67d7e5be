//! A plan: the list of tests that a run works through, and the TOML file that holds one.
//!
//! One table of fields ([`fields`]) feeds the parser, the reference page ([`reference()`]) and the JSON Schema ([`json_schema`]).

mod error;
pub mod fields;
mod parse;
mod reference;
mod schema;
mod value;

pub use error::PlanError;
pub(crate) use error::did_you_mean;
pub use reference::reference;
pub use schema::json_schema;

use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::{Area, Limit, Room, WarmUp, Workload};
use crate::sort::SortWork;
use crate::steps::StepProgram;
use crate::write_cache::WriteCache;

/// The form in which a person reads a plan's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Table {
    /// One row a test.
    Tests,
    /// `diskinfo -S`: size, usec/IO, MB/s.
    Slog,
    /// Sync latency by size and method, then w/s, MB/s and sync latency of each test.
    FsyncStudy,
    /// `pg_test_fsync`: ops/s and usecs/op, with percentiles.
    Wal,
    /// Commits a second and p99 of each program.
    Commits,
    /// Ceph's tests: where one test was run with two sync methods, the worse is the verdict.
    CephDisk,
    /// Write-cache matrix: each test with the cache off and on, and what that makes.
    WriteCache,
    /// Reads by depth.
    ReadScaling,
    /// What differs between the tests, and how the rate goes with it.
    Probe,
    /// What a sort spilled, and how long it and the drive took.
    SortSpill,
}

impl Table {
    /// Every form, in the order in which the reference lists them.
    pub const ALL: [Table; 10] = [
        Table::Tests,
        Table::Slog,
        Table::FsyncStudy,
        Table::Wal,
        Table::Commits,
        Table::CephDisk,
        Table::WriteCache,
        Table::ReadScaling,
        Table::Probe,
        Table::SortSpill,
    ];

    /// The name as plans write it.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Tests => "tests",
            Table::Slog => "slog",
            Table::FsyncStudy => "fsync-study",
            Table::Wal => "wal",
            Table::Commits => "commits",
            Table::CephDisk => "ceph-disk",
            Table::WriteCache => "write-cache",
            Table::ReadScaling => "read-scaling",
            Table::Probe => "probe",
            Table::SortSpill => "sort-spill",
        }
    }

    /// The form of that name, or `None`.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }
}

/// What a test does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// One pattern of blocks.
    Blocks(Workload),
    /// A loop over steps on files.
    Steps(StepProgram),
    /// A sort of more than memory holds.
    Sort(SortWork),
}

impl Work {
    /// When the measurement ends.
    pub const fn limit(&self) -> Limit {
        match self {
            Work::Blocks(workload) => workload.limit,
            Work::Steps(program) => program.limit,
            // It ends when everything is sorted.
            Work::Sort(_) => Limit::Count(1),
        }
    }

    /// How long it runs before it is measured.
    pub const fn warm_up(&self) -> WarmUp {
        match self {
            Work::Blocks(workload) => workload.warm_up,
            Work::Steps(program) => program.warm_up,
            Work::Sort(_) => WarmUp(Duration::ZERO),
        }
    }

    /// How long the target is left alone before.
    pub const fn rest(&self) -> Duration {
        match self {
            Work::Blocks(workload) => workload.rest,
            Work::Steps(_) => Duration::ZERO,
            Work::Sort(sort) => sort.rest,
        }
    }

    /// What decides its offsets and contents.
    pub const fn seed(&self) -> u64 {
        match self {
            Work::Blocks(workload) => workload.seed,
            Work::Steps(program) => program.seed,
            Work::Sort(sort) => sort.seed,
        }
    }

    /// Independent submitters.
    pub const fn jobs(&self) -> u32 {
        match self {
            Work::Blocks(workload) => workload.jobs.get(),
            Work::Steps(program) => program.jobs.get(),
            Work::Sort(sort) => sort.jobs.get(),
        }
    }

    /// Bytes of storage that it works on, all jobs together.
    pub fn size_bytes(&self, room: Room) -> u64 {
        match self {
            Work::Blocks(workload) => workload.parts(!matches!(room, Room::Whole(_)), room).span_bytes(),
            Work::Steps(program) => program.size_per_job_bytes() * u64::from(program.jobs.get()),
            Work::Sort(sort) => sort.size_bytes,
        }
    }
}

/// A named piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Unique within the plan.
    pub name: String,
    /// What it does.
    pub work: Work,
    /// How the drive's volatile write cache stands meanwhile.
    pub write_cache: WriteCache,
    /// Begins at the same moment as the test before it in the plan, on the same target.
    pub with_previous: bool,
}

impl Test {
    /// The workloads of tests that are to run at the same time.
    ///
    /// # Errors
    /// A sentence where one of them has to run alone: only patterns of blocks run at the same time.
    pub fn together(tests: &[Test]) -> Result<Vec<(&Test, &Workload)>, String> {
        let blocks = |test| {
            let Test { name, work, .. }: &Test = test;
            match work {
                Work::Blocks(workload) => Ok((test, workload)),
                Work::Steps(_) | Work::Sort(_) => {
                    Err(format!("{name} runs alone: only patterns of blocks run at the same time"))
                }
            }
        };
        tests.iter().map(blocks).collect()
    }

    /// A test that runs alone, on a write cache that is left as it is.
    pub const fn alone(name: String, work: Work) -> Test {
        Test { name, work, write_cache: WriteCache::Unchanged, with_previous: false }
    }
}

/// A list of tests and what they are for.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What `run` calls it.
    pub name: String,
    /// The question it answers, one sentence.
    pub answers: String,
    /// Where its tests come from: a tool, a document, an address. Empty for a person's own plan.
    pub source: String,
    /// How its results are shown.
    pub table: Table,
    /// Where it runs when the command line names no target (fio's `filename` or `directory`).
    pub target: Option<String>,
    /// What the user should know about how the plan was read, one sentence each.
    pub notes: Vec<String>,
    /// The tests, in order; at least one.
    pub tests: Vec<Test>,
}

/// A smoke run spends this long on all of a plan's tests together.
const SMOKE_TIME: Duration = Duration::from_secs(2);
/// A smoke run works on no more than this.
const SMOKE_BYTES: u64 = 16 << 20;
/// A smoke test repeats no more often than this where a count decides.
const SMOKE_COUNT: u64 = 8;

impl Plan {
    /// Smallest and largest number of bytes that a test works on, all its jobs together; `None` for a
    /// plan without tests.
    pub fn tested_bytes(&self, room: Room) -> Option<RangeInclusive<u64>> {
        let sizes = || self.tests.iter().map(|test| test.work.size_bytes(room));
        Some(sizes().min()?..=sizes().max()?)
    }

    /// Time that the plan's tests ask for, warm-up included. A test that ends by a count alone adds nothing: how long it takes is
    /// what is being measured.
    pub fn time_asked(&self) -> Duration {
        let time =
            |test: &Test| test.work.rest() + test.work.warm_up().0 + test.work.limit().time().unwrap_or_default();
        self.groups().map(|group| group.iter().map(time).max().unwrap_or_default()).sum()
    }

    /// The tests in order, each with those that run at the same time.
    pub fn groups(&self) -> impl Iterator<Item = &[Test]> {
        self.tests.chunk_by(|_, next| next.with_previous)
    }

    /// The same tests cut down to seconds for the whole plan: shows that everything works, measures nothing that may be quoted.
    #[must_use]
    pub fn smoke(mut self) -> Plan {
        let time = SMOKE_TIME / u32::try_from(self.tests.len()).unwrap_or(u32::MAX).max(1);
        let time = time.clamp(Duration::from_millis(10), Duration::from_millis(200));
        for test in &mut self.tests {
            match &mut test.work {
                Work::Blocks(workload) => {
                    workload.limit = workload.limit.shortened(time, SMOKE_COUNT);
                    workload.warm_up = WarmUp::default();
                    workload.rest = Duration::ZERO;
                    let unit = workload.unit_bytes();
                    let least = unit * workload.least_units() * u64::from(workload.jobs.get());
                    let most = SMOKE_BYTES.max(least);
                    workload.size = match workload.size {
                        Area::Bytes(bytes) => Area::Bytes(bytes.min(most)),
                        Area::Whole { .. } | Area::Percent(_) => Area::Bytes(most),
                    };
                    // What lies before a part in a new file is written through, too.
                    for offset in [&mut workload.offset_bytes, &mut workload.offset_increment_bytes] {
                        *offset = (*offset).min(most) / unit * unit;
                    }
                }
                Work::Steps(program) => {
                    program.limit = program.limit.shortened(time, SMOKE_COUNT);
                    program.warm_up = WarmUp::default();
                    let least = u64::from(program.write_bytes_max());
                    for file in &mut program.files {
                        file.size_bytes = file.size_bytes.min(SMOKE_BYTES.max(least));
                    }
                }
                Work::Sort(sort) => {
                    // The least memory, and more records than it holds, so that runs are written and merged here, too.
                    sort.memory_bytes = SortWork::MEMORY_BYTES_MIN;
                    let least = 2 * SortWork::MEMORY_BYTES_MIN * u64::from(sort.jobs.get());
                    sort.size_bytes = sort.size_bytes.min(SMOKE_BYTES.max(least));
                    sort.rest = Duration::ZERO;
                }
            }
        }
        self
    }

    /// Cuts the time of every test that ends by time to `time`; a sort ends when it has sorted.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Plan {
        let changed = |limit| match limit {
            Limit::Time(_) => Limit::Time(time),
            Limit::TimeAndCount { count, until, .. } => Limit::TimeAndCount { time, count, until },
            count @ Limit::Count(_) => count,
        };
        for test in &mut self.tests {
            match &mut test.work {
                Work::Blocks(workload) => workload.limit = changed(workload.limit),
                Work::Steps(program) => program.limit = changed(program.limit),
                Work::Sort(_) => {}
            }
        }
        self
    }
}

#[cfg(test)]
mod tests;
