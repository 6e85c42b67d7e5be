//! The state file: one JSON file a drive, which says how its cache stood before it was changed.
//!
//! It is written durably (new file, fsync, rename, fsync of the directory) before the drive is touched, and removed after the old
//! state is back. A lock file beside it is held as long as a process may switch the drive; `flock` ends with the process, so a
//! killed run leaves no lock behind, only its record.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::sysfs_place;
use crate::{BlockDevice, SystemRoot};

/// Where state is kept unless somebody names another place: it has to survive a reboot.
pub const SYSTEM_STATE_DIR: &str = "/var/lib/flushmark";

const SCHEMA: &str = "flushmark/cache-record/1";

/// Which drive a record is about. Kernel names change from boot to boot; model and serial number do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its size, in bytes.
    pub size_bytes: Option<u64>,
    /// Its place in sysfs, which stands in for a serial number where there is none.
    pub place: String,
    /// Its path when the record was made: for people only.
    pub path: String,
}

impl Identity {
    /// Of a disk.
    pub fn of(root: &SystemRoot, disk: &BlockDevice) -> Identity {
        let place = sysfs_place(root, disk.device).unwrap_or_default();
        let top = fs::canonicalize(root.path("")).unwrap_or_default();
        Identity {
            model: disk.model.clone(),
            serial: disk.serial.clone(),
            size_bytes: disk.size_bytes,
            place: lasting_place(place.strip_prefix(top).unwrap_or(&place)),
            path: disk.path.to_string_lossy().into_owned(),
        }
    }

    /// Whether both are the same drive.
    pub fn is_same(&self, other: &Identity) -> bool {
        let named = self.model == other.model && self.size_bytes == other.size_bytes;
        match (&self.serial, &other.serial) {
            (Some(ours), Some(theirs)) => named && ours == theirs,
            (None, None) => named && self.place == other.place,
            _ => false,
        }
    }

    /// Model and serial number, as people write them.
    pub fn title(&self) -> String {
        let model = self.model.as_deref().unwrap_or("the drive");
        match &self.serial {
            Some(serial) => format!("{model} ({serial})"),
            None => format!("{model} (was {})", self.path),
        }
    }

    fn file_stem(&self) -> String {
        let by = self.serial.as_deref().unwrap_or(&self.place);
        let name = format!("write-cache-{}-{by}", self.model.as_deref().unwrap_or("drive"));
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(200).collect()
    }
}

/// What of a place in sysfs stays the same from boot to boot: not the numbers that are given in the order of discovery.
fn lasting_place(place: &Path) -> String {
    let numbered = |part: &str, word: &str| {
        part.strip_prefix(word).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
    let above_name = parts.split_last().map_or(&[][..], |(_, above)| above);
    let lasting = above_name.iter().filter_map(|part| {
        let address: Vec<&str> = part.split(':').collect();
        match address.as_slice() {
            // Host, channel, target, unit: the first is such a number.
            [_, channel, target, unit] if part.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') => {
                Some(format!("{channel}:{target}:{unit}"))
            }
            _ if part.starts_with("target") || numbered(part, "host") => None,
            _ if numbered(part, "nvme") || numbered(part, "virtio") => None,
            _ => Some((*part).to_owned()),
        }
    });
    lasting.collect::<Vec<_>>().join("/")
}

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
    /// Who changed it.
    pub by: By,
    /// Their process.
    pub pid: u32,
    /// When, in seconds since 1970.
    pub at_unix_s: u64,
}

impl Change {
    /// A change by this process at this moment.
    pub fn now(was_on: bool, by: By) -> Change {
        let at_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Change { was_on, by, pid: std::process::id(), at_unix_s }
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
            sync_directory(parent)?;
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
        if let Err(error) = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
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
            match kept.and_then(|kept| if kept.drive.is_same(drive) { Ok(kept) } else { Err(Unread::Foreign) }) {
                Ok(kept) => record.changes = kept.changes,
                Err(Unread::Io(source)) => return Err(io_error("read", &record.path, source)),
                Err(unread) => return Err(keep_aside(&record.path, &unread.to_string())?),
            }
        }
        Ok(record)
    }

    /// All records, and whether a process holds each at this moment; reads only.
    ///
    /// # Errors
    /// When the directory is there and cannot be read.
    pub fn records(&self) -> Result<Vec<Kept>, StateError> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error("read", &self.0, source)),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        paths.sort();
        Ok(paths.into_iter().filter_map(kept).collect())
    }
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

fn kept(path: PathBuf) -> Option<Kept> {
    let record = match read_record(&path) {
        Ok(None) => return None,
        Ok(Some(record)) => Ok(record),
        Err(unread) => Err(unread.to_string()),
    };
    let lock = File::open(path.with_extension("lock"));
    let is_locked = lock.is_ok_and(|lock| {
        matches!(rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
    });
    Some(Kept { path, record, is_locked })
}

#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("{0}")]
    Io(io::Error),
    #[error("{0}")]
    NotARecord(String),
    #[error("it is about another drive")]
    Foreign,
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

    /// The oldest change of the runs that have not been put back.
    pub(super) fn first_by_run(&self) -> Option<&Change> {
        self.changes.iter().find(|change| change.by == By::Run)
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
