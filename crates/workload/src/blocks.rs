//! The [`Workload`]: one block pattern, repeated.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compute::Compute;
use crate::dedupe::Dedupe;
use crate::donor::Donor;
use crate::ending::Ends;
use crate::files::JobFiles;
use crate::latency_target::LatencyTarget;
use crate::order::BlockOrder;
use crate::pacing::{Flow, RateMin, ThinkTime};
use crate::pattern::Pattern;
use crate::priority::Priorities;
use crate::processors::Processors;
use crate::size::format_bytes;
use crate::sizes::BlockSizes;
use crate::steady::UntilSteady;
use crate::sync::{SyncCall, SyncMethod};
use crate::tolerance::{ErrorKind, Tolerance};
use crate::verification::Verification;
use crate::zones::Zoning;

/// A value is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {value}; expected {low} to {high}")]
pub struct OutOfRange {
    what: &'static str,
    low: String,
    high: String,
    value: String,
}

macro_rules! ranged {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $what:literal, $low:expr, $high:expr, $show:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($inner);

        impl $name {
            /// The smallest value.
            pub const MIN: $name = $name($low);
            /// The largest value.
            pub const MAX: $name = $name($high);

            /// # Errors
            /// Fails if the value is not in [`Self::MIN`] to [`Self::MAX`].
            pub fn new(value: u64) -> Result<$name, OutOfRange> {
                if (u64::from($low as $inner)..=u64::from($high as $inner)).contains(&value) {
                    Ok($name(value as $inner))
                } else {
                    let show: fn(u64) -> String = $show;
                    Err(OutOfRange { what: $what, low: show(u64::from($low as $inner)), high: show(u64::from($high as $inner)), value: show(value) })
                }
            }

            /// The plain number.
            pub const fn get(self) -> $inner {
                self.0
            }
        }
    };
}

ranged!(
    /// Bytes moved by one read or write: 512 B to 64 MiB.
    BlockBytes, u32, "block size", 512, 64 << 20, format_bytes
);
ranged!(
    /// I/Os kept in flight by one job: 1 to 1024.
    Depth, u32, "depth", 1, 1024, |n| n.to_string()
);
ranged!(
    /// Sequential streams of a job that take turns: 1 to 1024.
    Streams, u32, "number of streams", 1, 1024, |n| n.to_string()
);
ranged!(
    /// Independent submitters, each with its own file handle: 1 to 256.
    Jobs, u32, "number of jobs", 1, 256, |n| n.to_string()
);

impl BlockBytes {
    /// The largest zone that can be reset as one block.
    const ZONE_MAX: u32 = 2 << 30;

    /// The size of a zone that is reset as one block, which can exceed [`BlockBytes::MAX`]: no
    /// data is transferred. `None` if it is out of range.
    pub fn of_zone(bytes: u64) -> Option<BlockBytes> {
        let range = BlockBytes::MIN.0..=BlockBytes::ZONE_MAX;
        u32::try_from(bytes).ok().filter(|bytes| range.contains(bytes)).map(BlockBytes)
    }
}

/// Limit on the files or directories of a job that are created, looked up or removed one by one.
pub const ENTRIES_MAX: u64 = 1 << 24;

/// The amount of the target that a workload uses, all jobs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Area {
    /// The whole device or existing file, because one part of a drive may be faster than the rest.
    /// In a directory, test files of this size.
    Whole {
        /// Size of the test files, all jobs together.
        file_bytes: u64,
    },
    Bytes(u64),
    /// A percentage of the target, 1 to 100: of the size of a device or file; in a directory, of
    /// the space available for tests.
    Percent(u8),
}

impl Area {
    /// The whole device or existing file; in a directory, test files of 1 GiB.
    pub const DEFAULT: Area = Area::Whole { file_bytes: 1 << 30 };

    /// The number of bytes on a given target.
    pub fn bytes(self, room: Room) -> u64 {
        match (self, room) {
            (Area::Bytes(bytes), _) | (Area::Whole { .. }, Room::Whole(bytes)) => bytes,
            (Area::Whole { file_bytes }, Room::Free(_) | Room::Unlimited) => file_bytes,
            (Area::Percent(percent), Room::Whole(bytes) | Room::Free(bytes)) => {
                (u128::from(bytes) * u128::from(percent) / 100) as u64
            }
            (Area::Percent(_), Room::Unlimited) => 0,
        }
    }
}

/// The space on a target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// The size of a device or an existing file.
    Whole(u64),
    /// The space available for new files on a filesystem.
    Free(u64),
    /// A target without a size.
    Unlimited,
}

/// The state of the blocks when the measurement starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Written once beforehand, so no sync includes block allocation. The state that databases
    /// reach after a while.
    Overwrite,
    /// A file that starts empty and grows with each write, so every sync includes the new size. At
    /// `size`, the file is emptied and starts over.
    Append,
    /// Space reserved by `fallocate` but never written: the first write to each extent converts it,
    /// and a sync includes the conversion.
    Preallocated,
    /// Space reserved by `fallocate` once, when the test starts; a second write to the same block
    /// is an overwrite. fio's default for new files.
    #[serde(rename = "preallocated-once")]
    PreallocatedOnce,
    /// A new file without allocated space, created once: the first write to each block allocates
    /// it, and a sync includes the allocation. fio's `fallocate=none`.
    Empty,
}

impl Layout {
    /// The name used in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::Overwrite => "overwrite",
            Layout::Append => "append",
            Layout::Preallocated => "preallocated",
            Layout::PreallocatedOnce => "preallocated-once",
            Layout::Empty => "empty",
        }
    }

    /// Every layout, in the order in which help lists them.
    pub const ALL: [Layout; 5] = [
        Layout::Overwrite,
        Layout::Append,
        Layout::Preallocated,
        Layout::PreallocatedOnce,
        Layout::Empty,
    ];

    /// Looks up a layout by its name in plans.
    pub fn from_name(name: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.name() == name)
    }

    /// Returns `true` if the file starts over once all of it has been written. No write is then
    /// ever an overwrite.
    pub const fn starts_over(self) -> bool {
        matches!(self, Layout::Append | Layout::Preallocated)
    }

    /// Returns `true` if the layout requires a new file.
    pub const fn needs_new_file(self) -> bool {
        !matches!(self, Layout::Overwrite)
    }
}

/// The bytes shared by the jobs of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Nothing is shared: each job has its own file in a directory, or its own part of a device or
    /// file.
    #[default]
    None,
    /// Each job has its own file in a directory; on a device or file, all jobs use the same bytes.
    /// fio's jobs without `filename`.
    Device,
    /// All jobs use the same bytes of one file or device. fio's jobs with one `filename`.
    All,
}

impl Sharing {
    /// Every choice, in the order in which help lists them.
    pub const ALL: [Sharing; 3] = [Sharing::None, Sharing::Device, Sharing::All];

    /// The name used in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Sharing::None => "none",
            Sharing::Device => "device",
            Sharing::All => "all",
        }
    }

    /// Looks up a choice by its name in plans.
    pub fn from_name(name: &str) -> Option<Sharing> {
        Sharing::ALL.into_iter().find(|sharing| sharing.name() == name)
    }

    /// Returns `true` if the jobs share bytes. `own_files` is set where each job can have a
    /// separate file.
    pub const fn shares(self, own_files: bool) -> bool {
        match self {
            Sharing::None => false,
            Sharing::Device => !own_files,
            Sharing::All => true,
        }
    }
}

/// The data in the write buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Zeros: the least work for a target that detects them (zram, thin provisioning), so rarely a
    /// fair test.
    Zero,
    /// Incompressible and different in each write, because drives compress and deduplicate.
    Random,
    /// Each 4 KiB starts with incompressible bytes and ends with this percentage of zeros.
    Compressible(#[schemars(range(min = 1, max = 99))] u8),
}

/// The end of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    Time(Duration),
    /// After this many operations of each job (turns of the loop, for a step program).
    Count(u64),
    /// After a duration and a count, combined by `until`.
    TimeAndCount {
        /// Time since the start of the measurement.
        time: Duration,
        /// Operations of each job.
        count: u64,
        /// Selects the first or the last of the two.
        until: Until,
    },
}

/// Combines two limits of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Until {
    /// The one that comes first.
    First,
    /// The one reached last: "at least 250 rounds and one second".
    Both,
}

impl Limit {
    pub const fn time(self) -> Option<Duration> {
        match self {
            Limit::Time(time) | Limit::TimeAndCount { time, .. } => Some(time),
            Limit::Count(_) => None,
        }
    }

    pub const fn count(self) -> Option<u64> {
        match self {
            Limit::Count(count) | Limit::TimeAndCount { count, .. } => Some(count),
            Limit::Time(_) => None,
        }
    }

    /// The same limit cut down to `time` and, if it counts, to `count`. At least one operation
    /// completes, however slow it is.
    #[must_use]
    pub fn shortened(self, time: Duration, count: u64) -> Limit {
        match self {
            Limit::Time(own) => {
                Limit::TimeAndCount { time: own.min(time), count: 1, until: Until::Both }
            }
            Limit::Count(own) => {
                Limit::TimeAndCount { time, count: own.min(count), until: Until::First }
            }
            Limit::TimeAndCount { time: own_time, count: own_count, until } => {
                Limit::TimeAndCount { time: own_time.min(time), count: own_count.min(count), until }
            }
        }
    }
}

/// Runtime of a workload before the measurement starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WarmUp(pub Duration);

/// An offered load: operations start when they are due, not when the previous one ended. Latency is
/// measured from the time at which an operation was due, so a stall is charged to every request
/// that it delayed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Operations offered per second by each job; above 0, at most 10 million.
    pub per_second: f64,
    /// How many of these are reads, if the reads and the writes of a mix are offered independently
    /// of each other. Otherwise each operation of a mix is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_per_second: Option<f64>,
    /// The spacing of the times at which operations are due.
    pub arrivals: Arrivals,
}

/// The spacing of offered operations in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// Independent of each other (exponential gaps), like requests from many clients.
    Poisson,
}

/// The system interface for the operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// The one with the least overhead: plain system calls at depth 1, io_uring above.
    Auto,
    /// `pwritev2` and `fsync` on the submitting thread; depth 1 only.
    Psync,
    /// io_uring with registered files and buffers.
    IoUring,
    /// The kernel's older asynchronous interface (`io_submit`), for kernels without io_uring.
    Libaio,
}

impl EngineChoice {
    /// Every choice, in the order in which help lists them.
    pub const ALL: [EngineChoice; 4] =
        [EngineChoice::Auto, EngineChoice::Psync, EngineChoice::IoUring, EngineChoice::Libaio];

    /// The name used in plans and by `--engine`.
    pub const fn name(self) -> &'static str {
        match self {
            EngineChoice::Auto => "auto",
            EngineChoice::Psync => "psync",
            EngineChoice::IoUring => "io_uring",
            EngineChoice::Libaio => "libaio",
        }
    }

    /// Looks up a choice by its name.
    pub fn from_name(name: &str) -> Option<EngineChoice> {
        EngineChoice::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// The way operations reach the kernel.
///
/// On a raw block device, this determines the cost of an `O_SYNC` or `O_DSYNC` write
/// (`blkdev_write_iter` in `block/fops.c`): the write itself carries FUA either way, and a call
/// that waits for it then also flushes the whole cache. An asynchronous call has returned by then
/// and avoids the flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Submission {
    /// A call that returns when the operation is complete: `pread`, `pwrite`.
    Blocking,
    /// One call to submit and another to collect completions: io_uring, libaio.
    Asynchronous,
}

/// The treatment of a job's writes in flight when a sync is due. A sync covers only writes that
/// have completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncTiming {
    /// The job waits for the writes, then for the sync: a commit.
    Drained,
    /// The writes stay in flight while the job waits for the sync. Published results were measured
    /// this way, with versions of fio that could not queue a sync.
    Undrained,
    /// The writes stay in flight, and the sync is one more operation in flight, as with fio's
    /// io_uring and libaio.
    Queued,
}

/// One block pattern, repeated until a limit.
#[expect(clippy::struct_excessive_bools, reason = "independent fields of a plan")]
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    pub pattern: Pattern,
    /// Percentage of reads, 1 to 99; only used by mixed patterns.
    pub read_percent: u8,
    /// The computations; only used by the pattern `compute`.
    pub compute: Compute,
    /// The difference of the block order from the pattern's default.
    pub order: BlockOrder,
    /// Bytes per read or write; the smallest if sizes vary.
    pub block_bytes: BlockBytes,
    /// Writes go to the write pointers of zones.
    pub zoning: Option<Zoning>,
    /// The sizes of reads and writes, if they vary.
    pub sizes: Option<BlockSizes>,
    /// I/Os that each job keeps in flight.
    pub depth: Depth,
    /// Independent submitters.
    pub jobs: Jobs,
    pub sync: SyncMethod,
    /// One sync after this many writes of a job (fio's `fsync=N`); at least 1. Ignored if each
    /// write syncs itself.
    pub sync_every: u32,
    /// The treatment of writes in flight when a sync is due.
    pub sync_timing: SyncTiming,
    /// Number of sequential streams per job.
    pub streams: Streams,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Drop cached pages of the file before the measurement; only matters if `direct` is off.
    pub invalidate: bool,
    /// The state of the blocks when the measurement starts.
    pub layout: Layout,
    /// The data to write.
    pub content: Content,
    /// Duplicates among the writes, if any.
    pub dedupe: Option<Dedupe>,
    /// The number of bytes used by all jobs together if each has an equal part, otherwise by each
    /// job.
    pub size: Area,
    /// The bytes shared by the jobs.
    pub sharing: Sharing,
    /// The files of each job, where jobs have separate files.
    pub files: JobFiles,
    /// The number of the file that all jobs share, if it stays for later tests. They find it as
    /// this one left it, like the `filename` of fio's sections.
    pub kept_file: Option<usize>,
    /// The file with which blocks are exchanged; only used by patterns that do so.
    pub donor: Option<Donor>,
    /// Offset of the first job's part in its file or device.
    pub offset_bytes: u64,
    /// Distance from the start of one job's part to the start of the next, if jobs share bytes or
    /// have separate files.
    pub offset_increment_bytes: u64,
    /// Refuse a directory as the target, where test files would be created.
    pub existing_only: bool,
    /// Write a device or an existing file once beforehand, as is always done for test files.
    pub precondition: bool,
    /// Idle time before the test starts, during which the target's caches can drain.
    pub rest: Duration,
    /// Delay of the first operation. The tests that run at the same time do not wait.
    pub start_delay: Duration,
    /// The tests that end once a job has ended.
    pub ends: Ends,
    /// Its group, within which [`Ends::Group`] ends tests.
    pub group: u32,
    /// The end of the measurement.
    pub limit: Limit,
    /// A job also ends once it has transferred the size of its part this many times.
    pub passes: Option<u64>,
    /// Runtime before the measurement starts.
    pub warm_up: WarmUp,
    /// A fixed offered load; `None` for the maximum rate.
    pub rate: Option<Rate>,
    /// Pauses between operations, if any.
    pub think: Option<ThinkTime>,
    /// Its share in the operations of the tests that run at the same time, if that is limited.
    pub flow: Option<Flow>,
    /// The rate below which a job fails, if any.
    pub rate_min: Option<RateMin>,
    /// The latency that determines the depth, if any.
    pub latency_target: Option<LatencyTarget>,
    /// The state in which the measurement ends before its limit, if any.
    pub until_steady: Option<UntilSteady>,
    /// I/O priorities of the jobs, and of some of their I/Os.
    pub priorities: Priorities,
    /// The processors of the jobs, and the nodes of their memory.
    pub processors: Processors,
    /// End each job with an `fsync`, within its measured time.
    pub end_fsync: bool,
    /// The check of written blocks, if any.
    pub verify: Option<Verification>,
    /// Write each block atomically (`RWF_ATOMIC`): after a crash, all of it is there or none.
    pub atomic: bool,
    /// The errors that are counted and ignored.
    pub tolerance: Tolerance,
    /// A full disk is the normal end of the writes.
    pub fills: bool,
    /// Seed of offsets, mix, gaps and contents: the same seed issues the same operations.
    pub seed: u64,
    /// The system interface.
    pub engine: EngineChoice,
}

impl Workload {
    /// A workload with the defaults of plans: depth 1, one job, direct, overwriting 1 GiB of
    /// incompressible data for 5 s after half a second of warm-up, without syncs.
    ///
    /// ```
    /// use workload::{BlockBytes, Pattern, SyncMethod, Workload};
    /// let mut journal = Workload::new(Pattern::RandWrite, BlockBytes::new(4096)?);
    /// journal.sync = SyncMethod::Fsync;
    /// assert_eq!(journal.title(), "randwrite 4 KiB, fsync=1, depth 1, jobs 1");
    /// # Ok::<(), workload::OutOfRange>(())
    /// ```
    pub fn new(pattern: Pattern, block_bytes: BlockBytes) -> Workload {
        Workload {
            pattern,
            read_percent: 50,
            compute: Compute::DEFAULT,
            order: BlockOrder::Plain,
            block_bytes,
            zoning: None,
            sizes: None,
            depth: Depth::MIN,
            jobs: Jobs::MIN,
            sync: SyncMethod::None,
            sync_every: 1,
            sync_timing: SyncTiming::Drained,
            streams: Streams::MIN,
            direct: true,
            invalidate: true,
            layout: Layout::Overwrite,
            content: Content::Random,
            dedupe: None,
            size: Area::DEFAULT,
            sharing: Sharing::None,
            files: JobFiles::ONE,
            kept_file: None,
            donor: None,
            offset_bytes: 0,
            offset_increment_bytes: 0,
            existing_only: false,
            precondition: false,
            rest: Duration::ZERO,
            start_delay: Duration::ZERO,
            ends: Ends::Nothing,
            group: 0,
            limit: Limit::Time(Duration::from_secs(5)),
            passes: None,
            warm_up: WarmUp(Duration::from_millis(500)),
            rate: None,
            think: None,
            flow: None,
            rate_min: None,
            latency_target: None,
            until_steady: None,
            priorities: Priorities::default(),
            processors: Processors::default(),
            end_fsync: false,
            verify: None,
            atomic: false,
            tolerance: Tolerance::default(),
            fills: false,
            seed: 1,
            engine: EngineChoice::Auto,
        }
    }

    /// The test's default name.
    pub fn title(&self) -> String {
        if self.pattern.visits_entries() {
            let (name, jobs) = (self.pattern.name(), self.jobs.get());
            return format!("{name} {} entries, jobs {jobs}", self.entries_per_job());
        }
        if self.pattern.computes() {
            let (load, jobs) = (self.compute.load_percent, self.jobs.get());
            return format!("{} {load}% of a processor, jobs {jobs}", self.pattern.name());
        }
        let mix = if self.pattern.is_mixed() {
            format!(" {}% reads", self.read_percent)
        } else {
            String::new()
        };
        let sync = match self.sync {
            SyncMethod::None => String::new(),
            SyncMethod::Fsync | SyncMethod::Fdatasync => {
                format!(", {}={}", self.sync.name(), self.sync_every)
            }
            per_write => {
                let how = match self.engine {
                    EngineChoice::Auto => "",
                    EngineChoice::Psync => " pwrite",
                    EngineChoice::IoUring | EngineChoice::Libaio => " asynchronous",
                };
                format!(", {}{how}", per_write.name())
            }
        };
        let drain = match self.sync_timing {
            SyncTiming::Drained => "",
            SyncTiming::Undrained => " undrained",
            SyncTiming::Queued => " queued",
        };
        let streams = match self.streams.get() {
            1 => String::new(),
            streams => format!(", {streams} streams"),
        };
        let files = match self.files.per_job {
            1 => String::new(),
            files => format!(", {files} files"),
        };
        let layout = match self.layout {
            Layout::Overwrite => String::new(),
            other => format!(", {}", other.name()),
        };
        let shared =
            if self.sharing == Sharing::All && self.jobs > Jobs::MIN { ", shared" } else { "" };
        let end = if self.end_fsync { ", end_fsync" } else { "" };
        let buffered = if self.direct { "" } else { ", buffered" };
        let order = if self.order.is_plain() {
            String::new()
        } else {
            format!(", {}", self.order.notation())
        };
        let zoned = if self.zoning.is_some() { ", zoned" } else { "" };
        let block = match &self.sizes {
            None => format_bytes(u64::from(self.block_bytes.get())),
            Some(sizes) => sizes.title(),
        };
        format!(
            "{}{mix} {block}{order}{zoned}{sync}{drain}{end}{streams}{files}{layout}{buffered}{shared}, \
             depth {}, jobs {}",
            self.pattern.name(),
            self.depth.get(),
            self.jobs.get()
        )
    }

    /// Number of I/Os of one job that can really be in flight together. A job waits for its writes
    /// before it syncs, because a sync covers only completed writes. With syncs, a depth above
    /// `sync_every` therefore gains nothing.
    pub fn depth_effective(&self) -> u32 {
        match self.sync.call() {
            Some(_) if self.pattern.writes() && self.sync_timing == SyncTiming::Drained => {
                self.depth.get().min(self.sync_every)
            }
            _ => self.depth.get(),
        }
    }

    /// The way its operations reach the kernel, if the workload alone determines it.
    pub fn submission(&self) -> Submission {
        let needs_queue = self.sync.linked_call().is_some()
            || self.priorities.vary()
            || self.depth_effective() > 1;
        match self.engine {
            EngineChoice::IoUring | EngineChoice::Libaio => Submission::Asynchronous,
            EngineChoice::Auto if needs_queue => Submission::Asynchronous,
            EngineChoice::Auto | EngineChoice::Psync => Submission::Blocking,
        }
    }

    /// The sync that is queued as one more operation in flight, if any.
    pub fn queued_sync(&self) -> Option<SyncCall> {
        self.sync.call().filter(|_| self.sync_timing == SyncTiming::Queued && self.pattern.writes())
    }

    /// The percentage of reads, 0 to 100.
    pub const fn reads_percent(&self) -> u8 {
        match (self.pattern.reads(), self.pattern.writes()) {
            (true, true) => self.read_percent,
            (true, false) => 100,
            (false, _) => 0,
        }
    }

    /// Bytes of each job's part on a target where it can have separate files: in each file a whole
    /// number of blocks, and at least one for each stream.
    pub fn size_per_job_bytes(&self, room: Room) -> u64 {
        self.size_per_file_bytes(self.files.per_job, room) * u64::from(self.files.per_job)
    }

    /// The number of files or directories of each job that a pattern such as `create` visits. Each
    /// counts as one block.
    pub fn entries_per_job(&self) -> u64 {
        self.size_per_job_bytes(Room::Unlimited) / u64::from(self.block_bytes.get())
    }

    /// Bytes of each job's part in each of its `files` files.
    pub(crate) fn size_per_file_bytes(&self, files: u32, room: Room) -> u64 {
        let unit = self.unit_bytes();
        let parts = if self.sharing == Sharing::None { u64::from(self.jobs.get()) } else { 1 };
        let units = self.size.bytes(room) / parts / u64::from(files) / unit;
        units.max(self.units_min()) * unit
    }

    /// Returns `true` if a full disk is the end of the job, or an error that it ignores.
    pub fn expects_full_disk(&self) -> bool {
        const ENOSPC: i32 = 28;
        self.fills || self.tolerance.ignores(ErrorKind::Write, Some(ENOSPC))
    }

    /// The granularity of a job's part: a block, or the alignment of random blocks if sizes vary.
    pub fn unit_bytes(&self) -> u64 {
        u64::from(self.sizes.as_ref().map_or(self.block_bytes.get(), |sizes| sizes.align_bytes))
    }

    /// The number of units in the smallest valid part of a file.
    pub fn units_min(&self) -> u64 {
        u64::from(self.largest_bytes())
            .div_ceil(self.unit_bytes())
            .max(u64::from(self.streams.get()))
    }

    /// Bytes of the largest read or write.
    pub fn largest_bytes(&self) -> u32 {
        self.sizes.as_ref().map_or(self.block_bytes.get(), BlockSizes::largest_bytes)
    }

    /// Returns `true` if all reads and writes are aligned to `bytes`.
    pub fn is_aligned_to(&self, bytes: u64) -> bool {
        match &self.sizes {
            None => u64::from(self.block_bytes.get()) % bytes == 0,
            Some(sizes) => sizes.are_multiples_of(bytes),
        }
    }

    /// The number of operations that transfer `bytes` bytes; approximate if sizes vary.
    pub fn operations(&self, bytes: u64) -> u64 {
        match &self.sizes {
            None => bytes / u64::from(self.block_bytes.get()),
            Some(sizes) => ((bytes as f64 / sizes.mean_bytes(self.reads_percent())) as u64).max(1),
        }
    }

    /// The limit of a job whose part has `part_bytes` bytes.
    pub fn limit_on(&self, part_bytes: u64) -> Limit {
        let Some(passes) = self.passes else { return self.limit };
        let count = match self.order.operations_of_pass(part_bytes / self.unit_bytes()) {
            Some(operations) => operations.saturating_mul(passes),
            None => self.operations(part_bytes.saturating_mul(passes)),
        };
        match self.limit {
            Limit::Time(time) => Limit::TimeAndCount { time, count, until: Until::First },
            Limit::Count(own) => Limit::Count(own.min(count)),
            Limit::TimeAndCount { time, count: own, until } => {
                Limit::TimeAndCount { time, count: own.min(count), until }
            }
        }
    }

    /// The longest time before the measurement: the warm-up, or the search for the depth of a
    /// latency target.
    pub fn preliminary_time(&self) -> Duration {
        let Some(target) = self.latency_target else { return self.warm_up.0 };
        let windows = target.window().saturating_mul(LatencyTarget::WINDOWS_MAX);
        self.limit.time().map_or(windows, |time| time.min(windows))
    }

    /// The end of a measurement of a part of this many bytes; a measurement at the depth that was
    /// found takes one window.
    pub fn measured_limit(&self, part_bytes: u64) -> Limit {
        let limit = self.limit_on(part_bytes);
        let Some(target) = self.latency_target else { return limit };
        let time = limit.time().map_or(target.window(), |time| time.min(target.window()));
        match limit.count() {
            None => Limit::Time(time),
            Some(count) => Limit::TimeAndCount { time, count, until: Until::First },
        }
    }

    /// The offset of a job's part in its file, shared or not.
    pub fn part_offset_bytes(&self, job: u32) -> u64 {
        self.offset_bytes.saturating_add(u64::from(job).saturating_mul(self.offset_increment_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> Workload {
        Workload::new(Pattern::RandWrite, BlockBytes::new(4096).unwrap())
    }

    #[test]
    fn a_depth_above_sync_every_gains_nothing() {
        let mut fsync = workload();
        fsync.depth = Depth::new(128).unwrap();
        assert_eq!(fsync.depth_effective(), 128);
        fsync.sync = SyncMethod::Fsync;
        assert_eq!(fsync.depth_effective(), 1);
        fsync.sync_every = 8;
        assert_eq!(fsync.depth_effective(), 8);
        fsync.sync_timing = SyncTiming::Undrained;
        assert_eq!(fsync.depth_effective(), 128);
        fsync.sync = SyncMethod::ODsync;
        assert_eq!(fsync.depth_effective(), 128);
    }

    #[test]
    fn a_pass_is_as_many_operations_as_the_part_has_blocks() {
        let mut device = workload();
        device.limit = Limit::Count(u64::MAX);
        device.passes = Some(2);
        assert_eq!(device.limit_on(1 << 20), Limit::Count(512));
        device.limit = Limit::Time(Duration::from_secs(1));
        let first =
            Limit::TimeAndCount { time: Duration::from_secs(1), count: 512, until: Until::First };
        assert_eq!(device.limit_on(1 << 20), first);
        device.passes = None;
        assert_eq!(device.limit_on(1 << 20), device.limit);
    }

    #[test]
    fn ranges_name_what_they_take() {
        assert_eq!(
            BlockBytes::new(100).unwrap_err().to_string(),
            "invalid block size 100 B; expected 512 B to 64 MiB"
        );
        assert_eq!(Depth::new(0).unwrap_err().to_string(), "invalid depth 0; expected 1 to 1024");
        assert_eq!(
            Jobs::new(257).unwrap_err().to_string(),
            "invalid number of jobs 257; expected 1 to 256"
        );
    }

    #[test]
    fn each_job_gets_whole_blocks() {
        let mut odd = workload();
        odd.size = Area::Bytes(10_000);
        assert_eq!(odd.size_per_job_bytes(Room::Unlimited), 8192);
        odd.jobs = Jobs::new(8).unwrap();
        assert_eq!(odd.size_per_job_bytes(Room::Unlimited), 4096);
        odd.streams = Streams::new(3).unwrap();
        assert_eq!(odd.size_per_job_bytes(Room::Unlimited), 3 * 4096);
        odd.size = Area::Percent(50);
        assert_eq!(odd.size_per_job_bytes(Room::Free(1 << 20)), 64 << 10);
    }

    #[test]
    fn a_title_names_what_differs_from_the_plain_workload() {
        assert_eq!(workload().title(), "randwrite 4 KiB, depth 1, jobs 1");
        let mut all = workload();
        (all.pattern, all.read_percent) = (Pattern::Rw, 70);
        all.order = BlockOrder::SkipBytes(-8192);
        (all.sync, all.sync_every, all.sync_timing) =
            (SyncMethod::Fdatasync, 8, SyncTiming::Queued);
        (all.end_fsync, all.direct, all.layout) = (true, false, Layout::Preallocated);
        (all.streams, all.jobs, all.depth) =
            (Streams::new(2).unwrap(), Jobs::new(4).unwrap(), Depth::new(16).unwrap());
        all.sharing = Sharing::All;
        assert_eq!(
            all.title(),
            "rw 70% reads 4 KiB, skip -8192 B, fdatasync=8 queued, end_fsync, 2 streams, \
             preallocated, buffered, \
             shared, depth 16, jobs 4"
        );
        // A single job has nothing to share with.
        (all.jobs, all.pattern) = (Jobs::MIN, Pattern::Write);
        assert!(
            !all.title().contains("shared") && !all.title().contains("reads"),
            "{}",
            all.title()
        );
        let mut dsync = workload();
        dsync.sync = SyncMethod::ODsync;
        dsync.sizes = Some(sizes());
        for (engine, how) in [
            (EngineChoice::Auto, ""),
            (EngineChoice::Psync, " pwrite"),
            (EngineChoice::IoUring, " asynchronous"),
            (EngineChoice::Libaio, " asynchronous"),
        ] {
            dsync.engine = engine;
            assert_eq!(
                dsync.title(),
                format!("randwrite 2 KiB to 8 KiB, o_dsync{how}, depth 1, jobs 1")
            );
        }
    }

    /// Reads of 2 and 6 KiB, 4 KiB on average; writes of 8 KiB.
    fn sizes() -> BlockSizes {
        let share = |bytes| crate::sizes::SizeShare { bytes, weight: 1 };
        BlockSizes {
            align_bytes: 1024,
            coarse: None,
            reads: vec![share(2048), share(6144)],
            writes: vec![share(8192)],
        }
    }

    #[test]
    fn a_queue_is_needed_for_a_linked_sync_and_for_several_operations_in_flight() {
        let submission = |engine, sync, depth| {
            let mut workload = workload();
            (workload.engine, workload.sync, workload.depth) =
                (engine, sync, Depth::new(depth).unwrap());
            workload.submission()
        };
        let auto = EngineChoice::Auto;
        assert_eq!(submission(auto, SyncMethod::None, 1), Submission::Blocking);
        assert_eq!(submission(auto, SyncMethod::None, 2), Submission::Asynchronous);
        // Each write waits for its sync, regardless of depth.
        assert_eq!(submission(auto, SyncMethod::Fsync, 2), Submission::Blocking);
        assert_eq!(submission(auto, SyncMethod::LinkedFsync, 1), Submission::Asynchronous);
        assert_eq!(submission(EngineChoice::Psync, SyncMethod::None, 2), Submission::Blocking);
        for engine in [EngineChoice::IoUring, EngineChoice::Libaio] {
            assert_eq!(submission(engine, SyncMethod::None, 1), Submission::Asynchronous);
        }
    }

    #[test]
    fn only_a_job_that_asks_for_it_queues_its_syncs() {
        let mut fsync = workload();
        (fsync.sync, fsync.depth, fsync.sync_every) =
            (SyncMethod::Fsync, Depth::new(4).unwrap(), 4);
        for timing in [SyncTiming::Drained, SyncTiming::Undrained, SyncTiming::Queued] {
            fsync.sync_timing = timing;
            let queued = (timing == SyncTiming::Queued).then_some(SyncCall::Fsync);
            assert_eq!(fsync.queued_sync(), queued, "{timing:?}");
        }
        fsync.depth = Depth::MIN;
        fsync.pattern = Pattern::RandRead;
        assert_eq!((fsync.queued_sync(), fsync.depth_effective()), (None, 1));
        (fsync.pattern, fsync.sync) = (Pattern::RandWrite, SyncMethod::ODsync);
        assert_eq!(fsync.queued_sync(), None);
        // A job that only reads has no writes to drain.
        let mut reads = workload();
        (reads.pattern, reads.sync, reads.depth) =
            (Pattern::Read, SyncMethod::Fsync, Depth::new(4).unwrap());
        assert_eq!(reads.depth_effective(), 4);
    }

    #[test]
    fn blocks_of_several_sizes_count_by_their_mean() {
        let mut varied = workload();
        varied.sizes = Some(sizes());
        let operations = [Pattern::Read, Pattern::Write, Pattern::Rw].map(|pattern| {
            varied.pattern = pattern;
            varied.operations(48 << 10)
        });
        // Half reads, half writes: 6 KiB.
        assert_eq!(operations, [12, 6, 8]);
        assert_eq!(
            (varied.operations(1), varied.unit_bytes(), varied.largest_bytes()),
            (1, 1024, 8192)
        );
        assert_eq!((varied.units_min(), workload().units_min()), (8, 1));
        assert_eq!((workload().operations(48 << 10), workload().operations(4095)), (12, 0));
        assert!(varied.is_aligned_to(1024) && !varied.is_aligned_to(2048));
        assert!(workload().is_aligned_to(4096) && !workload().is_aligned_to(8192));
    }

    #[test]
    fn limits_are_only_ever_shortened() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
        let both = |time, count, until| Limit::TimeAndCount { time, count, until };
        // At least one operation completes, however slow it is.
        assert_eq!(Limit::Time(minute).shortened(second, 8), both(second, 1, Until::Both));
        assert_eq!(Limit::Time(second).shortened(minute, 8), both(second, 1, Until::Both));
        assert_eq!(Limit::Count(9).shortened(second, 8), both(second, 8, Until::First));
        assert_eq!(Limit::Count(7).shortened(second, 8), both(second, 7, Until::First));
        assert_eq!(both(minute, 7, Until::Both).shortened(second, 8), both(second, 7, Until::Both));
        assert_eq!(
            [Limit::Time(second), both(second, 7, Until::First)].map(Limit::time),
            [Some(second); 2]
        );
        assert_eq!(
            [Limit::Count(7), both(second, 7, Until::First)].map(Limit::count),
            [Some(7); 2]
        );
        assert_eq!((Limit::Count(7).time(), Limit::Time(second).count()), (None, None));
        let mut passes = workload();
        passes.passes = Some(1);
        for (own, expected) in [(100, 100), (300, 256)] {
            passes.limit = both(second, own, Until::Both);
            assert_eq!(passes.limit_on(1 << 20), both(second, expected, Until::Both));
        }
    }

    #[test]
    fn an_area_is_the_whole_a_share_or_a_number_of_bytes() {
        let whole = Area::Whole { file_bytes: 5 };
        for (room, expected) in [
            (Room::Whole(1000), [1000, 7, 250]),
            (Room::Free(1000), [5, 7, 250]),
            (Room::Unlimited, [5, 7, 0]),
        ] {
            assert_eq!(
                [whole, Area::Bytes(7), Area::Percent(25)].map(|area| area.bytes(room)),
                expected
            );
        }
        let large = Area::Percent(100).bytes(Room::Whole(u64::MAX));
        assert_eq!((large, Area::DEFAULT.bytes(Room::Unlimited)), (u64::MAX, 1 << 30));
    }

    #[test]
    fn every_name_leads_back_to_its_choice() {
        for layout in Layout::ALL {
            assert_eq!(Layout::from_name(layout.name()), Some(layout));
            assert_eq!(serde_json::to_value(layout).unwrap(), layout.name());
            assert_eq!(layout.needs_new_file(), layout != Layout::Overwrite);
            assert_eq!(layout.starts_over(), ["append", "preallocated"].contains(&layout.name()));
        }
        for sharing in Sharing::ALL {
            assert_eq!(Sharing::from_name(sharing.name()), Some(sharing));
            assert_eq!(serde_json::to_value(sharing).unwrap(), sharing.name());
        }
        for engine in EngineChoice::ALL {
            assert_eq!(EngineChoice::from_name(engine.name()), Some(engine));
        }
        // Separate files keep jobs apart, unless they are to share one.
        assert_eq!(Sharing::ALL.map(|sharing| sharing.shares(true)), [false, false, true]);
        assert_eq!(Sharing::ALL.map(|sharing| sharing.shares(false)), [false, true, true]);
    }
}
