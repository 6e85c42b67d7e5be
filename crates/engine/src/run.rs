//! Runs tests on an opened target, from their preparation to their results.

mod blocks;

use drive::{Counters, SystemRoot};
use measurement::result::Measured;
use measurement::{
    DeviceProof, Ended, Headline, Outcome, Progress, Proof, SortFigures, TargetKind, TestResult, WorkloadRecord,
};
use workload::{Content, EngineChoice, Layout, SortWork, Step, StepProgram, Test, Work, format_bytes};

use std::time::{Duration, Instant};

use crate::carrier::{Carrier, Refusal};
use crate::clock::Clock;
use crate::crew::{Crew, Finished, Meanwhile, Report, Stage, Team, TeamEnd};
use crate::error::EngineError;
use crate::job::{JobEnd, Stop};
use crate::limits;
use crate::prepare::{PartSpec, Preparation, Prepared, prepare};
use crate::spilling::{self, SortJob};
use crate::stepping::Stepping;
use crate::target::Target;

/// A rest is taken in slices, so that a stop is noticed.
const REST_SLICE: Duration = Duration::from_millis(100);

/// How tests are run, apart from what they are.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// An interface that goes before the tests' own choice.
    pub engine: Option<EngineChoice>,
    /// Writing test files through ends after this time; the test then works on what is there.
    pub prepare_time_max: Option<Duration>,
    /// Below which procfs and sysfs are read.
    pub root: SystemRoot,
}

/// Runs a test, or several at the same time; an outcome for each, in their order. `observe` is called
/// about ten times a second.
///
/// # Errors
/// When nothing could be measured at all: no space, no memory, no permission.
pub fn run(
    tests: &[Test],
    target: &Target,
    options: &Options,
    stop: &Stop,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Vec<Outcome>, EngineError> {
    let run = Run { target, options, stop };
    let results = match tests {
        [test] => match &test.work {
            Work::Blocks(workload) => run.blocks(&[(test, workload)], observe),
            Work::Steps(program) => run.steps(test, program, observe),
            Work::Sort(sort) => run.sort(test, sort, observe),
        },
        several => Test::together(several).map_err(NotRun::Skip).and_then(|several| run.blocks(&several, observe)),
    };
    match results {
        Ok(results) => Ok(results.into_iter().map(|result| Outcome::Measured(Box::new(result))).collect()),
        Err(NotRun::Skip(because)) => Ok(Outcome::all_skipped(tests, &because)),
        Err(NotRun::Error(error)) => Err(error),
    }
}

/// Why a test gave no result.
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
            Refusal::Missing { engine, errno } => {
                EngineError::Interface { engine, errno, advice: "leave --engine out to let flushmark choose" }.into()
            }
        }
    }
}

/// A test that is about to be measured, as its result will describe it.
struct Described<'a> {
    test: &'a Test,
    record: WorkloadRecord,
    carrier: Carrier,
    notes: Vec<String>,
    /// Each write is durable by itself.
    writes_are_commits: bool,
}

struct Run<'a> {
    target: &'a Target,
    options: &'a Options,
    stop: &'a Stop,
}

impl Run<'_> {
    fn steps(
        &self,
        test: &Test,
        program: &StepProgram,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Vec<TestResult>, NotRun> {
        match self.target.kind() {
            TargetKind::Null => {
                return Err(NotRun::Skip("a step program works on files, and null: has none".to_owned()));
            }
            TargetKind::Directory => {}
            _ if program.runs_without_directory() => {}
            _ => {
                let because = "this step program makes, grows or removes files and needs a directory as its target";
                return Err(NotRun::Skip(because.to_owned()));
            }
        }
        let jobs = program.jobs.get();
        let files = program.files.len();
        limits::open_files(jobs, files as u64 + 2)?;
        let part = |job: u32, index: usize| {
            let file = &program.files[index];
            PartSpec {
                name: format!("{}-{job}-{}", file.layout.name(), file.name),
                size_bytes: file.size_bytes,
                unit_bytes: program.largest_write_bytes(index).min(file.size_bytes),
                layout: file.layout,
                direct: file.direct,
                invalidate: true,
                precondition: None,
                content: program.content,
            }
        };
        let specs: Vec<PartSpec> = (0..jobs).flat_map(|job| (0..files).map(move |index| part(job, index))).collect();
        let Prepared { parts, notes } = self.prepare(&specs, program.seed)?;
        for step in &program.steps {
            if let Step::Write { file, bytes, .. } = *step {
                let part = &parts[file];
                if part.direct && u64::from(bytes) % part.alignment_bytes != 0 {
                    return Err(NotRun::Skip(self.misaligned(u64::from(bytes), part.alignment_bytes)));
                }
            }
        }

        let mut record = WorkloadRecord::of(test);
        record.direct = parts.iter().any(|part| part.direct);
        record.size_bytes = parts.iter().map(|part| part.size_bytes).sum();
        let clock = Clock::calibrated();
        let team = Team { jobs, limit: program.limit, warm_up: program.warm_up.0, headline: Headline::Turns };
        let finished = self.crew(vec![team], clock).measure(observe, &|_, job, stage: Stage<'_>| {
            let own = &parts[job as usize * files..][..files];
            match Stepping::new(self.target, program, own, clock, job) {
                Ok(mut stepping) => stage.act(Vec::new(), |_, bounds, tally, stop| stepping.run(bounds, tally, stop)),
                Err(failure) => Report::failed(failure),
            }
        })?;
        self.forget(&specs);
        let described = Described { test, record, carrier: Carrier::Psync, notes, writes_are_commits: false };
        Ok(self.results(vec![described], finished))
    }

    fn sort(
        &self,
        test: &Test,
        sort: &SortWork,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Vec<TestResult>, NotRun> {
        let (jobs, block_bytes) = (sort.jobs.get(), u64::from(sort.block_bytes.get()));
        let room_bytes = spilling::room_bytes(sort, sort.size_per_job_bytes());
        let carrier = if self.target.kind() == TargetKind::Null { Carrier::Null } else { Carrier::Psync };
        limits::open_files(jobs, 2)?;
        let kept_bytes = if carrier == Carrier::Null { room_bytes } else { 0 };
        limits::memory_of_sorts(jobs, sort.memory_bytes.saturating_add(kept_bytes))?;
        // Nothing is written through beforehand: a database's temporary file is a new one each time, too.
        let part = |job| PartSpec {
            name: format!("runs-{job}"),
            size_bytes: room_bytes,
            unit_bytes: spilling::extent_bytes(sort),
            layout: Layout::Append,
            direct: sort.direct,
            invalidate: true,
            precondition: None,
            content: Content::Zero,
        };
        let specs: Vec<PartSpec> = (0..jobs).map(part).collect();
        let Prepared { parts, notes } = self.prepare(&specs, sort.seed)?;
        if let Some(part) = parts.iter().find(|part| part.direct && block_bytes % part.alignment_bytes != 0) {
            return Err(NotRun::Skip(self.misaligned(block_bytes, part.alignment_bytes)));
        }
        let bytes = parts.iter().map(|part| spilling::records_bytes(sort, part.size_bytes)).min().unwrap_or(0);
        if bytes / 2 < sort.memory_bytes {
            return Err(NotRun::Skip(format!(
                "{} has room for the runs of {} of records, and a sort in {} of memory needs twice that; give it less memory, or name a larger target",
                self.target.given(),
                format_bytes(bytes >> 20 << 20),
                format_bytes(sort.memory_bytes)
            )));
        }
        self.rest(sort.rest)?;

        let mut record = WorkloadRecord::of(test);
        record.direct = sort.direct && parts.iter().all(|part| part.direct);
        record.size_bytes = bytes * u64::from(jobs);
        let clock = Clock::calibrated();
        let limit = test.work.limit();
        let team = Team { jobs, limit, warm_up: Duration::ZERO, headline: Headline::Operations };
        let finished = self.crew(vec![team], clock).measure(observe, &|_, job, stage| {
            SortJob { target: self.target, sort, part: &parts[job as usize], bytes, clock, job }.run(stage)
        })?;
        self.forget(&specs);
        let ends = finished.teams.iter().flat_map(|team| &team.ends);
        let figures = SortFigures::sum(ends.filter_map(|end| end.sort.as_deref().copied()));
        let described = Described { test, record, carrier, notes, writes_are_commits: false };
        let results = self.results(vec![described], finished).into_iter();
        Ok(match figures {
            Some(figures) => results.map(|result| result.with_sort(figures)).collect(),
            None => results.collect(),
        })
    }

    fn crew(&self, teams: Vec<Team>, clock: Clock) -> Crew<'_> {
        let devices = self.target.counting_devices();
        Crew { teams, clock, devices, root: &self.options.root, stop: self.stop }
    }

    /// Leaves the target alone, so that its caches empty.
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

    fn prepare(&self, specs: &[PartSpec], seed: u64) -> Result<Prepared, EngineError> {
        self.target.make_room(specs);
        prepare(self.target, specs, Preparation { time_max: self.options.prepare_time_max, seed, stop: self.stop })
    }

    /// Removes files that the next test could not use.
    fn forget(&self, specs: &[PartSpec]) {
        for spec in specs.iter().filter(|spec| spec.layout.needs_new_file()) {
            self.target.remove_file(&spec.name);
        }
    }

    fn misaligned(&self, bytes: u64, alignment_bytes: u64) -> String {
        format!(
            "{} is no multiple of the logical block size of {}, {}, as direct I/O needs it",
            format_bytes(bytes),
            self.target.given(),
            format_bytes(alignment_bytes)
        )
    }

    /// The results of the tests that a crew has run at the same time.
    fn results(&self, described: Vec<Described<'_>>, finished: Finished) -> Vec<TestResult> {
        let Finished { teams, meanwhile } = finished;
        let of_test = |(described, team)| self.result(described, team, &meanwhile);
        described.into_iter().zip(teams).map(of_test).collect()
    }

    fn result(&self, described: Described<'_>, team: TeamEnd, meanwhile: &Meanwhile) -> TestResult {
        let Described { test, record, carrier, mut notes, writes_are_commits } = described;
        let TeamEnd { elapsed_s, ends, notes: more_notes, watch } = team;
        notes.extend(more_notes);
        let failure = ends.iter().find_map(|end| end.failure.as_ref());
        let ended = match failure {
            Some(failure) => Ended::Failed { error: failure.to_string() },
            None if self.stop.is_requested() => Ended::Interrupted,
            None => Ended::Limit,
        };
        let total = |count: fn(&JobEnd) -> u64| ends.iter().map(count).sum::<u64>();
        let (histograms, series) = watch.finish(writes_are_commits);
        let proof = Proof {
            reads: total(|end| end.reads),
            writes: total(|end| end.writes),
            syncs: total(|end| end.syncs),
            commits: histograms.commit.as_ref().map_or(0, measurement::Histogram::count),
            device: None,
        };
        let written_bytes = total(|end| end.written_bytes);
        // Beside other tests nobody can tell whose requests a device counted.
        let counters = meanwhile.counters.as_ref().filter(|_| record.beside.is_empty());
        if !record.beside.is_empty() {
            let others = record.beside.join(", ");
            notes.push(format!("ran at the same time as {others}; the processor time is that of all of them"));
        }
        let proof = Proof { device: counters.map(|counters| device_proof(counters, &proof, written_bytes)), ..proof };
        let is_program = matches!(test.work, Work::Steps(_));
        let measured = Measured {
            workload: record,
            engine: carrier.name(),
            elapsed_s,
            turns: is_program.then(|| total(|end| end.turns)),
            bytes: written_bytes + total(|end| end.read_bytes),
            histograms,
            series,
            proof,
            cpu: meanwhile.cpu,
            ended,
            notes,
        };
        TestResult::new(&test.name, measured)
    }
}

/// What the device saw, in relation to what was asked of the kernel.
fn device_proof(counters: &Counters, asked: &Proof, written_bytes: u64) -> DeviceProof {
    let per = |count: Option<u64>, of: u64| count.filter(|_| of > 0).map(|count| count as f64 / of as f64);
    let flush_us = |flushes: u64, flush_ms: u64| (flushes > 0).then(|| flush_ms as f64 * 1e3 / flushes as f64);
    DeviceProof {
        reads: counters.reads,
        writes: counters.writes,
        bytes_written: counters.written_bytes,
        flushes: counters.flushes,
        flush_mean_us: counters
            .flushes
            .zip(counters.flush_ms)
            .and_then(|(flushes, flush_ms)| flush_us(flushes, flush_ms)),
        flushes_per_commit: per(counters.flushes, asked.commits),
        bytes_per_byte: per(Some(counters.written_bytes), written_bytes),
    }
}
