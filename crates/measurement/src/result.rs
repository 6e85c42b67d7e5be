//! One test's result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::{
    Arrivals, BlockOrder, BlockSizes, Compute, Content, Dedupe, DonorSpace, Ends, FileSpec, Flow,
    JobFiles, Jobs, LatencyTarget, Layout, Pattern, Priorities, Processors, Rate, RateMin, Room,
    Sharing, Submission, SyncMethod, SyncTiming, Test, ThinkTime, UntilSteady, Work, Workload,
    WriteCache, Zoning, format_bytes,
};

use crate::histogram::{Histogram, LatencySummary};
use crate::insert_benchmark::InsertBenchmarkStep;
use crate::osd::OsdRecord;
use crate::passes::Pass;
use crate::priorities::PriorityLatency;
use crate::proof::{DeviceCounts, DeviceProof, Proof};
use crate::series::Series;
use crate::server_activity::ServerActivity;
use crate::sorting::{SortFigures, SortRecord};
use crate::steady_state::SteadyState;
use crate::trace_document::TraceRecord;

/// The engine's name in results that a model computed.
pub const MODEL_ENGINE: &str = "sim";

/// The workload of a test as it was run. One flat object, so programs find each field in one place.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a test")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRecord {
    /// The pattern of blocks; `null` for a step program or a sort.
    pub pattern: Option<Pattern>,
    /// Share of operations that read, for mixed patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Bytes of one read or write, 0 if they vary; for a step program, bytes written per turn.
    pub block_bytes: u64,
    /// I/Os that each job was asked to keep in flight; 0 if unknown, in some imported listings.
    pub depth: u32,
    /// Number of jobs, which submit independently of each other.
    pub jobs: u32,
    /// How writes were made durable; `null` for a step program, whose steps define it, and for a
    /// sort, whose `sort.runs_sync` does.
    pub sync: Option<SyncMethod>,
    /// Number of writes per sync.
    pub sync_every: u32,
    /// Whether a job waited for its writes before each sync. A sync that does not wait covers none
    /// of the writes in flight, so there are no commits.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub drain: bool,
    /// How operations reached the kernel; `null` if unknown, and for `null:`. On a raw device, a
    /// blocking `O_SYNC` write is FUA followed by a flush, an asynchronous one FUA alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// Number of areas that sequential blocks were written to or read from in turn.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Seconds for which the target was left idle before the test.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rest_s: f64,
    /// `true` if the page cache was really bypassed; `false` if the target refused `O_DIRECT`.
    pub direct: bool,
    /// The files or the device that the blocks were in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// The kind of data written.
    pub content: Content,
    /// Bytes that all jobs together really worked on; less than requested if there was too little
    /// free space.
    pub size_bytes: u64,
    /// The drive's write cache during the test; `unchanged` if it was left as it was.
    pub write_cache: WriteCache,
    /// The load offered by each job, if fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateRecord>,
    /// Seed for offsets, read/write mix, gaps between operations and contents.
    pub seed: u64,
    /// Files of a step program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileSpec>,
    /// Steps of a step program, one turn of its loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// True if a sync was queued like any other operation; absent: no, the job waited for it.
    #[serde(default, skip_serializing_if = "is_no")]
    pub sync_queued: bool,
    /// The bytes that the jobs shared; absent: none.
    #[serde(default, skip_serializing_if = "shares_nothing")]
    pub sharing: Sharing,
    /// The files of each job, if it had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_files: Option<JobFiles>,
    /// Offset of the first job's area in its file or device; absent: 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub offset_bytes: u64,
    /// Distance between the starts of successive jobs' areas, whether they shared a file or had
    /// separate ones; absent: 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub offset_increment_bytes: u64,
    /// Seconds by which the first operation came after the start of the tests that ran at the same
    /// time; absent: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_delay_s: f64,
    /// True if the tests that ran at the same time ended with the first job of this one; absent:
    /// no.
    #[serde(default, skip_serializing_if = "is_no")]
    pub ends_others: bool,
    /// The tests that `ends_others` ended; absent: all that ran at the same time.
    #[serde(default, skip_serializing_if = "Ends::is_nothing")]
    pub ends: Ends,
    /// The group of the test, for `ends`; absent: 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub group: u32,
    /// Pauses of each job between its operations; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<ThinkTime>,
    /// The share of each job in the operations of the tests that ran at the same time; absent: not
    /// limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The rate below which a job would have failed; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_min: Option<RateMin>,
    /// The duplicates among the writes; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe: Option<Dedupe>,
    /// The latency that determined the depth of each job, up to `depth`; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_target: Option<LatencyTarget>,
    /// The state in which the measurement would have ended before its limit; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<UntilSteady>,
    /// I/O priorities of the jobs, and of some of their I/Os; absent: the kernel's default.
    #[serde(default, skip_serializing_if = "Priorities::is_default")]
    pub priorities: Priorities,
    /// The computations, for a test that computes; absent: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<Compute>,
    /// The time at which the file with which blocks are exchanged gets its space; absent: no blocks
    /// are exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub donor: Option<DonorSpace>,
    /// The processors of the jobs, and the NUMA nodes of their memory; absent: one processor for
    /// each job, if there were enough.
    #[serde(default, skip_serializing_if = "Processors::is_default")]
    pub processors: Processors,
    /// True if each job ended with an `fsync` within its measured time; absent: no.
    #[serde(default, skip_serializing_if = "is_no")]
    pub end_fsync: bool,
    /// Difference of the order of blocks from the default; absent: none.
    #[serde(default, skip_serializing_if = "BlockOrder::is_plain")]
    pub order: BlockOrder,
    /// The zones whose write pointers the writes went to; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoning: Option<Zoning>,
    /// The sizes of reads and writes, if they varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<BlockSizes>,
    /// Blocks were made checkable when written, or checked when read; absent: no.
    #[serde(default, skip_serializing_if = "is_no")]
    pub verify: bool,
    /// Each write was atomic (`RWF_ATOMIC`); absent: no.
    #[serde(default, skip_serializing_if = "is_no")]
    pub atomic: bool,
    /// Names of the tests that ran at the same time on the same target; absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Parameters of a sort; the size of its records is `size_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<SortRecord>,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_yes(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_no(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_none(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn shares_nothing(sharing: &Sharing) -> bool {
    *sharing == Sharing::None
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_first(value: &u32) -> bool {
    *value == 0
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_one(value: &u32) -> bool {
    *value == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A fixed offered load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateRecord {
    /// Operations per second of each job.
    pub per_second: f64,
    /// How many of these were reads, if the reads and the writes of a mix were offered
    /// independently of each other; absent: each operation was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_per_second: Option<f64>,
    /// Spacing of the operations.
    pub arrivals: Arrivals,
}

impl RateRecord {
    const fn of(rate: Rate) -> RateRecord {
        let Rate { per_second, reads_per_second, arrivals } = rate;
        RateRecord { per_second, reads_per_second, arrivals }
    }
}

impl WorkloadRecord {
    /// The block size, or the range of block sizes.
    pub fn block_title(&self) -> String {
        self.sizes.as_ref().map_or_else(|| format_bytes(self.block_bytes), BlockSizes::title)
    }

    /// Operations that all jobs together keep in flight at all times; `None` if the workload itself
    /// sometimes drains the queue (offered load, syncs, layouts that start over) or checks blocks between
    /// its operations.
    pub fn constant_depth(&self) -> Option<u32> {
        let constant = self.pattern.is_some()
            && self.depth > 0
            && self.rate.is_none()
            && self.think.is_none()
            // Even at full load, a job is in no queue while another program has its processor.
            && self.compute.is_none()
            && self.flow.is_none()
            && self.latency_target.is_none()
            && !self.verify
            // A job waits for zones that are being written or reset.
            && self.zoning.is_none()
            && self.sync.is_none_or(|sync| sync.call().is_none())
            && self.layout.is_none_or(|layout| layout == Layout::Overwrite);
        constant.then(|| self.depth.saturating_mul(self.jobs))
    }

    /// The record of a test as requested. The engine corrects `direct` and `size_bytes` to what it
    /// really did.
    pub fn of(test: &Test) -> WorkloadRecord {
        match &test.work {
            Work::Blocks(workload) => WorkloadRecord {
                write_cache: test.write_cache,
                ..WorkloadRecord::of_blocks(workload)
            },
            Work::Steps(program) => WorkloadRecord {
                block_bytes: program.turn_bytes(),
                jobs: program.jobs.get(),
                direct: program.files.iter().any(|file| file.direct),
                content: program.content,
                size_bytes: test.work.size_bytes(Room::Unlimited),
                write_cache: test.write_cache,
                seed: program.seed,
                files: program.files.clone(),
                steps: program.steps.iter().map(|step| step.notation(&program.files)).collect(),
                ..WorkloadRecord::without_pattern()
            },
            Work::Sort(sort) => WorkloadRecord {
                block_bytes: u64::from(sort.block_bytes.get()),
                jobs: sort.jobs.get(),
                rest_s: sort.rest.as_secs_f64(),
                direct: sort.direct,
                size_bytes: sort.size_bytes,
                write_cache: test.write_cache,
                seed: sort.seed,
                sort: Some(SortRecord::of(sort)),
                ..WorkloadRecord::without_pattern()
            },
        }
    }

    /// The record of a test that runs at the same time as the others of `tests`.
    pub fn among(test: &Test, tests: &[Test]) -> WorkloadRecord {
        let others = tests.iter().filter(|other| other.name != test.name);
        WorkloadRecord {
            beside: others.map(|other| other.name.clone()).collect(),
            ..WorkloadRecord::of(test)
        }
    }

    /// For work without a block pattern: one blocking call at a time.
    fn without_pattern() -> WorkloadRecord {
        WorkloadRecord {
            depth: 1,
            submission: Some(Submission::Blocking),
            ..WorkloadRecord::unknown()
        }
    }

    /// A workload of which nothing is known but that it is one job: depth 0, size 0, no pattern.
    pub fn unknown() -> WorkloadRecord {
        WorkloadRecord {
            pattern: None,
            read_percent: None,
            block_bytes: 0,
            depth: 0,
            jobs: 1,
            sync: None,
            sync_every: 1,
            drain: true,
            submission: None,
            streams: 1,
            rest_s: 0.0,
            direct: false,
            layout: None,
            content: Content::Random,
            size_bytes: 0,
            write_cache: WriteCache::Unchanged,
            rate: None,
            seed: 0,
            files: Vec::new(),
            steps: Vec::new(),
            sync_queued: false,
            sharing: Sharing::None,
            job_files: None,
            offset_bytes: 0,
            offset_increment_bytes: 0,
            start_delay_s: 0.0,
            ends_others: false,
            ends: Ends::Nothing,
            group: 0,
            think: None,
            flow: None,
            rate_min: None,
            dedupe: None,
            latency_target: None,
            until_steady: None,
            priorities: Priorities::default(),
            compute: None,
            donor: None,
            processors: Processors::default(),
            end_fsync: false,
            order: BlockOrder::Plain,
            zoning: None,
            sizes: None,
            verify: false,
            atomic: false,
            beside: Vec::new(),
            sort: None,
        }
    }

    fn of_blocks(workload: &Workload) -> WorkloadRecord {
        WorkloadRecord {
            pattern: Some(workload.pattern),
            read_percent: workload.pattern.is_mixed().then_some(workload.read_percent),
            block_bytes: if workload.sizes.is_some() {
                0
            } else {
                u64::from(workload.block_bytes.get())
            },
            depth: workload.depth.get(),
            jobs: workload.jobs.get(),
            sync: Some(workload.sync),
            sync_every: workload.sync_every,
            drain: match workload.sync_timing {
                SyncTiming::Drained => true,
                SyncTiming::Undrained => false,
                // At depth 1 nothing is in flight when a sync is due.
                SyncTiming::Queued => workload.depth_effective() == 1,
            },
            sync_queued: workload.queued_sync().is_some(),
            submission: Some(workload.submission()),
            streams: workload.streams.get(),
            rest_s: workload.rest.as_secs_f64(),
            direct: workload.direct,
            layout: Some(workload.layout),
            content: workload.content,
            size_bytes: workload.size_per_job_bytes(Room::Unlimited)
                * u64::from(workload.jobs.get()),
            write_cache: WriteCache::Unchanged,
            rate: workload.rate.map(RateRecord::of),
            seed: workload.seed,
            files: Vec::new(),
            steps: Vec::new(),
            // A single job has nothing to share.
            sharing: if workload.jobs == Jobs::MIN { Sharing::None } else { workload.sharing },
            job_files: Some(workload.files).filter(|files| files.per_job > 1),
            offset_bytes: workload.offset_bytes,
            offset_increment_bytes: workload.offset_increment_bytes,
            start_delay_s: workload.start_delay.as_secs_f64(),
            ends_others: !workload.ends.is_nothing(),
            ends: Some(workload.ends).filter(|ends| *ends != Ends::Concurrent).unwrap_or_default(),
            group: workload.group,
            think: workload.think,
            flow: workload.flow,
            rate_min: workload.rate_min,
            dedupe: workload.dedupe,
            latency_target: workload.latency_target,
            until_steady: workload.until_steady,
            priorities: workload.priorities.clone(),
            compute: workload.pattern.computes().then_some(workload.compute),
            donor: workload.donor.map(|donor| donor.space),
            processors: workload.processors.clone(),
            end_fsync: workload.end_fsync,
            order: workload.order.clone(),
            zoning: workload.zoning,
            sizes: workload.sizes.clone(),
            verify: workload.verify.is_some(),
            atomic: workload.atomic,
            beside: Vec::new(),
            sort: None,
        }
    }
}

/// Why a test ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Ended {
    /// Its limit was reached.
    Limit,
    /// It was interrupted by a signal; what was measured until then counts.
    Interrupted,
    /// An error occurred; what was measured until then counts.
    Failed {
        /// The error, in one sentence.
        error: String,
    },
}

/// Processor time of the engine's process during the measurement, including kernel work on its
/// behalf.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel.
    pub system_s: f64,
}

/// Complete distributions, in nanoseconds; `null` for operations that the test does not have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    pub read: Option<Histogram>,
    /// Latencies of writes, without a sync that follows them.
    pub write: Option<Histogram>,
    /// Latencies of sync calls.
    pub sync: Option<Histogram>,
    /// Latencies of commits, from submitting the first byte until durability is acknowledged.
    pub commit: Option<Histogram>,
}

impl Histograms {
    /// Sum of all latencies of reads, writes and syncs, in seconds.
    fn busy_s(&self) -> f64 {
        let sum_ns = |histogram: &Histogram| histogram.mean_ns() * histogram.count() as f64;
        [&self.read, &self.write, &self.sync].into_iter().flatten().map(sum_ns).sum::<f64>() / 1e9
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// The test's name in its plan.
    pub test: String,
    /// The workload as it was run.
    pub workload: WorkloadRecord,
    /// The I/O engine: `psync`, `io_uring`, `libaio`, `null`, or `sim` for a model.
    pub engine: String,
    /// Seconds measured, warm-up excluded.
    pub elapsed_s: f64,
    /// Reads and writes completed; for a step program, turns.
    pub ops: u64,
    /// `ops` per second.
    pub iops: f64,
    /// MiB read and written per second.
    pub mib_per_s: f64,
    /// Mean number of reads, writes and syncs in flight: the sum of their latencies over the time
    /// measured. By Little's law this equals operations per second times mean latency; for a job
    /// that keeps its queue full it is the queue depth. `null` for step programs, sorts and
    /// imported results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<f64>,
    /// Commits per second; `null` if nothing was made durable.
    pub commits_per_s: Option<f64>,
    pub read_us: Option<LatencySummary>,
    pub write_us: Option<LatencySummary>,
    /// Latency of the sync call, in microseconds, if it is separate from the write.
    pub sync_us: Option<LatencySummary>,
    /// Latency of a write together with what makes it durable, in microseconds; for a step program,
    /// of one turn.
    pub commit_us: Option<LatencySummary>,
    /// The complete distributions behind the summaries.
    pub histograms: Histograms,
    /// Rates and latencies second by second.
    pub series: Series,
    /// The passes that were added up to this result, in the order in which they were made; absent
    /// for a test that ran without a pause. OSDs of a Ceph cluster take turns, so the nth passes of
    /// two of them were made side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Pass>,
    /// Steady state at the end of the test; `null` if it was too short to judge.
    pub steady_state: Option<SteadyState>,
    /// Requests to the kernel, and the operations that the device counted.
    pub proof: Proof,
    /// Time of a sort, divided into parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<SortFigures>,
    /// Processor time of the jobs in seconds, for a test that computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computed_s: Option<f64>,
    /// Latencies by priority, if some I/Os had a separate one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityLatency>,
    /// The OSD of a Ceph cluster that served the test alone; absent for all other tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub osd: Option<OsdRecord>,
    /// Where its commits spend their time, from a short repetition that was traced; absent unless
    /// asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceRecord>,
    /// Activity of the database server meanwhile, by its own counters; absent for other targets,
    /// and if they could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerActivity>,
    /// A step of the Insert Benchmark; absent for all other tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insert_benchmark: Option<Box<InsertBenchmarkStep>>,
    /// Processor time of the measurement.
    pub cpu: CpuUse,
    pub ended: Ended,
    /// Differences from what was requested, with reasons; one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The measurement of an engine; [`TestResult::new`] derives the rest.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The workload as it was really run.
    pub workload: WorkloadRecord,
    /// The I/O engine, such as `psync`.
    pub engine: &'static str,
    /// Seconds measured, warm-up excluded.
    pub elapsed_s: f64,
    /// Turns of a step program's loop; `None` for a block pattern, whose operations are its reads
    /// and writes.
    pub turns: Option<u64>,
    /// Bytes read and written.
    pub bytes: u64,
    /// The complete distributions.
    pub histograms: Histograms,
    /// Rates and latencies second by second.
    pub series: Series,
    /// Requests to the kernel, and the operations that the device counted.
    pub proof: Proof,
    /// Processor time of the measurement.
    pub cpu: CpuUse,
    /// Why the test ended.
    pub ended: Ended,
    /// Differences from what was requested; one sentence each.
    pub notes: Vec<String>,
}

impl TestResult {
    /// Derives rates, summaries and the steady state from a measurement.
    pub fn new(test: &str, measured: Measured) -> TestResult {
        let Measured {
            workload,
            engine,
            elapsed_s,
            turns,
            bytes,
            histograms,
            series,
            proof,
            cpu,
            ended,
            notes,
        } = measured;
        let ops = turns.unwrap_or(proof.reads + proof.writes);
        let per_second = |count: f64| if elapsed_s > 0.0 { count / elapsed_s } else { 0.0 };
        let summary =
            |histogram: &Option<Histogram>| histogram.as_ref().and_then(Histogram::summary);
        let is_blocks = workload.pattern.is_some();
        TestResult {
            test: test.to_owned(),
            workload,
            engine: engine.to_owned(),
            elapsed_s,
            ops,
            iops: per_second(ops as f64),
            mib_per_s: per_second(bytes as f64) / f64::from(1 << 20),
            in_flight: is_blocks.then(|| per_second(histograms.busy_s())),
            commits_per_s: histograms
                .commit
                .as_ref()
                .map(|commits| per_second(commits.count() as f64)),
            read_us: summary(&histograms.read),
            write_us: summary(&histograms.write),
            sync_us: summary(&histograms.sync),
            commit_us: summary(&histograms.commit),
            steady_state: SteadyState::of(&series),
            histograms,
            series,
            passes: Vec::new(),
            proof,
            sort: None,
            computed_s: None,
            priorities: Vec::new(),
            osd: None,
            trace: None,
            server: None,
            insert_benchmark: None,
            cpu,
            ended,
            notes,
        }
    }

    /// The result of watching a server. Its commits are counted and not timed, and their load is unknown.
    pub fn watched(
        engine: &'static str,
        activity: ServerActivity,
        device: Option<&DeviceCounts>,
        cpu: CpuUse,
        ended: Ended,
        notes: Vec<String>,
    ) -> TestResult {
        let commits = activity.commits.as_ref().map(|commits| commits.count);
        let whole = |count: Option<f64>| count.unwrap_or(0.0).round() as u64;
        let bytes = activity.files.iter().filter_map(|file| file.writes.as_ref()?.bytes).sum();
        let bytes = whole(Some(bytes));
        let proof = Proof {
            reads: 0,
            writes: whole(activity.writes_in_total()),
            syncs: whole(activity.syncs_in_total()),
            commits: whole(commits),
            device: device.map(|seen| DeviceProof::new(seen, whole(commits), bytes)),
        };
        let per_second = activity.series.iter().flat_map(|series| &series.commits_per_s);
        let series = Series { iops: per_second.copied().flatten().collect(), ..Series::new() };
        let elapsed_s = activity.elapsed_s;
        let measured = Measured {
            workload: WorkloadRecord::unknown(),
            engine,
            elapsed_s,
            turns: Some(whole(commits)),
            bytes,
            histograms: Histograms::default(),
            series,
            proof,
            cpu,
            ended,
            notes,
        };
        TestResult {
            commits_per_s: activity.commits_per_s(),
            // The load of others may change at any time.
            steady_state: None,
            server: Some(activity),
            ..TestResult::new("watch", measured)
        }
    }

    /// Adds the figures of a sort. A sort first writes and then reads, so it has no steady state.
    #[must_use]
    pub fn with_sort(self, figures: SortFigures) -> TestResult {
        TestResult { sort: Some(figures), steady_state: None, ..self }
    }

    /// Adds the processor time of jobs that compute, with a note.
    #[must_use]
    pub fn with_computed(mut self, computed_s: f64) -> TestResult {
        let jobs = self.workload.jobs;
        let available_s = self.elapsed_s * f64::from(jobs);
        let percent = if available_s > 0.0 { 100.0 * computed_s / available_s } else { 0.0 };
        let of = if jobs == 1 { "a processor".to_owned() } else { format!("{jobs} processors") };
        self.notes.push(format!(
            "used {computed_s:.2} s of processor time, {percent:.0} % of {of}; this is not a \
             measurement of storage"
        ));
        TestResult { computed_s: Some(computed_s), ..self }
    }

    /// Adds the latencies by priority, with a note for each.
    #[must_use]
    pub fn with_priorities(mut self, priorities: Vec<PriorityLatency>) -> TestResult {
        let all = |latency: &PriorityLatency| {
            if latency.reads { self.proof.reads } else { self.proof.writes }
        };
        self.notes.extend(priorities.iter().map(|latency| latency.sentence(all(latency))));
        TestResult { priorities, ..self }
    }

    /// Returns whether a model computed the result, so running it again gives the same.
    pub fn is_modelled(&self) -> bool {
        self.engine == MODEL_ENGINE
    }

    /// The workload for comparisons. The submission is dropped unless it changes the commands that
    /// the drive receives, as it does for writes that are durable by themselves. Documents of
    /// earlier versions record it only as the engine.
    pub fn comparable_workload(&self) -> WorkloadRecord {
        let record = self.workload.clone();
        let of_engine = match self.engine.as_str() {
            "psync" => Some(Submission::Blocking),
            MODEL_ENGINE if record.depth == 1 => Some(Submission::Blocking),
            "io_uring" | "libaio" | MODEL_ENGINE => Some(Submission::Asynchronous),
            _ => None,
        };
        let flagged = record.sync.is_some_and(|sync| sync.is_durable() && sync.is_per_write());
        WorkloadRecord { submission: record.submission.or(of_engine).filter(|_| flagged), ..record }
    }

    /// The workload as far as the listing of another tool reports it, for comparisons with one: not
    /// the seed, the size, what blocks contain and overwrite, and how long the drive rested before.
    pub fn listed_workload(&self) -> WorkloadRecord {
        WorkloadRecord {
            seed: 0,
            size_bytes: 0,
            layout: None,
            content: Content::Random,
            rest_s: 0.0,
            ..self.comparable_workload()
        }
    }

    /// The distance of the test from the one that stands for a whole run, which is one commit at a
    /// time of 4 KiB, the smallest block of a database or journal. With the drive's write cache on,
    /// as most are, it comes before one with the cache off. The lowest is the closest.
    pub fn distance_from_a_commit(&self) -> impl Ord + use<> {
        const BLOCK: u64 = 4096;
        let work = &self.workload;
        let is_single = work.depth * work.jobs == 1 && work.sync_every <= 1;
        let is_cache_off = work.write_cache == WriteCache::Off;
        (self.commits_per_s.is_none(), !is_single, work.block_bytes != BLOCK, is_cache_off)
    }

    /// The index of the result that stands for a run in lists and on cards: of those with latencies,
    /// the first with the least [`TestResult::distance_from_a_commit`].
    pub fn leading(results: &[TestResult]) -> Option<usize> {
        let timed = (0..results.len()).filter(|&at| results[at].headline_us().is_some());
        timed.min_by_key(|&at| results[at].distance_from_a_commit())
    }

    /// The latency that an application waits for: commit latency if there is any, else write
    /// latency, else read latency. `None` if commits were only counted and not timed, as in fio's
    /// output: no application waits for the write alone.
    pub fn headline_us(&self) -> Option<LatencySummary> {
        if self.commit_us.is_none() && self.commits_per_s.is_some_and(|rate| rate > 0.0) {
            return None;
        }
        self.commit_us.or(self.write_us).or(self.read_us)
    }

    /// The distribution behind [`TestResult::headline_us`], if it was kept.
    pub fn headline_histogram(&self) -> Option<&Histogram> {
        self.headline_us()?;
        let Histograms { commit, write, read, .. } = &self.histograms;
        if self.commit_us.is_some() {
            return commit.as_ref();
        }
        if self.write_us.is_some() { write.as_ref() } else { read.as_ref() }
    }

    /// Operations per second at the end of the test: in the last window of the steady-state rule, or
    /// in the whole test if it was too short for one.
    pub fn iops_at_the_end(&self) -> f64 {
        self.steady_state.map_or(self.iops, |state| state.iops.average)
    }

    /// Returns whether the rate at the end differs from that of the whole test by more than a few
    /// percent: the drive had not settled before.
    pub fn ends_at_another_rate(&self) -> bool {
        const CHANGE_MIN: f64 = 0.05;
        (self.iops_at_the_end() / self.iops - 1.0).abs() >= CHANGE_MIN
    }

    /// Median of the headline latency; 0 if nothing was measured.
    pub fn p50_us(&self) -> f64 {
        self.headline_us().map_or(0.0, |summary| summary.p50)
    }

    /// True for a database server that was watched: its load was that of others.
    pub fn is_watched(&self) -> bool {
        self.server.is_some() && self.workload.depth == 0
    }

    /// Flushes counted by the device per commit; `None` without counters or commits.
    pub fn flushes_per_commit(&self) -> Option<f64> {
        self.proof.device?.flushes_per_commit
    }
}

#[cfg(test)]
mod tests;
