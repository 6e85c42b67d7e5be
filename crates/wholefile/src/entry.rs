//! A name in a directory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

/// A name in an open directory, which cannot be exchanged meanwhile.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) directory: OwnedFd,
    pub(crate) name: OsString,
}

impl Entry {
    /// From a path that ends in a name.
    pub(crate) fn of(path: &Path) -> Result<Entry, Errno> {
        // `rename` would fail with the same error, but too late.
        let ends_in_slash = path.as_os_str().as_bytes().ends_with(b"/");
        let Some(name) = path.file_name().filter(|_| !ends_in_slash) else {
            return Err(Errno::ISDIR);
        };
        // With the dot at the end, the kernel follows links in the directory as when it opens the
        // whole path.
        let directory = directory_of(path).join(".");
        let directory = rustix::fs::open(
            directory,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Entry { directory, name: name.to_owned() })
    }

    /// From the file that the kernel opened by this path, following links. `None` if no name that
    /// leads to the file is found.
    pub(crate) fn of_open(path: &Path, file: &File, found: &Stat) -> Option<Entry> {
        let leads_there = |entry: &Entry| {
            statat(&entry.directory, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|named| (named.st_dev, named.st_ino) == (found.st_dev, found.st_ino))
        };
        Entry::of(path).ok().filter(leads_there).or_else(|| {
            let resolved = std::fs::read_link(by_descriptor(file)).ok()?;
            Entry::of(&resolved).ok().filter(leads_there)
        })
    }

    /// The path without links, as in the kernel's tables; `None` without procfs.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        Some(std::fs::read_link(by_descriptor(&self.directory)).ok()?.join(&self.name))
    }

    /// Makes the name durable by syncing its directory. Ignores filesystems that cannot sync
    /// directories, and directories that can be written but not read.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let opened = openat(
            &self.directory,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        match opened.and_then(rustix::fs::fsync) {
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// A path that leads to an open file.
pub(crate) fn by_descriptor(file: &impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// The directory of a path, which may be a bare name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_in_the_current_directory() {
        assert_eq!(directory_of(Path::new("out")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/out")), Path::new("a"));
        Entry::of(Path::new("out")).unwrap().sync().unwrap();
        assert_eq!(Entry::of(Path::new("no such directory/out")).err(), Some(Errno::NOENT));
        assert_eq!(Entry::of(Path::new("out/")).err(), Some(Errno::ISDIR));
        assert_eq!(Entry::of(Path::new("..")).err(), Some(Errno::ISDIR));
    }
}
