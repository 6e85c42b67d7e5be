//! Runs a test on a model, in virtual time, into the same result as the engine gives of a real target.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `tally` | what jobs count, second by second of virtual time |
//! | `blocks` | a job of a [`workload::Workload`]: the engine's loops, turned inside out |
//! | `steps` | a job of a [`workload::StepProgram`] |
//! | this one | the machine that is measured, its phases, and the event loop |
//!
//! Each test runs on a new drive: preconditioned as the engine prepares its target, with empty caches. So a result depends on the test and the seed, not on what ran before.

mod blocks;
mod steps;
mod tally;

use std::time::Duration;

use catalogue::model::{Filesystem, Model};
use measurement::result::Measured;
use measurement::{CpuUse, DeviceProof, Ended, Headline, Outcome, Progress, Proof, TestResult, WorkloadRecord};
use workload::{
    Layout, Limit, Parts, Room, Sharing, StepProgram, Test, Until, Work, Workload, WriteCache, format_bytes,
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

/// Events between two looks at the clock outside.
const EVENTS_PER_LOOK: u32 = 1 << 14;

/// A modelled drive with its host, and what a person set.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The model.
    pub model: Model,
    /// The write cache, where the person set it; tests that ask for a setting go before.
    pub write_cache: WriteCache,
    /// Added to the tests' own seeds, so that one can see what is chance.
    pub seed: u64,
    /// Another capacity than the model's.
    pub capacity_bytes: Option<u64>,
}

/// Why a test gave no result.
enum NotRun {
    Skip(String),
    Impossible(Impossible),
}

impl From<Impossible> for NotRun {
    fn from(impossible: Impossible) -> NotRun {
        NotRun::Impossible(impossible)
    }
}

/// Runs a test, or several at the same time; an outcome for each, in their order. `look` is called every few milliseconds of real time; when it answers
/// `false`, the run ends.
///
/// # Errors
/// When the model is impossible.
pub fn run(
    machine: &Machine,
    tests: &[Test],
    look: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Vec<Outcome>, Impossible> {
    let results = match tests {
        [test] => match &test.work {
            Work::Blocks(workload) => machine.blocks(&[(test, workload)], look),
            Work::Steps(program) => machine.steps(test, program, look),
            Work::Sort(_) => Err(NotRun::Skip(
                "a sort computes between its writes and reads, for as long as this machine takes, and a model's run is the same on every machine; run it on a directory or a device"
                    .to_owned(),
            )),
        },
        several => Test::together(several).map_err(NotRun::Skip).and_then(|several| machine.blocks(&several, look)),
    };
    match results {
        Ok(results) => Ok(results.into_iter().map(|result| Outcome::Measured(Box::new(result))).collect()),
        Err(NotRun::Skip(because)) => Ok(Outcome::all_skipped(tests, &because)),
        Err(NotRun::Impossible(impossible)) => Err(impossible),
    }
}

/// Runs one test, as [`run`] does.
///
/// # Errors
/// When the model is impossible.
pub fn run_alone(
    machine: &Machine,
    test: &Test,
    look: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Impossible> {
    run(machine, std::slice::from_ref(test), look).map(|mut outcomes| outcomes.swap_remove(0))
}

/// A phase of a run: until when its jobs go on.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    deadline: Option<Ns>,
    count: Option<u64>,
    until: Until,
}

impl Bounds {
    const fn until(deadline: Ns) -> Bounds {
        Bounds { deadline: Some(deadline), count: None, until: Until::First }
    }

    fn of(limit: Limit, start: Ns) -> Bounds {
        let until = match limit {
            Limit::TimeAndCount { until, .. } => until,
            Limit::Time(_) | Limit::Count(_) => Until::First,
        };
        Bounds { deadline: limit.time().map(|time| start + ns(time)), count: limit.count(), until }
    }

    /// How many operations a job may issue: a count that ends it is not overshot by what is in flight.
    pub fn most(&self) -> u64 {
        match (self.count, self.deadline, self.until) {
            (None, ..) | (Some(_), Some(_), Until::Both) => u64::MAX,
            (Some(count), ..) => count,
        }
    }

    /// A moment, or the end of the phase if that is earlier. A job that needs both its time and its
    /// count waits beyond the time.
    pub fn no_later(&self, moment: Ns) -> Ns {
        match (self.deadline, self.count, self.until) {
            (Some(_), Some(_), Until::Both) | (None, ..) => moment,
            (Some(deadline), ..) => deadline.min(moment),
        }
    }

    /// Whether a job that has done so many operations ends at `now`.
    #[inline]
    pub fn reached(&self, now: Ns, ops: u64) -> bool {
        let late = self.deadline.map(|deadline| now >= deadline);
        let done = self.count.map(|count| ops >= count);
        match (late, done, self.until) {
            (Some(late), Some(done), Until::Both) => late && done,
            (late, done, _) => late.unwrap_or(false) || done.unwrap_or(false),
        }
    }
}

fn ns(time: Duration) -> Ns {
    time.as_nanos() as Ns
}

/// A job of either kind: takes what returned, makes the next calls.
trait Job {
    /// Begins a phase.
    fn begin(&mut self, now: Ns, bounds: Bounds, warm_up: bool, world: &mut World);
    /// A call returned, or a moment came that was waited for.
    fn go_on(&mut self, event: Step, world: &mut World);
    /// Whether it has nothing in flight and wants nothing more.
    fn is_done(&self) -> bool;
    /// Where it stands among all.
    fn place(&self) -> Place;
    /// No more operations: the person wants the end.
    fn stop(&mut self);
}

/// A job among all that run at the same time.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Among the jobs of all tests.
    number: u32,
    /// Its test.
    team: usize,
    /// Among the jobs of its test.
    job: u32,
}

/// The team of a test that runs alone.
const ALONE: usize = 0;

/// What a job is told.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The call in this slot returned.
    Returned { slot: u32, at: Ns },
    /// The moment came.
    Due { at: Ns },
}

/// What jobs act on.
struct World {
    host: Host,
    dues: Agenda<u32>,
    /// A test's, each.
    tallies: Vec<Tally>,
}

/// A call's tag: the job above, its slot below.
const SLOT_BITS: u32 = 16;

impl Machine {
    /// A model as it is, on a host of its own.
    pub const fn new(model: Model) -> Machine {
        Machine { model, write_cache: WriteCache::Unchanged, seed: 0, capacity_bytes: None }
    }

    /// Its name as a target.
    pub fn target(&self) -> String {
        format!("sim:{}", self.model.model)
    }

    /// The drive as it stands before a test.
    ///
    /// # Errors
    /// When the parameters are impossible.
    pub fn drive(&self, track_contents: bool) -> Result<Box<dyn Device>, Impossible> {
        let assembly = Assembly { capacity_bytes: self.capacity_bytes, track_contents, number: 0 };
        check_host(&self.model.model, &self.model.host)?;
        let mut drive = assemble(&self.model.model, &self.model.drive, assembly)?;
        if let Some(on) = self.write_cache.wants_on() {
            drive.set_write_cache(0, on);
        }
        Ok(drive)
    }

    fn blocks(
        &self,
        tests: &[(&Test, &Workload)],
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Vec<TestResult>, NotRun> {
        for (_, workload) in tests {
            self.check(workload)?;
        }
        let on_filesystem = self.model.host.filesystem != Filesystem::None;
        let room = self.room()?;
        let placed: Vec<Parts> = tests.iter().map(|(_, workload)| workload.parts(on_filesystem, room)).collect();
        // A device is one file, which each test opens for itself; on a filesystem tests have their own, or share one.
        let sharing = |index: &usize| tests[*index].1.sharing == Sharing::All;
        let size = |index: usize| placed[index].files.iter().sum::<u64>();
        let shared_bytes = (0..tests.len()).filter(sharing).map(size).max().unwrap_or(0);
        let own_bytes: u64 = (0..tests.len()).filter(|index| !sharing(index)).map(size).sum();
        let bytes =
            if on_filesystem { shared_bytes + own_bytes } else { (0..tests.len()).map(size).max().unwrap_or(0) };
        let drive = self.prepared(tests.first().map_or(WriteCache::Unchanged, |(test, _)| test.write_cache), bytes)?;
        let (mut files, mut shared, mut base) = (Vec::new(), None, shared_bytes);
        let (mut jobs, mut teams) = (Vec::new(), Vec::new());
        for (index, &(test, workload)) in tests.iter().enumerate() {
            let first_file = files.len();
            let file = |base: u64, bytes: u64| match (on_filesystem, workload.layout) {
                (false, _) | (true, Layout::Overwrite) => File::settled(base, bytes, workload.direct),
                (true, Layout::Append | Layout::Empty) => File::empty(base, workload.direct),
                (true, Layout::Preallocated | Layout::PreallocatedOnce) => File::reserved(base, bytes, workload.direct),
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
                let place = Place { number: jobs.len() as u32, team: index, job };
                let bytes = part.start..part.start + part.bytes;
                jobs.push(BlockJob::new(workload, self.seed, place, first_file + part.file, bytes));
            }
            let record = WorkloadRecord::among(test, tests);
            teams.push(self.team(test, workload, record, &placed[index]));
        }
        Ok(self.measure(teams, drive, files, jobs, look))
    }

    /// Whether the model can run a workload.
    fn check(&self, workload: &Workload) -> Result<(), NotRun> {
        let on_filesystem = self.model.host.filesystem != Filesystem::None;
        if workload.layout.starts_over() && !on_filesystem {
            let because = format!(
                "a layout of {} needs a filesystem: add `,filesystem=ext4` to the target",
                workload.layout.name()
            );
            return Err(NotRun::Skip(because));
        }
        if workload.pattern.trims() {
            return Err(NotRun::Skip("models know no discards; run it on a directory or a device".to_owned()));
        }
        if workload.verify {
            let because =
                "it reads back what it wrote, and a model keeps no data; `flushmark emulate` makes drives that do";
            return Err(NotRun::Skip(because.to_owned()));
        }
        if workload.layout == Layout::Empty && workload.pattern.is_random() && on_filesystem {
            let because =
                "models do not allocate space at random places; use a layout of overwrite or preallocated-once";
            return Err(NotRun::Skip(because.to_owned()));
        }
        Ok(())
    }

    fn team<'a>(&self, test: &'a Test, workload: &Workload, mut record: WorkloadRecord, parts: &Parts) -> Team<'a> {
        let syncs_apart = workload.sync.call().or(workload.sync.linked_call()).is_some();
        let commits = syncs_apart && workload.pattern.writes() && workload.syncs_commit();
        record.seed = workload.seed.wrapping_add(self.seed);
        record.size_bytes = parts.span_bytes();
        Team {
            test,
            record,
            headline: if commits { Headline::Commits } else { Headline::Operations },
            writes_are_commits: !syncs_apart && workload.sync.is_durable() && workload.pattern.writes(),
            limit: workload.limit_on(parts.jobs.iter().map(|part| part.bytes).max().unwrap_or(0)),
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
            let because = "this step program makes, grows or removes files: add `,filesystem=ext4` to the target";
            return Err(NotRun::Skip(because.to_owned()));
        }
        let size = steps::room_bytes(program);
        let jobs = u64::from(program.jobs.get());
        let drive = self.prepared(test.write_cache, size * jobs)?;
        let files = (0..jobs).flat_map(|job| steps::files(program, job * size)).collect();
        let jobs = (0..program.jobs.get()).map(|job| StepJob::new(program, self.seed, job)).collect();
        let mut record = WorkloadRecord::of(test);
        record.seed = program.seed.wrapping_add(self.seed);
        let (headline, limit) = (Headline::Turns, program.limit);
        let team = Team { test, record, headline, writes_are_commits: false, limit };
        Ok(self.measure(vec![team], drive, files, jobs, look))
    }

    /// What tests may work on: the whole drive, or what a filesystem on it leaves free.
    ///
    /// # Errors
    /// When the model cannot be assembled.
    pub fn room(&self) -> Result<Room, Impossible> {
        let room_bytes = self.room_bytes()?;
        Ok(match self.model.host.filesystem {
            Filesystem::None => Room::Whole(room_bytes),
            Filesystem::Ext4 => Room::Free(room_bytes),
        })
    }

    /// Bytes that tests may work on.
    fn room_bytes(&self) -> Result<u64, Impossible> {
        let journal = if self.model.host.filesystem == Filesystem::None { 0 } else { JOURNAL_BYTES };
        Ok(self.drive(false)?.identity().capacity_bytes.saturating_sub(journal))
    }

    /// The drive as tests want it: written through, its cache set.
    fn prepared(&self, write_cache: WriteCache, bytes: u64) -> Result<Box<dyn Device>, NotRun> {
        let mut drive = self.drive(false)?;
        let identity = drive.identity();
        let room = self.room_bytes()?;
        if bytes > room {
            return Err(NotRun::Skip(format!(
                "it works on {}, and {} has room for {}",
                format_bytes(bytes),
                self.target(),
                // Drives are sold in gigabytes; what was made smaller was asked for in mebibytes.
                if room >= 10_000_000_000 { format!("{:.0} GB", room as f64 / 1e9) } else { format_bytes(room) }
            )));
        }
        drive.precondition(bytes);
        match write_cache.wants_on() {
            Some(true) if !identity.switchable => {
                return Err(NotRun::Skip(format!("{} has no volatile write cache to switch on", self.target())));
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
        let block = BlockLayer::new(drive, self.model.host.request_most.0);
        let tallies = |start: Ns| teams.iter().map(|team| Tally::starting(team.headline, start)).collect();
        // A new drive that is left alone folds what lies in its one-bit flash.
        let now = ns(teams.iter().map(|team| team.test.work.rest()).max().unwrap_or_default());
        let mut world = World {
            host: Host::new(&self.model.host, block, files, journal_base),
            dues: Agenda::new(),
            tallies: tallies(now),
        };
        let warm_up = |team: &Team<'_>| ns(team.test.work.warm_up().0);
        let longest = teams.iter().map(warm_up).max().unwrap_or(0);
        let (mut start, mut go_on) = (now, true);
        if longest > 0 {
            world.tallies.iter_mut().for_each(|tally| tally.start_at(now + longest));
            let bounds = |team| Some(warm_up(team)).filter(|time| *time > 0).map(|time| Bounds::until(now + time));
            let bounds: Vec<Option<Bounds>> = teams.iter().map(bounds).collect();
            let ended = phase(&mut world, &mut jobs, now, &bounds, true, look);
            (start, go_on) = (ended.last, ended.go_on);
        }
        world.tallies = tallies(start);
        let before = world.host.block_layer().device().activity();
        let mut ends = vec![start; teams.len()];
        if go_on {
            let bounds: Vec<Option<Bounds>> = teams.iter().map(|team| Some(Bounds::of(team.limit, start))).collect();
            let ended = phase(&mut world, &mut jobs, start, &bounds, false, look);
            (ends, go_on) = (ended.teams, ended.go_on);
        }
        let after = world.host.block_layer().device().activity();
        let ended = if go_on { Ended::Limit } else { Ended::Interrupted };
        let of_team = |((team, tally), end): ((Team<'_>, Tally), Ns)| {
            team.result(tally, end, (end - start) as f64 / 1e9, (before, after), ended.clone())
        };
        teams.into_iter().zip(world.tallies).zip(ends).map(of_team).collect()
    }
}

/// A test that runs, most often alone.
struct Team<'a> {
    test: &'a Test,
    record: WorkloadRecord,
    headline: Headline,
    /// Each write is durable by itself.
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
        let (counts, histograms, series) = tally.finish(end, self.writes_are_commits);
        let commits = histograms.commit.as_ref().map_or(0, measurement::Histogram::count);
        let is_program = matches!(self.test.work, Work::Steps(_));
        let mut proof = proof(&counts, commits, before, after);
        let mut notes = Vec::new();
        if !self.record.beside.is_empty() {
            // Nobody can tell whose requests the drive counted.
            proof.device = None;
            notes.push(format!("ran at the same time as {}", self.record.beside.join(", ")));
        }
        let measured = Measured {
            workload: self.record,
            engine: "sim",
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

/// How a phase ended.
struct PhaseEnd {
    /// When each team was done.
    teams: Vec<Ns>,
    /// When all were.
    last: Ns,
    /// Whether the person let it.
    go_on: bool,
}

/// Lets jobs run until each has reached the bounds of its team, if it has any, and nothing of theirs is in flight; a drive may go on by itself.
fn phase<J: Job>(
    world: &mut World,
    jobs: &mut [J],
    start: Ns,
    bounds: &[Option<Bounds>],
    warm_up: bool,
    look: &mut dyn FnMut(&Progress) -> bool,
) -> PhaseEnd {
    let mut now = start;
    let mut returned: Vec<Returned> = Vec::new();
    let mut until_look = EVENTS_PER_LOOK;
    let mut go_on = true;
    // What was waited for in an earlier phase is over.
    world.dues = Agenda::new();
    let mut running = vec![0_usize; bounds.len()];
    for job in jobs.iter_mut() {
        let team = job.place().team;
        if let Some(bounds) = bounds[team] {
            running[team] += 1;
            job.begin(start, bounds, warm_up, world);
        }
    }
    let mut teams = vec![start; bounds.len()];
    let mut at_work = running.iter().filter(|jobs| **jobs > 0).count();
    while at_work > 0 {
        let next = match (world.host.next_event(), world.dues.next_at()) {
            (Some(one), Some(other)) => one.min(other),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        debug_assert!(next >= now, "virtual time runs backwards");
        now = next;
        for (tally, running) in world.tallies.iter_mut().zip(&running) {
            if *running > 0 {
                tally.advance(now);
            }
        }
        let mut count_end = |job: &J| {
            let team = job.place().team;
            running[team] -= 1;
            if running[team] == 0 {
                teams[team] = now;
                at_work -= 1;
            }
        };
        world.host.advance(now, &mut returned);
        for Returned { tag, at } in returned.drain(..) {
            let step = Step::Returned { slot: tag & ((1 << SLOT_BITS) - 1), at };
            let job = &mut jobs[(tag >> SLOT_BITS) as usize];
            job.go_on(step, world);
            if job.is_done() {
                count_end(job);
            }
        }
        while let Some((at, job)) = world.dues.take(now) {
            let job = &mut jobs[job as usize];
            if !job.is_done() {
                job.go_on(Step::Due { at }, world);
                if job.is_done() {
                    count_end(job);
                }
            }
        }
        until_look -= 1;
        if until_look == 0 {
            until_look = EVENTS_PER_LOOK;
            let working = world.tallies.iter().zip(&running).filter(|(_, running)| **running > 0);
            if go_on && !look(&Progress::together(working.map(|(tally, _)| tally.progress(now)))) {
                go_on = false;
                jobs.iter_mut().for_each(J::stop);
            }
        }
    }
    debug_assert!(running.iter().all(|jobs| *jobs == 0), "nothing happens any more, and a job waits");
    PhaseEnd { teams, last: now, go_on }
}

/// What the drive saw, in relation to what was asked of the kernel.
fn proof(counts: &Counts, commits: u64, before: Activity, after: Activity) -> Proof {
    let per = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
    let flushes = after.flushes - before.flushes;
    let flush_us = (after.flush_ns - before.flush_ns) as f64 / 1e3;
    let bytes_written = after.written_bytes - before.written_bytes;
    Proof {
        reads: counts.reads,
        writes: counts.writes,
        syncs: counts.syncs,
        commits,
        device: Some(DeviceProof {
            reads: after.reads - before.reads,
            writes: after.writes - before.writes,
            bytes_written,
            flushes: Some(flushes),
            flush_mean_us: (flushes > 0).then(|| flush_us / flushes as f64),
            flushes_per_commit: per(flushes, commits),
            bytes_per_byte: per(bytes_written, counts.written_bytes),
        }),
    }
}
