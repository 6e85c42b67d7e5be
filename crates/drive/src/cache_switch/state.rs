//! The state file: one JSON file per drive that records the state of its cache before a change.
//!
//! The file is written durably (new file, fsync, rename, fsync of the directory) before the drive
//! is touched, and removed after the old state is restored. A lock file beside it is held as long
//! as a process may switch the drive; `flock` ends with the process, so a killed run leaves its
//! record behind but no lock.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache_switch::Identity;

/// Default state directory: it has to survive a reboot.
pub const SYSTEM_STATE_DIR: &str = "/var/lib/flushmark";

const SCHEMA: &str = "flushmark/cache-record/1";

/// The origin of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The user, with `flushmark cache on|off`: meant to stay.
    Command,
    /// A run, for the duration of its tests.
    Run,
}

/// One change, with the state that it replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// True if the cache was on before.
    pub was_on: bool,
    /// True if the kernel sent no flushes although the cache was on. Such a state was found before
    /// the change, and may be restored.
    pub was_unflushed: bool,
    pub by: By,
    /// Process that made the change.
    pub pid: u32,
    /// Time of the change, in seconds since 1970.
    pub at_unix_s: u64,
}

impl Change {
    /// A change by this process at this moment.
    pub fn now(was_on: bool, was_unflushed: bool, by: By) -> Change {
        let at_unix_s =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Change { was_on, was_unflushed, by, pid: std::process::id(), at_unix_s }
    }
}

/// The recorded changes of one drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    schema: String,
    pub drive: Identity,
    /// Its changes, the oldest first; never empty on disk.
    pub changes: Vec<Change>,
}

impl Record {
    pub fn new(drive: Identity, changes: Vec<Change>) -> Record {
        Record { schema: SCHEMA.to_owned(), drive, changes }
    }
}

/// A problem with the state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("{drive} is being switched by another flushmark{}: wait until it is done", pid(*.holder))]
    Locked {
        /// Model and serial number.
        drive: String,
        /// Its process, where known.
        holder: Option<u32>,
    },
    #[error(
        "the record of changes in {} is damaged ({what}), so the previous state of that cache is \
         unknown; it was kept as {}: examine it, set the cache with `flushmark cache on|off`, and \
         remove it",
        .path.display(), .kept.display()
    )]
    Damaged {
        /// The record's original path.
        path: PathBuf,
        /// The damage, as half a sentence.
        what: String,
        /// Its current path.
        kept: PathBuf,
    },
    #[error("{} is the record of {other}, not of {drive}; nothing was changed", .path.display())]
    Foreign {
        /// The record's path.
        path: PathBuf,
        /// The drive that the record describes.
        other: String,
        drive: String,
    },
    #[error("cannot {what} {}: {source}; the cache could not be restored without it, so nothing \
             was changed (set FLUSHMARK_STATE_DIR to use another directory)", .path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
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
    /// Uses `directory`, which is created with the first record.
    pub fn new(directory: impl Into<PathBuf>) -> StateDir {
        StateDir(directory.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Locks a drive and reads its record.
    ///
    /// # Errors
    /// [`StateError::Locked`] while another process holds the lock, [`StateError::Damaged`] for an
    /// invalid record (which is moved aside), [`StateError::Io`] when the directory cannot be
    /// written to.
    pub fn lock(&self, drive: &Identity) -> Result<LockedRecord, StateError> {
        fs::create_dir_all(&self.0).map_err(|source| io_error("create", &self.0, source))?;
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
            return Err(StateError::Locked {
                drive: drive.title(),
                holder: holder.trim().parse().ok(),
            });
        }
        let written = lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id()));
        written.map_err(|source| io_error("write", &lock_path, source))?;
        let path = self.0.join(format!("{stem}.json"));
        let mut record =
            LockedRecord { path, drive: drive.clone(), changes: Vec::new(), _lock: lock };
        if let Some(kept) = read_record(&record.path).transpose() {
            match kept {
                Ok(kept) if kept.drive.is_same(drive) => record.changes = kept.changes,
                Ok(kept) => {
                    let (other, drive) = (kept.drive.title(), drive.title());
                    return Err(StateError::Foreign { path: record.path, other, drive });
                }
                Err(Unread::Io(source)) => return Err(io_error("read", &record.path, source)),
                Err(Unread::NotARecord(what)) => return Err(move_aside(&record.path, &what)?),
            }
        }
        Ok(record)
    }

    /// Lists all records, and whether a process holds each now. Changes nothing.
    ///
    /// # Errors
    /// When the directory or a record exists but cannot be read.
    pub fn records(&self) -> Result<Vec<StoredRecord>, StateError> {
        let records = self
            .files(|ending| ending == "json")?
            .into_iter()
            .filter_map(|path| kept(path).transpose());
        records.collect()
    }

    /// Invalid records that were moved aside.
    ///
    /// # Errors
    /// When the directory exists but cannot be read.
    pub fn kept_aside(&self) -> Result<Vec<PathBuf>, StateError> {
        self.files(|ending| ending.starts_with("damaged"))
    }

    /// Returns whether `path` is where the record of a drive belongs, whatever it contains.
    pub(super) fn is_record_of(path: &Path, drive: &Identity) -> bool {
        path.file_stem().is_some_and(|stem| stem.to_string_lossy() == drive.file_stem())
    }

    fn files(&self, has: fn(&str) -> bool) -> Result<Vec<PathBuf>, StateError> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error("read", &self.0, source)),
        };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().and_then(|ending| ending.to_str()).is_some_and(has));
        paths.sort();
        Ok(paths)
    }
}

/// Takes the lock. A process that only checks whether it is taken holds it for a moment, so try for
/// a while.
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

/// A record found in the directory.
#[derive(Debug)]
pub struct StoredRecord {
    pub path: PathBuf,
    /// The content, or what is wrong with it.
    pub record: Result<Record, String>,
    /// True if a process holds the drive's lock.
    pub is_locked: bool,
}

fn kept(path: PathBuf) -> Result<Option<StoredRecord>, StateError> {
    let record = match read_record(&path) {
        Ok(None) => return Ok(None),
        Ok(Some(record)) => Ok(record),
        // A file that cannot be read now may still be valid.
        Err(Unread::Io(source)) => return Err(io_error("read", &path, source)),
        Err(Unread::NotARecord(what)) => Err(what),
    };
    let lock = File::open(path.with_extension("lock"));
    let is_locked = lock.is_ok_and(|lock| {
        matches!(
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared),
            Err(rustix::io::Errno::WOULDBLOCK)
        )
    });
    Ok(Some(StoredRecord { path, record, is_locked }))
}

enum Unread {
    Io(io::Error),
    NotARecord(String),
}

/// `None` if the file does not exist.
fn read_record(path: &Path) -> Result<Option<Record>, Unread> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Unread::Io(error)),
    };
    let record: Record =
        serde_json::from_slice(&bytes).map_err(|error| Unread::NotARecord(error.to_string()))?;
    if record.schema != SCHEMA {
        return Err(Unread::NotARecord(format!(
            "unknown schema `{}`; expected `{SCHEMA}`",
            record.schema
        )));
    }
    if record.changes.is_empty() {
        return Err(Unread::NotARecord("it has no changes".to_owned()));
    }
    Ok(Some(record))
}

/// Moves a damaged record aside without overwriting an earlier one.
pub(super) fn move_aside(path: &Path, what: &str) -> Result<StateError, StateError> {
    let free = (0_u32..).map(|number| {
        let ending = if number == 0 { "damaged".to_owned() } else { format!("damaged-{number}") };
        path.with_extension(ending)
    });
    let kept = free
        .into_iter()
        .find(|path| !path.exists())
        .unwrap_or_else(|| path.with_extension("damaged"));
    fs::rename(path, &kept).map_err(|source| io_error("move aside", path, source))?;
    Ok(StateError::Damaged { path: path.to_owned(), what: what.to_owned(), kept })
}

fn io_error(what: &'static str, path: &Path, source: io::Error) -> StateError {
    StateError::Io { what, path: path.to_owned(), source }
}

fn sync_directory(path: &Path) -> Result<(), StateError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| io_error("sync", path, source))
}

/// Replaces a file; the new content is durable when it returns.
pub(crate) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
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
    /// The latest change that has not been undone.
    pub fn last(&self) -> Option<&Change> {
        self.changes.last()
    }

    /// The oldest change made by runs since the user's last change.
    pub(super) fn first_by_run(&self) -> Option<&Change> {
        self.changes.iter().rev().take_while(|change| change.by == By::Run).last()
    }

    /// Records a change. Durable when it returns.
    pub(super) fn push(&mut self, change: Change) -> Result<(), StateError> {
        self.changes.push(change);
        self.write().inspect_err(|_| {
            self.changes.pop();
        })
    }

    /// Removes the latest change.
    pub(super) fn pop(&mut self) -> Result<(), StateError> {
        self.changes.pop();
        if !self.changes.is_empty() {
            return self.write();
        }
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(io_error("remove", &self.path, source))
            }
            _ => self.sync_parent(),
        }
    }

    fn write(&self) -> Result<(), StateError> {
        let record = Record::new(self.drive.clone(), self.changes.clone());
        serde_json::to_vec_pretty(&record)
            .map_err(io::Error::from)
            .and_then(|text| write_durably(&self.path, &text))
            .map_err(|source| io_error("write", &self.path, source))
    }

    fn sync_parent(&self) -> Result<(), StateError> {
        self.path.parent().map_or(Ok(()), sync_directory)
    }
}
