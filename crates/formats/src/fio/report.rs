//! The report of one fio process, in JSON or text, and its conversion to runs.

use jiff::{Timestamp, ToSpan as _};
use measurement::{
    DiskCounters, RunDocument, Skipped, Source, TargetKind, TargetRecord, TestResult,
};

use super::job::{Direction, Job};
use crate::error::ImportError;
use crate::foreign::{ForeignRun, device_name, target_of_file, unknown_target};
use crate::origin::Origin;

/// Name of the total that fio's client adds to the machines' reports.
pub const ALL_CLIENTS: &str = "All clients";

#[derive(Debug, Clone, Default)]
pub struct Report {
    pub version: Option<String>,
    /// Its jobs, without a client's total.
    pub jobs: Vec<Job>,
    /// Name of the first block device used.
    pub first_disk: Option<String>,
    /// Counters of the block devices used.
    pub disks: Vec<DiskCounters>,
    pub reported: Option<Timestamp>,
    /// The time that fio had been running, rounded to a second, if reported.
    pub elapsed_s: Option<u64>,
    /// Start of its first job, if reported.
    pub began: Option<Timestamp>,
}

impl Report {
    /// Converts the report to runs: one, or one per drive if jobs use several.
    pub fn runs(mut self, suite: &str) -> Vec<ForeignRun> {
        let began = self.began.or_else(|| self.reckoned_begin());
        let source = source(self.version.as_deref());
        let jobs = together(std::mem::take(&mut self.jobs));
        let places: Vec<(Option<String>, Option<TargetRecord>)> =
            jobs.iter().map(|job| (device(job), target(job))).collect();
        let mut runs: Vec<(&Option<String>, ForeignRun)> = Vec::new();
        for (device, _) in &places {
            if runs.iter().all(|(known, _)| *known != device) {
                let mut targets = places
                    .iter()
                    .filter(|(other, _)| other == device)
                    .filter_map(|(_, target)| target.clone());
                let target = targets.next().unwrap_or_else(unknown_target);
                // fio counts the disks of its machine, which are not those of the cluster.
                let local = !matches!(target.kind, TargetKind::Image | TargetKind::Objects);
                let first = || self.first_disk.clone().filter(|_| local);
                let disks = if local { self.disks.as_slice() } else { &[] };
                let run = ForeignRun {
                    source: Source {
                        drive: device.clone().or_else(first),
                        disks: disks_under(disks, device.as_deref()),
                        ..source.clone()
                    },
                    suite: suite.to_owned(),
                    began,
                    target,
                    results: Vec::new(),
                    skipped: Vec::new(),
                };
                runs.push((device, run));
            }
        }
        for ((device, target), test) in places.iter().zip(tests(jobs)) {
            let Some((_, run)) = runs.iter_mut().find(|(known, _)| *known == device) else {
                continue;
            };
            match test {
                Ok(mut result) => {
                    let elsewhere = target.as_ref().filter(|target| **target != run.target);
                    result
                        .notes
                        .extend(elsewhere.map(|target| format!("It ran on {}.", target.given)));
                    run.results.push(result);
                }
                Err(skipped) => run.skipped.push(skipped),
            }
        }
        runs.into_iter().map(|(_, run)| run).collect()
    }

    /// Computes the start: fio reports the time at the end, after its groups ran one after another.
    fn reckoned_begin(&self) -> Option<Timestamp> {
        let longest_ms = |group| {
            self.jobs
                .iter()
                .filter(|job| job.group == group)
                .map(Job::runtime_ms)
                .max()
                .unwrap_or(0)
        };
        let mut groups: Vec<u64> = self.jobs.iter().map(|job| job.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let all_ms =
            groups.into_iter().fold(0_u64, |sum, group| sum.saturating_add(longest_ms(group)));
        let ran_ms =
            self.elapsed_s.map_or(all_ms, |seconds| all_ms.min(seconds.saturating_mul(1000)));
        self.reported?.checked_sub(i64::try_from(ran_ms).ok()?.milliseconds()).ok()
    }

    /// True if `later` is a later, cumulative report of the same process (`--status-interval`).
    pub fn goes_on_in(&self, later: &Report) -> bool {
        /// fio reports its run time in whole seconds.
        const ROUNDING_MS: i64 = 1100;
        let start_ms = |report: &Report| {
            let ran_ms = i64::try_from(report.elapsed_s?).ok()?.checked_mul(1000)?;
            report.reported?.as_millisecond().checked_sub(ran_ms)
        };
        let grows = |before: &Direction, after: &Direction| {
            let (old, new) = (&before.completion, &after.completion);
            let same_extremes_or_wider =
                old.count == 0 || new.min_ns <= old.min_ns && new.max_ns >= old.max_ns;
            before.ios <= after.ios
                && before.runtime_ms <= after.runtime_ms
                && same_extremes_or_wider
        };
        let job_grows = |(before, after): (&Job, &Job)| {
            (&before.name, &before.host, before.group, &before.options)
                == (&after.name, &after.host, after.group, &after.options)
                && grows(&before.read, &after.read)
                && grows(&before.write, &after.write)
        };
        let same_start = start_ms(self)
            .zip(start_ms(later))
            .is_some_and(|(a, b)| a.abs_diff(b) <= ROUNDING_MS.unsigned_abs());
        same_start
            && self.reported < later.reported
            && self.jobs.len() == later.jobs.len()
            && self.jobs.iter().zip(&later.jobs).all(job_grows)
    }
}

/// The documents of the runs that have results.
pub fn documents(
    runs: impl Iterator<Item = ForeignRun>,
    origin: Origin,
) -> Result<Vec<RunDocument>, ImportError> {
    let (measured, empty): (Vec<_>, Vec<_>) = runs.partition(|run| !run.results.is_empty());
    if measured.is_empty() {
        let first = empty.iter().find_map(|run| run.skipped.first());
        let why = first.map(|skipped| format!(" ({}: {})", skipped.test, skipped.because));
        return Err(ImportError::Nothing(origin, why.unwrap_or_default()));
    }
    Ok(measured.into_iter().map(ForeignRun::document).collect())
}

/// Merges the processes of each section into one job: without `group_reporting`, fio reports each
/// separately, but together they are the test.
fn together(jobs: Vec<Job>) -> Vec<Job> {
    let mut tests: Vec<Job> = Vec::new();
    for job in jobs {
        let same = |other: &&mut Job| {
            (&other.name, &other.host, other.group, &other.options)
                == (&job.name, &job.host, job.group, &job.options)
                && job.options.processes() > 1
                && job.processes.unwrap_or(1) == 1
        };
        match tests.iter_mut().find(same) {
            Some(test) => test.merge(&job),
            None => tests.push(job),
        }
    }
    tests
}

/// Converts each job to a test, or gives the reason why it is skipped.
fn tests(jobs: Vec<Job>) -> Vec<Result<TestResult, Skipped>> {
    let names: Vec<(u64, String)> = jobs.iter().map(|job| (job.group, job.title())).collect();
    let test = |(index, mut job): (usize, Job)| {
        let beside = names
            .iter()
            .enumerate()
            .filter(|(other, (group, _))| *other != index && *group == job.group);
        let beside: Vec<&str> = beside.map(|(_, (_, name))| name.as_str()).collect();
        if !beside.is_empty() {
            job.notes.push(format!("It ran at the same time as {}.", beside.join(", ")));
        }
        match job.not_a_test() {
            Some(because) => Err(Skipped { test: job.title(), because }),
            None => Ok(job.result()),
        }
    };
    jobs.into_iter().enumerate().map(test).collect()
}

fn target(job: &Job) -> Option<TargetRecord> {
    if let Some((name, kind)) = job.options.place_in_ceph() {
        return Some(TargetRecord::new(name, kind));
    }
    let (path, is_directory) = job.options.place()?;
    let directory = || TargetRecord::new(path, TargetKind::Directory);
    Some(if is_directory { directory() } else { target_of_file(path) })
}

fn device(job: &Job) -> Option<String> {
    job.options.place().and_then(|(path, _)| device_name(path)).map(str::to_owned)
}

/// The tool that measured.
fn source(version: Option<&str>) -> Source {
    // flushmark's own export keeps its origin.
    let (tool, version) =
        match version.map(|version| version.split_once('-').unwrap_or(("fio", version))) {
            Some(("flushmark", version)) => ("flushmark", Some(version)),
            Some(("fio", version)) => ("fio", Some(version)),
            Some((_, _)) => ("fio", version),
            None => ("fio", None),
        };
    Source { tool: tool.to_owned(), version: version.map(str::to_owned), ..Source::default() }
}

/// The counters of a run's device, or all of them if it is not among them: below a filesystem, any
/// of them may have been used.
fn disks_under(disks: &[DiskCounters], device: Option<&str>) -> Vec<DiskCounters> {
    let own: Vec<DiskCounters> = disks
        .iter()
        .filter(|disk| device.is_some_and(|name| is_disk_of(&disk.device, name)))
        .cloned()
        .collect();
    if own.is_empty() { disks.to_vec() } else { own }
}

/// Returns whether fio lists a device under this name: it lists partitions as their disks.
fn is_disk_of(disk: &str, device: &str) -> bool {
    let rest = device.strip_prefix(disk).map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}
