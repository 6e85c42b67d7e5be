//! The target of a plan: storage of this machine, or a model.

use drive::{BlockDevice, DriveRecord, HostFacts, Place, SystemRoot};
use engine::{EngineError, Intent, Options, StartLine, Target};
use measurement::{Outcome, Progress, TargetKind, TargetRecord};
use simdrive::{Machine, SimTarget};
use workload::{Plan, Room, TargetName, Test, WriteCache};

use crate::ceph_leftovers::Recorded;
use crate::exit::WrongUse;
use crate::modelled;
use crate::signals::STOP;
use crate::write_cache::{Arranged, WriteCaches};

/// An opened target.
pub enum Bench {
    Storage(Box<Storage>),
    Model(Box<Modelled>),
}

/// Storage of this machine, with what a run needs to use it.
pub struct Storage {
    // Declared before the target, so that caches are restored while the target is still claimed.
    caches: WriteCaches,
    target: Target,
    options: Options,
    // Declared after the target, whose objects in a cluster are removed first.
    _leftovers: Option<Recorded>,
}

pub struct Modelled {
    given: String,
    machine: Machine,
    place: Place,
    room: Room,
}

/// The options that the user selects for a target.
#[derive(Debug)]
pub struct TargetOptions {
    /// The target's content may be overwritten.
    pub destroy_data: bool,
    /// The drive's write cache may be switched although the drive is in use.
    pub in_use: bool,
    pub options: Options,
}

/// A relative path means something else in another directory.
fn absolute(record: TargetRecord, place: Option<&Place>) -> TargetRecord {
    match (TargetName::parse(&record.given), place) {
        (TargetName::Path(path), Some(place)) if !path.starts_with('/') => {
            TargetRecord { given: place.path.display().to_string(), ..record }
        }
        _ => record,
    }
}

impl Bench {
    pub fn open(plan: &Plan, given: &str, wanted: TargetOptions) -> anyhow::Result<Bench> {
        if let Some(target) = SimTarget::split(given) {
            return Ok(Bench::Model(Box::new(Modelled::open(given, &target, &wanted.options)?)));
        }
        let beyond_the_kernel = match TargetName::parse(given) {
            TargetName::Nbd(_) => Some("an NBD export, which is reached over a socket"),
            TargetName::Image(_) | TargetName::Pool(_) => {
                Some("a Ceph cluster, which is reached through its client library")
            }
            TargetName::Path(_) | TargetName::Model(_) | TargetName::Null => None,
        };
        if let (Some(target), Some(_)) = (beyond_the_kernel, wanted.options.engine) {
            return Err(WrongUse(format!(
                "--engine has no effect on {target} and not through the kernel's block layer; \
                 leave it out"
            ))
            .into());
        }
        let root: &SystemRoot = &wanted.options.root;
        let target = Target::open(root, given, Intent::of(plan, wanted.destroy_data))?;
        let caches = WriteCaches::of(plan, root, target.place(), wanted.in_use)?;
        let leftovers = Recorded::of_target(&target);
        let options = wanted.options;
        Ok(Bench::Storage(Box::new(Storage { caches, target, options, _leftovers: leftovers })))
    }

    /// The target as the result document records it.
    pub fn record(&self) -> TargetRecord {
        match self {
            Bench::Storage(storage) => absolute(storage.target.record(), storage.target.place()),
            Bench::Model(model) => TargetRecord::new(model.given.clone(), TargetKind::Model),
        }
    }

    /// The time at which the run began. A document about a model has none, so that two runs of it
    /// are equal.
    pub fn began(&self) -> Option<jiff::Timestamp> {
        match self {
            Bench::Storage(_) => Some(jiff::Timestamp::now()),
            Bench::Model(_) => None,
        }
    }

    /// Facts about this machine. A model includes its host, so it has none.
    pub fn host(&self) -> HostFacts {
        match self {
            Bench::Storage(storage) => HostFacts::read(&storage.options.root),
            Bench::Model(_) => HostFacts::default(),
        }
    }

    /// The filesystem and drive under the target, if there is one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Bench::Storage(storage) => storage.target.place(),
            Bench::Model(model) => Some(&model.place),
        }
    }

    /// The same, but `None` for a model, whose filesystem and drive are not real.
    pub fn storage_place(&self) -> Option<&Place> {
        match self {
            Bench::Storage(storage) => storage.target.place(),
            Bench::Model(_) => None,
        }
    }

    /// The reports of the drives under the target. A drive that vanishes meanwhile is left out
    /// here; the tests will fail on it.
    pub fn drives(&self) -> Vec<DriveRecord> {
        let Bench::Storage(storage) = self else { return Vec::new() };
        let drives =
            self.place().and_then(Place::block_device).map(BlockDevice::drives).unwrap_or_default();
        let root = &storage.options.root;
        drives
            .into_iter()
            .filter_map(|drive| DriveRecord::read(root, drive.disk_device()).ok())
            .collect()
    }

    /// The space that tests may use.
    pub fn room(&self) -> Room {
        match self {
            Bench::Storage(storage) => storage.target.room(),
            Bench::Model(model) => model.room,
        }
    }

    /// Notes for the user about how the target was opened.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Bench::Storage(storage) => {
                storage.target.notes().into_iter().chain(storage.caches.notes()).collect()
            }
            Bench::Model(_) => Vec::new(),
        }
    }

    /// The plan as it will run here.
    pub fn adapted(&self, plan: &Plan) -> Plan {
        match self {
            Bench::Storage(storage) => storage.caches.adapted(plan),
            Bench::Model(_) => plan.clone(),
        }
    }

    /// Runs a test, or several in parallel, on real storage from a start line on. Returns an outcome
    /// for each, or `None` if the user interrupted the run before anything was measured.
    ///
    /// # Errors
    /// If nothing could be measured at all.
    pub fn run(
        &mut self,
        tests: &[Test],
        start_line: Option<StartLine>,
        observe: &mut dyn FnMut(&Progress),
    ) -> anyhow::Result<Option<Vec<Outcome>>> {
        match self {
            Bench::Storage(storage) => storage.run(tests, start_line, observe),
            Bench::Model(model) => {
                let mut look = |progress: &Progress| {
                    observe(progress);
                    !STOP.is_requested()
                };
                Ok(Some(simdrive::run(&model.machine, tests, &mut look)?))
            }
        }
    }

    /// Returns whether the write cache was on when the target was opened, if known.
    pub fn found_on(&mut self) -> Option<bool> {
        match self {
            Bench::Storage(storage) => storage.caches.found_on(),
            Bench::Model(model) => {
                let device = model.place.block_device()?;
                device.queue.write_cache.map(|cache| cache == drive::WriteCache::WriteBack)
            }
        }
    }

    /// Restores everything: removes the test files and switches the write caches back.
    ///
    /// # Errors
    /// If a write cache could not be restored; the test files are removed all the same.
    pub fn close(self) -> anyhow::Result<()> {
        match self {
            Bench::Storage(storage) => {
                let Storage { mut caches, target, _leftovers: leftovers, .. } = *storage;
                let restored = caches.restore();
                drop(target);
                drop(leftovers);
                Ok(restored?)
            }
            Bench::Model(_) => Ok(()),
        }
    }
}

impl Storage {
    fn run(
        &mut self,
        tests: &[Test],
        start_line: Option<StartLine>,
        observe: &mut dyn FnMut(&Progress),
    ) -> anyhow::Result<Option<Vec<Outcome>>> {
        let asked = tests.first().map_or(WriteCache::Unchanged, |test| test.write_cache);
        let write_cache = match self.caches.arrange(asked)? {
            Arranged::Run(write_cache) => write_cache,
            Arranged::Skip(because) => return Ok(Some(Outcome::all_skipped(tests, &because))),
        };
        let tests: Vec<Test> =
            tests.iter().map(|test| Test { write_cache, ..test.clone() }).collect();
        let options = Options { start_line, ..self.options.clone() };
        let mut outcomes = match engine::run(&tests, &self.target, &options, &STOP, observe) {
            Err(EngineError::Interrupted) => return Ok(None),
            outcomes => outcomes?,
        };
        for outcome in &mut outcomes {
            if let Outcome::Measured(result) = outcome
                && !self.caches.still(result.workload.write_cache)
            {
                result.workload.write_cache = WriteCache::Unchanged;
                result.notes.push(
                    "the write cache did not stay as it was set: the drive was reset, or another \
                     program switched it"
                        .to_owned(),
                );
            }
        }
        Ok(Some(outcomes))
    }
}

impl Modelled {
    fn open(given: &str, target: &SimTarget<'_>, options: &Options) -> anyhow::Result<Modelled> {
        if options.engine.is_some() {
            return Err(WrongUse(
                "--engine has no effect on a model, which does not use this machine's kernel; \
                 leave it out"
                    .to_owned(),
            )
            .into());
        }
        let wrong = |error: String| WrongUse(error);
        let machine = modelled::machine(given, target)?;
        let place = modelled::place(given, &machine).map_err(|error| wrong(error.to_string()))?;
        let room = machine.room().map_err(|error| wrong(error.to_string()))?;
        Ok(Modelled { given: given.to_owned(), machine, place, room })
    }
}
