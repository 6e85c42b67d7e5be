//! A run on its way into the store: begun before its first test, one more test each time one is done, finished with its findings.
//!
//! Nothing of this may cost a result. A store that a person named and that cannot be opened is refused before anything is measured; whatever fails later,
//! the run goes on, and its document goes into a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use measurement::{RunDocument, TargetKind, TestResult};
use store::{End, InvalidLocation, Location, Origin, Problem, RunId, Store, StoreError};

use crate::args::store::{KeepArgs, StoreArgs};
use crate::exit::{self, Verdict, WrongUse};
use crate::progress::Progress;
use crate::session::Completed;
use workload::TargetName;

/// Names the store where no option does.
const VARIABLE: &str = "FLUSHMARK_STORE";
/// The variable's word for keeping nothing.
const NOTHING: &str = "none";

/// Where runs are kept.
enum Place {
    /// Nowhere: the person does not want it.
    Nowhere,
    /// Where the person said.
    Named(Location),
    /// In the person's data directory.
    Own(Location),
    /// There is no such directory.
    Homeless,
}

/// What the option, else the variable, else the environment says.
fn place(option: Option<&Location>) -> Result<Place, WrongUse> {
    if let Some(location) = option {
        return Ok(Place::Named(location.clone()));
    }
    match variable(VARIABLE) {
        Some(text) if text == NOTHING => Ok(Place::Nowhere),
        Some(text) => {
            let text = text.to_string_lossy();
            let location = text.parse().map_err(|error: InvalidLocation| WrongUse(format!("{VARIABLE}: {error}")))?;
            Ok(Place::Named(location))
        }
        None => {
            let (data, home) = (variable("XDG_DATA_HOME"), variable("HOME"));
            let own = Location::of_user(data.as_deref().map(Path::new), home.as_deref().map(Path::new));
            Ok(own.map_or(Place::Homeless, Place::Own))
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Where the store is that a verb reads from.
///
/// # Errors
/// When nobody says where.
pub fn location(args: &StoreArgs) -> Result<Location, WrongUse> {
    match place(args.store.as_ref())? {
        Place::Named(location) | Place::Own(location) => Ok(location),
        Place::Nowhere => Err(WrongUse(format!("{VARIABLE}={NOTHING} keeps nothing; name a store with --store"))),
        Place::Homeless => Err(WrongUse(
            "neither XDG_DATA_HOME nor HOME says where runs are kept; name a store with --store".to_owned(),
        )),
    }
}

/// The store that a verb reads from.
pub enum Reading {
    /// It is there.
    Open(Store),
    /// The person's own, in which nothing was ever kept.
    NeverKept(Location),
}

impl Reading {
    /// Opens it.
    ///
    /// # Errors
    /// When nobody says where it is, or it cannot be opened.
    pub fn of(args: &StoreArgs) -> anyhow::Result<Reading> {
        let of_user = args.store.is_none() && variable(VARIABLE).is_none();
        let location = location(args)?;
        if of_user && !exists(&location) {
            return Ok(Reading::NeverKept(location));
        }
        Ok(Reading::Open(Store::open_existing(&location)?))
    }

    /// The store, where a verb needs something in it.
    ///
    /// # Errors
    /// When nothing was ever kept.
    pub fn expect(self) -> anyhow::Result<Store> {
        match self {
            Reading::Open(store) => Ok(store),
            Reading::NeverKept(location) => Ok(Store::open_existing(&location)?),
        }
    }
}

/// The store to which a verb adds documents.
///
/// # Errors
/// When nobody says where it is, or it cannot be opened.
pub fn writing(args: &StoreArgs) -> anyhow::Result<Store> {
    Ok(Store::open(&location(args)?)?)
}

fn exists(location: &Location) -> bool {
    matches!(location, Location::Sqlite(path) if path.exists())
}

/// A run that may be on its way into a store.
pub struct Keeping {
    step: Step,
    /// How later commands name its store: ` --store PLACE` where an option did, nothing where they find it by themselves.
    option: String,
}

enum Step {
    /// It is not kept.
    Off,
    /// It will be; `named` by the person or not.
    Opened { store: Store, named: bool },
    /// Its tests are appended as long as the store takes them.
    Begun { store: Store, run: RunId, failed: bool },
}

impl Keeping {
    /// Nothing is kept.
    pub fn off() -> Keeping {
        Keeping { step: Step::Off, option: String::new() }
    }

    /// Opens the store for a run on this target.
    ///
    /// # Errors
    /// When the person named a store that cannot be opened.
    pub fn open(args: &KeepArgs, target: &str) -> anyhow::Result<Keeping> {
        // The same figures each time, or none of a drive: kept only for whoever asks for it.
        let is_storage = matches!(TargetName::parse(target), TargetName::Path(_));
        if args.no_store || (!is_storage && args.store.is_none()) {
            return Ok(Keeping::off());
        }
        let option = args.store.as_ref().map(|location| format!(" --store {location}")).unwrap_or_default();
        let opened = |location: &Location, named| {
            Store::open(location).map(|store| Keeping { step: Step::Opened { store, named }, option: option.clone() })
        };
        match place(args.store.as_ref())? {
            Place::Nowhere => Ok(Keeping::off()),
            Place::Named(location) => Ok(opened(&location, true)?),
            Place::Own(location) => Ok(opened(&location, false).unwrap_or_else(|error| {
                unkept(&error.to_string());
                Keeping::off()
            })),
            Place::Homeless => {
                unkept("neither XDG_DATA_HOME nor HOME says where");
                Ok(Keeping::off())
            }
        }
    }

    /// The run is about to be measured.
    ///
    /// # Errors
    /// When the person named the store, and it does not take the run.
    pub fn begin(&mut self, document: &RunDocument) -> Result<(), StoreError> {
        let Step::Opened { mut store, named } = std::mem::replace(&mut self.step, Step::Off) else { return Ok(()) };
        let host = (document.target.kind != TargetKind::Model).then(host_name).flatten();
        match store.begin(document, &Origin { host }) {
            Ok(run) => self.step = Step::Begun { store, run, failed: false },
            Err(error) if named => return Err(error),
            Err(error) => unkept(&error.to_string()),
        }
        Ok(())
    }

    /// The run's number and its store, while it is kept.
    pub fn run(&self) -> Option<(RunId, &Location)> {
        match &self.step {
            Step::Begun { store, run, .. } => Some((*run, store.location())),
            Step::Off | Step::Opened { .. } => None,
        }
    }

    /// A test is done. One that the store does not take is tried again at the end, with those after it.
    pub fn append(&mut self, result: &TestResult) {
        if let Step::Begun { store, run, failed: failed @ false } = &mut self.step {
            *failed = store.append(*run, result).is_err();
        }
    }

    /// The run is over.
    pub fn finish(self, completed: &Completed) -> KeptAs {
        let Step::Begun { mut store, run, .. } = self.step else { return KeptAs::Nothing };
        let document = &completed.document;
        if document.results.is_empty() {
            // There is nothing in it; where it cannot be taken away, it stays in the list as interrupted.
            let _ = store.abandon(run);
            return KeptAs::Nothing;
        }
        let end = match completed.verdict {
            Verdict::Done | Verdict::Unfit if completed.error.is_none() => End::Complete,
            _ => End::Interrupted,
        };
        let location = store.location().clone();
        let finished = store.finish(run, document, end);
        let finished = finished.or_else(|error| match error.problem {
            // A server that was away for a moment has a new connection for us.
            Problem::Gone(_) => Store::open(&location)?.finish(run, document, end),
            _ => Err(error),
        });
        match finished {
            Ok(()) => KeptAs::Run { run, option: self.option },
            Err(error) => KeptAs::File { file: save(document), error, option: self.option },
        }
    }
}

fn unkept(cause: &str) {
    exit::complain(&format!("this run will not be kept: {cause}"));
}

/// The machine's name, as it calls itself.
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty() && name != "(none)")
}

/// What became of a run.
pub enum KeptAs {
    /// It was not to be kept, or there was nothing in it.
    Nothing,
    /// It is in the store, which this option names.
    Run { run: RunId, option: String },
    /// The store did not take it; its document is in a file, or was refused there, too.
    File { file: Result<PathBuf, std::io::Error>, error: StoreError, option: String },
}

impl KeptAs {
    /// Says it, once the results are printed.
    pub fn say(&self, progress: &Progress) {
        match self {
            KeptAs::Nothing => {}
            KeptAs::Run { run, option } => {
                progress.line(&format!("kept as run {run} (`flushmark results show {run}{option}`)"));
            }
            KeptAs::File { file: Ok(file), error, option } => exit::complain(&format!(
                "{error}. This run's document is in {file}; `flushmark results import {file}{option}` keeps it later",
                file = file.display()
            )),
            KeptAs::File { file: Err(cause), error, .. } => exit::complain(&format!(
                "{error}, and no file could be written either: {cause}. What is printed here is all there is of this run"
            )),
        }
    }
}

/// Writes a document to the first place that takes it: the person's state directory, else that of temporary files.
fn save(document: &RunDocument) -> std::io::Result<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let name = format!("flushmark-{}-", document.started_at.replace(':', ""));
    let json = report::json(document);
    let write = |directory: &Path| {
        // A name that nobody else has: in a directory that others may write to, a known one could be a trap.
        let mut file = tempfile::Builder::new().prefix(&name).suffix(".json").tempfile_in(directory)?;
        std::io::Write::write_all(&mut file, json.as_bytes())?;
        file.as_file().sync_all()?;
        file.keep().map(|(_, path)| path).map_err(std::io::Error::from)
    };
    let in_state = state
        .map(|state| state.join("flushmark"))
        .and_then(|directory| std::fs::create_dir_all(&directory).and_then(|()| write(&directory)).ok());
    in_state.map_or_else(|| write(&std::env::temp_dir()), Ok)
}
