//! Runs tests on an opened target, from preparation to results.

mod blocks;
mod entries;
mod sort;
mod steps;
mod zoned;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use drive::{Counters, SystemRoot};
use measurement::{
    DeviceCounts, DeviceProof, Ended, Measured, Outcome, PriorityLatency, Progress, Proof,
    SortFigures, TargetKind, TestResult, WorkloadRecord,
};
use workload::{EngineChoice, JobPart, Sharing, Test, Work, format_bytes};

use crate::carrier::{Carrier, Refusal};
use crate::clock::Clock;
use crate::crew::{Crew, CrewEnd, IoThreads, Report, Stage, SystemUse, Team, TeamEnd};
use crate::error::EngineError;
use crate::flow::flows;
use crate::job::{Explained, IgnoredErrors, JobEnd, Stop};
use crate::limits;
use crate::part::{Part, PartSpec};
use crate::placement::Placement;
use crate::prepare::{Preparation, Prepared, prepare};
use crate::start_line::StartLine;
use crate::target::{Opened, Target};
use crate::writers::Writers;

/// Interval at which a stop is checked during a rest.
const REST_SLICE: Duration = Duration::from_millis(100);

/// The parameters of a run that are not part of the tests.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The interface to use instead of the tests' choice.
    pub engine: Option<EngineChoice>,
    /// Time limit for writing test files. After it, the test uses what has been written.
    pub prepare_time_max: Option<Duration>,
    /// The root of procfs and sysfs.
    pub root: SystemRoot,
    /// The start line at which the tests wait for others that begin at the same moment.
    pub start_line: Option<StartLine>,
}

/// Runs one test, or several at the same time, and returns their outcomes in order. `observe` is
/// called about ten times a second.
///
/// # Errors
/// Fails if nothing could be measured: no space, no memory, no permission.
pub fn run(
    tests: &[Test],
    target: &Target,
    options: &Options,
    stop: &Stop,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Vec<Outcome>, EngineError> {
    let run = Run { target, options, stop };
    // If this host lacks something for one test, the others run all the same, as with fio.
    let lacking: Vec<Option<String>> = tests.iter().map(|test| run.host_lacks(test)).collect();
    let able: Vec<Test> = (tests.iter().zip(&lacking))
        .filter(|(_, lacking)| lacking.is_none())
        .map(|(test, _)| test.clone())
        .collect();
    let mut of_able = match run.tests(&able, observe) {
        Ok(results) => {
            results.into_iter().map(|result| Outcome::Measured(Box::new(result))).collect()
        }
        Err(NotRun::Skip(because)) => Outcome::all_skipped(&able, &because),
        Err(NotRun::Error(error)) => return Err(error),
    }
    .into_iter();
    let outcome = |(test, lacking): (&Test, &Option<String>)| match lacking {
        Some(because) => Outcome::all_skipped(std::slice::from_ref(test), because).pop(),
        None => of_able.next(),
    };
    Ok(tests.iter().zip(&lacking).filter_map(outcome).collect())
}

/// The reason why a test has no result.
enum NotRun {
    Skip(String),
    Error(EngineError),
}

impl From<EngineError> for NotRun {
    fn from(error: EngineError) -> NotRun {
        NotRun::Error(error)
    }
}

impl From<Refusal> for NotRun {
    fn from(refusal: Refusal) -> NotRun {
        match refusal {
            Refusal::Skip(because) => NotRun::Skip(because),
            Refusal::Missing { engine, errno } => EngineError::Interface {
                engine,
                errno,
                advice: "omit --engine to let flushmark choose",
            }
            .into(),
        }
    }
}

/// Continues with the prepared files, in the order of the specs.
type GetReady<'a> = Box<dyn FnOnce(&[&Part]) -> Result<Ready<'a>, NotRun> + 'a>;

/// A test whose files have not been prepared.
struct Planned<'a> {
    specs: Vec<PartSpec>,
    ready: GetReady<'a>,
}

/// Runs one job through its stage.
type JobWork<'a> = Box<dyn Fn(u32, Stage<'_>) -> Report + Sync + 'a>;

/// A test that is ready to run.
struct Ready<'a> {
    team: Team,
    work: JobWork<'a>,
    described: Described<'a>,
}

/// The description of a test in its result.
struct Described<'a> {
    test: &'a Test,
    record: WorkloadRecord,
    carrier: Carrier,
    note: Option<String>,
    /// Each write is a commit.
    writes_are_commits: bool,
}

struct Run<'a> {
    target: &'a Target,
    options: &'a Options,
    stop: &'a Stop,
}

impl Run<'_> {
    /// Checks that each job knows what the blocks contain that it reads back. On a device or file,
    /// all jobs without separate parts use the same bytes.
    fn check_overwriting(&self, tests: &[Test]) -> Result<(), NotRun> {
        if matches!(self.target.kind(), TargetKind::Directory | TargetKind::Null) {
            return Ok(());
        }
        let mut written: Vec<(JobPart, bool)> = Vec::new();
        for test in tests {
            // In zones, no job overwrites data that is to be checked.
            if let Work::Blocks(workload) = &test.work
                && workload.pattern.writes()
                && workload.zoning.is_none()
            {
                let checks = workload.verify.is_some_and(|verify| !verify.shared);
                let parts = workload.parts(false, self.target.room());
                written.extend(parts.jobs.into_iter().map(|part| (part, checks)));
            }
        }
        written.sort_unstable_by_key(|(part, _)| part.start);
        let mut end = 0;
        let mut checked_end = 0;
        for (part, checks) in written {
            if part.start < checked_end || checks && part.start < end {
                return Err(NotRun::Skip(
                    "several jobs overwrite each other's blocks on this target, so none of them \
                     knows which write is the last; use numjobs=1 and stonewall, or name the \
                     target with filename"
                        .to_owned(),
                ));
            }
            let own_end = part.start.saturating_add(part.bytes);
            end = end.max(own_end);
            checked_end = checked_end.max(if checks { own_end } else { 0 });
        }
        Ok(())
    }

    /// Runs tests at the same time; usually a single one.
    fn tests(
        &self,
        tests: &[Test],
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Vec<TestResult>, NotRun> {
        if tests.is_empty() {
            return Ok(Vec::new());
        }
        if tests.len() > 1 {
            Test::together(tests).map_err(NotRun::Skip)?;
        }
        if let Opened::Export(export) = self.target.opened() {
            let jobs = tests.iter().map(|test| test.work.jobs()).sum();
            export.check_jobs(jobs).map_err(NotRun::Skip)?;
            export.connect(jobs)?;
        }
        self.check_overwriting(tests)?;
        limits::open_files(tests)?;
        limits::memory(tests)?;
        let flows = flows(tests);
        let writers = Arc::new(Writers::new(jobs_sharing_blocks(tests)));
        let mut asked = Vec::new();
        if self.target.kind() != TargetKind::Directory && uses_different_files(tests) {
            return Err(NotRun::Skip(
                "the tests that run at the same time use different files, which requires a \
                 directory as the target"
                    .to_owned(),
            ));
        }
        // Number 0 is reserved for a file shared by several jobs.
        let mut files = usize::from(tests.len() > 1);
        for test in tests {
            let one = match &test.work {
                Work::Blocks(workload) => {
                    let first_file = if workload.sharing == Sharing::All { 0 } else { files };
                    let record = WorkloadRecord::among(test, tests);
                    self.blocks(test, record, workload, first_file, &flows, &writers)?
                }
                Work::Steps(program) => self.steps(test, program)?,
                Work::Sort(sort) => self.sort(test, sort)?,
            };
            // Files and directories that are created one by one have no specification.
            files += one.specs.len().max(test.work.jobs() as usize);
            asked.push(one);
        }
        let specs = merged_specs(asked.iter().flat_map(|one| &one.specs));
        self.target.make_room(&specs);
        let seed = tests.first().map_or(0, |test| test.work.seed());
        let preparation =
            Preparation { time_max: self.options.prepare_time_max, seed, stop: self.stop };
        let Prepared { parts, notes } = prepare(self.target, &specs, preparation)?;
        let prepared: BTreeMap<&str, &Part> =
            parts.iter().map(|part| (part.name.as_str(), part)).collect();
        let mut ready = Vec::new();
        for one in asked {
            let own: Vec<&Part> =
                one.specs.iter().filter_map(|spec| prepared.get(&*spec.name).copied()).collect();
            ready.push((one.ready)(&own)?);
        }
        self.rest(tests.iter().map(|test| test.work.rest()).max().unwrap_or_default())?;

        let crew = self.crew(ready.iter().map(|one| one.team).collect());
        let CrewEnd { teams, system } =
            crew.measure(observe, &|team, job, stage| (ready[team].work)(job, stage))?;
        for spec in specs.iter().filter(|spec| spec.single_use) {
            self.target.remove_file(&spec.name);
        }
        let of_test =
            |(one, team): (Ready<'_>, TeamEnd)| self.result(one.described, team, &system, &notes);
        Ok(ready.into_iter().zip(teams).map(of_test).collect())
    }

    /// The reason why the host cannot run a test, whatever the target.
    fn host_lacks(&self, test: &Test) -> Option<String> {
        match &test.work {
            Work::Blocks(workload) => {
                Placement::on_host(&workload.processors, &self.options.root).err()
            }
            Work::Steps(_) | Work::Sort(_) => None,
        }
    }

    fn crew(&self, teams: Vec<Team>) -> Crew<'_> {
        let (clock, devices) = (Clock::calibrated(), self.target.counting_devices());
        let (wear, root) = (self.target.wear(), &self.options.root);
        let start_line = self.options.start_line.as_ref();
        let is_in_ceph = matches!(self.target.opened(), Opened::Ceph(_));
        let io_threads = if is_in_ceph { IoThreads::Library } else { IoThreads::Own };
        Crew { teams, io_threads, clock, devices, wear, root, start_line, stop: self.stop }
    }

    /// Leaves the target idle, so its caches can drain.
    fn rest(&self, time: Duration) -> Result<(), EngineError> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stop.is_requested() {
                return Err(EngineError::Interrupted);
            }
            std::thread::sleep(REST_SLICE.min(time.saturating_sub(begun.elapsed())));
        }
        Ok(())
    }

    fn expect_aligned(&self, part: &Part, bytes: u64) -> Result<(), NotRun> {
        if part.direct && !bytes.is_multiple_of(part.alignment_bytes) {
            return Err(NotRun::Skip(self.misaligned(bytes, part.alignment_bytes)));
        }
        Ok(())
    }

    fn misaligned(&self, bytes: u64, alignment_bytes: u64) -> String {
        let (bytes, given) = (format_bytes(bytes), self.target.given());
        let alignment = format_bytes(alignment_bytes);
        if self.target.kind() == TargetKind::Nbd {
            return format!(
                "{bytes} is not a multiple of the smallest request that the server of {given} \
                 accepts, {alignment}"
            );
        }
        format!(
            "{bytes} is not a multiple of the logical block size of {given}, {alignment}, as direct \
             I/O requires"
        )
    }

    fn result(
        &self,
        described: Described<'_>,
        team: TeamEnd,
        system: &SystemUse,
        notes: &[String],
    ) -> TestResult {
        let Described { test, record, carrier, note, writes_are_commits } = described;
        let TeamEnd { elapsed_s, ends, notes: of_jobs, watch } = team;
        let mut notes: Vec<String> = notes.iter().cloned().chain(note).chain(of_jobs).collect();
        let failure = ends.iter().find_map(|end| end.failure.as_ref());
        let ended = match failure {
            Some(failure) => {
                Ended::Failed { error: Explained(failure, self.target.kind()).to_string() }
            }
            None if self.stop.is_requested() => Ended::Interrupted,
            None => Ended::Limit,
        };
        notes.extend(IgnoredErrors::sum(ends.iter().map(|end| &end.ignored)).notes());
        if ends.iter().any(|end| end.filled) {
            notes.push("ended when the disk was full (fill_device)".to_owned());
        }
        let total = |count: fn(&JobEnd) -> u64| ends.iter().map(count).sum::<u64>();
        if total(|end| end.zone_resets) > 0 {
            notes.push(format!("zones that were reset: {}", total(|end| end.zone_resets)));
        }
        let (mut histograms, series) = watch.finish(writes_are_commits);
        // The turns of a program that makes nothing durable are not commits.
        if matches!(&test.work, Work::Steps(program) if !program.commits()) {
            histograms.commit = None;
        }
        let proof = Proof {
            reads: total(|end| end.reads),
            writes: total(|end| end.writes),
            syncs: total(|end| end.syncs),
            commits: histograms.commit.as_ref().map_or(0, measurement::Histogram::count),
            device: None,
        };
        let covers_bytes = match &test.work {
            Work::Blocks(workload) => workload.pattern.covers_bytes(),
            Work::Steps(_) | Work::Sort(_) => true,
        };
        let bytes = |count| if covers_bytes { total(count) } else { 0 };
        let written_bytes = bytes(|end| end.written_bytes);
        // With concurrent tests, a device's requests cannot be attributed.
        let counters = system.counters.as_ref().filter(|_| record.beside.is_empty());
        if !record.beside.is_empty() {
            let others = record.beside.join(", ");
            notes.push(format!(
                "ran at the same time as {others}; the CPU time includes all of them"
            ));
        }
        let device = |counters| {
            let seen = device_counts(counters, system.medium_bytes_written);
            DeviceProof::new(&seen, proof.commits, written_bytes)
        };
        let proof = Proof { device: counters.map(device), ..proof };
        let is_program = matches!(test.work, Work::Steps(_));
        let measured = Measured {
            workload: record,
            engine: carrier.name(),
            elapsed_s,
            turns: is_program.then(|| total(|end| end.turns)),
            bytes: written_bytes + bytes(|end| end.read_bytes),
            histograms,
            series,
            proof,
            cpu: system.cpu,
            ended,
            notes,
        };
        let result = TestResult::new(&test.name, measured);
        let priorities = PriorityLatency::sum(ends.iter().flat_map(|end| &end.priorities));
        let result = result.with_priorities(priorities);
        let computed_ns: Option<u64> = ends.iter().map(|end| end.computed_ns).sum();
        let result = match computed_ns.filter(|_| result.workload.compute.is_some()) {
            Some(computed_ns) => result.with_computed(computed_ns as f64 / 1e9),
            None => result,
        };
        match SortFigures::sum(ends.iter().filter_map(|end| end.sort.as_deref().copied())) {
            Some(figures) => result.with_sort(figures),
            None => result,
        }
    }
}

/// The number of jobs that write the same blocks as others and check them.
fn jobs_sharing_blocks(tests: &[Test]) -> u32 {
    let jobs = |test: &Test| match &test.work {
        Work::Blocks(workload) if workload.verify.is_some_and(|verify| verify.shared) => {
            workload.jobs.get()
        }
        Work::Blocks(_) | Work::Steps(_) | Work::Sort(_) => 0,
    };
    tests.iter().map(jobs).sum()
}

/// Returns `true` if tests share files that stay, but not the same one.
fn uses_different_files(tests: &[Test]) -> bool {
    let kept = |test: &Test| match &test.work {
        Work::Blocks(workload) => workload.kept_file,
        Work::Steps(_) | Work::Sort(_) => None,
    };
    let mut files = tests.iter().filter_map(kept);
    files.next().is_some_and(|first| files.any(|other| other != first))
}

/// Merges specs of the same file: each file once, at the largest size required.
fn merged_specs<'a>(specs: impl Iterator<Item = &'a PartSpec>) -> Vec<PartSpec> {
    let mut merged_specs: Vec<PartSpec> = Vec::new();
    let mut positions: BTreeMap<&str, usize> = BTreeMap::new();
    for spec in specs {
        let position = *positions.entry(&spec.name).or_insert(merged_specs.len());
        match merged_specs.get_mut(position) {
            None => merged_specs.push(spec.clone()),
            Some(known) => {
                known.size_bytes = known.size_bytes.max(spec.size_bytes);
                known.unit_bytes = known.unit_bytes.max(spec.unit_bytes);
                known.direct |= spec.direct;
                known.invalidate |= spec.invalidate;
                known.single_use |= spec.single_use;
                known.sparse |= spec.sparse;
                known.unbudgeted |= spec.unbudgeted;
                known.precondition = known.precondition.into_iter().chain(spec.precondition).min();
            }
        }
    }
    merged_specs
}

fn device_counts(counters: &Counters, medium_bytes_written: Option<u64>) -> DeviceCounts {
    DeviceCounts {
        reads: counters.reads,
        writes: counters.writes,
        writes_merged: Some(counters.writes_merged),
        bytes_written: counters.written_bytes,
        flushes: counters.flushes,
        flush_ns: counters.flush_ms.map(|ms| ms * 1_000_000),
        medium_bytes_written,
    }
}

#[cfg(test)]
mod tests;
