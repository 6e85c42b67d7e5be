//! New files without a name, so nothing is left behind however the program ends.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::entry::{Entry, by_descriptor};

/// Mode of a new file, before the umask.
pub(crate) const NEW: u32 = 0o666;

/// Mode of a file until it gets its final one.
pub(crate) const PRIVATE: u32 = 0o600;

/// Attempts to find a free random name; each collides with probability 2^-64.
const NAMES_MAX: u32 = 16;

/// A name that is removed on drop, unless it was renamed.
#[derive(Debug)]
pub(crate) struct TemporaryName {
    directory: OwnedFd,
    name: Option<OsString>,
}

impl TemporaryName {
    /// Creates something with `make`, under a free name.
    pub(crate) fn make<T>(
        directory: &OwnedFd,
        make: impl Fn(&OsStr) -> Result<T, Errno>,
    ) -> Result<(TemporaryName, T), Errno> {
        let mut last = Errno::EXIST;
        for _ in 0..NAMES_MAX {
            let mut random = [0u8; 8];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
            // No collector of metrics reads files with this extension.
            let name =
                OsString::from(format!(".wholefile-{:016x}.tmp", u64::from_ne_bytes(random)));
            match make(&name) {
                Ok(file) => {
                    let directory = rustix::io::fcntl_dupfd_cloexec(directory, 0)?;
                    return Ok((TemporaryName { directory, name: Some(name) }, file));
                }
                Err(Errno::EXIST) => last = Errno::EXIST,
                Err(errno) => return Err(errno),
            }
        }
        Err(last)
    }

    pub(crate) fn rename(mut self, to: &OsStr) -> Result<(), Errno> {
        if let Some(name) = &self.name {
            renameat(&self.directory, name, &self.directory, to)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}

/// A file for content that overwrites another file later. The target's directory has room for it,
/// more likely than a tmpfs.
pub(crate) fn content_beside(entry: &Entry) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(&entry.directory, ".", flags, Mode::from_raw_mode(PRIVATE)) {
        Ok(file) => Ok(file.into()),
        Err(_) => tempfile::tempfile(),
    }
}

/// A file in this directory without a name, or with a temporary one if the filesystem requires a
/// name.
pub(crate) fn nameless(
    directory: &OwnedFd,
    mode: u32,
) -> Result<(File, Option<TemporaryName>), Errno> {
    let mode = Mode::from_raw_mode(mode);
    // Linking the file to a name later needs /proc.
    if Path::new("/proc/self/fd").exists() {
        match openat(directory, ".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode) {
            // Errors of kernels and filesystems without O_TMPFILE.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {}
            file => return Ok((file?.into(), None)),
        }
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let (name, file) = TemporaryName::make(directory, |name| openat(directory, name, flags, mode))?;
    Ok((file.into(), Some(name)))
}

/// Gives a file without a name this one, which must be free.
pub(crate) fn link(file: &File, directory: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    linkat(CWD, by_descriptor(file), directory, name, AtFlags::SYMLINK_FOLLOW)
}
