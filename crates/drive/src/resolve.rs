//! The file that a path leads to.

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The absolute path, without links, of the file that `path` leads to for the kernel.
///
/// The kernel follows the links. It does not follow another user's link in a directory that
/// everybody may write to (`fs.protected_symlinks`); a program that reads the links itself would.
///
/// # Errors
/// As the kernel reports them: `NotFound` for a dangling link, `PermissionDenied` for a link that it
/// does not follow. `NotFound` as well for a file that has no name any more.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let resolved = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let is_same = fs::symlink_metadata(&resolved).map(identity)? == identity(opened.metadata()?);
    if is_same { Ok(resolved) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Returns whether only a device may have this path, without links: a new file there would be in
/// memory, and the name is a typing error.
pub fn is_device_path(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

/// Returns whether a file created by this path, with its links followed, would be at a device's
/// path (see [`is_device_path`]).
pub fn leads_to_device_path(path: &Path) -> bool {
    // As many links as the kernel follows.
    const LINKS_MAX: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    let directory = path.parent().map(|parent| Path::new(".").join(parent).join("."));
    directory
        .and_then(|directory| fs::canonicalize(directory).ok())
        .zip(path.file_name())
        .is_some_and(|(directory, name)| is_device_path(&directory.join(name)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_the_file_and_a_dangling_one_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(directory.path()).unwrap();
        let file = top.join("fi le");
        fs::write(&file, "").unwrap();
        fs::create_dir(top.join("sub")).unwrap();
        symlink("../fi le", top.join("sub/link")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        for (path, leads_to) in [("fi le", &file), ("sub/link", &file), ("sub/..", &top)] {
            assert_eq!(resolve(&top.join(path)).unwrap(), *leads_to, "{path}");
        }
        for path in ["dangling", "absent", "fi le/below"] {
            assert!(resolve(&top.join(path)).is_err(), "{path}");
        }
        assert_eq!(resolve(&top.join("dangling")).unwrap_err().kind(), io::ErrorKind::NotFound);
        // A file that has lost its name, of which the kernel shows `NAME (deleted)`.
        let held = fs::File::open(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let by_number = format!("/proc/self/fd/{}", held.as_raw_fd());
        assert_eq!(resolve(Path::new(&by_number)).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
