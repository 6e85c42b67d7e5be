//! The way in which the new content of a file takes the place of the old.

use std::fs::File;
use std::io::{self, Seek as _, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use drive::{Occupied, SystemRoot, is_device_path, leads_to_device_path};
use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags, fstat, statx,
};
use rustix::io::Errno;

use crate::ReplaceError;
use crate::beside::Beside;
use crate::entry::Entry;
use crate::unnamed::{NEW, content_beside};

/// Replaces a file's content, as [`Replacement`] describes.
///
/// # Errors
/// If the file is in use as a drive, or cannot be replaced. Its old content is then unchanged,
/// unless it is written in place.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), ReplaceError> {
    let mut replacement = Replacement::begin(path, mode)?;
    replacement.write_all(bytes)?;
    Ok(replacement.finish()?)
}

/// Replaces a file's content like [`replace`], and leaves to the kernel when it becomes durable: for
/// content that is soon replaced again. After a power loss the file may be empty.
///
/// # Errors
/// Those of [`replace`].
pub fn replace_unsynced(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), ReplaceError> {
    let mut replacement = Replacement::begin(path, mode)?;
    replacement.write_all(bytes)?;
    Ok(replacement.way.finish(Durable::Eventually)?)
}

/// Checks that a file can be replaced, as far as that is known before its new content is. Changes
/// nothing, and does not open a stream.
///
/// # Errors
/// As [`Replacement::begin`].
pub fn expect_replaceable(path: &Path) -> Result<(), ReplaceError> {
    match Found::at(path)? {
        Found::Stream if path.exists() => Ok(rustix::fs::access(path, Access::WRITE_OK)?),
        Found::Stream => Err(Errno::NOENT.into()),
        Found::File | Found::Dangling(_) | Found::Nothing(_) => Way::to(path, None).map(drop),
    }
}

/// The new content of a file, written to like a file. If dropped unfinished, the old content stays
/// and nothing is left behind.
///
/// The new content is in a new file, which takes the name when it is finished. The owner,
/// attributes and mode of the old file are kept, unless another mode is requested. Two kinds of
/// files cannot be replaced by a new one:
///
/// - One that is not a regular file (a terminal, a pipe, `/dev/stdout`) is written in place. A block
///   device is refused.
/// - One that has a second name, is mounted, is in a directory where no file can be created, or has
///   an owner or attributes that a new file cannot get, is overwritten once all of its content is
///   there.
///
/// Symbolic links are followed by the kernel only. It may refuse a link that another user has put
/// in a shared directory (`fs.protected_symlinks`), so none is resolved by name here.
#[derive(Debug)]
pub struct Replacement {
    way: Way,
}

/// The way in which the new content takes the place of the old.
#[derive(Debug)]
enum Way {
    /// Not a regular file: written in place.
    Stream(File),
    Beside(Beside),
    /// Overwritten when all of the content is there.
    Over {
        content: File,
        target: Overwritten,
    },
}

/// The time at which the new content is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    WhenFinished,
    /// When the kernel writes it out.
    Eventually,
}

impl Durable {
    pub(crate) fn sync(self, file: &File) -> io::Result<()> {
        match self {
            Self::WhenFinished => file.sync_all(),
            Self::Eventually => Ok(()),
        }
    }
}

/// The file to overwrite.
#[derive(Debug)]
enum Overwritten {
    Open(File),
    /// A link whose file does not exist yet; the kernel creates it.
    Dangling(PathBuf),
}

impl Replacement {
    /// Prepares to write. Changes nothing yet, except that a stream is opened.
    ///
    /// A new file, or one that replaces another, gets this `mode`, whatever the umask. Without it,
    /// a new file has the usual mode, and the old one's is kept.
    pub fn begin(path: &Path, mode: Option<u32>) -> Result<Self, ReplaceError> {
        Ok(Self { way: Way::to(path, mode)? })
    }

    /// Makes the content and the name durable.
    pub fn finish(self) -> io::Result<()> {
        self.way.finish(Durable::WhenFinished)
    }

    fn file(&self) -> &File {
        match &self.way {
            Way::Stream(file)
            | Way::Beside(Beside { file, .. })
            | Way::Over { content: file, .. } => file,
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl AsFd for Replacement {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file().as_fd()
    }
}

impl Way {
    fn to(path: &Path, mode: Option<u32>) -> Result<Self, ReplaceError> {
        match Found::at(path)? {
            Found::Stream => Ok(Self::Stream(stream(path)?)),
            Found::Dangling(entry) => {
                let content = content_beside(&entry)?;
                Ok(Self::Over { content, target: Overwritten::Dangling(path.to_owned()) })
            }
            Found::Nothing(entry) => Ok(Self::Beside(Beside::of_new(entry, mode)?)),
            Found::File => Self::to_existing(path, mode),
        }
    }

    fn to_existing(path: &Path, mode: Option<u32>) -> Result<Self, ReplaceError> {
        // A directory permits replacing a write-protected file, but someone who protected a
        // baseline meant it, so the file must be writable. O_CREAT makes the kernel apply all of
        // its rules for shared directories (`fs.protected_regular`).
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(NEW))?);
        let found = fstat(&file)?;
        let Some(entry) = Entry::of_open(path, &file, &found) else {
            return Ok(Self::Over {
                content: tempfile::tempfile()?,
                target: Overwritten::Open(file),
            });
        };
        let own_path = entry.path().unwrap_or_else(|| path.to_owned());
        expect_unused(&own_path, drive::file_occupancy(&SystemRoot::default(), &own_path)?)?;
        if found.st_nlink > 1 || is_mounted(&file) {
            return Ok(Self::Over {
                content: content_beside(&entry)?,
                target: Overwritten::Open(file),
            });
        }
        match Beside::made_alike(&entry, &file, &found) {
            Ok(Some((file, name))) => Ok(Self::Beside(Beside {
                file,
                name,
                entry,
                mode: Some(mode.unwrap_or(found.st_mode)),
            })),
            Ok(None) | Err(Errno::ACCESS | Errno::PERM) => {
                Ok(Self::Over { content: content_beside(&entry)?, target: Overwritten::Open(file) })
            }
            Err(errno) => Err(errno.into()),
        }
    }

    fn finish(self, durable: Durable) -> io::Result<()> {
        match self {
            Self::Stream(file) if file.metadata().is_ok_and(|facts| facts.is_file()) => {
                durable.sync(&file)
            }
            // A pipe or a terminal has nothing to make durable.
            Self::Stream(_) => Ok(()),
            Self::Beside(beside) => beside.finish(durable),
            Self::Over { mut content, target } => {
                content.rewind()?;
                let mut file = match target {
                    Overwritten::Open(file) => file,
                    Overwritten::Dangling(path) => File::create(path)?,
                };
                file.set_len(0)?;
                std::io::copy(&mut content, &mut file)?;
                durable.sync(&file)
            }
        }
    }
}

fn stream(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).open(path)
}

/// The kind of file at a path.
#[derive(Debug)]
enum Found {
    /// Not a regular file, or one that is written to like a stream.
    Stream,
    File,
    /// A link that leads to nothing.
    Dangling(Entry),
    Nothing(Entry),
}

impl Found {
    fn at(path: &Path) -> Result<Self, ReplaceError> {
        // O_PATH has no side effects on pipes and drives.
        let kind = match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(found) => Some(file_type(&fstat(&found)?)),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno.into()),
        };
        match kind {
            Some(FileType::BlockDevice) => Err(ReplaceError::BlockDevice(path.to_owned())),
            Some(FileType::Directory) => Err(Errno::ISDIR.into()),
            Some(FileType::RegularFile) if !is_a_stream(path) => Ok(Self::File),
            Some(_) => Ok(Self::Stream),
            None if leads_to_device_path(path) => Err(ReplaceError::NoSuchDevice(path.to_owned())),
            None if is_a_stream(path) => Ok(Self::Stream),
            None if path.is_symlink() => Ok(Self::Dangling(Entry::of(path)?)),
            None => Ok(Self::Nothing(Entry::of(path)?)),
        }
    }
}

fn expect_unused(path: &Path, by: Vec<Occupied>) -> Result<(), ReplaceError> {
    if by.is_empty() { Ok(()) } else { Err(ReplaceError::InUse { path: path.to_owned(), by }) }
}

fn file_type(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// A file that is a mount point, as in containers, cannot be replaced by rename.
fn is_mounted(file: &File) -> bool {
    statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::empty())
        .is_ok_and(|facts| facts.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// `/dev/stdout` can be a file that the shell keeps open and writes to after a rename.
fn is_a_stream(path: &Path) -> bool {
    is_device_path(path) || path.starts_with("/proc")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::Permissions;
    use std::io::{ErrorKind, Read as _};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use rustix::fs::openat;

    use super::*;
    use crate::unnamed::{PRIVATE, TemporaryName};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    fn kind(error: &ReplaceError) -> Option<ErrorKind> {
        if let ReplaceError::Io(error) = error { Some(error.kind()) } else { None }
    }

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn what_is_not_synced_is_replaced_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.prom");
        for content in ["first", "second"] {
            replace_unsynced(&path, content.as_bytes(), Some(0o644)).unwrap();
            assert_eq!((text(&path).as_str(), mode(&path)), (content, 0o644));
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_open_reader_keeps_the_old_content_and_the_mode_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result.json");
        replace(&path, b"old", None).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut open = std::fs::File::open(&path).unwrap();
        replace(&path, b"new", None).unwrap();
        let mut seen = String::new();
        open.read_to_string(&mut seen).unwrap();
        assert_eq!((seen.as_str(), text(&path).as_str(), mode(&path)), ("old", "new", 0o640));
        replace(&path, b"new", Some(0o644)).unwrap();
        assert_eq!(mode(&path), 0o644);
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn a_file_keeps_its_owner() {
        const OTHER_USER: u32 = 65_534;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result.json");
        std::fs::write(&path, "old").unwrap();
        if std::os::unix::fs::chown(&path, Some(OTHER_USER), Some(OTHER_USER)).is_err() {
            println!("skipped: a_file_keeps_its_owner: only root may give files to other users");
            return;
        }
        replace(&path, b"new", None).unwrap();
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!(
            (found.uid(), found.gid(), text(&path).as_str()),
            (OTHER_USER, OTHER_USER, "new")
        );
    }

    #[test]
    fn a_write_protected_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("baseline.json");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        if File::options().write(true).open(&path).is_ok() {
            println!("skipped: a_write_protected_file_is_not_replaced: root may write everything");
            return;
        }
        assert_eq!(
            kind(&replace(&path, b"new", None).unwrap_err()),
            Some(ErrorKind::PermissionDenied)
        );
        assert_eq!(text(&path), "old");
    }

    #[test]
    fn a_link_stays_a_link_and_a_second_name_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, second] =
            ["file", "link", "second"].map(|name| directory.path().join(name));
        symlink(&file, &link).unwrap();
        replace(&link, b"where the link leads", None).unwrap();
        assert!(link.is_symlink() && text(&file) == "where the link leads");
        replace(&link, b"through the link", None).unwrap();
        assert!(link.is_symlink() && text(&file) == "through the link");
        std::fs::hard_link(&file, &second).unwrap();
        replace(&second, b"by both names", None).unwrap();
        assert_eq!(text(&file), "by both names");
        replace(&link, b"by the link and both names", None).unwrap();
        assert_eq!(text(&second), "by the link and both names");
    }

    #[test]
    fn a_link_in_a_linked_directory_is_followed_to_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other, linked] =
            ["one", "other", "linked"].map(|name| directory.path().join(name));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&other).unwrap();
        symlink("one", &linked).unwrap();
        // Relative to the directory that contains the link.
        symlink("../other/file", one.join("link")).unwrap();
        std::fs::write(other.join("file"), "old").unwrap();
        replace(&linked.join("link"), b"new", None).unwrap();
        assert_eq!(text(&other.join("file")), "new");
        assert!(one.join("link").is_symlink());
        assert_eq!(
            std::fs::read_dir(&one).unwrap().count() + std::fs::read_dir(&other).unwrap().count(),
            2
        );
    }

    #[test]
    fn an_unfinished_file_has_no_name_and_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mut replacement = Replacement::begin(&path, None).unwrap();
        replacement.write_all(b"new").unwrap();
        assert_eq!(replacement.file().metadata().unwrap().mode() & 0o077, 0);
        let Way::Beside(beside) = &replacement.way else { panic!("expected a file beside") };
        if beside.name.is_some() {
            println!(
                "skipped: an_unfinished_file_has_no_name_and_is_private: the temporary filesystem \
                 needs names"
            );
            return;
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        drop(replacement);
        assert_eq!(text(&path), "old");
    }

    #[test]
    fn temporary_names_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let named = || {
            let entry = Entry::of(&path).unwrap();
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let make =
                |name: &OsStr| openat(&entry.directory, name, flags, Mode::from_raw_mode(PRIVATE));
            let (name, file) = TemporaryName::make(&entry.directory, make).unwrap();
            let beside = Beside { file: file.into(), name: Some(name), entry, mode: None };
            Replacement { way: Way::Beside(beside) }
        };
        let mut replacement = named();
        replacement.write_all(b"new").unwrap();
        replacement.finish().unwrap();
        drop(named());
        assert_eq!(text(&path), "new");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_with_a_second_name_keeps_its_content_until_the_new_one_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let [path, second] = ["file", "second"].map(|name| directory.path().join(name));
        std::fs::write(&path, "old and long").unwrap();
        std::fs::hard_link(&path, &second).unwrap();
        let mut replacement = Replacement::begin(&path, None).unwrap();
        replacement.write_all(b"new").unwrap();
        assert_eq!(text(&second), "old and long");
        replacement.finish().unwrap();
        assert_eq!((text(&path).as_str(), text(&second).as_str()), ("new", "new"));
    }

    #[test]
    fn extended_attributes_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "old").unwrap();
        if xattr::set(&path, "user.origin", b"a drive").is_err() {
            println!("skipped: extended_attributes_stay: the temporary filesystem has none");
            return;
        }
        replace(&path, b"new", None).unwrap();
        assert_eq!(text(&path), "new");
        assert_eq!(xattr::get(&path, "user.origin").unwrap().as_deref(), Some(&b"a drive"[..]));
    }

    #[test]
    fn no_file_is_created_among_the_devices() {
        let directory = tempfile::tempdir().unwrap();
        let [link, second, linked] =
            ["link", "second", "linked"].map(|name| directory.path().join(name));
        let missing = Path::new("/dev/flushmark-missing");
        symlink(missing, &link).unwrap();
        symlink("link", &second).unwrap();
        symlink("/dev", &linked).unwrap();
        for path in [missing, &link, &second, &linked.join("flushmark-missing")] {
            assert!(matches!(expect_replaceable(path), Err(ReplaceError::NoSuchDevice(_))));
            assert!(matches!(replace(path, b"new", None), Err(ReplaceError::NoSuchDevice(_))));
            assert!(!missing.exists());
        }
        expect_replaceable(Path::new("/dev/null")).unwrap();
        expect_replaceable(Path::new("/dev/stderr")).unwrap();
    }

    #[test]
    fn what_can_be_replaced_is_known_before() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, circle] =
            ["file", "link", "circle"].map(|name| directory.path().join(name));
        symlink("file", &link).unwrap();
        symlink("circle", &circle).unwrap();
        for path in [&file, &link] {
            expect_replaceable(path).unwrap();
        }
        assert!(!file.exists(), "nothing is created yet");
        std::fs::write(&file, "old").unwrap();
        expect_replaceable(&link).unwrap();
        assert_eq!(text(&file), "old");
        let error = |path: &Path| kind(&expect_replaceable(path).unwrap_err());
        assert_eq!(error(directory.path()), Some(ErrorKind::IsADirectory));
        assert_eq!(error(&file.join("below")), Some(ErrorKind::NotADirectory));
        assert_eq!(error(&directory.path().join("no/file")), Some(ErrorKind::NotFound));
        assert_eq!(
            expect_replaceable(&circle).unwrap_err().to_string(),
            "Too many levels of symbolic links (os error 40)"
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_failed_replacement_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no/result.json");
        let error = replace(&missing, b"new", None).unwrap_err();
        assert_eq!(kind(&error), Some(ErrorKind::NotFound));
        assert!(!error.to_string().contains(".wholefile-"), "{error}");
        assert!(replace(directory.path(), b"new", None).is_err());
        replace(Path::new("/dev/null"), b"new", None).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
