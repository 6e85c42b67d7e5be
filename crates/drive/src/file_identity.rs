//! Compares files by device and inode number.
//!
//! A file has many names: hard links, bind mounts, other mount namespaces. Device and inode number
//! are the same under all of them.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{DeviceNumber, MountTable, SystemRoot};

/// Device and inode number, as reported by `stat` and the kernel's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    pub(crate) device: DeviceNumber,
    pub(crate) inode: u64,
}

impl FileIdentity {
    pub(crate) fn of(path: &Path) -> io::Result<FileIdentity> {
        let found = fs::metadata(path)?;
        Ok(FileIdentity { device: DeviceNumber::from_dev(found.dev()), inode: found.ino() })
    }
}

/// A file, to be compared with names from the kernel's tables.
pub(crate) struct NamedFile<'a> {
    root: &'a SystemRoot,
    mounts: &'a MountTable,
    path: &'a Path,
    identity: Option<FileIdentity>,
}

impl<'a> NamedFile<'a> {
    /// `path` is canonical.
    pub(crate) fn new(
        root: &'a SystemRoot,
        mounts: &'a MountTable,
        path: &'a Path,
    ) -> NamedFile<'a> {
        NamedFile { root, mounts, path, identity: FileIdentity::of(&root.path(path)).ok() }
    }

    /// `None` for a file of a captured tree, which has only a name.
    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        self.identity
    }

    /// Returns whether `name` may have led to this file where it was used, and leads nowhere here:
    /// the file was removed, or is in a directory that cannot be reached.
    pub(crate) fn may_have_been(&self, name: &Path) -> bool {
        // The kernel appends this to the path of a file that was removed (d_path).
        if name.as_os_str().as_bytes().ends_with(b" (deleted)") {
            return true;
        }
        let holder = self.mounts.holding(name, None);
        let is_remote = holder.is_some_and(|mount| mount.file_server().is_some());
        !is_remote && fs::metadata(self.root.path(name)).is_err()
    }

    /// The file's path on this machine.
    pub(crate) fn real_path(&self) -> PathBuf {
        self.root.path(self.path)
    }

    /// Returns whether `name`, if given in canonical form, leads to this file here.
    pub(crate) fn is_named(&self, name: &Path) -> bool {
        let Some(identity) = self.identity else { return name == self.path };
        if name == self.path {
            return true;
        }
        // A server that does not answer would block this process unkillably. The file's own server
        // has just answered.
        let holder = self.mounts.holding(name, None);
        if holder
            .is_some_and(|mount| mount.file_server().is_some() && mount.device != identity.device)
        {
            return false;
        }
        name.is_absolute()
            && FileIdentity::of(&self.root.path(name)).is_ok_and(|found| found == identity)
    }
}
