//! Checks the states of a recording, several at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use emulate::Filesystem;

use crate::check::{CheckSlot, CheckVerdict};
use crate::error::CrashError;
use crate::minimise::minimise;
use crate::owners::Owners;
use crate::sampling;
use crate::served::{OpenedBy, Served, state_name};
use crate::session::{Plan, ResultLog};
use crate::state::State;
use crate::view::{Recording, View};

/// The states to check, in order: all flush boundaries first, then the states between them, from
/// the first epoch to the last.
pub fn states(recording: &Recording, plan: &Plan) -> Vec<State> {
    let epochs = recording.epochs();
    let mut boundaries = Vec::new();
    let mut between = Vec::new();
    for (number, epoch) in epochs.iter().enumerate() {
        let tears = |(offset, bytes)| sampling::tears(offset, bytes, plan.atomic_bytes);
        let tears: Vec<Vec<u64>> = recording.ranges(epoch).into_iter().map(tears).collect();
        let mut of_epoch =
            sampling::of_epoch(number, epoch, &tears, plan.samples, plan.seed).into_iter();
        boundaries.extend(of_epoch.next());
        // An epoch with all of its writes equals the boundary after it.
        let last = number + 1 == epochs.len();
        between.extend(of_epoch.filter(|state| last || *state != State::whole(number)));
    }
    boundaries.append(&mut between);
    boundaries
}

/// The binary logarithm of the number of possible states.
pub fn possible_log2(recording: &Recording, plan: &Plan) -> f64 {
    let tears = |(offset, bytes)| sampling::tears(offset, bytes, plan.atomic_bytes).len();
    let of_epochs = recording
        .epochs()
        .iter()
        .map(|epoch| recording.ranges(epoch).into_iter().map(tears).collect());
    sampling::possible_log2(&of_epochs.collect::<Vec<_>>())
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of finished states.
    pub done: usize,
    /// Number of failed states.
    pub failed: usize,
    /// Number of states to check.
    pub of: usize,
}

/// Checks states: a served directory with one file per job.
pub struct Explorer {
    recording: Arc<Recording>,
    plan: Plan,
    slots: Vec<CheckSlot>,
    served: Served,
}

impl Explorer {
    /// Sets up `jobs` files. `work` is an empty directory for mount points.
    pub fn new(
        recording: Arc<Recording>,
        plan: Plan,
        jobs: usize,
        work: &Path,
    ) -> Result<Explorer, CrashError> {
        let drives = work.join("states");
        std::fs::create_dir_all(&drives).map_err(CrashError::call("creating a mount point"))?;
        let mounts = plan.check.filesystem.is_some();
        let opened_by = if mounts { OpenedBy::LoopDevices } else { OpenedBy::Checks };
        let served = Served::of_states(&drives, Arc::clone(&recording), jobs, opened_by)?;
        let mut slots = Vec::new();
        for job in 0..jobs {
            let directory = work.join(format!("mounted-{job}"));
            std::fs::create_dir_all(&directory)
                .map_err(CrashError::call("creating a mount point"))?;
            slots.push(CheckSlot::new(
                served.path(&state_name(job)),
                directory,
                work.join(format!("printed-{job}")),
                mounts,
            )?);
        }
        Ok(Explorer { recording, plan, slots, served })
    }

    fn check(&self, job: usize, state: &State) -> Result<CheckVerdict, CrashError> {
        self.served.put(job, Some(state));
        let printed = self.recording.printed_by(&self.recording.epochs()[state.epoch]);
        let checked = self.slots[job].check(&self.plan.check, state, &printed);
        self.take_out(job)?;
        checked
    }

    /// Stops serving a state.
    ///
    /// # Errors
    /// When it could not be served as recorded: its verdict is void then.
    fn take_out(&self, job: usize) -> Result<(), CrashError> {
        self.served
            .put(job, None)
            .map_or(Ok(()), |error| Err(CrashError::call("reading the recording")(error)))
    }

    pub fn check_one(&self, state: &State) -> Result<CheckVerdict, CrashError> {
        self.check(0, state)
    }

    /// Serves a state and calls `work` with its drive, and with its mount point, if it is mounted.
    pub fn with_state<T>(
        &self,
        state: &State,
        filesystem: Option<Filesystem>,
        work: impl FnOnce(&Path, Option<&Path>) -> T,
    ) -> Result<T, CrashError> {
        self.served.put(0, Some(state));
        let slot = &self.slots[0];
        let result = match filesystem {
            Some(filesystem) => {
                slot.mounted(state, filesystem, |drive, directory| work(drive, Some(directory)))
            }
            None => Ok(work(slot.drive(), None)),
        };
        self.take_out(0)?;
        result
    }

    /// Checks all states that are not among the `known`, with one thread per job. `report` is
    /// called with the progress; when it returns `false`, or on the first failure if requested, no
    /// further state is started.
    ///
    /// # Errors
    /// The first error of any job.
    pub fn run(
        &self,
        states: &[State],
        known: &BTreeMap<State, CheckVerdict>,
        log: &mut ResultLog,
        stop_at_first: bool,
        report: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<BTreeMap<State, CheckVerdict>, CrashError> {
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
            for job in 0..self.slots.len() {
                let (next, stop, lock) = (&next, &stop, &lock);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let Some(state) = states.get(next.fetch_add(1, Ordering::Relaxed)) else {
                            return;
                        };
                        let outcome = self.one(job, state, lock);
                        let mut shared = lock();
                        match outcome {
                            Ok(verdict) => {
                                shared.progress.done += 1;
                                let failed = matches!(verdict, CheckVerdict::Failed(_));
                                shared.progress.failed += usize::from(failed);
                                shared.results.insert(state.clone(), verdict);
                                if (failed && stop_at_first) || !report(shared.progress) {
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
    ) -> Result<CheckVerdict, CrashError> {
        if let Some(verdict) = lock().results.get(state) {
            return Ok(verdict.clone());
        }
        let view = View::new(Arc::clone(&self.recording), state);
        let fingerprint =
            (state.epoch, view.fingerprint().map_err(CrashError::call("reading the recording"))?);
        // The same content with the same printed lines: the verdict is known.
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
    /// When a state cannot be checked, and when `stop` returns `true` before the set is found.
    pub fn smallest(&self, failed: &State, stop: &dyn Fn() -> bool) -> Result<State, CrashError> {
        let fails = |state: &State| {
            if stop() {
                Err(CrashError::Stopped)
            } else {
                Ok(matches!(self.check_one(state)?, CheckVerdict::Failed(_)))
            }
        };
        let untorn = State { torn: None, ..failed.clone() };
        let start = if failed.torn.is_some() && fails(&untorn)? { untorn } else { failed.clone() };
        let lost = minimise(&start.lost, |lost: &BTreeSet<usize>| {
            fails(&State { lost: lost.clone(), ..start.clone() })
        })?;
        Ok(State { lost, ..start })
    }

    /// The lost and torn writes of a state: offset, length, and owners.
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
            let owners = owners.as_ref().map(|owners| {
                owners.of_range(offset, bytes).into_iter().map(str::to_owned).collect()
            });
            Some(Lost { write: number, offset, bytes, torn: torn == Some(number), owners })
        });
        Ok(lost.collect())
    }
}

/// A write lost in a power cut.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Lost {
    /// Index in its epoch.
    pub write: usize,
    /// Offset on the drive, in bytes.
    pub offset: u64,
    pub bytes: u64,
    /// True if only a part of it was lost.
    pub torn: bool,
    /// The files that it belonged to; empty for the filesystem's own data. `None` without a
    /// filesystem, or if the owners are unknown.
    pub owners: Option<Vec<String>>,
}

struct Shared<'a> {
    results: BTreeMap<State, CheckVerdict>,
    /// Verdicts by epoch and content.
    same: HashMap<(usize, u64), CheckVerdict>,
    progress: Progress,
    log: &'a mut ResultLog,
    error: Option<CrashError>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Check;
    use crate::printed::after_printing;
    use crate::recorded::Recorded;
    use crate::session::Session;

    const CAPACITY: u64 = 1 << 20;

    fn plan(command: &str) -> Plan {
        Plan {
            command: Vec::new(),
            capacity_bytes: CAPACITY,
            filesystem: None,
            log_bytes: 0,
            log_entries: 0,
            check: Check {
                command: command.to_owned(),
                expect: None,
                filesystem: None,
                timeout_s: 60,
            },
            samples: 1000,
            seed: 1,
            atomic_bytes: 4096,
        }
    }

    /// Three writes to a drive of zeros: `Aa`, one letter per block; `B`, two blocks; and zeros.
    fn recording(flushed: bool) -> Arc<Recording> {
        let base = tempfile::tempfile().unwrap();
        base.set_len(CAPACITY).unwrap();
        let mut recorded =
            Recorded::new(base, tempfile::tempfile().unwrap(), after_printing("done\n"), CAPACITY);
        recorded.begin().unwrap();
        recorded.write(8192, &[[b'A'; 4096], [b'a'; 4096]].concat()).unwrap();
        recorded.write(16384, &[b'B'; 8192]).unwrap();
        recorded.zero(32768, 512).unwrap();
        recorded.note_lines().unwrap();
        if flushed {
            recorded.flush().unwrap();
        }
        Arc::new(Recording::new(recorded.end().unwrap().unwrap()))
    }

    /// Logs each state that it sees; fails those that have `B` without all of `Aa`, or half of
    /// that.
    fn check(directory: &Path) -> String {
        let seen = directory.join("seen").display().to_string();
        let letters = r#"tr -d '\0' < "$CRASH_DRIVE" | tr -s AaB"#;
        format!(
            "echo $CRASH_STATE >> {seen}; case $({letters}) in B|A|AB) exit 1;; esac; grep -q done \
             $CRASH_PRINTED"
        )
    }

    fn seen(directory: &Path) -> usize {
        std::fs::read_to_string(directory.join("seen")).unwrap_or_default().lines().count()
    }

    fn explorer(test: &str, jobs: usize, directory: &Path) -> Option<Explorer> {
        let explorer =
            Explorer::new(recording(true), plan(&check(directory)), jobs, &directory.join("work"));
        explorer.inspect_err(|error| eprintln!("skipped: {test}: {error}")).ok()
    }

    fn named(names: &[&str]) -> Vec<State> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn the_end_of_an_epoch_is_tried_once() {
        let tried = |recording: &Recording| -> Vec<String> {
            states(recording, &plan("")).iter().map(State::to_string).collect()
        };
        // A flush starts another epoch, if only an empty one, whose boundary contains all of the
        // first.
        let flushed = recording(true);
        let mut states = tried(&flushed);
        assert_eq!(states[..2], ["0-0..2", "1"]);
        states.sort();
        assert_eq!(
            states,
            ["0-0", "0-0,2", "0-0..1", "0-0..2", "0-1", "0-1..2", "0-2", "0~0.8", "0~1.8", "1"]
        );
        // Two writes are complete, lost or torn; the zeros are complete or lost; all complete is
        // the beginning of the next epoch.
        assert!(
            (possible_log2(&flushed, &plan("")).exp2() - (3.0 * 3.0 * 2.0 - 1.0 + 1.0)).abs()
                < 1e-9
        );
        let open = tried(&recording(false));
        assert_eq!((open.len(), open[0].as_str()), (10, "0-0..2"));
        assert!(open.contains(&"0".to_owned()));
    }

    #[test]
    fn each_state_has_a_verdict_and_each_content_is_checked_once() {
        let directory = tempfile::tempdir().unwrap();
        let (jobs, test) = (1, "each_state_has_a_verdict_and_each_content_is_checked_once");
        let Some(explorer) = explorer(test, jobs, directory.path()) else { return };
        let session = Session::create(&directory.path().join("session")).unwrap();
        let mut log = session.log_results().unwrap();
        let states = states(&explorer.recording, &explorer.plan);
        let report = Mutex::new(Vec::new());
        let tell = |progress| {
            report.lock().unwrap().push(progress);
            true
        };
        let results = explorer.run(&states, &BTreeMap::new(), &mut log, false, &tell).unwrap();
        let failed =
            results.iter().filter(|(_, verdict)| matches!(verdict, CheckVerdict::Failed(_)));
        assert_eq!(
            failed.map(|(state, _)| state.to_string()).collect::<Vec<_>>(),
            ["0~0.8", "0-0", "0-0,2"]
        );
        assert!(results.keys().eq(&states.iter().cloned().collect::<BTreeSet<_>>()));
        // Without the zeros, three states equal others in content.
        assert_eq!(seen(directory.path()), 10 - 3);
        let last = Progress { done: 10, failed: 3, of: 10 };
        let progress_before = std::mem::take(&mut *report.lock().unwrap());
        assert_eq!((progress_before.len(), progress_before.last()), (10, Some(&last)));
        let logged = || session.results().unwrap();
        assert_eq!(logged().into_iter().collect::<BTreeMap<_, _>>(), results);
        // Known states are neither checked nor recorded again.
        assert_eq!(explorer.run(&states, &results, &mut log, false, &tell).unwrap(), results);
        assert_eq!(
            (seen(directory.path()), logged().len(), report.lock().unwrap().last()),
            (7, 10, Some(&last))
        );
    }

    #[test]
    fn states_are_checked_until_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let test = "states_are_checked_until_stopped";
        let Some(explorer) = explorer(test, 1, directory.path()) else { return };
        let session = Session::create(&directory.path().join("session")).unwrap();
        let states = named(&["0-1", "0-0", "0-2"]);
        let done = |stop_at_first, go_on: bool| {
            let mut log = session.log_results().unwrap();
            explorer
                .run(&states, &BTreeMap::new(), &mut log, stop_at_first, &|_| go_on)
                .unwrap()
                .len()
        };
        assert_eq!((done(false, true), done(true, true), done(false, false)), (3, 2, 1));
    }

    #[test]
    fn a_failure_is_minimised_and_its_writes_are_listed() {
        let directory = tempfile::tempdir().unwrap();
        let test = "a_failure_is_minimised_and_its_writes_are_listed";
        let Some(explorer) = explorer(test, 2, directory.path()) else { return };
        // The tear in `B` changes nothing; the one in `Aa` causes the failure.
        for (found, smallest) in [("0-0,2", "0-0"), ("0-0~1.8", "0-0"), ("0-1~0.8", "0~0.8")] {
            let found: State = found.parse().unwrap();
            assert_eq!(explorer.smallest(&found, &|| false).unwrap().to_string(), smallest);
            assert!(matches!(explorer.smallest(&found, &|| true), Err(CrashError::Stopped)));
        }
        let state: State = "0-1~0.8".parse().unwrap();
        let lost = |write, offset, torn| Lost { write, offset, bytes: 8192, torn, owners: None };
        assert_eq!(explorer.lost(&state).unwrap(), [lost(1, 16384, false), lost(0, 8192, true)]);
        let look = |drive: &Path, mounted: Option<&Path>| {
            (std::fs::read(drive).unwrap(), mounted.is_none())
        };
        let (held, unmounted) = explorer.with_state(&state, None, look).unwrap();
        assert!(unmounted && held.len() as u64 == CAPACITY);
        assert_eq!([8192, 12287, 12288, 16384].map(|at: usize| held[at]), [b'A', b'A', 0, 0]);
    }

    #[test]
    fn several_jobs_come_to_the_same_verdicts() {
        let directory = tempfile::tempdir().unwrap();
        let Some(explorer) =
            explorer("several_jobs_come_to_the_same_verdicts", 3, directory.path())
        else {
            return;
        };
        let session = Session::create(&directory.path().join("session")).unwrap();
        let states = states(&explorer.recording, &explorer.plan);
        let mut log = session.log_results().unwrap();
        let results = explorer.run(&states, &BTreeMap::new(), &mut log, false, &|_| true).unwrap();
        let failed = results.values().filter(|verdict| matches!(verdict, CheckVerdict::Failed(_)));
        assert_eq!((results.len(), failed.count()), (10, 3));
    }

    #[test]
    fn an_unreadable_recording_is_not_a_verdict() {
        let directory = tempfile::tempdir().unwrap();
        let base = tempfile::tempfile().unwrap();
        base.set_len(CAPACITY).unwrap();
        let shortened = base.try_clone().unwrap();
        let mut recorded =
            Recorded::new(base, tempfile::tempfile().unwrap(), after_printing("done\n"), CAPACITY);
        recorded.begin().unwrap();
        let recording = Arc::new(Recording::new(recorded.end().unwrap().unwrap()));
        // This check sees the error, but passes anyway.
        let plan = plan("cat \"$CRASH_DRIVE\" > /dev/null 2>&1; true");
        let explorer = match Explorer::new(recording, plan, 1, directory.path()) {
            Ok(explorer) => explorer,
            Err(error) => {
                return eprintln!("skipped: an_unreadable_recording_is_not_a_verdict: {error}");
            }
        };
        let state = State::whole(0);
        assert_eq!(explorer.check_one(&state).unwrap(), CheckVerdict::Passed);
        shortened.set_len(4096).unwrap();
        let checked = explorer.check_one(&state);
        assert!(
            matches!(checked, Err(CrashError::System { what: "reading the recording", .. })),
            "{checked:?}"
        );
        shortened.set_len(CAPACITY).unwrap();
        assert_eq!(
            explorer.check_one(&state).unwrap(),
            CheckVerdict::Passed,
            "the slot still works"
        );
    }
}
