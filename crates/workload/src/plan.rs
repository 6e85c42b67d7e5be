//! A plan: a list of tests, and the TOML file that describes it.
//!
//! One table of fields ([`fields`]) feeds the parser, the reference page ([`reference()`]) and the
//! JSON Schema ([`json_schema`]).

mod error;
pub mod fields;
mod parse;
mod published;
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
use crate::ending::Ends;
use crate::sort::SortWork;
use crate::steps::StepProgram;
use crate::write_cache::WriteCache;

/// The table layout of a plan's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Table {
    /// One row per test.
    Tests,
    /// `diskinfo -S`: size, usec/IO, MB/s.
    Slog,
    /// Sync latency by size and method, then w/s, MB/s and sync latency of each test.
    FsyncStudy,
    /// `pg_test_fsync`: ops/s and usecs/op, with percentiles.
    Wal,
    /// Commits per second and p99 of each program.
    Commits,
    /// Ceph's tests: where a test was run with two sync methods, the slower one counts.
    CephDisk,
    /// Write-cache matrix: each test with the cache off and on, and the difference.
    WriteCache,
    /// Reads by queue depth.
    ReadScaling,
    /// One row per value of the parameter that the tests vary, with the rate.
    Probe,
    /// Volume of a sort's spill, and the time spent by the sort and by the drive.
    SortSpill,
}

impl Table {
    /// Every table, in the order in which the reference lists them.
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

    /// Looks up a table by its name in plans.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }
}

#[expect(clippy::large_enum_variant, reason = "nearly all tests are block patterns")]
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// One block pattern.
    Blocks(Workload),
    /// A loop of steps on files.
    Steps(StepProgram),
    /// A sort of more records than fit in memory.
    Sort(SortWork),
}

impl Work {
    /// The end of the measurement.
    pub const fn limit(&self) -> Limit {
        match self {
            Work::Blocks(workload) => workload.limit,
            Work::Steps(program) => program.limit,
            // A sort ends once everything is sorted.
            Work::Sort(_) => Limit::Count(1),
        }
    }

    /// Runtime before the measurement starts.
    pub const fn warm_up(&self) -> WarmUp {
        match self {
            Work::Blocks(workload) => workload.warm_up,
            Work::Steps(program) => program.warm_up,
            Work::Sort(_) => WarmUp(Duration::ZERO),
        }
    }

    /// Idle time on the target before the test starts.
    pub const fn rest(&self) -> Duration {
        match self {
            Work::Blocks(workload) => workload.rest,
            Work::Steps(_) => Duration::ZERO,
            Work::Sort(sort) => sort.rest,
        }
    }

    /// The tests that end once a job has ended, and the group of the test among them.
    pub const fn ends(&self) -> (Ends, u32) {
        match self {
            Work::Blocks(workload) => (workload.ends, workload.group),
            Work::Steps(_) | Work::Sort(_) => (Ends::Nothing, 0),
        }
    }

    /// Delay of its first operation.
    pub const fn start_delay(&self) -> Duration {
        match self {
            Work::Blocks(workload) => workload.start_delay,
            Work::Steps(_) | Work::Sort(_) => Duration::ZERO,
        }
    }

    /// Seed of its offsets and contents.
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

    /// Bytes of storage used by all jobs together.
    pub fn size_bytes(&self, room: Room) -> u64 {
        match self {
            Work::Blocks(workload) => {
                workload.parts(!matches!(room, Room::Whole(_)), room).span_bytes()
            }
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
    /// The operations to perform.
    pub work: Work,
    /// The setting of the drive's volatile write cache during the test.
    pub write_cache: WriteCache,
    /// If set, starts at the same time as the previous test of the plan, on the same target.
    pub with_previous: bool,
}

/// The part of a test's title that replaces its setting where that cannot be switched.
const CACHE_AS_FOUND: &str = ", cache as found";

/// The part of a test's title that states the setting of the write cache.
fn cache_words(setting: WriteCache) -> String {
    format!(", cache {}", setting.name())
}

impl Test {
    /// The workloads of tests that run at the same time.
    ///
    /// # Errors
    /// A sentence if one of them must run alone: only block patterns run at the same time.
    pub fn together(tests: &[Test]) -> Result<Vec<(&Test, &Workload)>, String> {
        let blocks = |test| {
            let Test { name, work, .. }: &Test = test;
            match work {
                Work::Blocks(workload) => Ok((test, workload)),
                Work::Steps(_) | Work::Sort(_) => Err(format!(
                    "{name} cannot run at the same time as another test; only block patterns can"
                )),
            }
        };
        tests.iter().map(blocks).collect()
    }

    /// The test with the write cache left as it is, because it cannot be switched. A name that
    /// states a setting says so.
    #[must_use]
    pub fn as_found(&self) -> Test {
        let name = match self.write_cache {
            WriteCache::Unchanged => self.name.clone(),
            setting => self.name.replace(&cache_words(setting), CACHE_AS_FOUND),
        };
        Test { name, write_cache: WriteCache::Unchanged, ..self.clone() }
    }

    /// Removes the pauses before the test, and cuts its limit down to `time` and, if it counts, to
    /// `count`. A sort ends once everything is sorted.
    pub fn shorten(&mut self, time: Duration, count: u64) {
        match &mut self.work {
            Work::Blocks(workload) => {
                workload.limit = workload.limit.shortened(time, count);
                workload.warm_up = WarmUp::default();
                workload.rest = Duration::ZERO;
                workload.start_delay = Duration::ZERO;
            }
            Work::Steps(program) => {
                program.limit = program.limit.shortened(time, count);
                program.warm_up = WarmUp::default();
            }
            Work::Sort(sort) => sort.rest = Duration::ZERO,
        }
    }

    /// A test that runs alone and leaves the write cache unchanged.
    pub const fn alone(name: String, work: Work) -> Test {
        Test { name, work, write_cache: WriteCache::Unchanged, with_previous: false }
    }
}

/// A list of tests, with the question they answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The name used by `run` and in result documents.
    pub name: String,
    /// The question it answers, in one sentence.
    pub answers: String,
    /// The origin of its tests: a tool, a document, a URL. Empty for user-defined plans.
    pub source: String,
    /// The table layout of its results.
    pub table: Table,
    /// The default target, used without `--target` (fio's `filename` or `directory`).
    pub target: Option<String>,
    /// The reason why the plan requires `--target`: its tests have different targets.
    pub targets_differ: Option<PlanError>,
    /// Remarks for the user on how the plan was interpreted, one sentence each.
    pub notes: Vec<String>,
    /// The tests in order; at least one.
    pub tests: Vec<Test>,
    /// The same tests as long as in the plan's source, if `tests` are a short form of them.
    pub published: Option<Vec<Test>>,
}

/// Total time of all tests of a smoke run.
const SMOKE_TIME: Duration = Duration::from_secs(2);
/// Upper bound on the bytes used by a smoke test.
const SMOKE_BYTES: u64 = 16 << 20;
/// Upper bound on the count of a smoke test that ends by count.
const SMOKE_COUNT: u64 = 8;

impl Plan {
    /// The smallest and the largest number of bytes that a test uses, all its jobs together; `None`
    /// for a plan without tests.
    pub fn tested_bytes(&self, room: Room) -> Option<RangeInclusive<u64>> {
        let sizes = || self.tests.iter().map(|test| test.work.size_bytes(room));
        Some(sizes().min()?..=sizes().max()?)
    }

    /// Total time requested by the tests, warm-up included. A test that ends only by count adds
    /// nothing: its duration is what is being measured.
    pub fn requested_time(&self) -> Duration {
        let time = |test: &Test| {
            let work = &test.work;
            work.rest()
                + work.start_delay()
                + work.warm_up().0
                + work.limit().time().unwrap_or_default()
        };
        self.groups().map(|group| group.iter().map(time).max().unwrap_or_default()).sum()
    }

    /// The tests in order, grouped by tests that run at the same time.
    pub fn groups(&self) -> impl Iterator<Item = &[Test]> {
        self.tests.chunk_by(|_, next| next.with_previous)
    }

    /// The same tests cut down to a few seconds for the whole plan: shows that everything works,
    /// but measures nothing worth quoting.
    #[must_use]
    pub fn smoke(mut self) -> Plan {
        let time = SMOKE_TIME / u32::try_from(self.tests.len()).unwrap_or(u32::MAX).max(1);
        let time = time.clamp(Duration::from_millis(10), Duration::from_millis(200));
        for test in &mut self.tests {
            test.shorten(time, SMOKE_COUNT);
            match &mut test.work {
                Work::Blocks(workload) => {
                    if let Some(target) = &mut workload.latency_target {
                        target.window_us = target.window_us.min(time.as_micros() as u64 / 10);
                    }
                    let unit = workload.unit_bytes();
                    let files = u64::from(workload.jobs.get()) * u64::from(workload.files.per_job);
                    let least = unit * workload.units_min() * files;
                    let zoned = workload.zoning.and_then(|zoning| zoning.zone_bytes);
                    // Offsets are whole zones, and at least one is written.
                    let unit = zoned.unwrap_or(unit);
                    let most = SMOKE_BYTES.max(least).next_multiple_of(zoned.unwrap_or(1));
                    workload.size = match workload.size {
                        Area::Bytes(bytes) => Area::Bytes(bytes.min(most)),
                        Area::Whole { .. } | Area::Percent(_) => Area::Bytes(most),
                    };
                    // The bytes before a part of a new file are written during preparation, too.
                    for offset in [&mut workload.offset_bytes, &mut workload.offset_increment_bytes]
                    {
                        *offset = (*offset).min(most) / unit * unit;
                    }
                }
                Work::Steps(program) => {
                    let least = program.write_bytes_max();
                    for file in &mut program.files {
                        file.size_bytes = file.size_bytes.min(SMOKE_BYTES.max(least));
                    }
                }
                Work::Sort(sort) => {
                    // The smallest memory, and more records than fit in it, so runs are written and
                    // merged here, too.
                    sort.memory_bytes = SortWork::MEMORY_BYTES_MIN;
                    let least = 2 * SortWork::MEMORY_BYTES_MIN * u64::from(sort.jobs.get());
                    sort.size_bytes = sort.size_bytes.min(SMOKE_BYTES.max(least));
                }
            }
        }
        self
    }

    /// Limits the time of every test that ends by time to `time`. Sorts are unaffected: they end
    /// once everything is sorted.
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
