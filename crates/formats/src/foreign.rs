//! Tests and runs as another tool reports them, and their conversion to results and documents.

use std::collections::BTreeMap;

use jiff::Timestamp;
use measurement::document::SCHEMA;
use measurement::{
    CpuUse, Ended, Histogram, Histograms, LatencySummary, Proof, RunDocument, Series, Skipped,
    Source, TargetKind, TargetRecord, TestResult, WorkloadRecord,
};

/// Latencies of one kind of operation, as far as reported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    /// `None` if the tool does not report all figures.
    pub summary: Option<LatencySummary>,
    /// `None` if the tool reports only percentiles.
    pub histogram: Option<Histogram>,
}

/// A test as another tool reports it. Unreported fields keep their `Default`, which is `null` in
/// the document.
#[derive(Debug, Clone)]
pub struct ForeignTest {
    pub test: String,
    pub workload: WorkloadRecord,
    /// The I/O engine as the tool calls it.
    pub engine: String,
    pub elapsed_s: f64,
    /// Number of reads and writes, or of rounds of a step program.
    pub ops: u64,
    /// Set if the tool reports the rate more exactly than `ops` and `elapsed_s`.
    pub iops: Option<f64>,
    pub bytes: f64,
    pub commits_per_s: Option<f64>,
    pub read: Latencies,
    pub write: Latencies,
    pub sync: Latencies,
    pub commit: Latencies,
    pub proof: Proof,
    pub cpu: CpuUse,
    pub ended: Ended,
    /// Assumptions and limits, one sentence each.
    pub notes: Vec<String>,
}

impl ForeignTest {
    /// A test with a name and a workload, and no figures yet.
    pub fn of(test: &str, workload: WorkloadRecord, engine: &str) -> ForeignTest {
        ForeignTest {
            test: test.to_owned(),
            workload,
            engine: engine.to_owned(),
            elapsed_s: 0.0,
            ops: 0,
            iops: None,
            bytes: 0.0,
            commits_per_s: None,
            read: Latencies::default(),
            write: Latencies::default(),
            sync: Latencies::default(),
            commit: Latencies::default(),
            proof: Proof { reads: 0, writes: 0, syncs: 0, commits: 0, device: None },
            cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
            ended: Ended::Limit,
            notes: Vec::new(),
        }
    }

    /// # Panics
    /// If there are more commits than writes: a reader has counted something else as commits.
    pub fn result(self) -> TestResult {
        let Proof { commits, writes, .. } = self.proof;
        assert!(commits <= writes, "{}: {commits} commits of {writes} writes", self.test);
        let per_second =
            |count: f64| if self.elapsed_s > 0.0 { count / self.elapsed_s } else { 0.0 };
        TestResult {
            iops: self.iops.unwrap_or_else(|| per_second(self.ops as f64)),
            mib_per_s: per_second(self.bytes) / f64::from(1 << 20),
            test: self.test,
            workload: self.workload,
            engine: self.engine,
            elapsed_s: self.elapsed_s,
            ops: self.ops,
            in_flight: None,
            commits_per_s: self.commits_per_s,
            read_us: self.read.summary,
            write_us: self.write.summary,
            sync_us: self.sync.summary,
            commit_us: self.commit.summary,
            histograms: Histograms {
                read: self.read.histogram,
                write: self.write.histogram,
                sync: self.sync.histogram,
                commit: self.commit.histogram,
            },
            series: Series::new(),
            passes: Vec::new(),
            steady_state: None,
            proof: self.proof,
            sort: None,
            computed_s: None,
            priorities: Vec::new(),
            osd: None,
            server: None,
            trace: None,
            insert_benchmark: None,
            cpu: self.cpu,
            ended: self.ended,
            notes: self.notes,
        }
    }
}

/// A run as another tool reports it.
#[derive(Debug)]
pub struct ForeignRun {
    /// Tool and drive.
    pub source: Source,
    /// The corresponding suite, or the name of the file.
    pub suite: String,
    /// Start time; `None` if unknown.
    pub began: Option<Timestamp>,
    pub target: TargetRecord,
    pub results: Vec<TestResult>,
    /// Parts of the output that are not results.
    pub skipped: Vec<Skipped>,
}

impl ForeignRun {
    /// Converts the run. Other tools do not report facts about the machine.
    pub fn document(self) -> RunDocument {
        RunDocument {
            schema: SCHEMA.to_owned(),
            flushmark: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: measurement::started_at::write(self.began),
            suite: self.suite,
            label: None,
            smoke: false,
            target: self.target,
            source: Some(self.source),
            merged_runs: None,
            group: None,
            host: drive::HostFacts::default(),
            drive: None,
            drives: Vec::new(),
            results: self.results,
            skipped: self.skipped,
            findings: Vec::new(),
            fitness: BTreeMap::new(),
            fitness_under_each_setting: None,
        }
    }
}

/// The target if the tool does not report one.
pub fn unknown_target() -> TargetRecord {
    TargetRecord::new("unknown", TargetKind::Unknown)
}

/// The device name of a path in `/dev`, except for files in memory under `/dev/shm`.
pub fn device_name(path: &str) -> Option<&str> {
    path.strip_prefix("/dev/").filter(|name| !name.starts_with("shm/"))
}

pub fn target_of_file(path: &str) -> TargetRecord {
    let kind = if device_name(path).is_some() { TargetKind::BlockDevice } else { TargetKind::File };
    TargetRecord::new(path, kind)
}
