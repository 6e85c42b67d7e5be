//! Keeps a run in the store: begins before its first test, adds each test when it is done, and
//! finishes with the findings.
//!
//! Storing must never cost a result. A store that the user named and that cannot be opened is
//! refused before anything is measured, unless it is on a server that does not answer. If it fails
//! then or later, the run continues and its document is saved to a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use measurement::{RunDocument, TargetKind, TestResult};
use store::{End, InvalidLocation, Location, Origin, Problem, RunId, Store, StoreError};

use crate::args::store::{KeepArgs, StoreArgs, StoreName};
use crate::config;
use crate::exit::{self, ExitStatus, WrongUse};
use crate::progress::Progress;
use crate::session::Completed;
use crate::unsent;
use workload::TargetName;

/// Names the store if no option does.
const VARIABLE: &str = "FLUSHMARK_STORE";
/// Names the host, whatever the kernel calls it.
const HOST: &str = "FLUSHMARK_HOST";

/// The store that runs are kept in.
enum StoreChoice {
    /// `none`: the user does not want runs kept.
    Disabled,
    Named(Location),
    /// The user's data directory.
    Own(Location),
    /// Neither an option nor the environment names a directory.
    Unknown,
}

/// The store that the user names: by the option, else the variable, else the configuration.
fn name(option: Option<&StoreName>) -> Result<Option<StoreName>, WrongUse> {
    if let Some(name) = option {
        return Ok(Some(name.clone()));
    }
    let Some(text) = variable(VARIABLE) else { return Ok(config::current().store.clone()) };
    let name = text.to_string_lossy().parse();
    name.map(Some).map_err(|error: InvalidLocation| WrongUse(format!("{VARIABLE}: {error}")))
}

fn choose(option: Option<&StoreName>) -> Result<StoreChoice, WrongUse> {
    Ok(match name(option)? {
        Some(StoreName::Nothing) => StoreChoice::Disabled,
        Some(StoreName::Place(location)) => StoreChoice::Named(location),
        None => {
            let (data, home) = (variable("XDG_DATA_HOME"), variable("HOME"));
            let own =
                Location::of_user(data.as_deref().map(Path::new), home.as_deref().map(Path::new));
            own.map_or(StoreChoice::Unknown, StoreChoice::Own)
        }
    })
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The store that a verb reads from.
pub fn location(args: &StoreArgs) -> Result<Location, WrongUse> {
    match choose(args.store.as_ref())? {
        StoreChoice::Named(location) | StoreChoice::Own(location) => Ok(location),
        StoreChoice::Disabled => Err(WrongUse(
            "the store is `none`, which keeps nothing; name a store with --store".to_owned(),
        )),
        StoreChoice::Unknown => Err(WrongUse(
            "no store: neither XDG_DATA_HOME nor HOME is set; name a store with --store".to_owned(),
        )),
    }
}

/// The store that a verb reads from.
pub enum Reading {
    Open(Store),
    /// The default store does not exist yet: no run was ever kept.
    NeverKept(Location),
}

impl Reading {
    pub fn of(args: &StoreArgs) -> anyhow::Result<Reading> {
        let of_user = name(args.store.as_ref())?.is_none();
        let location = location(args)?;
        if of_user && !exists(&location) {
            return Ok(Reading::NeverKept(location));
        }
        Ok(Reading::Open(Store::open_existing(&location)?))
    }

    /// Returns the store for a verb that needs existing runs.
    pub fn expect(self) -> anyhow::Result<Store> {
        match self {
            Reading::Open(store) => Ok(store),
            Reading::NeverKept(location) => Ok(Store::open_existing(&location)?),
        }
    }
}

/// The store that a run would be kept in, if there is one already and it can be read.
pub fn existing_store(args: &KeepArgs) -> Option<Store> {
    match choose(args.store.as_ref()).ok()? {
        StoreChoice::Named(location) | StoreChoice::Own(location) => {
            Store::open_existing(&location).ok()
        }
        StoreChoice::Disabled | StoreChoice::Unknown => None,
    }
}

/// The store that the user named for a run, by option or variable.
pub fn named(args: &KeepArgs) -> Result<Option<Location>, WrongUse> {
    Ok(match choose(args.store.as_ref())? {
        StoreChoice::Named(location) => Some(location),
        _ => None,
    })
}

/// Opens the store to which a verb adds documents.
pub fn writing(args: &StoreArgs) -> anyhow::Result<Store> {
    Ok(Store::open(&location(args)?)?)
}

fn exists(location: &Location) -> bool {
    matches!(location, Location::Sqlite(path) if path.exists())
}

/// A run that may be kept in a store.
pub struct Keeping {
    step: Step,
    /// The option with which later commands find the store: ` --store PLACE`, or empty if they find
    /// it by themselves.
    option: String,
}

enum Step {
    Off,
    /// Runs on this target are kept only in a store that `--store` names.
    NotAsked(&'static str),
    /// The server of the store that the user named did not answer.
    Unreachable(StoreError),
    /// `named` if the user named the store.
    Opened {
        store: Store,
        named: bool,
    },
    /// Tests are appended until the store fails.
    Begun {
        store: Store,
        run: RunId,
        failed: bool,
    },
}

impl Keeping {
    pub fn off() -> Keeping {
        Keeping { step: Step::Off, option: String::new() }
    }

    /// Opens the store for a run on this target.
    ///
    /// # Errors
    /// If the user named a store that cannot be opened.
    pub fn open(args: &KeepArgs, target: &str) -> anyhow::Result<Keeping> {
        let on_request = match TargetName::parse(target) {
            TargetName::Model(_) => Some("a model always gives the same figures"),
            TargetName::Null => Some("null: has no figures of a drive"),
            _ => None,
        };
        if let Some(because) = on_request.filter(|_| args.store.is_none()) {
            let step = match choose(None) {
                Ok(StoreChoice::Disabled) => Step::Off,
                _ => Step::NotAsked(because),
            };
            return Ok(Keeping { step, option: String::new() });
        }
        let option = args.store.as_ref().map(|name| format!(" --store {name}")).unwrap_or_default();
        let opened = |location: &Location, named| {
            Store::open(location).map(|store| Keeping {
                step: Step::Opened { store, named },
                option: option.clone(),
            })
        };
        match choose(args.store.as_ref())? {
            StoreChoice::Disabled => Ok(Keeping::off()),
            StoreChoice::Named(location) => match opened(&location, true) {
                Err(error) if matches!(error.problem, Problem::Unreachable(_)) => {
                    complain_unreachable(&error);
                    Ok(Keeping { step: Step::Unreachable(error), option })
                }
                opened => Ok(opened?),
            },
            StoreChoice::Own(location) => Ok(opened(&location, false).unwrap_or_else(|error| {
                unkept(&error.to_string());
                Keeping::off()
            })),
            StoreChoice::Unknown => {
                unkept("neither XDG_DATA_HOME nor HOME is set");
                Ok(Keeping::off())
            }
        }
    }

    /// Begins the run in the store, before anything is measured.
    ///
    /// # Errors
    /// If the user named the store and it does not accept the run.
    pub fn begin(&mut self, document: &RunDocument) -> Result<(), StoreError> {
        let (mut store, named) = match std::mem::replace(&mut self.step, Step::Off) {
            Step::Opened { store, named } => (store, named),
            other => {
                self.step = other;
                return Ok(());
            }
        };
        let host = (document.target.kind != TargetKind::Model).then(own_name).flatten();
        match store.begin(document, &Origin { host }) {
            Ok(run) => self.step = Step::Begun { store, run, failed: false },
            Err(error) if named => return Err(error),
            Err(error) => unkept(&error.to_string()),
        }
        Ok(())
    }

    /// The run's number and its store, if it is being kept.
    pub fn run(&self) -> Option<(RunId, &Location)> {
        match &self.step {
            Step::Begun { store, run, .. } => Some((*run, store.location())),
            Step::Off | Step::NotAsked(_) | Step::Unreachable(_) | Step::Opened { .. } => None,
        }
    }

    /// Appends a finished test. If the store fails, this test and the later ones are tried again at
    /// the end.
    pub fn append(&mut self, result: &TestResult) {
        if let Step::Begun { store, run, failed: failed @ false } = &mut self.step {
            *failed = store.append(*run, result).is_err();
        }
    }

    pub fn finish(self, completed: &Completed) -> KeptAs {
        let document = &completed.document;
        let (mut store, run) = match self.step {
            Step::Begun { store, run, .. } => (store, run),
            Step::Unreachable(error) if !document.results.is_empty() => {
                let file = unsent::save(document);
                return KeptAs::File { file, error, option: self.option };
            }
            Step::NotAsked(because) if !document.results.is_empty() => {
                return KeptAs::NotAsked(because);
            }
            Step::Off | Step::NotAsked(_) | Step::Unreachable(_) | Step::Opened { .. } => {
                return KeptAs::Nothing;
            }
        };
        if document.results.is_empty() {
            // The run is empty. If it cannot be removed, it stays in the list as interrupted.
            let _ = store.abandon(run);
            return KeptAs::Nothing;
        }
        let end = match completed.verdict {
            ExitStatus::Done | ExitStatus::Unfit if completed.error.is_none() => End::Complete,
            _ => End::Interrupted,
        };
        let location = store.location().clone();
        let finished = store.finish(run, document, end);
        let finished = finished.or_else(|error| match error.problem {
            // A server that was away for a moment accepts a new connection.
            Problem::Gone(_) => Store::open(&location)?.finish(run, document, end),
            _ => Err(error),
        });
        match finished {
            Ok(()) => KeptAs::Run { run, option: self.option },
            Err(error) => KeptAs::File { file: unsent::save(document), error, option: self.option },
        }
    }
}

fn complain_unreachable(error: &StoreError) {
    exit::complain(&format!(
        "{error}. This run will be saved to a file, and `flushmark results push` keeps it later"
    ));
}

fn unkept(cause: &str) {
    exit::complain(&format!("this run will not be kept: {cause}"));
}

/// The host's name in kept runs: the variable, the configuration, or else the kernel's.
pub fn own_name() -> Option<String> {
    let given = variable(HOST).map(|name| name.to_string_lossy().trim().to_owned());
    let given = given.filter(|name| !name.is_empty());
    given.or_else(|| config::current().host.clone()).or_else(host_name)
}

/// This machine's hostname.
pub fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty() && name != "(none)")
}

/// The place where a run was kept.
pub enum KeptAs {
    /// It was not to be kept, or it was empty.
    Nothing,
    /// It would be kept in a store that `--store` names, and is not otherwise, for this reason.
    NotAsked(&'static str),
    /// It is in the store that `option` names.
    Run { run: RunId, option: String },
    /// The store failed; the document was saved to a file, unless that failed too.
    File { file: Result<PathBuf, std::io::Error>, error: StoreError, option: String },
}

impl KeptAs {
    /// Prints it, after the results.
    pub fn report(&self, progress: &Progress) {
        match self {
            KeptAs::Nothing => {}
            KeptAs::NotAsked(because) => progress.line(&format!(
                "not kept, because {because} (`--store PLACE` keeps it all the same)"
            )),
            KeptAs::Run { run, option } => {
                progress
                    .line(&format!("kept as run {run} (`flushmark results show {run}{option}`)"));
            }
            KeptAs::File { file: Ok(file), error, option } => exit::complain(&format!(
                "{error}. This run was saved to {}; run `flushmark results {}{option}` to keep it",
                file.display(),
                unsent::verb(file)
            )),
            KeptAs::File { file: Err(cause), error, .. } => exit::complain(&format!(
                "{error}, and it could not be saved to a file either: {cause}. This run exists \
                 only in the output above"
            )),
        }
    }
}
