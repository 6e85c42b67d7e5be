//! One job as fio tells it, in JSON or in text, and the test that it is.

use measurement::{CpuUse, Ended, Proof, TestResult};
use workload::SyncMethod;

use super::latency::Timed;
use super::options::Options;
use crate::told::{Latencies, Told};

/// One direction of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Direction {
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// How long it ran.
    pub runtime_ms: u64,
    /// Mean time to submit.
    pub submission_mean_ns: f64,
    /// From the kernel's acceptance to completion.
    pub completion: Timed,
    /// From before the submission to completion.
    pub total: Timed,
}

/// One job: a process, or all processes of a group that fio reported as one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// Its section's name.
    pub name: String,
    /// The machine, where a client asked several.
    pub host: Option<String>,
    /// Jobs of one group ran at the same time.
    pub group: u64,
    /// The errno with which it ended; 0 for none.
    pub error: i64,
    /// Its options, the global ones included.
    pub options: Options,
    /// Processes whose figures these are, where fio says so.
    pub processes: Option<u32>,
    /// Whether these are the figures of several processes that fio reported one by one.
    pub merged: bool,
    /// I/Os that failed and were passed over (`continue_on_error`).
    pub failed_ios: u64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Trims completed, of which nothing else is read.
    pub trims: u64,
    /// Operations that were reported with reads and writes as one.
    pub unified: u64,
    /// Sync calls: how many fio counted, which some versions get wrong, and their latencies.
    pub syncs: u64,
    /// Latencies of sync calls.
    pub sync: Timed,
    /// Commits, which flushmark writes into fio's JSON and fio does not know.
    pub commits: u64,
    /// Their latencies.
    pub commit: Timed,
    /// Processor time in user mode, of all its processes.
    pub user_s: f64,
    /// Processor time in the kernel.
    pub system_s: f64,
    /// What has to be known to read it.
    pub notes: Vec<String>,
}

impl Job {
    /// Its name, with the machine where there are several.
    pub fn title(&self) -> String {
        match &self.host {
            Some(host) => format!("{} on {host}", self.name),
            None => self.name.clone(),
        }
    }

    /// How long it ran.
    pub fn runtime_ms(&self) -> u64 {
        self.read.runtime_ms.max(self.write.runtime_ms)
    }

    /// Adds another process of the same section.
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

    /// Why there is nothing in it that is read here.
    pub fn not_a_test(&self) -> Option<String> {
        if self.read.ios + self.write.ios > 0 {
            None
        } else if self.unified > 0 {
            Some("fio reported reads and writes as one (unified_rw_reporting), so that neither is known".to_owned())
        } else if self.error != 0 {
            Some(format!("it ended with error {} before it read or wrote anything", self.error))
        } else if self.trims > 0 {
            Some("it only trimmed".to_owned())
        } else {
            Some("it read and wrote nothing".to_owned())
        }
    }

    /// The test.
    pub fn result(mut self) -> TestResult {
        self.set_verification_aside();
        let elapsed_s = self.runtime_ms() as f64 / 1e3;
        let ios = self.read.ios + self.write.ios;
        let bytes = self.read.bytes + self.write.bytes;
        if self.options.pattern().is_none() {
            self.notes.push("fio does not say in which order blocks were taken.".to_owned());
        }
        let (sync, every) = self.sync_method();
        let block_bytes = self.block_bytes();
        let mut workload = self.options.workload(block_bytes, sync, every);
        workload.jobs = self.processes.unwrap_or(workload.jobs);
        let (commits, commit) = self.commits(sync, workload.drain);
        let mut told = Told::of(&self.title(), workload, self.options.engine());
        let (read, write) = self.latencies();
        if self.trims > 0 {
            self.notes.push(format!("{} trims are not counted.", self.trims));
        }
        if self.failed_ios > 0 {
            self.notes.push(format!("{} I/Os failed, and fio went on (continue_on_error).", self.failed_ios));
        }
        if let Some(missing) = self.bins_missing() {
            self.notes.push(missing);
        }
        told.proof = Proof {
            reads: self.read.ios,
            writes: self.write.ios,
            syncs: self.syncs.max(self.sync.count),
            commits: commits.unwrap_or(0),
            device: None,
        };
        told.elapsed_s = elapsed_s;
        told.ops = ios;
        told.bytes = bytes as f64;
        told.commits_per_s = commits.filter(|_| elapsed_s > 0.0).map(|commits| commits as f64 / elapsed_s);
        told.commit = if commit { write.clone() } else { self.commit.latencies() };
        told.read = read;
        told.write = write;
        told.sync = self.sync.latencies();
        told.cpu = CpuUse { user_s: self.user_s, system_s: self.system_s };
        if self.error != 0 {
            told.ended = Ended::Failed { error: format!("fio ended this job with error {}", self.error) };
        }
        told.notes = self.notes;
        told.result()
    }

    /// What a job that only writes has read, it read to verify what it had written, afterwards: that is no part of the test's time.
    fn set_verification_aside(&mut self) {
        match self.options.pattern() {
            Some(pattern) if !pattern.reads() && self.read.ios > 0 && self.write.ios > 0 => {
                self.notes.push(format!("{} reads, which verified what was written, are not counted.", self.read.ios));
                self.read = Direction::default();
            }
            Some(pattern) if pattern.is_mixed() && self.options.verifies() => {
                self.notes.push("Reads are those of the verification (verify), too: fio adds them up.".to_owned());
            }
            _ => {}
        }
    }

    /// What one operation moved, in the mean where that differed.
    fn block_bytes(&mut self) -> u64 {
        let mean = |direction: &Direction| direction.bytes / direction.ios.max(1);
        let (read, written) = (mean(&self.read), mean(&self.write));
        let differ = self.read.ios > 0 && self.write.ios > 0 && read != written;
        if self.options.splits_blocks() || differ {
            self.notes.push("Blocks had several sizes; block_bytes is their mean.".to_owned());
        } else if let Some(bytes) = self.options.block_bytes() {
            return bytes;
        }
        (self.read.bytes + self.write.bytes) / (self.read.ios + self.write.ios).max(1)
    }

    /// How writes were made durable: as the options say, else as the syncs that were timed show.
    fn sync_method(&mut self) -> (SyncMethod, u32) {
        let syncs = self.syncs.max(self.sync.count);
        let processes = u64::from(self.processes.unwrap_or(1));
        if let Some(known) = self.options.sync() {
            return if self.write.ios == 0 { (SyncMethod::None, 1) } else { known };
        }
        if self.options.syncs_ranges() && syncs > 0 {
            self.notes.push(
                "Its syncs are calls of sync_file_range, which make nothing durable: they and their latencies are left out."
                    .to_owned(),
            );
            (self.syncs, self.sync) = (0, Timed::default());
            return (SyncMethod::None, 1);
        }
        if syncs <= processes || self.write.ios == 0 {
            // One at the end of each process (`end_fsync`) makes no write durable that waits for it.
            return (SyncMethod::None, 1);
        }
        let every = (self.write.ios as f64 / syncs as f64).round().clamp(1.0, f64::from(u32::MAX));
        self.notes.push(
            "fio does not say by which call it synced (fsync, fdatasync, sync_file_range); fsync is assumed."
                .to_owned(),
        );
        (SyncMethod::Fsync, every as u32)
    }

    /// How many commits there were, and whether the latency of a write is that of a commit.
    fn commits(&mut self, sync: SyncMethod, drain: bool) -> (Option<u64>, bool) {
        if self.commits > 0 {
            return (Some(self.commits), false);
        }
        if sync.is_per_write() {
            return (Some(self.write.ios), true);
        }
        if sync.call().is_none() {
            return (None, false);
        }
        if !drain {
            self.notes.push(
                "fio syncs beside the writes that are in flight, and a sync covers only completed ones: there are no commits to count."
                    .to_owned(),
            );
            return (None, false);
        }
        self.notes.push(
            "fio times the write and its sync apart: the latency of a commit is not known; commits are its syncs."
                .to_owned(),
        );
        let syncs = self.syncs.max(self.sync.count);
        ((syncs > 0).then_some(syncs), false)
    }

    /// Read and write latencies, from before the submission where fio tells that.
    fn latencies(&mut self) -> (Latencies, Latencies) {
        let directions = [&self.read, &self.write];
        let timed = |direction: &Direction| direction.total.count > 0 || direction.completion.count > 0;
        let totals =
            directions.iter().filter(|direction| timed(direction)).all(|direction| direction.total.is_spread());
        let submission_ns = directions.iter().map(|direction| direction.submission_mean_ns).fold(0.0, f64::max);
        let of = |direction: &Direction| {
            if totals { direction.total.latencies() } else { direction.completion.latencies() }
        };
        let pair = (of(&self.read), of(&self.write));
        if pair.0.summary.is_none() && pair.1.summary.is_none() {
            let any = |is: fn(&Timed) -> bool| directions.iter().any(|of| is(&of.completion) || is(&of.total));
            let why = if any(Timed::is_spread) {
                "fio was told to print other percentiles than 50, 90, 99, 99.9 and 99.99, so that no latencies are kept."
            } else if self.merged && any(|timed| timed.count > 0) {
                "fio reported each process on its own, and their percentiles do not add up; with group_reporting, or bins \
                 (--output-format=json+), they do."
            } else if any(|timed| timed.count > 0) {
                "fio was told to print no percentiles of latencies (clat_percentiles), so that none are kept."
            } else {
                "fio was told not to time its I/Os (gtod_reduce, disable_clat)."
            };
            self.notes.push(why.to_owned());
        } else if totals {
            self.notes.push("Latencies are fio's lat, from before the submission.".to_owned());
        } else if submission_ns > 0.0 {
            self.notes.push(format!(
                "Latencies are fio's clat, which leaves out the submission ({:.1} µs in the mean); with --lat_percentiles=1 fio tells \
                 them whole.",
                submission_ns / 1e3
            ));
        } else {
            self.notes.push("Latencies are fio's clat, which for this engine is the whole call.".to_owned());
        }
        pair
    }

    /// Cells that hold fewer latencies than were counted.
    fn bins_missing(&self) -> Option<String> {
        let timed = [&self.read.completion, &self.read.total, &self.write.completion, &self.write.total, &self.sync];
        timed.into_iter().filter(|timed| !timed.bins.is_empty()).find_map(|timed| {
            let binned: u64 = timed.bins.iter().map(|(_, count)| count).sum();
            let missing = timed.count.checked_sub(binned).filter(|&missing| missing > 0)?;
            Some(format!("fio's bins hold {missing} fewer of {} latencies than it counted.", timed.count))
        })
    }
}
