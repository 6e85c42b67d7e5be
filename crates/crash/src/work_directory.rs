//! The directory for a test's mount points. Its name contains the process ID, so those of killed
//! processes can be found and removed.

use std::fs::{DirBuilder, DirEntry};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The prefix of all names; the process ID and a number follow.
const OURS: &str = "flushmark-crash-";
/// A killed process with the same ID may have left mounts behind, but hardly this often.
const NUMBERS_MAX: u32 = 100;

/// A directory for this process only. Dropping it removes everything that is not mounted there.
#[derive(Debug)]
pub struct WorkDirectory {
    path: PathBuf,
}

impl WorkDirectory {
    /// Creates a directory, and removes those left in `parent` by this user's killed processes.
    pub fn new(parent: &Path) -> io::Result<WorkDirectory> {
        for left in left_behind(parent) {
            remove(&left);
        }
        let own = |number: u32| parent.join(format!("{OURS}{}-{number}", std::process::id()));
        for path in (0..NUMBERS_MAX).map(own) {
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| WorkDirectory { path }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a directory with its files and empty directories. A mount keeps its mount point, and
/// thereby the directory: nothing is ever removed inside a mounted filesystem.
fn remove(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => std::fs::remove_dir(path),
            _ => std::fs::remove_file(path),
        };
    }
    let _ = std::fs::remove_dir(directory);
}

/// Directories of this user whose process has ended.
fn left_behind(parent: &Path) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let is_gone = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
    let is_left = |entry: &DirEntry| {
        entry.file_name().to_str().and_then(process_of).is_some_and(is_gone)
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(is_left).map(|entry| entry.path()).collect()
}

fn process_of(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(OURS)?.split_once('-')?;
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let names = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The ID of a process that has ended.
    fn gone() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{OURS}{}-0", gone()));
        std::fs::create_dir_all(left.join("states")).unwrap();
        std::fs::write(left.join("printed-0"), "1\n").unwrap();
        // These stay: that of a live process, one without a process ID, and a file.
        let lives = format!("{OURS}{}-7", std::os::unix::process::parent_id());
        std::fs::create_dir(parent.path().join(&lives)).unwrap();
        std::fs::create_dir(parent.path().join("flushmark-crash-mine")).unwrap();
        let file = format!("{OURS}{}-0", gone());
        std::fs::write(parent.path().join(&file), "").unwrap();
        let work = WorkDirectory::new(parent.path()).unwrap();
        let own = work.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![own, lives, file, "flushmark-crash-mine".to_owned()];
        expected.sort();
        assert_eq!(entries(parent.path()), expected);
        std::fs::create_dir(work.path().join("drives")).unwrap();
        drop(work);
        assert_eq!(entries(parent.path()).len(), 3, "its own is removed");
    }

    #[test]
    fn nothing_is_removed_that_is_in_use() {
        let parent = tempfile::tempdir().unwrap();
        // A non-empty directory replaces a mounted filesystem: neither can be removed.
        let left = parent.path().join(format!("{OURS}{}-0", gone()));
        std::fs::create_dir_all(left.join("mounted")).unwrap();
        std::fs::write(left.join("mounted/file"), "precious").unwrap();
        let first = WorkDirectory::new(parent.path()).unwrap();
        let second = WorkDirectory::new(parent.path()).unwrap();
        assert_ne!(first.path(), second.path());
        assert_eq!(std::fs::read_to_string(left.join("mounted/file")).unwrap(), "precious");
    }
}
