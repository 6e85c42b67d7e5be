//! What a plan runs on: storage of this machine, or a model.

use drive::{BlockDevice, DriveRecord, HostFacts, Place, SystemRoot};
use engine::{EngineError, Intent, Options, Target};
use measurement::{Outcome, Progress, TargetKind, TargetRecord};
use simdrive::run::Machine;
use simdrive::target::SimTarget;
use workload::{Plan, Room, Test, WriteCache};

use crate::exit::WrongUse;
use crate::modelled;
use crate::signals::STOP;
use crate::write_cache::{Arranged, WriteCaches};

/// A target that has been opened.
pub enum Bench {
    /// Storage of this machine.
    Storage(Box<Storage>),
    /// A modelled drive, in virtual time.
    Model(Box<Modelled>),
}

/// Storage with what a run needs of it.
pub struct Storage {
    // Before the target: the caches are put back while its claim still holds.
    caches: WriteCaches,
    target: Target,
    options: Options,
}

/// A model as a target.
pub struct Modelled {
    given: String,
    machine: Machine,
    place: Place,
    room: Room,
}

/// What a person wants of a target beyond its name.
#[derive(Debug)]
pub struct Wishes {
    /// Its content may be overwritten.
    pub destroy_data: bool,
    /// Its write cache may be switched although it is in use.
    pub in_use: bool,
    /// How tests are run.
    pub options: Options,
}

impl Bench {
    /// Opens a target for a plan.
    ///
    /// # Errors
    /// When the target is wrong, dangerous or out of order.
    pub fn open(plan: &Plan, given: &str, wishes: Wishes) -> anyhow::Result<Bench> {
        if let Some(target) = SimTarget::split(given) {
            return Ok(Bench::Model(Box::new(Modelled::open(given, &target, &wishes.options)?)));
        }
        let root: &SystemRoot = &wishes.options.root;
        let target = Target::open(root, given, Intent::of(plan, wishes.destroy_data))?;
        let caches = WriteCaches::of(plan, root, target.place(), wishes.in_use)?;
        Ok(Bench::Storage(Box::new(Storage { caches, target, options: wishes.options })))
    }

    /// What it is, as the result document says it.
    pub fn record(&self) -> TargetRecord {
        match self {
            Bench::Storage(storage) => {
                TargetRecord { given: storage.target.given().to_owned(), kind: storage.target.kind() }
            }
            Bench::Model(model) => TargetRecord { given: model.given.clone(), kind: TargetKind::Model },
        }
    }

    /// When the run began. Nothing of this machine's time goes into a document about a model: two runs are the same.
    pub fn began(&self) -> Option<jiff::Timestamp> {
        match self {
            Bench::Storage(_) => Some(jiff::Timestamp::now()),
            Bench::Model(_) => None,
        }
    }

    /// The machine. A model's host is a part of the model, and has no such facts.
    pub fn host(&self) -> HostFacts {
        match self {
            Bench::Storage(storage) => HostFacts::read(&storage.options.root),
            Bench::Model(_) => HostFacts::default(),
        }
    }

    /// The filesystem and drive beneath, if there is one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Bench::Storage(storage) => storage.target.place(),
            Bench::Model(model) => Some(&model.place),
        }
    }

    /// What each drive beneath says of itself. A drive that vanishes meanwhile is noticed by the tests.
    pub fn drives(&self) -> Vec<DriveRecord> {
        let Bench::Storage(storage) = self else { return Vec::new() };
        let drives = self.place().and_then(Place::block_device).map(BlockDevice::drives).unwrap_or_default();
        let root = &storage.options.root;
        drives.into_iter().filter_map(|drive| DriveRecord::read(root, drive.disk_device()).ok()).collect()
    }

    /// What tests may work on.
    pub fn room(&self) -> Room {
        match self {
            Bench::Storage(storage) => storage.target.room(),
            Bench::Model(model) => model.room,
        }
    }

    /// What the person should know about how it was opened.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Bench::Storage(storage) => storage.target.notes().into_iter().chain(storage.caches.notes()).collect(),
            Bench::Model(_) => Vec::new(),
        }
    }

    /// Runs a test, or several at the same time; an outcome for each, or `None` when the person wanted
    /// the end before anything was measured.
    ///
    /// # Errors
    /// When nothing could be measured at all.
    pub fn run(&mut self, tests: &[Test], observe: &mut dyn FnMut(&Progress)) -> anyhow::Result<Option<Vec<Outcome>>> {
        match self {
            Bench::Storage(storage) => storage.run(tests, observe),
            Bench::Model(model) => {
                let mut look = |progress: &Progress| {
                    observe(progress);
                    !STOP.is_requested()
                };
                Ok(Some(simdrive::run::run(&model.machine, tests, &mut look)?))
            }
        }
    }

    /// How the write cache was found: on, off, or nobody can tell.
    pub fn found_on(&mut self) -> Option<bool> {
        match self {
            Bench::Storage(storage) => storage.caches.found_on(),
            Bench::Model(model) => {
                let device = model.place.block_device()?;
                device.queue.write_cache.map(|cache| cache == drive::WriteCache::WriteBack)
            }
        }
    }

    /// Puts everything back as it was found, test files and write caches.
    ///
    /// # Errors
    /// When a write cache could not be put back; the test files are removed all the same.
    pub fn close(self) -> anyhow::Result<()> {
        match self {
            Bench::Storage(storage) => {
                let Storage { mut caches, target, .. } = *storage;
                let put_back = caches.put_back();
                drop(target);
                Ok(put_back?)
            }
            Bench::Model(_) => Ok(()),
        }
    }
}

impl Storage {
    fn run(&mut self, tests: &[Test], observe: &mut dyn FnMut(&Progress)) -> anyhow::Result<Option<Vec<Outcome>>> {
        let asked = tests.first().map_or(WriteCache::Unchanged, |test| test.write_cache);
        let write_cache = match self.caches.arrange(asked)? {
            Arranged::Run(write_cache) => write_cache,
            Arranged::Skip(because) => return Ok(Some(Outcome::all_skipped(tests, &because))),
        };
        let tests: Vec<Test> = tests.iter().map(|test| Test { write_cache, ..test.clone() }).collect();
        let mut outcomes = match engine::run(&tests, &self.target, &self.options, &STOP, observe) {
            Err(EngineError::Interrupted) => return Ok(None),
            outcomes => outcomes?,
        };
        for outcome in &mut outcomes {
            if let Outcome::Measured(result) = outcome
                && !self.caches.still(result.workload.write_cache)
            {
                result.workload.write_cache = WriteCache::Unchanged;
                result.notes.push(
                    "the write cache did not stay as it was set: the drive was reset, or somebody else switched it"
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
                "--engine chooses how calls reach this machine's kernel, and a model has its own; leave it out"
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
