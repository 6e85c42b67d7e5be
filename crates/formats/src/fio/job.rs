//! One job of fio's JSON or text output, and its conversion to a test.

use measurement::{CpuUse, Ended, Proof, TestResult, WorkloadRecord};
use workload::SyncMethod;

use super::latency::Timed;
use super::options::Options;
use super::syncs::CountedCall;
use crate::foreign::{ForeignTest, Latencies};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Direction {
    /// Operations completed.
    pub ios: u64,
    pub bytes: u64,
    /// Run time in milliseconds.
    pub runtime_ms: u64,
    /// Mean submission time in nanoseconds.
    pub submission_mean_ns: f64,
    /// `clat`: from acceptance by the kernel to completion.
    pub completion: Timed,
    /// `lat`: from before the submission to completion.
    pub total: Timed,
}

/// A job: one process, or all processes of a group that fio reported together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// Name of its section.
    pub name: String,
    /// The machine, if an fio client ran on several.
    pub host: Option<String>,
    /// Jobs with the same group ran concurrently.
    pub group: u64,
    /// The errno it ended with; 0 for success.
    pub error: i64,
    /// Its options, including the global ones.
    pub options: Options,
    /// The queue depth that was observed, if the options do not contain it.
    pub depth_seen: Option<u32>,
    /// Number of processes in these figures, if reported.
    pub processes: Option<u32>,
    /// True if these figures combine several processes that fio reported separately.
    pub merged: bool,
    /// Failed I/Os that were ignored (`continue_on_error`).
    pub failed_ios: u64,
    pub read: Direction,
    pub write: Direction,
    /// Completed trims; their other figures are not imported.
    pub trims: u64,
    /// Operations reported as a sum of reads and writes.
    pub unified: u64,
    /// Sync calls that fio counted; 0 if this version does not count them.
    pub syncs: u64,
    /// The call, as far as the counters show it.
    pub sync_call: CountedCall,
    /// Latencies of sync calls.
    pub sync: Timed,
    /// Commits, which only flushmark's own export contains.
    pub commits: u64,
    pub commit: Timed,
    /// User-mode CPU time of all its processes.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
    /// Assumptions and limits.
    pub notes: Vec<String>,
}

impl Job {
    /// Its name, with the machine if there are several.
    pub fn title(&self) -> String {
        match &self.host {
            Some(host) => format!("{} on {host}", self.name),
            None => self.name.clone(),
        }
    }

    /// Run time of the longer direction.
    pub fn runtime_ms(&self) -> u64 {
        self.read.runtime_ms.max(self.write.runtime_ms)
    }

    /// Merges another process of the same section.
    pub fn merge(&mut self, other: &Job) {
        for (own, others) in [(&mut self.read, &other.read), (&mut self.write, &other.write)] {
            own.ios += others.ios;
            own.bytes += others.bytes;
            own.runtime_ms = own.runtime_ms.max(others.runtime_ms);
            own.completion.merge(&others.completion);
            own.total.merge(&others.total);
        }
        self.trims += other.trims;
        self.unified += other.unified;
        self.syncs += other.syncs;
        self.sync.merge(&other.sync);
        self.commits += other.commits;
        self.commit.merge(&other.commit);
        self.user_s += other.user_s;
        self.system_s += other.system_s;
        self.processes = Some(self.processes.unwrap_or(1) + other.processes.unwrap_or(1));
        self.merged = true;
        self.failed_ios += other.failed_ios;
        if self.error == 0 {
            self.error = other.error;
        }
    }

    /// The reason why the job is not imported as a test.
    pub fn not_a_test(&self) -> Option<String> {
        if self.read.ios + self.write.ios > 0 {
            None
        } else if self.unified > 0 {
            Some(
                "fio reported reads and writes as one (unified_rw_reporting), so neither is known"
                    .to_owned(),
            )
        } else if self.error != 0 {
            Some(format!("it ended with error {} before it read or wrote anything", self.error))
        } else if self.trims > 0 {
            Some("it only trimmed".to_owned())
        } else {
            Some("it read and wrote nothing".to_owned())
        }
    }

    pub fn result(mut self) -> TestResult {
        self.set_verification_aside();
        let elapsed_s = self.runtime_ms() as f64 / 1e3;
        let ios = self.read.ios + self.write.ios;
        let bytes = self.read.bytes + self.write.bytes;
        if self.options.pattern().is_none() {
            self.notes
                .push("fio does not report the order in which blocks were accessed.".to_owned());
        }
        let (sync, every) = self.sync_method();
        let block_bytes = self.block_bytes();
        let mut workload =
            self.options.workload(block_bytes, sync, every, self.depth_seen.unwrap_or(0));
        workload.jobs = self.processes.unwrap_or(workload.jobs);
        if workload.depth == 0 {
            self.notes.push("The output does not contain the queue depth.".to_owned());
        }
        let (commits, commit) = self.commits(&workload);
        let mut foreign =
            ForeignTest::of(&self.title(), workload, self.options.engine().unwrap_or("unknown"));
        let (read, write) = self.latencies();
        self.note_partial_latencies();
        if self.trims > 0 {
            self.notes.push(format!("{} trims are not counted.", self.trims));
        }
        if self.failed_ios > 0 {
            self.notes.push(format!(
                "{} I/Os failed and fio continued (continue_on_error).",
                self.failed_ios
            ));
        }
        if let Some(missing) = self.bins_missing() {
            self.notes.push(missing);
        }
        foreign.proof = Proof {
            reads: self.read.ios,
            writes: self.write.ios,
            syncs: self.syncs.max(self.sync.count),
            commits: commits.unwrap_or(0),
            device: None,
        };
        foreign.elapsed_s = elapsed_s;
        foreign.ops = ios;
        foreign.bytes = bytes as f64;
        foreign.commits_per_s =
            commits.filter(|_| elapsed_s > 0.0).map(|commits| commits as f64 / elapsed_s);
        foreign.commit = if commit { write.clone() } else { self.commit.latencies() };
        foreign.read = read;
        foreign.write = write;
        foreign.sync = self.sync.latencies();
        foreign.cpu = CpuUse { user_s: self.user_s, system_s: self.system_s };
        if self.error != 0 {
            foreign.ended =
                Ended::Failed { error: format!("fio ended this job with error {}", self.error) };
        }
        foreign.notes = self.notes;
        foreign.result()
    }

    /// Removes the reads of a job that only writes: it made them afterwards to verify its writes,
    /// outside the time of the test.
    fn set_verification_aside(&mut self) {
        match self.options.pattern() {
            Some(pattern) if !pattern.reads() && self.read.ios > 0 && self.write.ios > 0 => {
                self.notes.push(format!("{} verification reads are not counted.", self.read.ios));
                self.read = Direction::default();
            }
            Some(pattern) if pattern.is_mixed() && self.options.verifies() => {
                self.notes.push(
                    "Reads include those of the verification (verify): fio reports only the sum."
                        .to_owned(),
                );
            }
            _ => {}
        }
    }

    /// Bytes per operation, or their mean if they differ.
    fn block_bytes(&mut self) -> u64 {
        let mean = |direction: &Direction| direction.bytes / direction.ios.max(1);
        let (read, written) = (mean(&self.read), mean(&self.write));
        let differ = self.read.ios > 0 && self.write.ios > 0 && read != written;
        if self.options.splits_blocks() || differ {
            self.notes.push("Blocks had several sizes; block_bytes is their mean.".to_owned());
        } else if let Some(bytes) = self.options.block_bytes() {
            return bytes;
        }
        let mean = (self.read.bytes + self.write.bytes) / (self.read.ios + self.write.ios).max(1);
        let near = near_power_of_two(mean).filter(|_| !differ && !self.options.splits_blocks());
        if let Some(bytes) = near.filter(|bytes| *bytes != mean) {
            self.notes.push(
                "fio's output does not contain the block size; it is computed from the amount of \
                 data, which is rounded."
                    .to_owned(),
            );
            return bytes;
        }
        mean
    }

    /// The sync method, from the options, or else from the syncs that were counted and timed.
    fn sync_method(&mut self) -> (SyncMethod, u32) {
        let syncs = self.syncs.max(self.sync.count);
        let processes = u64::from(self.processes.unwrap_or(1));
        if let Some(known) = self.options.sync() {
            return if self.write.ios == 0 { (SyncMethod::None, 1) } else { known };
        }
        let ranges = self.options.syncs_ranges() || self.sync_call == CountedCall::FileRange;
        if ranges && syncs > 0 {
            self.notes.push(
                "Its syncs are calls of sync_file_range, which do not make data durable: they and \
                 their latencies are omitted."
                    .to_owned(),
            );
            (self.syncs, self.sync) = (0, Timed::default());
            return (SyncMethod::None, 1);
        }
        if syncs <= processes || self.write.ios == 0 {
            // No write waits for the sync at the end of each process (`end_fsync`).
            return (SyncMethod::None, 1);
        }
        let every = (self.write.ios as f64 / syncs as f64).round().clamp(1.0, f64::from(u32::MAX));
        let method = match self.sync_call {
            CountedCall::Fdatasync => SyncMethod::Fdatasync,
            CountedCall::Fsync => SyncMethod::Fsync,
            CountedCall::Unknown | CountedCall::FileRange => {
                self.notes.push(
                    "fio does not report which call it synced with (fsync, fdatasync, \
                     sync_file_range); fsync is assumed."
                        .to_owned(),
                );
                SyncMethod::Fsync
            }
        };
        (method, every as u32)
    }

    /// The number of commits, never more than the writes, and whether the latency of a write is
    /// that of a commit.
    fn commits(&mut self, workload: &WorkloadRecord) -> (Option<u64>, bool) {
        if self.commits > 0 {
            return (Some(self.commits), false);
        }
        let sync = workload.sync.unwrap_or(SyncMethod::None);
        if sync.is_per_write() {
            return (Some(self.write.ios), true);
        }
        if sync.call().is_none() {
            return (None, false);
        }
        if workload.depth == 0 {
            self.notes.push(
                "Commits are not counted, because a sync covers no writes in flight, and how many \
                 there were is unknown."
                    .to_owned(),
            );
            return (None, false);
        }
        if !workload.drain {
            self.notes.push(
                "fio syncs while writes are in flight, and a sync covers only completed ones: \
                 commits cannot be counted."
                    .to_owned(),
            );
            return (None, false);
        }
        let counted = self.syncs.max(self.sync.count);
        if counted > 0 {
            self.notes.push(
                "fio times the write and its sync separately: the latency of a commit is unknown; \
                 its syncs count as commits."
                    .to_owned(),
            );
            // A last sync after the last write commits nothing more.
            return (Some(counted.min(self.write.ios)), false);
        }
        self.notes.push(format!(
            "This version of fio does not count syncs; with one for every {} its commits follow \
             from the writes. Their latency is unknown.",
            counted_writes(workload.sync_every)
        ));
        let commits = self.write.ios / u64::from(workload.sync_every.max(1));
        ((commits > 0).then_some(commits), false)
    }

    /// Read and write latencies, from before the submission if fio reports that.
    fn latencies(&mut self) -> (Latencies, Latencies) {
        let directions = [&self.read, &self.write];
        let timed =
            |direction: &Direction| direction.total.count > 0 || direction.completion.count > 0;
        let totals = directions
            .iter()
            .filter(|direction| timed(direction))
            .all(|direction| direction.total.is_spread());
        let submission_ns =
            directions.iter().map(|direction| direction.submission_mean_ns).fold(0.0, f64::max);
        let of = |direction: &Direction| {
            if totals { direction.total.latencies() } else { direction.completion.latencies() }
        };
        let pair = (of(&self.read), of(&self.write));
        if pair.0.summary.is_none() && pair.1.summary.is_none() {
            let any = |is: fn(&Timed) -> bool| {
                directions.iter().any(|of| is(&of.completion) || is(&of.total))
            };
            let why = if any(Timed::is_spread) {
                "fio was configured to print percentiles other than 50, 90, 99, 99.9 and 99.99, so \
                 no latencies are imported."
            } else if self.merged && any(|timed| timed.count > 0) {
                "fio reported each process separately, and percentiles cannot be merged; use \
                 group_reporting, or bins \
                (--output-format=json+)."
            } else if any(|timed| timed.count > 0) {
                "fio was configured not to print latency percentiles (clat_percentiles), so no \
                 latencies are imported."
            } else {
                "fio was configured not to time I/Os (gtod_reduce, disable_clat)."
            };
            self.notes.push(why.to_owned());
        } else if totals {
            self.notes.push("Latencies are fio's lat, from before the submission.".to_owned());
        } else if submission_ns > 0.0 {
            self.notes.push(format!(
                "Latencies are fio's clat, which excludes the submission (mean {:.1} µs){}; with \
                 --lat_percentiles=1 fio reports them whole.",
                submission_ns / 1e3,
                self.whole_latencies()
            ));
        } else {
            self.notes.push(format!(
                "Latencies are fio's clat, which for this engine covers the whole call{}.",
                self.whole_latencies()
            ));
        }
        pair
    }

    /// The figures of `lat`, of which fio printed no percentiles: `; lat: write min 44 µs, …`.
    fn whole_latencies(&self) -> String {
        let directions = [("read", &self.read), ("write", &self.write)];
        let figures = directions.into_iter().filter_map(|(name, direction)| {
            Some(format!("{name} {}", direction.total.partial_figures()?))
        });
        let figures: Vec<String> = figures.collect();
        if figures.is_empty() { String::new() } else { format!("; lat: {}", figures.join("; ")) }
    }

    /// Notes the figures of latencies of which fio did not report every percentile that a summary
    /// has.
    fn note_partial_latencies(&mut self) {
        let kinds = [
            ("read", vec![&self.read.total, &self.read.completion]),
            ("write", vec![&self.write.total, &self.write.completion]),
            ("sync", vec![&self.sync]),
        ];
        let notes = kinds.into_iter().filter_map(|(name, timed)| {
            if timed.iter().any(|timed| timed.latencies().summary.is_some()) {
                return None;
            }
            let figures = timed.iter().find_map(|timed| timed.partial_figures())?;
            Some(format!("Latency of each {name} as far as it was reported: {figures}."))
        });
        let notes: Vec<String> = notes.collect();
        self.notes.extend(notes);
    }

    /// The note if the bins contain fewer latencies than were counted.
    fn bins_missing(&self) -> Option<String> {
        let timed = [
            &self.read.completion, &self.read.total, &self.write.completion, &self.write.total,
            &self.sync,
        ];
        timed.into_iter().filter(|timed| !timed.bins.is_empty()).find_map(|timed| {
            let binned: u64 = timed.bins.iter().map(|(_, count)| count).sum();
            let missing = timed.count.checked_sub(binned).filter(|&missing| missing > 0)?;
            Some(format!(
                "fio's bins lack {missing} of the {} latencies that it counted.",
                timed.count
            ))
        })
    }
}

fn counted_writes(count: u32) -> String {
    if count == 1 { "write".to_owned() } else { format!("{count} writes") }
}

/// The power of two within 1 % of a number. fio prints amounts with three digits.
fn near_power_of_two(number: u64) -> Option<u64> {
    let below = 1_u64.checked_shl(number.checked_ilog2()?)?;
    let near = |power: &u64| power.abs_diff(number) <= power / 100;
    [Some(below), below.checked_mul(2)].into_iter().flatten().find(near)
}
