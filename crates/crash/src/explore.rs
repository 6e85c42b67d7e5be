//! Checking the states of a recording, several at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use emulate::chain::Filesystem;

use crate::check::{Place, Verdict};
use crate::error::CrashError;
use crate::minimise::minimise;
use crate::owners::Owners;
use crate::sampling;
use crate::served::{OpenedBy, Served, state_name};
use crate::session::{Plan, ResultLog};
use crate::state::State;
use crate::view::{Recording, View};

/// The states that are tried, in their order: all flush boundaries first, then what lies between, from the first epoch to the last.
pub fn states(recording: &Recording, plan: &Plan) -> Vec<State> {
    let epochs = recording.epochs();
    let mut boundaries = Vec::new();
    let mut between = Vec::new();
    for (number, epoch) in epochs.iter().enumerate() {
        let tears = |(offset, bytes)| sampling::tears(offset, bytes, plan.atomic_bytes);
        let tears: Vec<Vec<u64>> = recording.ranges(epoch).into_iter().map(tears).collect();
        let mut of_epoch = sampling::of_epoch(number, epoch, &tears, plan.samples, plan.seed).into_iter();
        boundaries.extend(of_epoch.next());
        // All that an epoch wrote is what the boundary after it has.
        let last = number + 1 == epochs.len();
        between.extend(of_epoch.filter(|state| last || *state != State::whole(number)));
    }
    boundaries.append(&mut between);
    boundaries
}

/// The binary logarithm of how many states there could be.
pub fn possible_log2(recording: &Recording, plan: &Plan) -> f64 {
    let tears = |(offset, bytes)| sampling::tears(offset, bytes, plan.atomic_bytes).len();
    let of_epochs = recording.epochs().iter().map(|epoch| recording.ranges(epoch).into_iter().map(tears).collect());
    sampling::possible_log2(&of_epochs.collect::<Vec<_>>())
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// States that are done, of those that are tried.
    pub done: usize,
    /// Those that failed.
    pub failed: usize,
    /// All that are tried.
    pub of: usize,
}

/// Where states are checked: a served directory with a place for each job.
pub struct Explorer {
    recording: Arc<Recording>,
    plan: Plan,
    places: Vec<Place>,
    served: Served,
}

impl Explorer {
    /// Puts up so many places. `work` is an empty directory in which things are mounted.
    ///
    /// # Errors
    /// When they cannot be put up.
    pub fn new(recording: Arc<Recording>, plan: Plan, jobs: usize, work: &Path) -> Result<Explorer, CrashError> {
        let drives = work.join("states");
        std::fs::create_dir_all(&drives).map_err(CrashError::call("making a directory to mount on"))?;
        let mounts = plan.check.filesystem.is_some();
        let opened_by = if mounts { OpenedBy::LoopDevices } else { OpenedBy::Checks };
        let served = Served::of_states(&drives, Arc::clone(&recording), jobs, opened_by)?;
        let mut places = Vec::new();
        for job in 0..jobs {
            let directory = work.join(format!("mounted-{job}"));
            std::fs::create_dir_all(&directory).map_err(CrashError::call("making a directory to mount on"))?;
            places.push(Place::new(
                served.path(&state_name(job)),
                directory,
                work.join(format!("printed-{job}")),
                mounts,
            )?);
        }
        Ok(Explorer { recording, plan, places, served })
    }

    fn check(&self, job: usize, state: &State) -> Result<Verdict, CrashError> {
        self.served.put(job, Some(state));
        let printed = self.recording.printed_by(&self.recording.epochs()[state.epoch]);
        let checked = self.places[job].check(&self.plan.check, state, &printed);
        self.take_out(job)?;
        checked
    }

    /// Takes a state out of a place.
    ///
    /// # Errors
    /// When it could not be served as it was recorded: what was seen there is no state.
    fn take_out(&self, job: usize) -> Result<(), CrashError> {
        self.served.put(job, None).map_or(Ok(()), |error| Err(CrashError::call("reading the recording")(error)))
    }

    /// Checks one state.
    ///
    /// # Errors
    /// When it cannot be checked, or the recording not be read.
    pub fn check_one(&self, state: &State) -> Result<Verdict, CrashError> {
        self.check(0, state)
    }

    /// Puts a state up and calls `work` with its drive, and with the directory where it is mounted, if it is.
    ///
    /// # Errors
    /// When it cannot be mounted, and when something is left that uses it.
    pub fn with_state<T>(
        &self,
        state: &State,
        filesystem: Option<Filesystem>,
        work: impl FnOnce(&Path, Option<&Path>) -> T,
    ) -> Result<T, CrashError> {
        self.served.put(0, Some(state));
        let place = &self.places[0];
        let result = match filesystem {
            Some(filesystem) => place.mounted(state, filesystem, |drive, directory| work(drive, Some(directory))),
            None => Ok(work(place.drive(), None)),
        };
        self.take_out(0)?;
        result
    }

    /// Checks all states that are not among the `known`, one job a place. `told` hears of progress; when it answers `false`, or on the first failure if that is wanted, no new state is begun.
    ///
    /// # Errors
    /// The first one of any job.
    pub fn run(
        &self,
        states: &[State],
        known: &BTreeMap<State, Verdict>,
        log: &mut ResultLog,
        stop_at_first: bool,
        told: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<BTreeMap<State, Verdict>, CrashError> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let shared = Mutex::new(Shared {
            results: known.clone(),
            same: HashMap::new(),
            progress: Progress::default(),
            log,
            error: None,
        });
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        lock().progress.of = states.len();
        std::thread::scope(|scope| {
            for job in 0..self.places.len() {
                let (next, stop, lock) = (&next, &stop, &lock);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let Some(state) = states.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                        let outcome = self.one(job, state, lock);
                        let mut shared = lock();
                        match outcome {
                            Ok(verdict) => {
                                shared.progress.done += 1;
                                let failed = matches!(verdict, Verdict::Failed(_));
                                shared.progress.failed += usize::from(failed);
                                shared.results.insert(state.clone(), verdict);
                                if (failed && stop_at_first) || !told(shared.progress) {
                                    stop.store(true, Ordering::Relaxed);
                                }
                            }
                            Err(error) => {
                                shared.error.get_or_insert(error);
                                stop.store(true, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match shared.error {
            Some(error) => Err(error),
            None => Ok(shared.results),
        }
    }

    fn one<'a, 'b: 'a>(
        &self,
        job: usize,
        state: &State,
        lock: &impl Fn() -> std::sync::MutexGuard<'a, Shared<'b>>,
    ) -> Result<Verdict, CrashError> {
        if let Some(verdict) = lock().results.get(state) {
            return Ok(verdict.clone());
        }
        let view = View::new(Arc::clone(&self.recording), state);
        let fingerprint = (state.epoch, view.fingerprint().map_err(CrashError::call("reading the recording"))?);
        // The same bytes with the same lines printed: what became of them is known.
        {
            let mut shared = lock();
            if let Some(verdict) = shared.same.get(&fingerprint).cloned() {
                shared.log.add(state, &verdict)?;
                return Ok(verdict);
            }
        }
        let verdict = self.check(job, state)?;
        let mut shared = lock();
        shared.same.insert(fingerprint, verdict.clone());
        shared.log.add(state, &verdict)?;
        Ok(verdict)
    }

    /// The smallest set of lost writes with which a failed state still fails, as a state.
    ///
    /// # Errors
    /// When one cannot be checked, and when `stop` says so before it is found.
    pub fn smallest(&self, failed: &State, stop: &dyn Fn() -> bool) -> Result<State, CrashError> {
        let fails = |state: &State| {
            if stop() { Err(CrashError::Stopped) } else { Ok(matches!(self.check_one(state)?, Verdict::Failed(_))) }
        };
        let untorn = State { torn: None, ..failed.clone() };
        let start = if failed.torn.is_some() && fails(&untorn)? { untorn } else { failed.clone() };
        let lost =
            minimise(&start.lost, |lost: &BTreeSet<usize>| fails(&State { lost: lost.clone(), ..start.clone() }))?;
        Ok(State { lost, ..start })
    }

    /// What a state's lost and torn writes were: offset, length, and whose they were.
    ///
    /// # Errors
    /// When something is left that uses the filesystem.
    pub fn lost(&self, state: &State) -> Result<Vec<Lost>, CrashError> {
        let epoch = &self.recording.epochs()[state.epoch];
        let whole = State::whole(state.epoch);
        let owners = match self.plan.filesystem {
            Some(filesystem) => self.with_state(&whole, Some(filesystem), |device, directory| {
                directory.and_then(|directory| Owners::of(directory, device, filesystem))
            }),
            None => Ok(None),
        };
        let owners = match owners {
            Err(CrashError::DoesNotMount { .. }) => None,
            owners => owners?,
        };
        let torn = state.torn.map(|(write, _)| write);
        let numbers = state.lost.iter().copied().chain(torn);
        let lost = numbers.filter_map(|number| {
            let (offset, bytes) = self.recording.entries()[*epoch.writes.get(number)?].range()?;
            let owners =
                owners.as_ref().map(|owners| owners.of_range(offset, bytes).into_iter().map(str::to_owned).collect());
            Some(Lost { write: number, offset, bytes, torn: torn == Some(number), owners })
        });
        Ok(lost.collect())
    }
}

/// A write that a power cut took.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Lost {
    /// Its place in its epoch.
    pub write: usize,
    /// Where on the drive, in bytes.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// Whether only a part of it was taken.
    pub torn: bool,
    /// Whose it was; nobody's if it was the filesystem's own. `None` where there is no filesystem, or where it could not be asked.
    pub owners: Option<Vec<String>>,
}

struct Shared<'a> {
    results: BTreeMap<State, Verdict>,
    /// What became of each content of an epoch.
    same: HashMap<(usize, u64), Verdict>,
    progress: Progress,
    log: &'a mut ResultLog,
    error: Option<CrashError>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Check;
    use crate::recorded::Recorded;

    #[test]
    fn a_recording_that_cannot_be_read_is_no_verdict() {
        let directory = tempfile::tempdir().unwrap();
        let base = tempfile::tempfile().unwrap();
        base.set_len(1 << 20).unwrap();
        let shortened = base.try_clone().unwrap();
        let mut recorded = Recorded::new(base, tempfile::tempfile().unwrap(), 1 << 20);
        recorded.begin().unwrap();
        let recording = Arc::new(Recording::new(recorded.end().unwrap().unwrap()));
        // It sees the error, and is content.
        let command = "cat \"$CRASH_DRIVE\" > /dev/null 2>&1; true".to_owned();
        let plan = Plan {
            command: Vec::new(),
            capacity_bytes: 1 << 20,
            filesystem: None,
            log_bytes: 0,
            log_entries: 0,
            check: Check { command, expect: None, filesystem: None, timeout_s: 60 },
            samples: 0,
            seed: 1,
            atomic_bytes: 4096,
        };
        let explorer = match Explorer::new(recording, plan, 1, directory.path()) {
            Ok(explorer) => explorer,
            Err(error) => return eprintln!("skipped: a_recording_that_cannot_be_read_is_no_verdict: {error}"),
        };
        let state = State::whole(0);
        assert_eq!(explorer.check_one(&state).unwrap(), Verdict::Passed);
        shortened.set_len(4096).unwrap();
        let checked = explorer.check_one(&state);
        assert!(matches!(checked, Err(CrashError::System { what: "reading the recording", .. })), "{checked:?}");
        shortened.set_len(1 << 20).unwrap();
        assert_eq!(explorer.check_one(&state).unwrap(), Verdict::Passed, "the place is as good as before");
    }
}
