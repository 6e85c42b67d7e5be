//! `fsyncperf` (github.com/lni/fsyncperf): several workers that write and sync a file each.
//!
//! A worker appends 64 KiB to its file and syncs it, 20,000 times (its `main.go`); the program
//! prints the mean latency of each worker and its bandwidth, both rounded down.

use measurement::{RunDocument, Source, TestResult, WorkloadRecord};
use workload::{Layout, Pattern, Submission, SyncMethod};

use crate::error::ImportError;
use crate::foreign::{ForeignRun, ForeignTest, unknown_target};
use crate::origin::Origin;
use crate::pasted::{Line, lines};

/// The start of each worker's line.
pub const HEADING: &str = "workerID:";
const BLOCK_BYTES: u64 = 64 << 10;
const WRITES_OF_WORKER: u64 = 20_000;
/// Longer lines above a list are prose and not the name of a drive.
const NAME_CHARACTERS_MAX: usize = 60;

/// Reads one list or several, each of a drive.
pub fn read(text: &str) -> Result<Vec<RunDocument>, ImportError> {
    let mut runs: Vec<Run> = Vec::new();
    let mut above: Option<&str> = None;
    for line in lines(text) {
        if line.text.matches(HEADING).count() > 1
            || line.text.contains(HEADING) && line.text.contains("concurrency:")
        {
            return Err(ImportError::Flattened(Origin::Fsyncperf, line.number));
        }
        if let Some(workers) = line.text.strip_prefix("concurrency:") {
            let workers = workers.trim().parse().map_err(|_| damaged(line))?;
            // The program goes from one worker to several, so fewer ones begin another run.
            let goes_on = runs.last().and_then(|run| run.tests.last());
            if goes_on.is_none_or(|test| test.count >= workers) {
                runs.push(Run { drive: above.and_then(name), tests: Vec::new() });
            }
            if let Some(run) = runs.last_mut() {
                run.tests.push(Workers { count: workers, ..Workers::default() });
            }
        } else if let Some(test) = runs.last_mut().and_then(|run| run.tests.last_mut()) {
            test.read(line)?;
        }
        let is_figure = ["concurrency:", HEADING, "aggregated bandwidth:"];
        if !is_figure.iter().any(|start| line.text.starts_with(start)) {
            above = Some(line.text);
        }
    }
    runs.into_iter().map(Run::document).collect()
}

/// The name of a drive, if the line above a list looks like one.
fn name(line: &str) -> Option<String> {
    let is_name = line.chars().count() <= NAME_CHARACTERS_MAX
        && !line.contains("fsyncperf")
        && !line.ends_with(['$', '#', '>', '.']);
    is_name.then(|| line.trim_start_matches(['#', ' ']).trim_end_matches(':').to_owned())
}

#[derive(Debug)]
struct Run {
    drive: Option<String>,
    tests: Vec<Workers>,
}

/// The figures of one number of workers.
#[derive(Debug, Default)]
struct Workers {
    count: u32,
    /// Mean latency of each worker.
    latencies_us: Vec<f64>,
    /// Sum of the bandwidths of all workers.
    mib_per_s: Option<f64>,
}

impl Workers {
    fn read(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let number = |text: &str| text.trim().parse().ok().filter(|&value: &f64| value > 0.0);
        if line.text.starts_with(HEADING) {
            let latency = || {
                let (_, rest) = line.text.split_once("latency:")?;
                number(rest.split_once("microsecond")?.0)
            };
            self.latencies_us.push(latency().ok_or_else(|| damaged(line))?);
        } else if let Some(rest) = line.text.strip_prefix("aggregated bandwidth:") {
            let bandwidth = rest.trim().strip_suffix("MBytes/sec").and_then(number);
            self.mib_per_s = Some(bandwidth.ok_or_else(|| damaged(line))?);
        }
        Ok(())
    }

    fn result(&self) -> TestResult {
        let workload = WorkloadRecord {
            pattern: Some(Pattern::Write),
            block_bytes: BLOCK_BYTES,
            depth: 1,
            jobs: self.count,
            sync: Some(SyncMethod::Fsync),
            drain: true,
            submission: Some(Submission::Blocking),
            layout: Some(Layout::Append),
            size_bytes: BLOCK_BYTES * WRITES_OF_WORKER * u64::from(self.count),
            ..WorkloadRecord::unknown()
        };
        let jobs = if self.count == 1 { "" } else { "s" };
        let title = format!("64 KiB write + fsync, {} worker{jobs}", self.count);
        let mut foreign = ForeignTest::of(&title, workload, "go");
        let slowest_us = self.latencies_us.iter().copied().fold(0.0, f64::max);
        foreign.ops = WRITES_OF_WORKER * u64::from(self.count);
        foreign.elapsed_s = slowest_us * WRITES_OF_WORKER as f64 / 1e6;
        let rate: f64 = self.latencies_us.iter().map(|us| 1e6 / us).sum();
        foreign.iops = Some(rate);
        foreign.commits_per_s = Some(rate);
        let mib_per_s = self.mib_per_s.unwrap_or(0.0);
        foreign.bytes = mib_per_s * f64::from(1 << 20) * foreign.elapsed_s;
        (foreign.proof.writes, foreign.proof.syncs) = (foreign.ops, foreign.ops);
        foreign.proof.commits = foreign.ops;
        let latencies: Vec<String> = self.latencies_us.iter().map(|us| format!("{us}")).collect();
        foreign.notes.push(format!(
            "fsyncperf prints only the mean of each worker, rounded down: {} µs.",
            latencies.join(", ")
        ));
        foreign.result()
    }
}

impl Run {
    fn document(self) -> Result<RunDocument, ImportError> {
        let cut = |test: &&Workers| {
            test.latencies_us.len() != test.count as usize || test.mib_per_s.is_none()
        };
        if let Some(test) = self.tests.iter().find(cut) {
            let missing = format!(
                "`concurrency: {}` has {} lines of workers{}",
                test.count,
                test.latencies_us.len(),
                if test.mib_per_s.is_some() { "" } else { " and no aggregated bandwidth" }
            );
            return Err(ImportError::CutShort(Origin::Fsyncperf, missing));
        }
        let run = ForeignRun {
            source: Source { tool: "fsyncperf".to_owned(), drive: self.drive, ..Source::default() },
            suite: "fsyncperf".to_owned(),
            began: None,
            target: unknown_target(),
            results: self.tests.iter().map(Workers::result).collect(),
            skipped: Vec::new(),
        };
        Ok(run.document())
    }
}

fn damaged(line: Line<'_>) -> ImportError {
    ImportError::Damaged(
        Origin::Fsyncperf,
        format!("line {} has an invalid figure: `{}`", line.number, line.text),
    )
}
