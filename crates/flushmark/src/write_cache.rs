//! The write caches of a target's drives. Switched for tests that request a setting, and restored
//! however the run ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use drive::cache_switch::{
    self, By, CacheControl, CacheSwitch, DiskCache, Identity, SYSTEM_STATE_DIR, StateDir,
    SwitchError,
};
use drive::{BlockDevice, Place, PlaceKind, SystemRoot};
use engine::Intent;
use workload::{Plan, Test, WriteCache};

use crate::exit;

/// The directory that keeps the original state of the caches.
pub fn state_dir() -> StateDir {
    let named = std::env::var_os("FLUSHMARK_STATE_DIR").filter(|path| !path.is_empty());
    StateDir::new(named.map_or_else(|| PathBuf::from(SYSTEM_STATE_DIR), PathBuf::from))
}

/// True if a cache is switched now, for an exit that cannot be delayed.
static SWITCHED: AtomicBool = AtomicBool::new(false);

/// The warning to print if the program exits at once; `None` if nothing is switched.
pub fn last_words() -> Option<&'static str> {
    SWITCHED.load(Ordering::Relaxed).then_some(
        "a write cache is still switched for the run; run `flushmark cache restore` to restore it",
    )
}

/// The write caches under a target. Restored on drop.
pub struct WriteCaches<C: CacheControl = DiskCache> {
    switches: Vec<CacheSwitch<C>>,
    state: CacheState,
    notes: Vec<String>,
}

/// The possibilities to switch the caches.
enum CacheState {
    /// No test requests a setting.
    NotRequested,
    Switchable,
    /// Left as they were found.
    Unswitchable {
        /// True if all are on, false if all are off, if that is known.
        on: Option<bool>,
        because: String,
    },
}

/// The decision about a test that requests a setting.
pub enum Arranged {
    /// It runs, and its result records this setting.
    Run(WriteCache),
    /// It cannot run here, for this reason.
    Skip(String),
}

impl WriteCaches {
    /// Opens the caches of the drives under a target, if the plan's tests request settings.
    pub fn of(
        plan: &Plan,
        root: &SystemRoot,
        place: Option<&Place>,
        in_use: bool,
    ) -> Result<WriteCaches, SwitchError> {
        let asked = plan.tests.iter().any(|test| test.write_cache != WriteCache::Unchanged);
        let mut caches = WriteCaches {
            switches: Vec::new(),
            state: CacheState::NotRequested,
            notes: Vec::new(),
        };
        if asked {
            // The engine claims a device that it writes to, and refuses one that is in use. A plan
            // that only reads may share it.
            let is_held = Intent::of(plan, false).writes;
            caches.state = match caches.open(root, place, in_use, is_held) {
                Ok(state) => state,
                Err(error @ SwitchError::State(_)) => return Err(error),
                Err(error) => CacheState::Unswitchable { on: None, because: error.to_string() },
            };
        } else {
            caches.notes = left_by_killed_runs(root, place);
        }
        Ok(caches)
    }

    fn open(
        &mut self,
        root: &SystemRoot,
        place: Option<&Place>,
        in_use: bool,
        is_held: bool,
    ) -> Result<CacheState, SwitchError> {
        let unknown =
            |because: &str| CacheState::Unswitchable { on: None, because: because.to_owned() };
        let Some((place, device)) = place.and_then(|place| Some((place, place.block_device()?)))
        else {
            return Ok(unknown("there is no drive under the target"));
        };
        let drives = device.drives();
        let (mut readings, mut known, mut shared) = (Vec::new(), Vec::new(), false);
        for drive in &drives {
            let disk = BlockDevice::read(root, drive.disk_device())?;
            // Two namespaces of one controller share its cache.
            let identity = Identity::of(root, &disk);
            if known.iter().any(|other: &Identity| other.is_same(&identity)) {
                continue;
            }
            known.push(identity);
            let mut switch = CacheSwitch::open(root, &state_dir(), &disk)?;
            if switch.finish_runs()? {
                self.notes.push(format!(
                    "the write cache of {} was restored first: a killed run had left it switched",
                    disk.path.display()
                ));
            }
            shared |= cache_switch::refuse_others_in_use(root, &disk).is_err();
            readings.push(switch.reading()?);
            self.switches.push(switch);
        }
        let all = |on: bool| readings.iter().all(|reading| reading.enabled == on);
        // Nothing else uses a whole drive that the engine has claimed. Switching any other could
        // surprise its users.
        let is_whole = place.kind == PlaceKind::BlockDevice
            && device.partition.is_none()
            && device.layers.is_empty();
        let is_own = is_whole && is_held && !shared;
        let because = if readings.iter().all(|reading| !reading.present) {
            Some("the drive has no volatile write cache".to_owned())
        } else if !readings.iter().all(|reading| reading.switchable || !reading.present) {
            Some("the drive's write cache cannot be switched".to_owned())
        } else if !(is_own || in_use) {
            let names: Vec<String> =
                drives.iter().map(|drive| drive.path.display().to_string()).collect();
            Some(format!(
                "{} is in use, so its cache stays unchanged; use --in-use to switch it for the run",
                names.join(", ")
            ))
        } else {
            None
        };
        Ok(match because {
            None => CacheState::Switchable,
            Some(because) => {
                let on = (all(true) || all(false)).then(|| all(true));
                CacheState::Unswitchable { on, because }
            }
        })
    }
}

/// Notes about drives under the target whose cache a killed run left switched: their results are
/// not typical.
fn left_by_killed_runs(root: &SystemRoot, place: Option<&Place>) -> Vec<String> {
    let drives = place.and_then(Place::block_device).map(BlockDevice::drives).unwrap_or_default();
    let disks =
        drives.into_iter().filter_map(|drive| BlockDevice::read(root, drive.disk_device()).ok());
    let here: Vec<Identity> = disks.map(|disk| Identity::of(root, &disk)).collect();
    let records = cache_switch::left_over(&state_dir()).unwrap_or_default().into_iter();
    let left = records.filter(|record| here.iter().any(|drive| drive.is_same(&record.drive)));
    left.filter(|record| record.changes.last().is_some_and(|last| last.by == By::Run))
        .map(|record| {
            format!(
                "a killed run left the write cache of {} switched; run `flushmark cache restore` \
                 to restore it",
                record.drive.title()
            )
        })
        .collect()
}

impl<C: CacheControl> WriteCaches<C> {
    /// Notes for the user about the state of the caches.
    pub fn notes(&self) -> Vec<String> {
        let why = match &self.state {
            CacheState::Unswitchable { on, because } => {
                let setting = match on {
                    Some(true) => "on",
                    Some(false) => "off",
                    None => "its setting is unknown",
                };
                Some(format!(
                    "the tests run once, with the write cache as found ({setting}): {because}"
                ))
            }
            CacheState::NotRequested | CacheState::Switchable => None,
        };
        self.notes.iter().cloned().chain(why).collect()
    }

    /// Returns whether the caches were found on, if known and the same for all.
    pub fn found_on(&mut self) -> Option<bool> {
        match self.state {
            CacheState::Unswitchable { on, .. } => on,
            CacheState::Switchable => {
                let mut found = Vec::new();
                for switch in &mut self.switches {
                    if switch.reading().ok()?.present {
                        found.push(switch.found_on().ok()?);
                    }
                }
                let first = *found.first()?;
                found.iter().all(|on| *on == first).then_some(first)
            }
            CacheState::NotRequested => None,
        }
    }

    /// The plan as it will run. Where the caches cannot be switched, the tests for one setting are
    /// made with the caches as found: for the present setting, or for the first that is requested
    /// if that is unknown.
    pub fn adapted(&self, plan: &Plan) -> Plan {
        let CacheState::Unswitchable { on, .. } = self.state else { return plan.clone() };
        let first = || plan.tests.iter().find_map(|test| test.write_cache.requires_on());
        let stands_in = on.or_else(first);
        let test = |test: &Test| match test.write_cache.requires_on() {
            requested if requested == stands_in => test.as_found(),
            _ => test.clone(),
        };
        Plan { tests: plan.tests.iter().map(test).collect(), ..plan.clone() }
    }

    /// Sets the caches as a test requests.
    ///
    /// # Errors
    /// If a drive does not obey; its cache is then restored.
    pub fn arrange(&mut self, wanted: WriteCache) -> Result<Arranged, SwitchError> {
        match (&mut self.state, wanted.requires_on()) {
            (_, None) => {
                self.restore()?;
                Ok(Arranged::Run(WriteCache::Unchanged))
            }
            (CacheState::NotRequested, Some(_)) => Ok(Arranged::Run(WriteCache::Unchanged)),
            (CacheState::Unswitchable { because, .. }, Some(_)) => {
                Ok(Arranged::Skip(because.clone()))
            }
            (CacheState::Switchable, Some(wants_on)) => {
                SWITCHED.store(true, Ordering::Relaxed);
                for switch in &mut self.switches {
                    // A drive without a cache has nothing to switch.
                    match switch.set(wants_on, By::Run) {
                        Err(SwitchError::NoCache { .. }) | Ok(_) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(Arranged::Run(wanted))
            }
        }
    }

    /// Returns whether the caches still have the setting that a test requested: a drive that was
    /// reset has returned to its default.
    pub fn still(&mut self, wanted: WriteCache) -> bool {
        let Some(on) = wanted.requires_on() else { return true };
        let holds = |switch: &mut CacheSwitch<C>| {
            switch.reading().is_ok_and(|reading| !reading.present || reading.enabled == on)
        };
        !matches!(self.state, CacheState::Switchable) || self.switches.iter_mut().all(holds)
    }

    /// Restores every cache. Tries all, and returns the first failure.
    ///
    /// # Errors
    /// If a drive does not return to its original state; the record is kept for `cache restore`.
    pub fn restore(&mut self) -> Result<(), SwitchError> {
        let mut first = Ok(());
        for switch in &mut self.switches {
            if let Err(error) = switch.finish_runs() {
                first = first.and(Err(error));
            }
        }
        if first.is_ok() {
            SWITCHED.store(false, Ordering::Relaxed);
        }
        first
    }
}

impl<C: CacheControl> Drop for WriteCaches<C> {
    /// After a panic; every other exit has restored the caches before.
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            exit::complain(&format!("{error}; run `flushmark cache restore` to try again"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::rc::Rc;

    use drive::{AfterPowerCycle, CacheReading, CommandError, ToldBy};

    use super::*;

    #[derive(Clone)]
    struct Obedient(Rc<Cell<bool>>);

    impl CacheControl for Obedient {
        fn reading(&mut self) -> Result<CacheReading, CommandError> {
            Ok(CacheReading {
                present: true,
                enabled: self.0.get(),
                switchable: true,
                after_power_cycle: AfterPowerCycle::Reverts,
                told_by: ToldBy::AtaIdentify,
            })
        }

        fn switch(&mut self, on: bool) -> Result<(), CommandError> {
            self.0.set(on);
            Ok(())
        }

        fn kernel_believes(&self) -> Option<drive::WriteCache> {
            None
        }
    }

    fn caches(
        state: &StateDir,
        drive: &Obedient,
        cache_state: CacheState,
    ) -> WriteCaches<Obedient> {
        let identity = Identity {
            model: None,
            serial: Some("S1".to_owned()),
            size_bytes: None,
            place: String::new(),
            path: "/dev/sdx".to_owned(),
        };
        let switch =
            CacheSwitch::new(drive.clone(), "/dev/sdx".as_ref(), state.lock(&identity).unwrap());
        WriteCaches { switches: vec![switch], state: cache_state, notes: Vec::new() }
    }

    fn said(arranged: &Arranged) -> String {
        match arranged {
            Arranged::Run(setting) => setting.name().to_owned(),
            Arranged::Skip(because) => format!("skip: {because}"),
        }
    }

    #[test]
    fn a_panic_restores_the_cache() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path());
        let drive = Obedient(Rc::new(Cell::new(true)));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut caches = caches(&state, &drive, CacheState::Switchable);
            caches.arrange(WriteCache::Off).unwrap();
            assert!(!drive.0.get() && last_words().is_some());
            // Like a panic, but without its message.
            resume_unwind(Box::new("in the middle of a test"))
        }));
        assert!(panicked.is_err() && drive.0.get());
        assert!(state.records().unwrap().is_empty());
    }

    #[test]
    fn settings_are_switched_on_request_and_restored_in_between() {
        let directory = tempfile::tempdir().unwrap();
        let drive = Obedient(Rc::new(Cell::new(true)));
        let mut caches = caches(&StateDir::new(directory.path()), &drive, CacheState::Switchable);
        assert_eq!(said(&caches.arrange(WriteCache::Off).unwrap()), "off");
        assert!(!drive.0.get());
        assert_eq!(caches.found_on(), Some(true));
        assert_eq!(said(&caches.arrange(WriteCache::Unchanged).unwrap()), "unchanged");
        assert!(drive.0.get(), "a test without a request runs with the original setting");
        assert_eq!(said(&caches.arrange(WriteCache::On).unwrap()), "on");
    }

    #[test]
    fn what_cannot_be_switched_is_measured_once_as_found() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path());
        let drive = Obedient(Rc::new(Cell::new(true)));
        let plan = Plan::from_toml(
            "plan.toml",
            "[[test]]\npattern = \"randwrite\"\n[test.matrix]\nwrite_cache = [\"off\", \"on\"]\n",
        )
        .unwrap();
        let run = |on: Option<bool>| {
            let because = "it has no switch".to_owned();
            let mut caches = caches(&state, &drive, CacheState::Unswitchable { on, because });
            let mut done = caches.notes();
            for test in caches.adapted(&plan).tests {
                let arranged = said(&caches.arrange(test.write_cache).unwrap());
                done.push(format!("{}: {arranged}", test.name));
            }
            done.join("\n")
        };
        insta::assert_snapshot!(run(Some(true)), @"
        the tests run once, with the write cache as found (on): it has no switch
        randwrite 4 KiB, depth 1, jobs 1, cache off: skip: it has no switch
        randwrite 4 KiB, depth 1, jobs 1, cache as found: unchanged
        ");
        insta::assert_snapshot!(run(None), @"
        the tests run once, with the write cache as found (its setting is unknown): it has no switch
        randwrite 4 KiB, depth 1, jobs 1, cache as found: unchanged
        randwrite 4 KiB, depth 1, jobs 1, cache on: skip: it has no switch
        ");
        assert!(drive.0.get());
    }
}
