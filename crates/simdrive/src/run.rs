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
use measurement::{
    CpuUse, DeviceProof, Ended, Headline, Outcome, Progress, Proof, Skipped, TestResult, WorkloadRecord,
};
use workload::{JobPart, Layout, Limit, Room, StepProgram, Test, Until, Work, Workload, WriteCache, format_bytes};

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

/// Runs a test. `look` is called every few milliseconds of real time; when it answers `false`, the run ends.
///
/// # Errors
/// When the model is impossible.
pub fn run(machine: &Machine, test: &Test, look: &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, Impossible> {
    let outcome = match &test.work {
        Work::Blocks(workload) => machine.blocks(test, workload, look),
        Work::Steps(program) => machine.steps(test, program, look),
        Work::Sort(_) => Err(NotRun::Skip(
            "a sort computes between its writes and reads, for as long as this machine takes, and a model's run is the same on every machine; run it on a directory or a device"
                .to_owned(),
        )),
    };
    match outcome {
        Ok(result) => Ok(Outcome::Measured(Box::new(result))),
        Err(NotRun::Skip(because)) => Ok(Outcome::Skipped(Skipped { test: test.name.clone(), because })),
        Err(NotRun::Impossible(impossible)) => Err(impossible),
    }
}

/// A phase of a run: until when its jobs go on.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    deadline: Option<Ns>,
    count: Option<u64>,
    until: Until,
}

impl Bounds {
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

    /// A moment, or the end of the phase if that is earlier.
    pub fn no_later(&self, moment: Ns) -> Ns {
        self.deadline.map_or(moment, |deadline| deadline.min(moment))
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
    /// No more operations: the person wants the end.
    fn stop(&mut self);
}

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
    tally: Tally,
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
        test: &Test,
        workload: &Workload,
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<TestResult, NotRun> {
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
        let parts = workload.parts(on_filesystem, self.room()?);
        let drive = self.prepared(test, parts.files.iter().sum())?;
        let mut base = 0;
        let mut files = Vec::new();
        for &bytes in &parts.files {
            files.push(match (on_filesystem, workload.layout) {
                (false, _) | (true, Layout::Overwrite) => File::settled(base, bytes, workload.direct),
                (true, Layout::Append | Layout::Empty) => File::empty(base, workload.direct),
                (true, Layout::Preallocated | Layout::PreallocatedOnce) => File::reserved(base, bytes, workload.direct),
            });
            base += bytes;
        }
        let job = |(job, part): (u32, &JobPart)| {
            BlockJob::new(workload, self.seed, job, part.file, part.start..part.start + part.bytes)
        };
        let jobs = (0..).zip(&parts.jobs).map(job).collect();
        let syncs_apart = workload.sync.call().or(workload.sync.linked_call()).is_some();
        let commits = syncs_apart && workload.pattern.writes() && workload.syncs_commit();
        let headline = if commits { Headline::Commits } else { Headline::Operations };
        let writes_are_commits = !syncs_apart && workload.sync.is_durable() && workload.pattern.writes();
        let mut record = WorkloadRecord::of(test);
        record.seed = workload.seed.wrapping_add(self.seed);
        record.size_bytes = parts.span_bytes();
        let limit = workload.limit_on(parts.jobs.iter().map(|part| part.bytes).max().unwrap_or(0));
        Ok(self.measure(test, record, drive, files, jobs, headline, writes_are_commits, limit, look))
    }

    fn steps(
        &self,
        test: &Test,
        program: &StepProgram,
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<TestResult, NotRun> {
        let on_filesystem = self.model.host.filesystem != Filesystem::None;
        if !on_filesystem && !program.runs_without_directory() {
            let because = "this step program makes, grows or removes files: add `,filesystem=ext4` to the target";
            return Err(NotRun::Skip(because.to_owned()));
        }
        let size = steps::room_bytes(program);
        let jobs = u64::from(program.jobs.get());
        let drive = self.prepared(test, size * jobs)?;
        let files = (0..jobs).flat_map(|job| steps::files(program, job * size)).collect();
        let jobs = (0..program.jobs.get()).map(|job| StepJob::new(program, self.seed, job)).collect();
        let mut record = WorkloadRecord::of(test);
        record.seed = program.seed.wrapping_add(self.seed);
        Ok(self.measure(test, record, drive, files, jobs, Headline::Turns, false, program.limit, look))
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

    /// The drive as a test wants it: written through, its cache set.
    fn prepared(&self, test: &Test, bytes: u64) -> Result<Box<dyn Device>, NotRun> {
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
        match test.write_cache.wants_on() {
            Some(true) if !identity.switchable => {
                return Err(NotRun::Skip(format!("{} has no volatile write cache to switch on", self.target())));
            }
            Some(on) if identity.switchable => drive.set_write_cache(0, on),
            _ => {}
        }
        Ok(drive)
    }

    #[expect(clippy::too_many_arguments, reason = "what the two kinds of work have in common")]
    fn measure<J: Job>(
        &self,
        test: &Test,
        record: WorkloadRecord,
        drive: Box<dyn Device>,
        files: Vec<File>,
        mut jobs: Vec<J>,
        headline: Headline,
        writes_are_commits: bool,
        limit: Limit,
        look: &mut dyn FnMut(&Progress) -> bool,
    ) -> TestResult {
        let journal_base = drive.identity().capacity_bytes.saturating_sub(JOURNAL_BYTES);
        let block = BlockLayer::new(drive, self.model.host.request_most.0);
        let mut world = World {
            host: Host::new(&self.model.host, block, files, journal_base),
            dues: Agenda::new(),
            tally: Tally::new(headline),
        };
        // A new drive that is left alone folds what lies in its one-bit flash.
        let mut now = match &test.work {
            Work::Blocks(workload) => ns(workload.rest),
            Work::Steps(_) => 0,
            Work::Sort(sort) => ns(sort.rest),
        };
        let mut go_on = true;
        let warm_up = ns(test.work.warm_up().0);
        if warm_up > 0 {
            world.tally.start_at(now + warm_up);
            let bounds = Bounds { deadline: Some(now + warm_up), count: None, until: Until::First };
            (now, go_on) = phase(&mut world, &mut jobs, now, bounds, true, look);
        }
        let start = now;
        world.tally = Tally::new(headline);
        world.tally.start_at(start);
        let before = world.host.block_layer().device().activity();
        if go_on {
            (now, go_on) = phase(&mut world, &mut jobs, start, Bounds::of(limit, start), false, look);
        }
        let after = world.host.block_layer().device().activity();
        let elapsed_s = (now - start) as f64 / 1e9;
        let World { tally, .. } = world;
        let (counts, histograms, series) = tally.finish(now, writes_are_commits);
        let commits = histograms.commit.as_ref().map_or(0, measurement::Histogram::count);
        let is_program = matches!(test.work, Work::Steps(_));
        let measured = Measured {
            workload: record,
            engine: "sim",
            elapsed_s,
            turns: is_program.then_some(counts.turns),
            bytes: counts.read_bytes + counts.written_bytes,
            proof: proof(&counts, commits, before, after),
            histograms,
            series,
            cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
            ended: if go_on { Ended::Limit } else { Ended::Interrupted },
            notes: Vec::new(),
        };
        TestResult::new(&test.name, measured)
    }
}

/// Lets jobs run until each has reached the bounds and nothing of theirs is in flight; a drive may go on by itself. When that was, and whether the person
/// let it.
fn phase<J: Job>(
    world: &mut World,
    jobs: &mut [J],
    start: Ns,
    bounds: Bounds,
    warm_up: bool,
    look: &mut dyn FnMut(&Progress) -> bool,
) -> (Ns, bool) {
    let mut now = start;
    let mut returned: Vec<Returned> = Vec::new();
    let mut until_look = EVENTS_PER_LOOK;
    let mut go_on = true;
    // What was waited for in an earlier phase is over.
    world.dues = Agenda::new();
    for job in jobs.iter_mut() {
        job.begin(start, bounds, warm_up, world);
    }
    let mut running = jobs.len();
    while running > 0 {
        let next = match (world.host.next_event(), world.dues.next_at()) {
            (Some(one), Some(other)) => one.min(other),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        debug_assert!(next >= now, "virtual time runs backwards");
        now = next;
        world.tally.advance(now);
        world.host.advance(now, &mut returned);
        for Returned { tag, at } in returned.drain(..) {
            let step = Step::Returned { slot: tag & ((1 << SLOT_BITS) - 1), at };
            let job = &mut jobs[(tag >> SLOT_BITS) as usize];
            job.go_on(step, world);
            running -= usize::from(job.is_done());
        }
        while let Some((at, job)) = world.dues.take(now) {
            let job = &mut jobs[job as usize];
            if !job.is_done() {
                job.go_on(Step::Due { at }, world);
                running -= usize::from(job.is_done());
            }
        }
        until_look -= 1;
        if until_look == 0 {
            until_look = EVENTS_PER_LOOK;
            if go_on && !look(&world.tally.progress(now)) {
                go_on = false;
                jobs.iter_mut().for_each(J::stop);
            }
        }
    }
    debug_assert!(jobs.iter().all(J::is_done), "nothing happens any more, and a job waits");
    debug_assert!(running == 0, "a job ended twice");
    (now, go_on)
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
