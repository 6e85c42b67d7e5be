//! Runs a test on a model in virtual time, with the same kind of result as the engine on a real
//! target.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `tally` | the jobs' counters, and a series with one interval per virtual second |
//! | `blocks` | a job of a [`workload::Workload`]: the engine's loops as state machines |
//! | `steps` | a job of a [`workload::StepProgram`] |
//! | this module | the machine to measure, its phases, and the event loop |
//!
//! Each test runs on a new drive, preconditioned like a target of the engine, with empty caches. A
//! result therefore depends only on the test and the seed, not on earlier tests.

mod blocks;
mod steps;
mod tally;

use std::collections::BTreeMap;
use std::time::Duration;

use catalogue::model::{Filesystem, Model};
use measurement::{
    CpuUse, DeviceCounts, DeviceProof, Ended, Headline, MODEL_ENGINE, Measured, Outcome, Progress,
    Proof, TestResult, WorkloadRecord,
};
use workload::{
    BelowRateMin, Bounds, Commits, Ends, Flow, JobPart, Layout, Limit, Operation, Parts, Room,
    Sharing, SpaceCall, StepProgram, TargetName, Test, Work, Workload, WriteCache, format_bytes,
};

use crate::assembly::{Assembly, Impossible, assemble, check_host};
use crate::device::{Activity, Device};
use crate::events::Agenda;
use crate::host::block_layer::BlockLayer;
use crate::host::file::File;
use crate::host::{Host, JOURNAL_BYTES, Returned};
use crate::time::Ns;
use blocks::BlockJob;
use steps::StepJob;
use tally::{Counts, Tally};

/// Number of events between two calls of the observer.
const EVENTS_PER_LOOK: u32 = 1 << 14;

/// A modelled drive with its host and the user's settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The parameters of drive and host.
    pub model: Model,
    /// The user's setting of the write cache, which a test's setting overrides.
    pub write_cache: WriteCache,
    /// Added to the tests' seeds, to show which effects are due to chance.
    pub seed: u64,
    /// Replaces the model's capacity.
    pub capacity_bytes: Option<u64>,
}

/// The reason why a test has no result.
enum NotRun {
    Skip(String),
    Impossible(Impossible),
}

impl From<Impossible> for NotRun {
    fn from(impossible: Impossible) -> NotRun {
        NotRun::Impossible(impossible)
    }
}

/// Runs one test, or several at the same time, and returns their outcomes in order. `look` is
/// called every few milliseconds of real time; if it returns `false`, the run ends.
pub fn run(
    machine: &Machine,
    tests: &[Test],
    look: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Vec<Outcome>, Impossible> {
    let results = match tests {
        [test @ Test { work: Work::Steps(program), .. }] => machine.steps(test, program, look),
        [Test { work: Work::Sort(_), .. }] => Err(NotRun::Skip(
            "a sort depends on the CPU speed of this machine, but a model's results must be the \
             same on every machine; \
             run it on a directory or a device"
                .to_owned(),
        )),
        _ => machine.blocks(tests, look),
    };
    match results {
        Ok(results) => {
            Ok(results.into_iter().map(|result| Outcome::Measured(Box::new(result))).collect())
        }
        Err(NotRun::Skip(because)) => Ok(Outcome::all_skipped(tests, &because)),
        Err(NotRun::Impossible(impossible)) => Err(impossible),
    }
}

/// Runs one test, as [`run`] does.
pub fn run_alone(
    machine: &Machine,
    test: &Test,
    look: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Impossible> {
    run(machine, std::slice::from_ref(test), look).map(|mut outcomes| outcomes.swap_remove(0))
}

/// A limit in virtual time.
fn bounds(limit: Limit, start: Ns) -> Bounds {
    Bounds::new(limit, start, ns)
}

/// The bounds of a job that has not started.
fn idle() -> Bounds {
    bounds(Limit::Count(0), 0)
}

fn ns(time: Duration) -> Ns {
    time.as_nanos() as Ns
}

/// A job of either kind: a state machine that consumes completed calls and makes new ones.
trait Job {
    /// Starts a phase.
    fn begin(&mut self, now: Ns, bounds: Bounds, warm_up: bool, world: &mut World);
    /// Handles a completed call, or a time that was waited for.
    fn resume(&mut self, event: Step, world: &mut World);
    /// Returns `true` if the job has nothing in flight and will not make any more calls.
    fn is_done(&self) -> bool;
    /// The position among all jobs.
    fn index(&self) -> JobIndex;
    /// Stops issuing operations.
    fn stop(&mut self);
    /// Its share in the operations of a flow, if that is limited.
    fn flow(&self) -> Option<Flow> {
        None
    }
    /// Leaves its share to the other jobs.
    fn leave_flow(&mut self, _world: &mut World) {}
    /// The reason why the job ended early, if it did.
    fn failure(&self) -> Option<&BelowRateMin> {
        None
    }
}

/// The position of a job among all concurrent jobs.
#[derive(Debug, Clone, Copy)]
struct JobIndex {
    /// Index among the jobs of all tests.
    number: u32,
    /// Index of the test.
    team: usize,
    /// Index among the jobs of the test.
    job: u32,
}

/// The team index of a test that runs alone.
const ALONE: usize = 0;

/// An event for a job.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The call in this slot has returned.
    Returned { slot: u32, at: Ns },
    /// The time that was waited for.
    Due { at: Ns },
}

/// The state that jobs act on.
struct World {
    host: Host,
    dues: Agenda<u32>,
    /// One per test.
    tallies: Vec<Tally>,
    flows: BTreeMap<u32, FlowCounters>,
}

/// The operations of all jobs of a flow, and the sum of their weights.
#[derive(Debug, Clone, Copy, Default)]
struct FlowCounters {
    operations: u64,
    weight: u64,
}

/// A call's tag contains the job in the upper bits, its slot in the lower ones.
const SLOT_BITS: u32 = 16;

impl Machine {
    /// A model with default settings.
    pub const fn new(model: Model) -> Machine {
        Machine { model, write_cache: WriteCache::Unchanged, seed: 0, capacity_bytes: None }
    }

    /// The name of the machine as a target.
    pub fn target(&self) -> String {
        TargetName::Model(&self.model.model).to_string()
    }

    /// The drive before a test.
    pub fn drive(&self, track_contents: bool) -> Result<Box<dyn Device>, Impossible> {
        let assembly = Assembly { capacity_bytes: self.capacity_bytes, track_contents, number: 0 };
        check_host(&self.model.model, &self.model.host)?;
        let mut drive = assemble(&self.model.model, &self.model.drive, assembly)?;
        if let Some(on) = self.write_cache.requires_on() {
            drive.set_write_cache(0, on);
        }
        Ok(drive)
    }

    fn blocks(
        &self,
        tests: &[Test],
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Vec<TestResult>, NotRun> {
        let workloads = Test::together(tests).map_err(NotRun::Skip)?;
        for (_, workload) in &workloads {
            self.check(workload)?;
        }
        let on_filesystem = self.model.host.filesystem != Filesystem::None;
        let room = self.room()?;
        let placed: Vec<Parts> =
            workloads.iter().map(|(_, workload)| workload.parts(on_filesystem, room)).collect();
        // A device is one file, which each test opens separately. On a filesystem, tests have
        // separate files or share one.
        let sharing = |index: &usize| workloads[*index].1.sharing == Sharing::All;
        let size = |index: usize| placed[index].files.iter().sum::<u64>();
        let shared_bytes = (0..tests.len()).filter(sharing).map(size).max().unwrap_or(0);
        let own_bytes: u64 = (0..tests.len()).filter(|index| !sharing(index)).map(size).sum();
        let bytes = if on_filesystem {
            shared_bytes + own_bytes
        } else {
            (0..tests.len()).map(size).max().unwrap_or(0)
        };
        let drive = self.prepared(
            tests.first().map_or(WriteCache::Unchanged, |test| test.write_cache),
            bytes,
        )?;
        let (mut files, mut shared, mut base) = (Vec::new(), None, shared_bytes);
        let (mut jobs, mut teams) = (Vec::new(), Vec::new());
        for (index, &(test, workload)) in workloads.iter().enumerate() {
            let first_file = files.len();
            let file = |base: u64, bytes: u64| match (on_filesystem, workload.layout) {
                (false, _) | (true, Layout::Overwrite) => {
                    File::settled(base, bytes, workload.direct)
                }
                (true, Layout::Append | Layout::Empty) => File::empty(base, workload.direct),
                (true, Layout::Preallocated | Layout::PreallocatedOnce) => {
                    File::reserved(base, bytes, workload.direct)
                }
            };
            let first_file = match shared {
                Some(shared) if on_filesystem && sharing(&index) => shared,
                None if on_filesystem && sharing(&index) => {
                    files.push(file(0, shared_bytes));
                    *shared.insert(first_file)
                }
                _ => {
                    for &bytes in &placed[index].files {
                        files.push(file(if on_filesystem { base } else { 0 }, bytes));
                        base += bytes;
                    }
                    first_file
                }
            };
            for (job, part) in (0..).zip(&placed[index].jobs) {
                let position = JobIndex { number: jobs.len() as u32, team: index, job };
                jobs.push(BlockJob::new(
                    workload,
                    self.seed,
                    position,
                    first_file + part.file,
                    *part,
                ));
            }
            let record = WorkloadRecord::among(test, tests);
            teams.push(self.team(test, workload, record, &placed[index]));
        }
        Ok(self.measure(teams, drive, files, jobs, look))
    }

    fn check(&self, workload: &Workload) -> Result<(), NotRun> {
        let on_filesystem = self.model.host.filesystem != Filesystem::None;
        if workload.layout.starts_over() && !on_filesystem {
            let because = format!(
                "layout {} requires a filesystem; add `,filesystem=ext4` to the target",
                workload.layout.name()
            );
            return Err(NotRun::Skip(because));
        }
        let what = match workload.pattern.operation() {
            Operation::Transfer => None,
            Operation::Space(SpaceCall::Discard) => {
                Some("discards; run it on a directory or a device")
            }
            Operation::Space(SpaceCall::Exchange) => {
                Some("exchanges of blocks between files; run it on a directory on ext4")
            }
            Operation::Space(_) => Some("fallocate and ftruncate; run it on a directory"),
            Operation::Entry(..) => {
                Some("creating, looking up and removing files; run it on a directory")
            }
            Operation::Compute => {
                Some("computations on a processor; run it on a directory or a device")
            }
        };
        if let Some(what) = what {
            return Err(NotRun::Skip(format!("models do not support {what}")));
        }
        if workload.verify.is_some() {
            let because = "it reads back what it wrote, but a model does not store data; use \
                           `flushmark emulate` for a drive that does";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if workload.zoning.is_some() {
            let because = "models have no zones; run it on a zoned device, or on any target with \
                           zonesize";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if workload.atomic {
            return Err(NotRun::Skip(
                "models have no atomic writes; run it on a device that supports them".to_owned(),
            ));
        }
        if !workload.priorities.is_default() {
            let because = "models do not schedule I/Os by priority; run it on a directory or a \
                           device";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if !workload.processors.is_default() {
            let because = "models have neither processors nor NUMA nodes; run it on a directory or \
                           a device";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if workload.latency_target.is_some() {
            let because = "models do not search for the depth of a latency target; run it on a \
                           directory or a device";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if workload.until_steady.is_some() {
            let because = "models do not check for a steady state; remove it, or run it on a \
                           directory or a device";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if workload.layout == Layout::Empty && workload.pattern.is_random() && on_filesystem {
            let because = "models do not allocate space at random offsets; use layout overwrite or \
                           preallocated-once";
            return Err(NotRun::Skip(because.to_owned()));
        }
        Ok(())
    }

    fn team<'a>(
        &self,
        test: &'a Test,
        workload: &Workload,
        mut record: WorkloadRecord,
        parts: &Parts,
    ) -> Team<'a> {
        let commits = workload.commits_in(parts.files_per_job());
        record.seed = workload.seed.wrapping_add(self.seed);
        record.size_bytes = parts.span_bytes();
        record.job_files = record.job_files.filter(|_| parts.files_per_job() > 1);
        Team {
            test,
            record,
            headline: commits.into(),
            writes_are_commits: commits == Commits::EachWrite,
            limit: workload
                .limit_on(parts.jobs.iter().map(JobPart::total_bytes).max().unwrap_or(0)),
        }
    }

    fn steps(
        &self,
        test: &Test,
        program: &StepProgram,
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Vec<TestResult>, NotRun> {
        let on_filesystem = self.model.host.filesystem != Filesystem::None;
        if !on_filesystem && !program.runs_without_directory() {
            let because = "this step program creates, grows or removes files; add \
                           `,filesystem=ext4` to the target";
            return Err(NotRun::Skip(because.to_owned()));
        }
        let size = steps::room_bytes(program);
        let jobs = u64::from(program.jobs.get());
        let drive = self.prepared(test.write_cache, size * jobs)?;
        let files = (0..jobs).flat_map(|job| steps::files(program, job * size)).collect();
        let jobs =
            (0..program.jobs.get()).map(|job| StepJob::new(program, self.seed, job)).collect();
        let mut record = WorkloadRecord::of(test);
        record.seed = program.seed.wrapping_add(self.seed);
        let (headline, limit) = (Headline::Turns, program.limit);
        let team = Team { test, record, headline, writes_are_commits: false, limit };
        Ok(self.measure(vec![team], drive, files, jobs, look))
    }

    /// The space available to tests: the whole drive, or the free space of a filesystem on it.
    pub fn room(&self) -> Result<Room, Impossible> {
        let room_bytes = self.room_bytes()?;
        Ok(match self.model.host.filesystem {
            Filesystem::None => Room::Whole(room_bytes),
            Filesystem::Ext4 => Room::Free(room_bytes),
        })
    }

    /// Bytes available to tests.
    fn room_bytes(&self) -> Result<u64, Impossible> {
        let journal =
            if self.model.host.filesystem == Filesystem::None { 0 } else { JOURNAL_BYTES };
        Ok(self.drive(false)?.identity().capacity_bytes.saturating_sub(journal))
    }

    /// The drive as required by tests: preconditioned, with its cache set.
    fn prepared(&self, write_cache: WriteCache, bytes: u64) -> Result<Box<dyn Device>, NotRun> {
        let mut drive = self.drive(false)?;
        let identity = drive.identity();
        let room = self.room_bytes()?;
        if bytes > room {
            return Err(NotRun::Skip(format!(
                "it uses {}, but {} has only {}",
                format_bytes(bytes),
                self.target(),
                // Drives are sold in gigabytes; a reduced capacity was given in mebibytes.
                if room >= 10_000_000_000 {
                    format!("{:.0} GB", room as f64 / 1e9)
                } else {
                    format_bytes(room)
                }
            )));
        }
        drive.precondition(bytes);
        match write_cache.requires_on() {
            Some(true) if !identity.switchable => {
                return Err(NotRun::Skip(format!(
                    "{} has no volatile write cache to switch on",
                    self.target()
                )));
            }
            Some(on) if identity.switchable => drive.set_write_cache(0, on),
            _ => {}
        }
        Ok(drive)
    }

    fn measure<J: Job>(
        &self,
        teams: Vec<Team<'_>>,
        drive: Box<dyn Device>,
        files: Vec<File>,
        mut jobs: Vec<J>,
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> Vec<TestResult> {
        let journal_base = drive.identity().capacity_bytes.saturating_sub(JOURNAL_BYTES);
        let block =
            BlockLayer::new(drive, self.model.host.request_most.0, self.model.host.hardware_queues);
        let tallies =
            |start: Ns| teams.iter().map(|team| Tally::starting(team.headline, start)).collect();
        // During the rest, a new drive folds the data in its one-bit flash.
        let now = ns(teams.iter().map(|team| team.test.work.rest()).max().unwrap_or_default());
        let mut world = World {
            host: Host::new(&self.model.host, block, files, journal_base),
            dues: Agenda::new(),
            tallies: tallies(now),
            flows: BTreeMap::new(),
        };
        let warm_up = |team: &Team<'_>| ns(team.test.work.warm_up().0);
        let longest = teams.iter().map(warm_up).max().unwrap_or(0);
        let (mut start, mut uninterrupted) = (now, true);
        if longest > 0 {
            world.tallies.iter_mut().for_each(|tally| tally.start_at(now + longest));
            let until = |team: &Team<'_>| {
                let time = team.test.work.warm_up().0;
                let bounds = || bounds(Limit::Time(time), now);
                (!time.is_zero()).then(|| TeamPhase {
                    start: now,
                    bounds: bounds(),
                    ends: Ends::Nothing,
                    group: 0,
                })
            };
            let phases: Vec<Option<TeamPhase>> = teams.iter().map(until).collect();
            let ended = phase(&mut world, &mut jobs, now, &phases, true, look);
            (start, uninterrupted) = (ended.last, ended.uninterrupted);
        }
        let starts: Vec<Ns> =
            teams.iter().map(|team| start + ns(team.test.work.start_delay())).collect();
        world.tallies = teams
            .iter()
            .zip(&starts)
            .map(|(team, &start)| Tally::starting(team.headline, start))
            .collect();
        let before = world.host.block_layer().device().activity();
        let mut ends = starts.clone();
        if uninterrupted {
            let measured = |(team, &start): (&Team<'_>, &Ns)| {
                let (ends, group) = team.test.work.ends();
                Some(TeamPhase { start, bounds: bounds(team.limit, start), ends, group })
            };
            let phases: Vec<Option<TeamPhase>> = teams.iter().zip(&starts).map(measured).collect();
            let ended = phase(&mut world, &mut jobs, start, &phases, false, look);
            (ends, uninterrupted) = (ended.teams, ended.uninterrupted);
        }
        let after = world.host.block_layer().device().activity();
        let ended = |team: usize| {
            let mut of_team = jobs.iter().filter(|job| job.index().team == team);
            match of_team.find_map(Job::failure) {
                Some(failure) => Ended::Failed { error: failure.to_string() },
                None if uninterrupted => Ended::Limit,
                None => Ended::Interrupted,
            }
        };
        let of_team = |(index, (team, tally)): (usize, (Team<'_>, Tally))| {
            let (start, end) = (starts[index], ends[index].max(starts[index]));
            team.result(tally, end, (end - start) as f64 / 1e9, (before, after), ended(index))
        };
        teams.into_iter().zip(world.tallies).enumerate().map(of_team).collect()
    }
}

/// A running test, usually the only one.
struct Team<'a> {
    test: &'a Test,
    record: WorkloadRecord,
    headline: Headline,
    writes_are_commits: bool,
    limit: Limit,
}

impl Team<'_> {
    fn result(
        self,
        tally: Tally,
        end: Ns,
        elapsed_s: f64,
        (before, after): (Activity, Activity),
        ended: Ended,
    ) -> TestResult {
        let (counts, mut histograms, series) = tally.finish(end, self.writes_are_commits);
        // As in the engine, the turns of a program that makes nothing durable are not commits.
        if matches!(&self.test.work, Work::Steps(program) if !program.commits()) {
            histograms.commit = None;
        }
        let commits = histograms.commit.as_ref().map_or(0, measurement::Histogram::count);
        let is_program = matches!(self.test.work, Work::Steps(_));
        let mut proof = proof(&counts, commits, before, after);
        let mut notes = Vec::new();
        if !self.record.beside.is_empty() {
            // The drive's requests cannot be attributed to one test.
            proof.device = None;
            notes.push(format!("ran at the same time as {}", self.record.beside.join(", ")));
        }
        let measured = Measured {
            workload: self.record,
            engine: MODEL_ENGINE,
            elapsed_s,
            turns: is_program.then_some(counts.turns),
            bytes: counts.read_bytes + counts.written_bytes,
            proof,
            histograms,
            series,
            cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
            ended,
            notes,
        };
        TestResult::new(&self.test.name, measured)
    }
}

struct PhaseEnd {
    /// The time at which each team was done.
    teams: Vec<Ns>,
    /// The time at which all teams were done.
    last: Ns,
    /// `false` if the user stopped the run.
    uninterrupted: bool,
}

#[derive(Debug, Clone, Copy)]
struct TeamPhase {
    start: Ns,
    bounds: Bounds,
    /// The teams that end once a job has ended.
    ends: Ends,
    group: u32,
}

/// Runs jobs until each has reached the bounds of its team, if any, and has nothing in flight. The
/// drive may still be active.
fn phase<J: Job>(
    world: &mut World,
    jobs: &mut [J],
    start: Ns,
    phases: &[Option<TeamPhase>],
    warm_up: bool,
    look: &mut dyn FnMut(&Progress) -> bool,
) -> PhaseEnd {
    let mut now = start;
    let mut returned: Vec<Returned> = Vec::new();
    let mut until_look = EVENTS_PER_LOOK;
    let (mut uninterrupted, mut stopped) = (true, vec![false; phases.len()]);
    let (mut ends, mut delayed) = begin(world, jobs, start, phases, warm_up);
    while ends.running.iter().any(|jobs| *jobs > 0) {
        let next = match (world.host.next_event(), world.dues.next_at()) {
            (Some(one), Some(other)) => one.min(other),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        debug_assert!(next >= now, "virtual time runs backwards");
        now = next;
        for (tally, running) in world.tallies.iter_mut().zip(&ends.running) {
            if *running > 0 {
                tally.advance(now);
            }
        }
        world.host.advance(now, &mut returned);
        for Returned { tag, at } in returned.drain(..) {
            let step = Step::Returned { slot: tag & ((1 << SLOT_BITS) - 1), at };
            let job = &mut jobs[(tag >> SLOT_BITS) as usize];
            job.resume(step, world);
            ends.count(job, now, phases, world);
        }
        while let Some((at, job)) = world.dues.take(now) {
            let number = job as usize;
            let job = &mut jobs[number];
            if std::mem::take(&mut delayed[number]) {
                if let Some(phase) = phases[job.index().team] {
                    job.begin(at, phase.bounds, warm_up, world);
                }
            } else if job.is_done() {
                continue;
            } else {
                job.resume(Step::Due { at }, world);
            }
            ends.count(job, now, phases, world);
        }
        until_look -= 1;
        if until_look == 0 {
            until_look = EVENTS_PER_LOOK;
            let working =
                world.tallies.iter().zip(&ends.running).filter(|(_, running)| **running > 0);
            let progress = Progress::together(working.map(|(tally, _)| tally.progress(now)));
            uninterrupted = uninterrupted && look(&progress);
        }
        // A job that is stopped here can end further ones.
        while let Some(ending) = ends.next_to_end(&mut stopped, uninterrupted) {
            for (job, delayed) in jobs.iter_mut().zip(&mut delayed) {
                if job.index().team != ending {
                    continue;
                }
                let was_done = job.is_done() && !std::mem::take(delayed);
                job.stop();
                // A job that waits has nothing in flight whose return would be its end.
                if !was_done {
                    ends.count(job, now, phases, world);
                }
            }
        }
    }
    debug_assert!(
        ends.running.iter().all(|jobs| *jobs == 0),
        "nothing happens any more, and a job waits"
    );
    PhaseEnd { teams: ends.teams, last: now, uninterrupted }
}

/// Begins the jobs of a phase, and returns which of them begin later.
fn begin<J: Job>(
    world: &mut World,
    jobs: &mut [J],
    start: Ns,
    phases: &[Option<TeamPhase>],
    warm_up: bool,
) -> (Endings, Vec<bool>) {
    // Pending waits and counters of an earlier phase are obsolete.
    world.flows.clear();
    for job in jobs.iter().filter(|job| phases[job.index().team].is_some()) {
        if let Some(flow) = job.flow() {
            world.flows.entry(flow.id).or_default().weight += u64::from(flow.weight);
        }
    }
    world.dues = Agenda::new();
    let mut ends = Endings {
        running: vec![0; phases.len()],
        teams: vec![start; phases.len()],
        to_end: vec![false; phases.len()],
    };
    let mut delayed = vec![false; jobs.len()];
    for (number, job) in jobs.iter_mut().enumerate() {
        let team = job.index().team;
        if let Some(phase) = phases[team] {
            ends.running[team] += 1;
            delayed[number] = phase.start > start;
            if delayed[number] {
                world.dues.enter(phase.start, number as u32);
            } else {
                job.begin(start, phase.bounds, warm_up, world);
            }
        }
    }
    (ends, delayed)
}

/// The ends of jobs in a phase.
struct Endings {
    /// Number of jobs of each team that have not ended.
    running: Vec<usize>,
    /// The time at which each team was done.
    teams: Vec<Ns>,
    /// The jobs of each team that are still running are to end.
    to_end: Vec<bool>,
}

impl Endings {
    /// The next team that is to end and is not marked in `stopped`, which it then is. An
    /// interruption ends all.
    fn next_to_end(&self, stopped: &mut [bool], uninterrupted: bool) -> Option<usize> {
        let team = (0..stopped.len())
            .find(|&team| !stopped[team] && (self.to_end[team] || !uninterrupted));
        team.inspect(|&team| stopped[team] = true)
    }

    /// Counts a job that has just had its turn, if that was its last.
    fn count<J: Job>(
        &mut self,
        job: &mut J,
        now: Ns,
        phases: &[Option<TeamPhase>],
        world: &mut World,
    ) {
        if !job.is_done() {
            return;
        }
        job.leave_flow(world);
        let team = job.index().team;
        self.running[team] -= 1;
        if let Some(own) = phases[team] {
            for (to_end, other) in self.to_end.iter_mut().zip(phases) {
                *to_end |= other.is_some_and(|other| own.ends.reaches(own.group, other.group));
            }
        }
        if self.running[team] == 0 {
            self.teams[team] = now;
        }
    }
}

/// The drive's activity compared with the requests to the kernel.
fn proof(counts: &Counts, commits: u64, before: Activity, after: Activity) -> Proof {
    let seen = DeviceCounts {
        reads: after.reads - before.reads,
        writes: after.writes - before.writes,
        // The modelled block layer merges nothing.
        writes_merged: None,
        bytes_written: after.written_bytes - before.written_bytes,
        flushes: Some(after.flushes - before.flushes),
        flush_ns: Some(after.flush_ns - before.flush_ns),
        medium_bytes_written: Some(after.medium_bytes - before.medium_bytes),
    };
    Proof {
        reads: counts.reads,
        writes: counts.writes,
        syncs: counts.syncs,
        commits,
        device: Some(DeviceProof::new(&seen, commits, counts.written_bytes)),
    }
}
