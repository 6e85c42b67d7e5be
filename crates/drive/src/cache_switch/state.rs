//! The state file: one JSON file a drive, which says how its cache stood before it was changed.
//!
//! It is written durably (new file, fsync, rename, fsync of the directory) before the drive is touched, and removed after the old
//! state is back. A lock file beside it is held as long as a process may switch the drive; `flock` ends with the process, so a
//! killed run leaves no lock behind, only its record.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache_switch::Identity;

/// Where state is kept unless somebody names another place: it has to survive a reboot.
pub const SYSTEM_STATE_DIR: &str = "/var/lib/flushmark";

const SCHEMA: &str = "flushmark/cache-record/1";

/// Who changed a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A person, by `flushmark cache on|off`: meant to stay.
    Command,
    /// A run, for the time of its tests.
    Run,
}

/// One change, and what it replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Whether the cache was on before.
    pub was_on: bool,
    /// Whether the kernel sent no flushes to it, although it was on: that state was found, and may be put back.
    pub was_unflushed: bool,
    /// Who changed it.
    pub by: By,
    /// Their process.
    pub pid: u32,
    /// When, in seconds since 1970.
    pub at_unix_s: u64,
}

impl Change {
    /// A change by this process at this moment.
    pub fn now(was_on: bool, was_unflushed: bool, by: By) -> Change {
        let at_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Change { was_on, was_unflushed, by, pid: std::process::id(), at_unix_s }
    }
}

/// What is written down about a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    schema: String,
    /// Which drive.
    pub drive: Identity,
    /// Its changes, the oldest first; never empty on disk.
    pub changes: Vec<Change>,
}

impl Record {
    /// Of a drive and its changes.
    pub fn new(drive: Identity, changes: Vec<Change>) -> Record {
        Record { schema: SCHEMA.to_owned(), drive, changes }
    }
}

/// What is wrong with the state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another process may be switching this drive.
    #[error("{drive} is being switched by another flushmark{}: wait until it is done", pid(*.holder))]
    Locked {
        /// Which drive.
        drive: String,
        /// Its process, where it could be told.
        holder: Option<u32>,
    },
    /// A record cannot be understood. It has been kept aside.
    #[error(
        "the record of what was changed in {} is damaged ({what}), so nobody can say how that cache stood before; it was kept as {}: look at it, set the cache as you want it with `flushmark cache on|off`, and remove it",
        .path.display(), .kept.display()
    )]
    Damaged {
        /// The record's file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// Where it is now.
        kept: PathBuf,
    },
    /// The file where this drive's record would be is about another one. It is left alone.
    #[error("{} is the record of {other} and not of {drive}, so nothing is changed", .path.display())]
    Foreign {
        /// The record's file.
        path: PathBuf,
        /// Which drive it is about.
        other: String,
        /// Which drive was meant.
        drive: String,
    },
    /// A record cannot be written or read, so nothing is changed.
    #[error("cannot {what} {}: {source}; without it nothing could be put back, so nothing is changed (FLUSHMARK_STATE_DIR names another directory)", .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

fn pid(holder: Option<u32>) -> String {
    holder.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// The directory of state files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// At `directory`, which is made when the first record is written.
    pub fn new(directory: impl Into<PathBuf>) -> StateDir {
        StateDir(directory.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes the lock of a drive and reads its record.
    ///
    /// # Errors
    /// [`StateError::Locked`] while another process holds it, [`StateError::Damaged`] for a record that makes no sense (kept aside),
    /// [`StateError::Io`] when the directory cannot be written to.
    pub fn lock(&self, drive: &Identity) -> Result<LockedRecord, StateError> {
        fs::create_dir_all(&self.0).map_err(|source| io_error("make", &self.0, source))?;
        if let Some(parent) = self.0.parent() {
            // A relative path of one part has an empty parent.
            sync_directory(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
        }
        let stem = drive.file_stem();
        let lock_path = self.0.join(format!("{stem}.lock"));
        let mut lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(|source| io_error("open", &lock_path, source))?;
        if let Err(error) = take(&lock) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(io_error("lock", &lock_path, error.into()));
            }
            let mut holder = String::new();
            let _ = lock.read_to_string(&mut holder);
            return Err(StateError::Locked { drive: drive.title(), holder: holder.trim().parse().ok() });
        }
        let written = lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id()));
        written.map_err(|source| io_error("write", &lock_path, source))?;
        let path = self.0.join(format!("{stem}.json"));
        let mut record = LockedRecord { path, drive: drive.clone(), changes: Vec::new(), _lock: lock };
        if let Some(kept) = read_record(&record.path).transpose() {
            match kept {
                Ok(kept) if kept.drive.is_same(drive) => record.changes = kept.changes,
                Ok(kept) => {
                    let (other, drive) = (kept.drive.title(), drive.title());
                    return Err(StateError::Foreign { path: record.path, other, drive });
                }
                Err(Unread::Io(source)) => return Err(io_error("read", &record.path, source)),
                Err(Unread::NotARecord(what)) => return Err(keep_aside(&record.path, &what)?),
            }
        }
        Ok(record)
    }

    /// All records, and whether a process holds each at this moment; reads only.
    ///
    /// # Errors
    /// When the directory or a record is there and cannot be read.
    pub fn records(&self) -> Result<Vec<Kept>, StateError> {
        let records = self.files(|ending| ending == "json")?.into_iter().filter_map(|path| kept(path).transpose());
        records.collect()
    }

    /// Records that made no sense and were kept aside.
    ///
    /// # Errors
    /// When the directory is there and cannot be read.
    pub fn kept_aside(&self) -> Result<Vec<PathBuf>, StateError> {
        self.files(|ending| ending.starts_with("damaged"))
    }

    /// Whether a file is where the record of a drive lies, whatever it says.
    pub(super) fn is_record_of(path: &Path, drive: &Identity) -> bool {
        path.file_stem().is_some_and(|stem| stem.to_string_lossy() == drive.file_stem())
    }

    fn files(&self, has: fn(&str) -> bool) -> Result<Vec<PathBuf>, StateError> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error("read", &self.0, source)),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().and_then(|ending| ending.to_str()).is_some_and(has));
        paths.sort();
        Ok(paths)
    }
}

/// Takes the lock. Whoever looks whether it is taken holds it for a moment, so that it is tried for a while.
fn take(lock: &File) -> rustix::io::Result<()> {
    const TRIES: u32 = 10;
    for _ in 1..TRIES {
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            taken => return taken,
        }
    }
    rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive)
}

/// A record as it lies in the directory.
#[derive(Debug)]
pub struct Kept {
    /// Its file.
    pub path: PathBuf,
    /// What it says, or what is wrong with it.
    pub record: Result<Record, String>,
    /// Whether a process holds the drive's lock.
    pub is_locked: bool,
}

fn kept(path: PathBuf) -> Result<Option<Kept>, StateError> {
    let record = match read_record(&path) {
        Ok(None) => return Ok(None),
        Ok(Some(record)) => Ok(record),
        // What cannot be read at this moment may be sound.
        Err(Unread::Io(source)) => return Err(io_error("read", &path, source)),
        Err(Unread::NotARecord(what)) => Err(what),
    };
    let lock = File::open(path.with_extension("lock"));
    let is_locked = lock.is_ok_and(|lock| {
        matches!(rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
    });
    Ok(Some(Kept { path, record, is_locked }))
}

enum Unread {
    Io(io::Error),
    NotARecord(String),
}

/// `None` when there is no such file.
fn read_record(path: &Path) -> Result<Option<Record>, Unread> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Unread::Io(error)),
    };
    let record: Record = serde_json::from_slice(&bytes).map_err(|error| Unread::NotARecord(error.to_string()))?;
    if record.schema != SCHEMA {
        return Err(Unread::NotARecord(format!("its schema is `{}` and not `{SCHEMA}`", record.schema)));
    }
    if record.changes.is_empty() {
        return Err(Unread::NotARecord("it has no changes".to_owned()));
    }
    Ok(Some(record))
}

/// Moves a damaged record out of the way without overwriting an earlier one.
pub(super) fn keep_aside(path: &Path, what: &str) -> Result<StateError, StateError> {
    let free = (0_u32..).map(|number| {
        let ending = if number == 0 { "damaged".to_owned() } else { format!("damaged-{number}") };
        path.with_extension(ending)
    });
    let kept = free.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &kept).map_err(|source| io_error("move aside", path, source))?;
    Ok(StateError::Damaged { path: path.to_owned(), what: what.to_owned(), kept })
}

fn io_error(what: &'static str, path: &Path, source: io::Error) -> StateError {
    StateError::Io { what, path: path.to_owned(), source }
}

fn sync_directory(path: &Path) -> Result<(), StateError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(|source| io_error("sync", path, source))
}

/// The record of a drive whose lock this process holds.
#[derive(Debug)]
pub struct LockedRecord {
    path: PathBuf,
    drive: Identity,
    changes: Vec<Change>,
    _lock: File,
}

impl LockedRecord {
    /// The latest change that has not been put back.
    pub fn last(&self) -> Option<&Change> {
        self.changes.last()
    }

    /// The oldest change by runs since a person last changed anything.
    pub(super) fn first_by_run(&self) -> Option<&Change> {
        self.changes.iter().rev().take_while(|change| change.by == By::Run).last()
    }

    /// Writes a change down. Durable when it returns.
    pub(super) fn push(&mut self, change: Change) -> Result<(), StateError> {
        self.changes.push(change);
        self.write().inspect_err(|_| {
            self.changes.pop();
        })
    }

    /// Strikes the latest change.
    pub(super) fn pop(&mut self) -> Result<(), StateError> {
        self.changes.pop();
        if !self.changes.is_empty() {
            return self.write();
        }
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &self.path, source)),
            _ => self.sync_parent(),
        }
    }

    fn write(&self) -> Result<(), StateError> {
        let record = Record::new(self.drive.clone(), self.changes.clone());
        let new = self.path.with_extension("new");
        let text = serde_json::to_vec_pretty(&record).map_err(|error| io_error("write", &new, error.into()))?;
        let mut file = File::create(&new).map_err(|source| io_error("make", &new, source))?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(|source| io_error("write", &new, source))?;
        fs::rename(&new, &self.path).map_err(|source| io_error("write", &self.path, source))?;
        self.sync_parent()
    }

    fn sync_parent(&self) -> Result<(), StateError> {
        self.path.parent().map_or(Ok(()), sync_directory)
    }
}
