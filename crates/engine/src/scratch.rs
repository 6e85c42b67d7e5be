//! The test files of one run, in a separate directory.
//!
//! `.flushmark-PID-RANDOM` is created in the target directory, contains only files of this run, and
//! is always removed: by the run; by its [`Janitor`] if the run was killed; or by the next run if
//! machine and janitor went down together. A lock on the target directory prevents two runs from
//! disturbing each other.

use std::ffi::CString;
use std::fmt::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FlockOperation, Mode, OFlags, flock, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::error::EngineError;
use crate::janitor::Janitor;

/// The prefix of every run's directory.
const PREFIX: &str = ".flushmark-";
/// Accessible only to the user who runs flushmark.
const PRIVATE: Mode = Mode::RWXU;

/// The directory of a run.
#[derive(Debug)]
pub struct Scratch {
    /// Dropped first: by then the directory has been removed.
    janitor: Option<Janitor>,
    directory: OwnedFd,
    name: CString,
    /// Holds the lock.
    parent: OwnedFd,
    parent_path: PathBuf,
    /// Number of directories removed at the start, left by runs that went down with their machine.
    leftovers: u32,
}

impl Scratch {
    /// Creates the run's directory in `path`.
    ///
    /// # Errors
    /// Fails without permission, on a read-only filesystem, or if another run is using `path`.
    pub fn create(path: &Path) -> Result<Scratch, EngineError> {
        let call = |action| move |errno| EngineError::Call { action, path: path.to_owned(), errno };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| EngineError::opening(path, errno))?;
        // Some network filesystems do not support locks. Nothing then prevents a second run, but no
        // data is at risk.
        if flock(&parent, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(EngineError::AnotherRun { path: path.to_owned() });
        }
        let leftovers = remove_left_overs(&parent);
        let name = unique_name();
        mkdirat(&parent, &name, PRIVATE).map_err(|errno| match errno {
            Errno::ACCESS | Errno::PERM => EngineError::Permission {
                action: "write to",
                path: path.to_owned(),
                advice: "use a directory that you own",
            },
            Errno::ROFS => EngineError::ReadOnlyFilesystem { path: path.to_owned() },
            errno => {
                EngineError::Call { action: "create a directory in", path: path.to_owned(), errno }
            }
        })?;
        let watched = || {
            let directory = openat(&parent, &name, flags, Mode::empty())
                .map_err(call("open the new directory in"))?;
            let _ = flock(&directory, FlockOperation::NonBlockingLockExclusive);
            let janitor = Janitor::watch(parent.as_fd(), &name)
                .map_err(call("start the cleanup process for"))?;
            Ok((directory, janitor))
        };
        // Removing it by name needs no further descriptor, which may be what is missing.
        let (directory, janitor) = watched().inspect_err(|_: &EngineError| {
            let _ = unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        })?;
        Ok(Scratch {
            janitor: Some(janitor),
            directory,
            name,
            parent,
            parent_path: path.to_owned(),
            leftovers,
        })
    }

    /// The run's directory.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// The directory named by the user.
    pub fn parent_path(&self) -> &Path {
        &self.parent_path
    }

    /// Number of directories removed at the start, left by runs that went down with their machine.
    pub fn leftovers(&self) -> u32 {
        self.leftovers
    }

    /// Opens one of the run's files, creating it if necessary.
    ///
    /// # Errors
    /// As the kernel reports them; `EINVAL` for `O_DIRECT` if the filesystem does not support it.
    pub fn open(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat(
            &self.directory,
            name,
            flags | OFlags::CREATE | OFlags::CLOEXEC,
            Mode::RUSR | Mode::WUSR,
        )
    }

    /// The run's files with their sizes, except those for which `keep` returns `true`.
    pub fn files_except(&self, keep: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
        let Ok(entries) = Dir::read_from(&self.directory) else { return Vec::new() };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        let size = |name: &str| {
            statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(0, |stat| stat.st_size as u64)
        };
        names
            .filter(|name| !matches!(name.as_str(), "." | "..") && !keep(name))
            .map(|name| {
                let bytes = size(&name);
                (name, bytes)
            })
            .collect()
    }

    /// Removes one of the run's files, if it exists.
    pub fn remove(&self, name: &str) {
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_directory(&self.parent, &self.name, &self.directory);
        drop(self.janitor.take());
    }
}

fn unique_name() -> CString {
    let mut random = [0u8; 8];
    // Without random bytes, the process ID still makes the name unique among live runs.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let mut name = format!("{PREFIX}{}-", std::process::id());
    for byte in random {
        let _ = write!(name, "{byte:02x}");
    }
    CString::new(name).unwrap_or_default()
}

/// Removes the directories of dead runs. A live run holds a lock on its directory.
fn remove_left_overs(parent: &OwnedFd) -> u32 {
    let Ok(entries) = Dir::read_from(parent) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(directory) = openat(parent, name, flags, Mode::empty()) else { continue };
        if flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok()
            && remove_directory(parent, name, &directory)
        {
            removed += 1;
        }
    }
    removed
}

/// Removes a run's directory with its files and empty directories; returns `true` if it is gone.
fn remove_directory(parent: &OwnedFd, name: &std::ffi::CStr, directory: &OwnedFd) -> bool {
    if let Ok(entries) = Dir::read_from(directory) {
        for entry in entries.flatten() {
            let name = entry.file_name();
            if unlinkat(directory, name, AtFlags::empty()).is_err() {
                let _ = unlinkat(directory, name, AtFlags::REMOVEDIR);
            }
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(parent.path()).unwrap();
        scratch.open("job0", OFlags::RDWR).unwrap();
        mkdirat(scratch.directory(), "directory", PRIVATE).unwrap();
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
        drop(scratch);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_runs_in_one_directory_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let _first = Scratch::create(parent.path()).unwrap();
        assert!(matches!(Scratch::create(parent.path()), Err(EngineError::AnotherRun { .. })));
    }

    #[test]
    fn what_a_dead_run_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(".flushmark-1-00");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("job0"), "x").unwrap();
        std::fs::write(parent.path().join(".flushmark-notes"), "mine").unwrap();
        let scratch = Scratch::create(parent.path()).unwrap();
        assert_eq!(scratch.leftovers(), 1);
        assert!(!left.exists() && parent.path().join(".flushmark-notes").exists());
    }

    #[test]
    fn a_directory_without_permission_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        if rustix::process::geteuid().is_root() {
            eprintln!(
                "skipped: a_directory_without_permission_is_refused: root may write anywhere"
            );
            return;
        }
        let parent = tempfile::tempdir().unwrap();
        std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
        assert!(matches!(Scratch::create(parent.path()), Err(EngineError::Permission { .. })));
    }
}
