//! The threads of concurrent tests (usually of a single one), and the thread that observes them.
//!
//! Every job sets up, warms up and waits. The observer reads the device counters and the processor
//! time, then all jobs start together, so the counters cover exactly the measurement.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drive::{Counters, DeviceNumber, SystemRoot};
use measurement::{CpuUse, Headline, Progress};
use rustix::io::Errno;
use workload::{Bounds, Compute, Ends, Limit, SteadyCheck, UntilSteady};

use crate::affinity;
use crate::clock::Clock;
use crate::cpu_time::{cpu_use, cpu_use_since};
use crate::error::EngineError;
use crate::job::{Failure, JobEnd, Stop, Tally};
use crate::pace::wait_until;
use crate::start_line::StartLine;
use crate::target::read_counters;
use crate::watch::Watch;
use crate::wear::WearMeter;

/// Interval at which the progress display is updated and a stop request is passed on.
const OBSERVE_INTERVAL: Duration = Duration::from_millis(100);

/// The parameters shared by the jobs of a test.
#[derive(Debug, Clone, Copy)]
pub struct Team {
    pub jobs: u32,
    pub limit: Limit,
    pub warm_up: Duration,
    /// Delay of the measurement after the common start.
    pub start_delay: Duration,
    /// The teams that end once a job has ended.
    pub ends: Ends,
    pub group: u32,
    /// The computations of a team that does no I/O.
    pub compute: Option<Compute>,
    /// The state in which the measurement ends before its limit, if any.
    pub until_steady: Option<UntilSteady>,
    /// The operation whose latency the series follows.
    pub headline: Headline,
}

/// The threads that do a job's I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoThreads {
    /// The job's own thread.
    Own,
    /// Threads of a library, which the job's thread wakes and waits for. The kernel then starts one
    /// where the other has just stopped; a pinned job would make it wake an idle processor. Such
    /// threads also open and close descriptors that the job's thread uses.
    Library,
}

/// The parameters of all tests that run at the same time.
pub struct Crew<'a> {
    /// One team per test.
    pub teams: Vec<Team>,
    pub io_threads: IoThreads,
    pub clock: Clock,
    /// The devices whose counters are read.
    pub devices: Vec<DeviceNumber>,
    /// The counters of what the drives write to their media.
    pub wear: &'a WearMeter,
    /// The root of procfs and sysfs.
    pub root: &'a SystemRoot,
    /// Others that begin at the same moment.
    pub start_line: Option<&'a StartLine>,
    /// The user's request to stop.
    pub stop: &'a Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not measured.
    WarmUp,
    Measurement,
}

/// A job's results.
pub struct Report {
    pub end: JobEnd,
    /// Deviations from what was requested.
    pub notes: Vec<String>,
    /// The tick at which the measurement ended, before the job tears down its interface: destroying
    /// a libaio context takes the kernel 30 ms.
    pub ended: u64,
}

impl Report {
    /// The report of a job that failed before its first operation.
    pub fn failed(failure: Failure) -> Report {
        Report {
            end: JobEnd { failure: Some(failure), ..JobEnd::new() },
            notes: Vec::new(),
            ended: 0,
        }
    }
}

/// A team's results.
pub struct TeamEnd {
    /// Seconds from the start to the last job's last operation.
    pub elapsed_s: f64,
    pub ends: Vec<JobEnd>,
    /// Deviations from what was requested.
    pub notes: Vec<String>,
    /// The tallies and the series.
    pub watch: Watch,
}

pub struct CrewEnd {
    pub teams: Vec<TeamEnd>,
    pub system: SystemUse,
}

/// Counts from the start to the end of all teams.
pub struct SystemUse {
    /// Device counters, if there are any.
    pub counters: Option<Counters>,
    /// Bytes that the drives wrote to their media, if they count them.
    pub medium_bytes_written: Option<u64>,
    /// Processor time of the whole process.
    pub cpu: CpuUse,
}

/// The observer's view of a team.
struct Watched {
    watch: Watch,
    ends: Vec<JobEnd>,
    notes: Vec<String>,
    /// Tick of the start of the team's measurement.
    begun: u64,
    /// Tick of the last operation of the jobs that have ended.
    last: u64,
    /// Number of jobs that are still running.
    working: u32,
    /// Ends the team's jobs.
    halt: Arc<Stop>,
    steady: Option<SteadyCheck>,
}

impl Crew<'_> {
    /// Calls `work` with the indices of the team and of the job, in a separate thread for every
    /// job, and observes them.
    ///
    /// # Errors
    /// Fails if the system cannot create enough threads.
    pub fn measure(
        &self,
        observe: &mut dyn FnMut(&Progress),
        work: &(dyn Fn(usize, u32, Stage<'_>) -> Report + Sync),
    ) -> Result<CrewEnd, EngineError> {
        let clock = self.clock;
        let jobs: Vec<(usize, u32)> = (self.teams.iter().enumerate())
            .flat_map(|(index, team)| (0..team.jobs).map(move |job| (index, job)))
            .collect();
        let everyone = jobs.len() as u32;
        let tallies: Vec<Arc<Tally>> = jobs.iter().map(|_| Arc::new(Tally::new())).collect();
        let (gate, halts) = (Gate::default(), Halts::new(self.teams.len()));
        let alone = self.io_threads == IoThreads::Own;
        let cpus = affinity::allowed();
        let pins = alone && cpus.len() > 1 && jobs.len() <= cpus.len();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, (&(index, job), tally)) in jobs.iter().zip(&tallies).enumerate() {
                let team = self.teams[index];
                let stage = Stage {
                    limit: team.limit,
                    warm_up: team.warm_up,
                    start_delay: team.start_delay,
                    clock,
                    tally: Arc::clone(tally),
                    halt: Arc::clone(&halts.0[index]),
                    gate: &gate,
                    announced: false,
                };
                let (sender, cpu) = (sender.clone(), cpus.get(number).copied().filter(|_| pins));
                let body = move || {
                    if alone {
                        affinity::unshare_descriptors();
                    }
                    if let Some(cpu) = cpu {
                        affinity::pin(cpu);
                    }
                    let report = work(index, job, stage);
                    // The observer keeps receiving until every job has reported or terminated.
                    let _ = sender.send((index, report));
                };
                match std::thread::Builder::new()
                    .name(format!("job {number}"))
                    .spawn_scoped(scope, body)
                {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        halts.request();
                        gate.open(clock.ticks());
                        let errno = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
                        return Err(EngineError::Threads {
                            job: number as u32,
                            jobs: everyone,
                            errno,
                        });
                    }
                }
            }
            drop(sender);
            let longest = self.teams.iter().map(|team| team.warm_up).max().unwrap_or_default();
            observe(&Progress {
                elapsed_s: -longest.as_secs_f64(),
                iops: None,
                commit_p99_us: None,
            });
            while !gate.wait_for_warm(everyone) {
                if self.stop.is_requested() {
                    halts.request();
                }
            }
            let agreed = self.start_line.and_then(|line| line.arrive(self.stop));
            if self.start_line.is_some() && agreed.is_none() {
                halts.request();
            }
            // The drives answer while nothing is in flight, and before the kernel's counters are
            // read, which show what the test sent.
            let wear_before = self.wear.read();
            let counters_before = read_counters(self.root, &self.devices);
            let cpu_before = cpu_use();
            if let Some(moment) = agreed {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
            }
            let begun = clock.ticks();
            gate.open(begun);
            if let (Some(line), Some(_)) = (self.start_line, agreed) {
                line.begun(Instant::now());
            }

            let mut teams = self.watched(&tallies, &halts, begun);
            self.follow(&mut teams, &receiver, &halts, observe);
            let cpu = cpu_use_since(cpu_before);
            let counters = counters_before
                .and_then(|before| Some(read_counters(self.root, &self.devices)?.since(&before)));
            let wear = wear_before.and_then(|before| self.wear.read()?.since(&before));
            let medium_bytes_written = wear
                .zip(counters)
                .and_then(|(wear, counters)| wear.medium_bytes(counters.written_bytes));
            threads.into_iter().for_each(|thread| drop(thread.join()));
            Ok(CrewEnd {
                teams: teams.into_iter().map(|team| team.end(clock)).collect(),
                system: SystemUse { counters, medium_bytes_written, cpu },
            })
        })
    }

    /// Receives reports and observes until every job has ended.
    fn follow(
        &self,
        teams: &mut [Watched],
        reports: &mpsc::Receiver<(usize, Report)>,
        halts: &Halts,
        observe: &mut dyn FnMut(&Progress),
    ) {
        while teams.iter().any(|team| team.working > 0) {
            self.end_computations(teams);
            match reports.recv_timeout(OBSERVE_INTERVAL) {
                Ok((index, report)) => {
                    let breaks = report.end.failure.as_ref().is_some_and(Failure::breaks_target);
                    let own = &self.teams[index];
                    for (team, halt) in self.teams.iter().zip(&halts.0) {
                        // The other jobs would continue on a target that is broken, or are to end
                        // with this one.
                        if breaks || own.ends.reaches(own.group, team.group) {
                            halt.request();
                        }
                    }
                    teams[index].take(report);
                }
                Err(RecvTimeoutError::Timeout) => observe(&look(teams)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.stop.is_requested() {
                halts.request();
            }
        }
    }

    /// Ends the teams that compute only while others do I/O, if none of those is left.
    fn end_computations(&self, teams: &[Watched]) {
        let does_io =
            |(team, watched): (&Team, &Watched)| team.compute.is_none() && watched.working > 0;
        if !self.teams.iter().zip(teams).any(does_io) {
            let ends = |team: &Team| team.compute.is_some_and(|compute| compute.while_io);
            let ending = self.teams.iter().zip(teams).filter(|(team, _)| ends(team));
            ending.for_each(|(_, watched)| watched.halt.request());
        }
    }

    /// Splits the tallies among the teams.
    fn watched(&self, mut tallies: &[Arc<Tally>], halts: &Halts, begun: u64) -> Vec<Watched> {
        let of_team = |(team, halt): (&Team, &Arc<Stop>)| {
            let own = tallies.split_off(..team.jobs as usize).unwrap_or_default();
            let begun = begun + self.clock.ticks_of(team.start_delay);
            let watch = Watch::new(own.to_vec(), team.headline, self.clock, begun);
            Watched {
                watch,
                ends: Vec::new(),
                notes: Vec::new(),
                begun,
                last: begun,
                working: team.jobs,
                halt: Arc::clone(halt),
                steady: team.until_steady.map(SteadyCheck::new),
            }
        };
        self.teams.iter().zip(&halts.0).map(of_team).collect()
    }
}

/// The requests to stop, one per team.
struct Halts(Vec<Arc<Stop>>);

impl Halts {
    fn new(teams: usize) -> Halts {
        Halts((0..teams).map(|_| Arc::new(Stop::new())).collect())
    }

    fn request(&self) {
        self.0.iter().for_each(|halt| halt.request());
    }
}

impl Watched {
    fn take(&mut self, report: Report) {
        self.last = self.last.max(report.ended);
        self.notes.extend(report.notes);
        self.ends.push(report.end);
        self.working -= 1;
        if self.working == 0 {
            // This series ends here, even if the other teams continue.
            self.watch.look();
        }
    }

    /// Ends the team's jobs if they have reached their steady state.
    fn check_steady(&mut self) {
        let elapsed_s = self.watch.elapsed_s();
        if self.halt.is_requested() {
            return;
        }
        if let Some(check) = self.steady.as_mut().filter(|check| check.is_due(elapsed_s))
            && check.sample(elapsed_s, self.watch.totals())
        {
            self.halt.request();
        }
    }

    fn end(self, clock: Clock) -> TeamEnd {
        let Watched { mut watch, mut ends, mut notes, begun, last, working, steady, .. } = self;
        notes.extend(steady.map(|check| check.to_string()));
        if working > 0 {
            // A job that panicked is recognised by its missing report.
            watch.look();
            ends.extend((0..working).map(|_| Report::failed(Failure::Panic).end));
        }
        notes.sort();
        notes.dedup();
        TeamEnd { elapsed_s: clock.ns(last.saturating_sub(begun)) as f64 / 1e9, ends, notes, watch }
    }
}

/// Combined progress of all teams. Ends those in their steady state.
fn look(teams: &mut [Watched]) -> Progress {
    let working = teams.iter_mut().filter(|team| team.working > 0);
    Progress::together(working.map(|team| {
        team.check_steady();
        team.watch.look()
    }))
}

/// Holds jobs back until all are warmed up and the observer has read its counters.
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
    /// Marks a job as warmed up, or as failed.
    fn announce(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).warm += 1;
        self.changed.notify_all();
    }

    /// Waits briefly for all jobs to announce themselves; returns `true` once they have.
    fn wait_for_warm(&self, jobs: u32) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.changed.wait_timeout_while(state, OBSERVE_INTERVAL, |state| state.warm < jobs);
        waited.unwrap_or_else(PoisonError::into_inner).0.warm >= jobs
    }

    /// Releases all waiting jobs.
    fn open(&self, start: u64) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).start = Some(start);
        self.changed.notify_all();
    }

    /// Waits until the gate is open; returns the start of the measurement.
    fn pass(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_while(state, |state| state.start.is_none());
        state.unwrap_or_else(PoisonError::into_inner).start.unwrap_or_default()
    }
}

/// Leads one job through warm-up and measurement.
pub struct Stage<'a> {
    limit: Limit,
    warm_up: Duration,
    start_delay: Duration,
    clock: Clock,
    tally: Arc<Tally>,
    halt: Arc<Stop>,
    gate: &'a Gate,
    announced: bool,
}

impl Stage<'_> {
    /// Calls `phase` for the warm-up, if there is one, then for the measurement.
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
        let start = self.gate.pass() + self.clock.ticks_of(self.start_delay);
        while self.clock.ticks() < start && !self.halt.is_requested() {
            wait_until(self.clock, start);
        }
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
        // If the job never warmed up, for instance because of a panic, the others must not wait for
        // it.
        if !self.announced {
            self.gate.announce();
        }
    }
}
