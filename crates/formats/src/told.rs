//! What a foreign tool tells of one test, and the result that it makes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use measurement::document::SCHEMA;
use measurement::{
    CpuUse, Ended, Histogram, Histograms, LatencySummary, Proof, RunDocument, Series, Skipped, Source, TargetKind,
    TargetRecord, TestResult, WorkloadRecord,
};

/// Latencies of one kind of operation, as far as they were told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    /// The figures; `None` where the tool does not tell all of them.
    pub summary: Option<LatencySummary>,
    /// The distribution; `None` where the tool tells percentiles alone.
    pub histogram: Option<Histogram>,
}

/// One test as another tool tells it. What it does not tell is at its `Default`, which is `null` in the document.
#[derive(Debug, Clone)]
pub struct Told {
    /// Its name.
    pub test: String,
    /// What was done.
    pub workload: WorkloadRecord,
    /// The interface that carried it, in the tool's own word.
    pub engine: String,
    /// Seconds measured.
    pub elapsed_s: f64,
    /// What counts as one operation: a read or write, or a turn of a step program.
    pub ops: u64,
    /// Operations per second, where the tool tells them more exactly than `ops` and `elapsed_s` do.
    pub iops: Option<f64>,
    /// Bytes moved.
    pub bytes: f64,
    /// Commits per second.
    pub commits_per_s: Option<f64>,
    /// Of reads.
    pub read: Latencies,
    /// Of writes.
    pub write: Latencies,
    /// Of sync calls.
    pub sync: Latencies,
    /// Of commits.
    pub commit: Latencies,
    /// What was asked of the kernel.
    pub proof: Proof,
    /// Processor time.
    pub cpu: CpuUse,
    /// Why it ended.
    pub ended: Ended,
    /// What has to be known to read it.
    pub notes: Vec<String>,
}

impl Told {
    /// A test of which nothing but its name and work is told yet.
    pub fn of(test: &str, workload: WorkloadRecord, engine: &str) -> Told {
        Told {
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

    /// The result.
    pub fn result(self) -> TestResult {
        let per_second = |count: f64| if self.elapsed_s > 0.0 { count / self.elapsed_s } else { 0.0 };
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
            steady_state: None,
            proof: self.proof,
            sort: None,
            cpu: self.cpu,
            ended: self.ended,
            notes: self.notes,
        }
    }
}

/// A run as another tool tells it.
#[derive(Debug)]
pub struct ToldRun {
    /// Who measured, and which drive.
    pub source: Source,
    /// The suite of which its tests are, or the name of the file.
    pub suite: String,
    /// When it began; `None` where nobody knows.
    pub began: Option<Timestamp>,
    /// Where it ran.
    pub target: TargetRecord,
    /// Its tests.
    pub results: Vec<TestResult>,
    /// What was in the output and is no result.
    pub skipped: Vec<Skipped>,
}

impl ToldRun {
    /// The document. Facts about the machine are not among what other tools tell.
    pub fn document(self) -> RunDocument {
        RunDocument {
            schema: SCHEMA.to_owned(),
            flushmark: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: measurement::started_at::write(self.began),
            suite: self.suite,
            smoke: false,
            target: self.target,
            source: Some(self.source),
            merged_runs: None,
            host: drive::HostFacts::default(),
            drive: None,
            drives: Vec::new(),
            results: self.results,
            skipped: self.skipped,
            findings: Vec::new(),
            fitness: BTreeMap::new(),
        }
    }
}

/// A target that the tool does not name.
pub fn unknown_target() -> TargetRecord {
    TargetRecord { given: "unknown".to_owned(), kind: TargetKind::Unknown }
}

/// What a device is called, of a path to one. Under `/dev/shm` there are files in memory.
pub fn device_name(path: &str) -> Option<&str> {
    path.strip_prefix("/dev/").filter(|name| !name.starts_with("shm/"))
}

/// A target by its path.
pub fn target_of_file(path: &str) -> TargetRecord {
    let kind = if device_name(path).is_some() { TargetKind::BlockDevice } else { TargetKind::File };
    TargetRecord { given: path.to_owned(), kind }
}
