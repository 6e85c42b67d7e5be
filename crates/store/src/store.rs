//! The store: begin, append, finish, insert, get, tag, note, delete, copy.

use std::fmt;
use std::time::Duration;

use measurement::{Histogram, RunDocument, TestResult};
use uuid::Uuid;

use crate::engine::{Engine, finish};
use crate::error::{Problem, StoreError};
use crate::figures::{self, Figures, Which};
use crate::history::{self, HostScope};
use crate::identity::{self, Known};
use crate::list::{self, Filter};
use crate::location::Location;
use crate::migrations::{MIGRATIONS, migrate};
use crate::packing::digest;
use crate::postgres::Postgres;
use crate::process;
use crate::reading::{self, expect, get, kept_tests};
use crate::run::{End, Origin, RunId, State, StoredRun, Summary, Tag};
use crate::sqlite::Sqlite;
use crate::writing::{self, Entry};

/// The time to wait for a lock of another process. A transaction takes milliseconds, so a longer
/// wait means a process that hangs or an open transaction in an SQL shell.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// An open store.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// # let mut document = samples::document::modelled();
/// use store::{End, Filter, Location, Origin, Store};
///
/// let mut store = Store::open(&Location::Sqlite(place.path().join("results.db")))?;
/// let tests = std::mem::take(&mut document.results);
/// let run = store.begin(&document, &Origin::default())?;
/// for test in tests {
///     store.append(run, &test)?; // on disk from here on
///     document.results.push(test);
/// }
/// store.finish(run, &document, End::Complete)?;
/// assert_eq!(store.get(run)?.document, document);
/// assert_eq!(store.list(&Filter::default())?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    engine: Box<dyn Engine>,
    location: Location,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.location.to_string()).finish()
    }
}

/// The outcome of inserting a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// It was stored as this run.
    New(RunId),
    /// It was already stored as this run; nothing was changed.
    Already(RunId),
    /// It completed this interrupted run, which was its first part.
    Completed(RunId),
}

impl Inserted {
    /// The run that now has the document.
    pub fn id(self) -> RunId {
        let (Inserted::New(id) | Inserted::Already(id) | Inserted::Completed(id)) = self;
        id
    }
}

/// The outcome of copying from another store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// New or completed runs, with their numbers in this store.
    pub new: Vec<RunId>,
    /// Number of runs that this store already had.
    pub already: usize,
    /// Number of runs left out because they are still being measured.
    pub running: usize,
}

impl Store {
    /// Opens a store for writing, and creates it if it does not exist.
    pub fn open(location: &Location) -> Result<Store, StoreError> {
        Store::open_waiting(location, true, LOCK_WAIT)
    }

    /// Opens an existing store; it may be read-only.
    ///
    /// # Errors
    /// Like [`Store::open`], and [`Problem::Absent`] if the store does not exist: no file, an empty
    /// file, or a database without the tables.
    pub fn open_existing(location: &Location) -> Result<Store, StoreError> {
        Store::open_waiting(location, false, LOCK_WAIT)
    }

    /// Opens a store that waits at most `wait` for locks of other processes, now and later, and
    /// creates it if `create` is set.
    pub fn open_waiting(
        location: &Location,
        create: bool,
        wait: Duration,
    ) -> Result<Store, StoreError> {
        let opened = match location {
            Location::Sqlite(path) => Sqlite::open_as(path, create, wait, |engine| {
                migrate(engine, MIGRATIONS, create)?;
                engine.share()
            })
            .map(|engine| Box::new(engine) as Box<dyn Engine>),
            Location::Postgres(url) => Postgres::open(url, wait).and_then(|mut engine| {
                migrate(&mut engine, MIGRATIONS, create)?;
                Ok(Box::new(engine) as Box<dyn Engine>)
            }),
        };
        let engine =
            opened.map_err(|problem| StoreError { store: location.to_string(), problem })?;
        Ok(Store { engine, location: location.clone() })
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    fn error(&self, problem: Problem) -> StoreError {
        StoreError { store: self.location.to_string(), problem }
    }

    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut dyn Engine) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        self.transaction(|engine| engine.begin_reading(), question)
    }

    fn write<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Engine) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        self.transaction(|engine| engine.begin(), work)
    }

    fn insertion(
        &mut self,
        entries: &[(&RunDocument, Entry<'_>)],
    ) -> Result<Vec<Inserted>, StoreError> {
        let keys = entries.iter().map(|(document, entry)| identity::key(document, entry)).collect();
        self.transaction(
            |engine| engine.begin_insert(&keys),
            |engine| {
                entries.iter().map(|(document, entry)| keep(engine, document, entry)).collect()
            },
        )
    }

    /// Runs the work as one transaction: all of it, or nothing.
    fn transaction<T>(
        &mut self,
        begin: impl FnOnce(&mut dyn Engine) -> Result<(), Problem>,
        work: impl FnOnce(&mut dyn Engine) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let engine = &mut *self.engine;
        begin(engine).and_then(|()| finish(engine, work)).map_err(|problem| self.error(problem))
    }

    /// Starts a run that this process is about to measure. Tests that the document already has are
    /// stored with it.
    pub fn begin(&mut self, document: &RunDocument, origin: &Origin) -> Result<RunId, StoreError> {
        let entry = Entry {
            uuid: Uuid::now_v7(),
            digest: None,
            at: writing::at(document),
            host: origin.host.as_deref(),
            state: State::Running,
            writer: Some(&process::this()),
            note: "",
            tags: &[],
        };
        self.write(|engine| {
            let stored = || Problem::Damaged(format!("a new identity, {}, is taken", entry.uuid));
            let id = writing::run(engine, document, &entry)?.ok_or_else(stored)?;
            writing::tests(engine, id, 0, &document.results)?;
            engine.lock_run(id.0)?;
            Ok(id)
        })
    }

    /// Stores a test of a run that was started with [`Store::begin`].
    pub fn append(&mut self, run: RunId, result: &TestResult) -> Result<(), StoreError> {
        self.write(|engine| {
            let first = kept_tests(engine, run)?;
            writing::tests(engine, run, first, std::slice::from_ref(result))
        })
    }

    /// Ends a run: stores its findings, what was skipped, and tests that were not appended.
    ///
    /// # Errors
    /// If the store cannot be written to, the run was deleted in the meantime, or the store has more
    /// tests of the run than the document. The stored run is then unchanged.
    pub fn finish(
        &mut self,
        run: RunId,
        document: &RunDocument,
        end: End,
    ) -> Result<(), StoreError> {
        self.write(|engine| {
            let kept = kept_tests(engine, run)?;
            writing::end(engine, run, kept, document, end.into())
        })?;
        self.engine.unlock_run(run.0).map_err(|problem| self.error(problem))
    }

    /// Removes a run that ended before its first test. A run with tests stays, as interrupted.
    pub fn abandon(&mut self, run: RunId) -> Result<(), StoreError> {
        self.write(|engine| {
            if kept_tests(engine, run)? == 0 {
                return engine.execute("DELETE FROM runs WHERE id = $1", &[run.0.into()]).map(drop);
            }
            let sql = "UPDATE runs SET state = $1, writer = NULL WHERE id = $2";
            engine.execute(sql, &[State::Interrupted.name().into(), run.0.into()]).map(drop)
        })?;
        self.engine.unlock_run(run.0).map_err(|problem| self.error(problem))
    }

    /// Stores a whole document unless it is already stored. If an interrupted run left its first
    /// part, that run is completed.
    pub fn insert(
        &mut self,
        document: &RunDocument,
        origin: &Origin,
    ) -> Result<Inserted, StoreError> {
        Ok(self.insert_all(&[document], origin)?[0])
    }

    /// Stores several documents like [`Store::insert`], all or none.
    pub fn insert_all(
        &mut self,
        documents: &[&RunDocument],
        origin: &Origin,
    ) -> Result<Vec<Inserted>, StoreError> {
        let entries =
            documents.iter().map(|document| Ok((*document, new_entry(document, origin)?)));
        let entries: Vec<_> =
            entries.collect::<Result<_, Problem>>().map_err(|problem| self.error(problem))?;
        let inserted = self.insertion(&entries)?;
        debug_assert_eq!(inserted.len(), documents.len(), "each document has its outcome");
        Ok(inserted)
    }

    /// A run with its whole document.
    pub fn get(&mut self, run: RunId) -> Result<StoredRun, StoreError> {
        self.ask(|engine| get(engine, run))
    }

    /// Summaries of the runs that match a filter, newest first.
    pub fn list(&mut self, filter: &Filter) -> Result<Vec<Summary>, StoreError> {
        self.ask(|engine| {
            let ids = list::ids(engine, filter)?;
            list::summaries(engine, &ids)
        })
    }

    /// The figures of complete runs of known hosts that match a filter, without its limit.
    pub fn figures(&mut self, which: Which, filter: &Filter) -> Result<Figures, StoreError> {
        self.ask(|engine| figures::read(engine, which, filter))
    }

    /// Passes on the whole distribution of each test's headline latency, with the name of the test:
    /// in the order of these runs, and of the tests in each.
    pub fn latencies(
        &mut self,
        runs: &[RunId],
        each: impl FnMut(RunId, &str, &Histogram),
    ) -> Result<(), StoreError> {
        self.ask(|engine| figures::latencies(engine, runs, each))
    }

    /// The complete runs that match a filter, without its limit, and that began together with
    /// others: each group's runs, oldest group first.
    pub fn groups(&mut self, filter: &Filter) -> Result<Vec<Vec<RunId>>, StoreError> {
        self.ask(|engine| figures::groups(engine, filter))
    }

    /// The documents of these runs without their tests; runs deleted in the meantime are left out.
    pub fn headers(&mut self, runs: &[RunId]) -> Result<Vec<(RunId, RunDocument)>, StoreError> {
        self.ask(|engine| reading::headers(engine, runs))
    }

    /// Numbers of the runs that match a filter, newest first.
    pub fn ids(&mut self, filter: &Filter) -> Result<Vec<RunId>, StoreError> {
        self.ask(|engine| Ok(list::ids(engine, filter)?.into_iter().map(RunId).collect()))
    }

    /// The run `before` places before the newest, without runs that are being measured; `None` if
    /// there are not that many.
    pub fn newest(&mut self, whose: &HostScope, before: u32) -> Result<Option<RunId>, StoreError> {
        self.ask(|engine| Ok(history::newest(engine, whose, before)?.map(RunId)))
    }

    /// At most `count` complete runs before this one of the same suite, target, host and drives,
    /// newest first.
    pub fn earlier(&mut self, run: RunId, count: u32) -> Result<Vec<RunId>, StoreError> {
        self.ask(|engine| {
            let now = list::summaries(engine, &[run.0])?.pop().ok_or(Problem::NoRun(run))?;
            history::earlier(engine, &now, count)
        })
    }

    /// Adds tags to a run; existing ones stay.
    pub fn tag(&mut self, run: RunId, tags: &[Tag]) -> Result<(), StoreError> {
        self.write(|engine| {
            expect(engine, run)?;
            tags.iter().try_for_each(|tag| writing::tag(engine, run, tag))
        })
    }

    /// Removes tags from a run; tags that it does not have are ignored.
    pub fn untag(&mut self, run: RunId, tags: &[Tag]) -> Result<(), StoreError> {
        self.write(|engine| {
            expect(engine, run)?;
            tags.iter().try_for_each(|tag| {
                let sql = "DELETE FROM tags WHERE run = $1 AND tag = $2";
                engine.execute(sql, &[run.0.into(), tag.as_str().into()]).map(drop)
            })
        })
    }

    /// Replaces a run's note; an empty note removes it.
    pub fn note(&mut self, run: RunId, note: &str) -> Result<(), StoreError> {
        self.write(|engine| {
            match engine
                .execute("UPDATE runs SET note = $1 WHERE id = $2", &[note.into(), run.0.into()])?
            {
                0 => Err(Problem::NoRun(run)),
                _ => Ok(()),
            }
        })
    }

    /// Deletes runs: all of them or, if one is missing or still being measured, none.
    pub fn delete(&mut self, runs: &[RunId]) -> Result<(), StoreError> {
        self.write(|engine| {
            for &run in runs {
                let summary =
                    list::summaries(engine, &[run.0])?.pop().ok_or(Problem::NoRun(run))?;
                if summary.state == State::Running {
                    return Err(Problem::Running(run));
                }
                engine.execute("DELETE FROM runs WHERE id = $1", &[run.0.into()])?;
            }
            Ok(())
        })
    }

    /// Copies the runs of another store that this one does not have, oldest first, with their tags
    /// and notes. Runs that are already here stay as they are, except that an interrupted run is
    /// completed if the other store has all of it. Each run is a separate transaction, so what was
    /// copied before a failure stays, and a second attempt resumes there.
    pub fn copy_from(&mut self, other: &mut Store) -> Result<Copied, StoreError> {
        let mut copied = Copied::default();
        for summary in other.list(&Filter::default())?.into_iter().rev() {
            if summary.state == State::Running {
                copied.running += 1;
            } else if self.has_whole(summary.uuid)? {
                copied.already += 1;
            } else {
                match other.get(summary.id) {
                    Ok(kept) => match self.insert_copy(&kept)? {
                        Inserted::Already(_) => copied.already += 1,
                        Inserted::New(run) | Inserted::Completed(run) => copied.new.push(run),
                    },
                    // Deleted since the list was read.
                    Err(StoreError { problem: Problem::NoRun(_), .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(copied)
    }

    fn insert_copy(&mut self, kept: &StoredRun) -> Result<Inserted, StoreError> {
        let entry = entry_of(kept).map_err(|problem| self.error(problem))?;
        Ok(self.insertion(&[(&kept.document, entry)])?[0])
    }

    /// Returns whether this store has a complete run with this identity.
    fn has_whole(&mut self, uuid: Uuid) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM runs WHERE uuid = $1 AND state = 'complete'";
        self.ask(|engine| Ok(engine.one(sql, &[uuid.to_string().as_str().into()])?.is_some()))
    }
}

fn new_entry<'a>(document: &RunDocument, origin: &'a Origin) -> Result<Entry<'a>, Problem> {
    Ok(Entry {
        uuid: Uuid::now_v7(),
        digest: Some(digest(document)?),
        at: writing::at(document),
        host: origin.host.as_deref(),
        state: End::of(document).into(),
        writer: None,
        note: "",
        tags: &[],
    })
}

/// The entry of a run that another store has.
fn entry_of(StoredRun { summary, document }: &StoredRun) -> Result<Entry<'_>, Problem> {
    Ok(Entry {
        uuid: summary.uuid,
        digest: Some(digest(document)?),
        at: summary.at,
        host: summary.host.as_deref(),
        state: summary.state,
        writer: None,
        note: &summary.note,
        tags: &summary.tags,
    })
}

/// Stores a whole document with this entry, unless the store has it or its first part.
fn keep(
    engine: &mut dyn Engine,
    document: &RunDocument,
    entry: &Entry<'_>,
) -> Result<Inserted, Problem> {
    match identity::find(engine, document, entry.digest.as_deref().unwrap_or_default())? {
        Known::Whole(run) => return Ok(Inserted::Already(run)),
        Known::Half(run) => {
            let kept = kept_tests(engine, run)?;
            writing::end(engine, run, kept, document, entry.state)?;
            return Ok(Inserted::Completed(run));
        }
        Known::No => {}
    }
    let Some(id) = writing::run(engine, document, entry)? else {
        let uuid = entry.uuid.to_string();
        let row = engine.one("SELECT id FROM runs WHERE uuid = $1", &[uuid.as_str().into()])?;
        let row = row.ok_or_else(|| Problem::Damaged(format!("the run {uuid} is gone")))?;
        return Ok(Inserted::Already(RunId(row.integer(0)?)));
    };
    writing::tests(engine, id, 0, &document.results)?;
    Ok(Inserted::New(id))
}
