//! The write caches of a target's drives, for a run whose tests ask for settings: switched when a test needs it, put back at the end, whatever the end is.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use drive::cache_switch::{
    self, By, CacheControl, CacheSwitch, DiskCache, Identity, SYSTEM_STATE_DIR, StateDir, SwitchError,
};
use drive::{BlockDevice, Place, PlaceKind, SystemRoot};
use engine::Intent;
use workload::{Plan, WriteCache};

use crate::exit;

/// Where the old state is written down.
pub fn state_dir() -> StateDir {
    let named = std::env::var_os("FLUSHMARK_STATE_DIR").filter(|path| !path.is_empty());
    StateDir::new(named.map_or_else(|| PathBuf::from(SYSTEM_STATE_DIR), PathBuf::from))
}

/// Whether a cache stands differently than it was found, for an end that nobody can delay.
static SWITCHED: AtomicBool = AtomicBool::new(false);

/// What the person must know when the program ends at once; `None` when nothing is switched.
pub fn last_words() -> Option<&'static str> {
    SWITCHED
        .load(Ordering::Relaxed)
        .then_some("a write cache is still switched for the run: `flushmark cache restore` puts it back")
}

/// The caches beneath a target. Dropping it puts them back.
pub struct WriteCaches<C: CacheControl = DiskCache> {
    held: Vec<CacheSwitch<C>>,
    standing: Standing,
    notes: Vec<String>,
}

/// How the caches stand, and what can be done about it.
enum Standing {
    /// No test asks.
    Unasked,
    /// They can be switched.
    Switchable,
    /// They are all on or all off, and stay so.
    Fixed { on: bool, because: String },
    /// Nobody can tell or switch them. The first setting asked for stands for the present one.
    Untold { stand_in: Option<WriteCache>, because: String },
}

/// What becomes of a test that asks for a setting.
pub enum Arranged {
    /// It runs, and its result says this of the cache.
    Run(WriteCache),
    /// It cannot run here.
    Skip(String),
}

impl WriteCaches {
    /// Of the drives beneath a place, as far as the plan's tests ask for settings.
    ///
    /// # Errors
    /// When another flushmark switches one of the drives, or the old state cannot be written down or is damaged.
    pub fn of(plan: &Plan, root: &SystemRoot, place: Option<&Place>, in_use: bool) -> Result<WriteCaches, SwitchError> {
        let asked = plan.tests.iter().any(|test| test.write_cache != WriteCache::Unchanged);
        let mut caches = WriteCaches { held: Vec::new(), standing: Standing::Unasked, notes: Vec::new() };
        if asked {
            // The engine holds a device that is written to, and has refused one that somebody uses; a plan that only reads it shares.
            let is_held = Intent::of(plan, false).writes;
            caches.standing = match caches.open(root, place, in_use, is_held) {
                Ok(standing) => standing,
                Err(error @ SwitchError::State(_)) => return Err(error),
                Err(error) => Standing::Untold { stand_in: None, because: error.to_string() },
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
    ) -> Result<Standing, SwitchError> {
        let untold = |because: &str| Standing::Untold { stand_in: None, because: because.to_owned() };
        let Some((place, device)) = place.and_then(|place| Some((place, place.block_device()?))) else {
            return Ok(untold("there is no drive beneath the target"));
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
                    "the write cache of {} was put back first: a run that was killed had left it switched",
                    disk.path.display()
                ));
            }
            shared |= cache_switch::refuse_others_in_use(root, &disk).is_err();
            readings.push(switch.reading()?);
            self.held.push(switch);
        }
        let all = |on: bool| readings.iter().all(|reading| reading.enabled == on);
        // A whole drive that the engine holds is used by nobody else. Of all others somebody might be surprised.
        let is_whole = place.kind == PlaceKind::BlockDevice && device.partition.is_none() && device.layers.is_empty();
        let is_own = is_whole && is_held && !shared;
        let because = if readings.iter().all(|reading| !reading.present) {
            Some("the drive has no volatile write cache".to_owned())
        } else if !readings.iter().all(|reading| reading.switchable || !reading.present) {
            Some("the drive does not let its write cache be switched".to_owned())
        } else if !(is_own || in_use) {
            let names: Vec<String> = drives.iter().map(|drive| drive.path.display().to_string()).collect();
            Some(format!(
                "{} is in use, and its cache stays as it is; --in-use allows to switch it for the run",
                names.join(", ")
            ))
        } else {
            None
        };
        Ok(match because {
            None => Standing::Switchable,
            Some(because) if all(true) || all(false) => Standing::Fixed { on: all(true), because },
            Some(because) => Standing::Untold { stand_in: None, because },
        })
    }
}

/// A sentence for each drive beneath whose cache a killed run left switched: what is measured now is not what the drive does as a rule.
fn left_by_killed_runs(root: &SystemRoot, place: Option<&Place>) -> Vec<String> {
    let drives = place.and_then(Place::block_device).map(BlockDevice::drives).unwrap_or_default();
    let disks = drives.into_iter().filter_map(|drive| BlockDevice::read(root, drive.disk_device()).ok());
    let here: Vec<Identity> = disks.map(|disk| Identity::of(root, &disk)).collect();
    let records = cache_switch::left_over(&state_dir()).unwrap_or_default().into_iter();
    let left = records.filter(|record| here.iter().any(|drive| drive.is_same(&record.drive)));
    left.filter(|record| record.changes.last().is_some_and(|last| last.by == By::Run))
        .map(|record| {
            format!(
                "a run that was killed left the write cache of {} switched; `flushmark cache restore` puts it back",
                record.drive.title()
            )
        })
        .collect()
}

impl<C: CacheControl> WriteCaches<C> {
    /// What the person should know about how the caches were found.
    pub fn notes(&self) -> Vec<String> {
        let why = match &self.standing {
            Standing::Fixed { because, .. } => Some(format!("one setting of the write cache is measured: {because}")),
            Standing::Untold { because, .. } => {
                Some(format!("the tests run once, under the present setting of the write cache: {because}"))
            }
            Standing::Unasked | Standing::Switchable => None,
        };
        self.notes.iter().cloned().chain(why).collect()
    }

    /// Whether the caches were found on, where that is known and the same for all that there are.
    pub fn found_on(&mut self) -> Option<bool> {
        match self.standing {
            Standing::Fixed { on, .. } => Some(on),
            Standing::Switchable => {
                let mut found = Vec::new();
                for switch in &mut self.held {
                    if switch.reading().ok()?.present {
                        found.push(switch.found_on().ok()?);
                    }
                }
                let first = *found.first()?;
                found.iter().all(|on| *on == first).then_some(first)
            }
            Standing::Unasked | Standing::Untold { .. } => None,
        }
    }

    /// Sets the caches as a test asks.
    ///
    /// # Errors
    /// When a drive does not do what it is told; its cache is put back then.
    pub fn arrange(&mut self, wanted: WriteCache) -> Result<Arranged, SwitchError> {
        match (&mut self.standing, wanted.requires_on()) {
            (_, None) => {
                self.put_back()?;
                Ok(Arranged::Run(WriteCache::Unchanged))
            }
            (Standing::Unasked, Some(_)) => Ok(Arranged::Run(WriteCache::Unchanged)),
            (Standing::Fixed { on, because }, Some(wants_on)) => {
                Ok(if *on == wants_on { Arranged::Run(wanted) } else { Arranged::Skip(because.clone()) })
            }
            (Standing::Untold { stand_in, because }, Some(_)) => Ok(if *stand_in.get_or_insert(wanted) == wanted {
                Arranged::Run(WriteCache::Unchanged)
            } else {
                Arranged::Skip(because.clone())
            }),
            (Standing::Switchable, Some(wants_on)) => {
                SWITCHED.store(true, Ordering::Relaxed);
                for switch in &mut self.held {
                    // A drive without a cache among others that have one has nothing to switch.
                    match switch.set(wants_on, By::Run) {
                        Err(SwitchError::NoCache { .. }) | Ok(_) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(Arranged::Run(wanted))
            }
        }
    }

    /// Whether the caches still stand as a test asked: a drive that was reset in the middle has gone back to its default.
    pub fn still(&mut self, wanted: WriteCache) -> bool {
        let Some(on) = wanted.requires_on() else { return true };
        let stands = |switch: &mut CacheSwitch<C>| {
            switch.reading().is_ok_and(|reading| !reading.present || reading.enabled == on)
        };
        !matches!(self.standing, Standing::Switchable) || self.held.iter_mut().all(stands)
    }

    /// Puts every cache back. All are tried; the first failure is told.
    ///
    /// # Errors
    /// When a drive does not come back to its old state: the record is kept for `cache restore`.
    pub fn put_back(&mut self) -> Result<(), SwitchError> {
        let mut first = Ok(());
        for switch in &mut self.held {
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
    /// For a panic: every other end puts the caches back before.
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            exit::complain(&format!("{error}; `flushmark cache restore` tries again"));
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

    /// A drive that does what it is told.
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

    fn caches(state: &StateDir, drive: &Obedient, standing: Standing) -> WriteCaches<Obedient> {
        let identity = Identity {
            model: None,
            serial: Some("S1".to_owned()),
            size_bytes: None,
            place: String::new(),
            path: "/dev/sdx".to_owned(),
        };
        let switch = CacheSwitch::new(drive.clone(), "/dev/sdx".as_ref(), state.lock(&identity).unwrap());
        WriteCaches { held: vec![switch], standing, notes: Vec::new() }
    }

    fn said(arranged: &Arranged) -> String {
        match arranged {
            Arranged::Run(setting) => setting.name().to_owned(),
            Arranged::Skip(because) => format!("skip: {because}"),
        }
    }

    #[test]
    fn a_panic_puts_the_cache_back() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path());
        let drive = Obedient(Rc::new(Cell::new(true)));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut caches = caches(&state, &drive, Standing::Switchable);
            caches.arrange(WriteCache::Off).unwrap();
            assert!(!drive.0.get() && last_words().is_some());
            // As a panic does, but without its message.
            resume_unwind(Box::new("in the middle of a test"))
        }));
        assert!(panicked.is_err() && drive.0.get());
        assert!(state.records().unwrap().is_empty());
    }

    #[test]
    fn settings_are_switched_as_tests_ask_and_put_back_between() {
        let directory = tempfile::tempdir().unwrap();
        let drive = Obedient(Rc::new(Cell::new(true)));
        let mut caches = caches(&StateDir::new(directory.path()), &drive, Standing::Switchable);
        assert_eq!(said(&caches.arrange(WriteCache::Off).unwrap()), "off");
        assert!(!drive.0.get());
        assert_eq!(caches.found_on(), Some(true));
        assert_eq!(said(&caches.arrange(WriteCache::Unchanged).unwrap()), "unchanged");
        assert!(drive.0.get(), "a test that does not ask runs under the setting that was found");
        assert_eq!(said(&caches.arrange(WriteCache::On).unwrap()), "on");
    }

    #[test]
    fn what_cannot_be_switched_is_measured_once() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path());
        let drive = Obedient(Rc::new(Cell::new(true)));
        let both = |mut caches: WriteCaches<Obedient>| {
            [WriteCache::Off, WriteCache::On, WriteCache::Off].map(|setting| said(&caches.arrange(setting).unwrap()))
        };
        let because = || "it has no switch".to_owned();
        let fixed = caches(&state, &drive, Standing::Fixed { on: true, because: because() });
        assert_eq!(both(fixed), ["skip: it has no switch", "on", "skip: it has no switch"]);
        // Nobody knows the setting: the first that is asked for stands for it, and is not claimed.
        let untold = caches(&state, &drive, Standing::Untold { stand_in: None, because: because() });
        assert_eq!(both(untold), ["unchanged", "skip: it has no switch", "unchanged"]);
        assert!(drive.0.get());
    }
}
