//! The threads of the tests that run at the same time, most often of one, and the observer that looks on.
//!
//! Every job sets up, warms up and waits; the observer reads the device's counters and the processor time; all start together. So the counters
//! hold what was measured and nothing else of ours.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use drive::{Counters, DeviceNumber, SystemRoot};
use measurement::{CpuUse, Headline, Progress};
use rustix::io::Errno;
use workload::{Bounds, Limit};

use crate::affinity;
use crate::clock::Clock;
use crate::cpu_time::cpu_use;
use crate::error::EngineError;
use crate::job::{Failure, JobEnd, Stop, Tally};
use crate::target::read_counters;
use crate::watch::Watch;

/// How often a person's display is brought up to date, and a stop is passed on.
const GLANCE: Duration = Duration::from_millis(100);

/// What the jobs of a test have in common.
#[derive(Debug, Clone, Copy)]
pub struct Team {
    /// How many jobs.
    pub jobs: u32,
    /// When the measurement ends.
    pub limit: Limit,
    /// How long they run before it.
    pub warm_up: Duration,
    /// Whose latency the series follows.
    pub headline: Headline,
}

/// Who works at the same time, and on what.
pub struct Crew<'a> {
    /// A team for each test.
    pub teams: Vec<Team>,
    /// Reads ticks.
    pub clock: Clock,
    /// Whose counters show what arrived.
    pub devices: Vec<DeviceNumber>,
    /// Below which they are read.
    pub root: &'a SystemRoot,
    /// The person's wish to stop.
    pub stop: &'a Stop,
}

/// Which part of a job's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not counted.
    WarmUp,
    /// Counted.
    Measurement,
}

/// What a job hands over at its end.
pub struct Report {
    /// What it did.
    pub end: JobEnd,
    /// What differs from what was asked.
    pub notes: Vec<String>,
    /// The tick at which the measurement ended, before the job takes down what carried it: the
    /// kernel takes 30 ms for a libaio context.
    pub ended: u64,
}

impl Report {
    /// A job that did nothing.
    pub fn failed(failure: Failure) -> Report {
        Report { end: JobEnd { failure: Some(failure), ..JobEnd::new() }, notes: Vec::new(), ended: 0 }
    }
}

/// What is left of a team when all its jobs are done.
pub struct TeamEnd {
    /// Seconds from the start to the last job's last operation.
    pub elapsed_s: f64,
    /// How each job ended.
    pub ends: Vec<JobEnd>,
    /// What differs from what was asked.
    pub notes: Vec<String>,
    /// The tallies and the series.
    pub watch: Watch,
}

/// What is left when all teams are done.
pub struct Finished {
    /// In the order of the teams.
    pub teams: Vec<TeamEnd>,
    /// What they have in common.
    pub meanwhile: Meanwhile,
}

/// What was counted from the start to the end of all teams.
pub struct Meanwhile {
    /// What the devices counted meanwhile.
    pub counters: Option<Counters>,
    /// Processor time spent meanwhile.
    pub cpu: CpuUse,
}

/// What the observer knows of a team.
struct Watched {
    watch: Watch,
    ends: Vec<JobEnd>,
    notes: Vec<String>,
    /// When the last operation of those that have ended was done.
    last: u64,
    /// Jobs that have not ended.
    working: u32,
}

impl Crew<'_> {
    /// Has `work` done by every job of every team in a thread of its own, and looks on. `work` is told
    /// the team and the job within it.
    ///
    /// # Errors
    /// When the system gives too few threads.
    pub fn measure(
        &self,
        observe: &mut dyn FnMut(&Progress),
        work: &(dyn Fn(usize, u32, Stage<'_>) -> Report + Sync),
    ) -> Result<Finished, EngineError> {
        let clock = self.clock;
        let jobs: Vec<(usize, u32)> = (self.teams.iter().enumerate())
            .flat_map(|(index, team)| (0..team.jobs).map(move |job| (index, job)))
            .collect();
        let everyone = jobs.len() as u32;
        let tallies: Vec<Arc<Tally>> = jobs.iter().map(|_| Arc::new(Tally::new())).collect();
        let gate = Gate::default();
        let halt = Arc::new(Stop::new());
        let cpus = affinity::allowed();
        let pins = cpus.len() > 1 && jobs.len() <= cpus.len();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, (&(index, job), tally)) in jobs.iter().zip(&tallies).enumerate() {
                let team = self.teams[index];
                let stage = Stage {
                    limit: team.limit,
                    warm_up: team.warm_up,
                    clock,
                    tally: Arc::clone(tally),
                    halt: Arc::clone(&halt),
                    gate: &gate,
                    announced: false,
                };
                let (sender, cpu) = (sender.clone(), cpus.get(number).copied().filter(|_| pins));
                let body = move || {
                    affinity::own_descriptors();
                    if let Some(cpu) = cpu {
                        affinity::pin(cpu);
                    }
                    let report = work(index, job, stage);
                    // The observer stays until every job has reported or is gone.
                    let _ = sender.send((index, report));
                };
                match std::thread::Builder::new().name(format!("job {number}")).spawn_scoped(scope, body) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        halt.request();
                        gate.open(clock.ticks());
                        let errno = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
                        return Err(EngineError::Threads { job: number as u32, jobs: everyone, errno });
                    }
                }
            }
            drop(sender);
            let longest = self.teams.iter().map(|team| team.warm_up).max().unwrap_or_default();
            observe(&Progress { elapsed_s: -longest.as_secs_f64(), iops: None, commit_p99_us: None });
            while !gate.wait_for_warm(everyone) {
                if self.stop.is_requested() {
                    halt.request();
                }
            }
            let counters_before = read_counters(self.root, &self.devices);
            let cpu_before = cpu_use();
            let begun = clock.ticks();
            gate.open(begun);

            let mut teams = self.watched(&tallies, begun);
            while teams.iter().any(|team| team.working > 0) {
                match receiver.recv_timeout(GLANCE) {
                    Ok((index, report)) => {
                        let report: Report = report;
                        if report.end.failure.is_some() {
                            // The others would go on measuring a target that is broken.
                            halt.request();
                        }
                        teams[index].take(report);
                    }
                    Err(RecvTimeoutError::Timeout) => observe(&look(&mut teams)),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if self.stop.is_requested() {
                    halt.request();
                }
            }
            let cpu = cpu_use();
            let counters =
                counters_before.and_then(|before| Some(read_counters(self.root, &self.devices)?.since(&before)));
            threads.into_iter().for_each(|thread| drop(thread.join()));
            Ok(Finished {
                teams: teams.into_iter().map(|team| team.end(begun, clock)).collect(),
                meanwhile: Meanwhile {
                    counters,
                    cpu: CpuUse {
                        user_s: cpu.user_s - cpu_before.user_s,
                        system_s: cpu.system_s - cpu_before.system_s,
                    },
                },
            })
        })
    }

    /// Each team with its share of the tallies.
    fn watched(&self, mut tallies: &[Arc<Tally>], begun: u64) -> Vec<Watched> {
        let mut of_team = |team: &Team| {
            let own = tallies.split_off(..team.jobs as usize).unwrap_or_default();
            let watch = Watch::new(own.to_vec(), team.headline, self.clock, begun);
            Watched { watch, ends: Vec::new(), notes: Vec::new(), last: begun, working: team.jobs }
        };
        self.teams.iter().map(&mut of_team).collect()
    }
}

impl Watched {
    fn take(&mut self, report: Report) {
        self.last = self.last.max(report.ended);
        self.notes.extend(report.notes);
        self.ends.push(report.end);
        self.working -= 1;
        if self.working == 0 {
            // Its series ends here, however long the others go on.
            self.watch.look();
        }
    }

    fn end(self, begun: u64, clock: Clock) -> TeamEnd {
        let Watched { mut watch, mut ends, mut notes, last, working } = self;
        if working > 0 {
            // A job that panicked is known by its missing report.
            watch.look();
            ends.extend((0..working).map(|_| Report::failed(Failure::Panic).end));
        }
        notes.sort();
        notes.dedup();
        TeamEnd { elapsed_s: clock.ns(last.saturating_sub(begun)) as f64 / 1e9, ends, notes, watch }
    }
}

/// All teams at work together.
fn look(teams: &mut [Watched]) -> Progress {
    let working = teams.iter_mut().filter(|team| team.working > 0);
    Progress::together(working.map(|team| team.watch.look()))
}

/// Where jobs wait until all are warm and the observer has read its counters.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    warm: u32,
    start: Option<u64>,
}

impl Gate {
    /// A job is warm, or will never be.
    fn announce(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).warm += 1;
        self.changed.notify_all();
    }

    /// Whether all jobs have announced themselves, after waiting a little for it.
    fn wait_for_warm(&self, jobs: u32) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, GLANCE, |state| state.warm < jobs);
        waited.unwrap_or_else(PoisonError::into_inner).0.warm >= jobs
    }

    /// Lets everybody through.
    fn open(&self, start: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).start = Some(start);
        self.changed.notify_all();
    }

    /// Waits until it is open; returns when the measurement began.
    fn pass(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_while(state, |state| state.start.is_none());
        state.unwrap_or_else(PoisonError::into_inner).start.unwrap_or_default()
    }
}

/// One job's way through warm-up and measurement.
pub struct Stage<'a> {
    limit: Limit,
    warm_up: Duration,
    clock: Clock,
    tally: Arc<Tally>,
    halt: Arc<Stop>,
    gate: &'a Gate,
    announced: bool,
}

impl Stage<'_> {
    /// Calls `phase` for the warm-up, if there is one, and then for the measurement.
    pub fn act(
        mut self,
        notes: Vec<String>,
        mut phase: impl FnMut(Phase, Bounds, &Arc<Tally>, &Arc<Stop>) -> JobEnd,
    ) -> Report {
        if !self.warm_up.is_zero() {
            let bounds = self.clock.bounds(Limit::Time(self.warm_up), self.clock.ticks());
            let end = phase(Phase::WarmUp, bounds, &Arc::new(Tally::new()), &self.halt);
            if let Some(failure) = end.failure {
                return Report::failed(failure);
            }
        }
        self.announced = true;
        self.gate.announce();
        let start = self.gate.pass();
        if self.halt.is_requested() {
            return Report { end: JobEnd::new(), notes, ended: start };
        }
        let bounds = self.clock.bounds(self.limit, start);
        let end = phase(Phase::Measurement, bounds, &self.tally, &self.halt);
        Report { end, notes, ended: self.clock.ticks() }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Whatever kept the job from being warm, a panic included: nobody waits for it.
        if !self.announced {
            self.gate.announce();
        }
    }
}
