//! Files that are there whole or not at all: whoever reads one at any moment, and whatever ends the program, finds the old content or the new.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Of a new file, before the process' umask takes from it.
const NEW: u32 = 0o666;

/// Puts this content in the place of the file's, as a [`Replacement`].
///
/// # Errors
/// When that cannot be done; a file that was there is as it was, then, if it was to be replaced.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<()> {
    let mut replacement = Replacement::begin(path, mode)?;
    replacement.write_all(bytes)?;
    replacement.finish()
}

/// What will be a file's content: a new file beside it, which takes its name when it is finished. The old one's owner and mode stay, unless another mode
/// is wanted.
///
/// What is no file of its own (a device, a pipe, `/dev/stdout`, a second name of another file) has no name that could be taken, and is written to; so is a
/// file in a directory where nothing can be made. One that is dropped unfinished leaves nothing behind.
pub enum Replacement {
    InPlace(File),
    Beside { file: NamedTempFile, target: PathBuf, mode: Option<u32> },
}

impl Replacement {
    /// Ready to be written to.
    ///
    /// # Errors
    /// When neither a file beside it nor it itself can be written.
    pub fn begin(path: &Path, mode: Option<u32>) -> Result<Self> {
        // Behind a symbolic link, the file that it names is what is replaced, and the link stays.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let found = std::fs::metadata(&target).ok();
        let leads_nowhere = found.is_none() && path.is_symlink();
        if leads_nowhere
            || is_a_stream(path)
            || found.as_ref().is_some_and(|found| !found.is_file() || found.nlink() > 1)
        {
            return File::create(path).map(Self::InPlace);
        }
        if found.is_some() {
            // A directory lets a file be replaced that is write-protected, and whoever protected a baseline meant it.
            OpenOptions::new().write(true).open(&target)?;
        }
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Its own name does not end as a collector's files do. Opened here, because an error would tell of that name, and not of the one that a person chose.
        let open = |path: &Path| OpenOptions::new().write(true).create_new(true).mode(NEW).open(path);
        let begun = tempfile::Builder::new().prefix(".flushmark-").suffix(".tmp").make_in(parent, open);
        let file = match begun {
            Ok(file) => file,
            Err(error) if found.is_some() && error.kind() == ErrorKind::PermissionDenied => {
                return File::create(&target).map(Self::InPlace);
            }
            Err(error) => return Err(error),
        };
        if found.as_ref().is_some_and(|found| !owned_alike(file.as_file(), found)) {
            return File::create(&target).map(Self::InPlace);
        }
        Ok(Self::Beside { file, mode: mode.or(found.as_ref().map(Metadata::mode)), target })
    }

    /// Makes it durable, and the file.
    ///
    /// # Errors
    /// When it cannot be made durable, or the name cannot be taken.
    pub fn finish(self) -> Result<()> {
        let (file, target, mode) = match self {
            // A pipe or a terminal has nothing to make durable.
            Self::InPlace(file) if file.metadata().is_ok_and(|facts| facts.is_file()) => return file.sync_all(),
            Self::InPlace(_) => return Ok(()),
            Self::Beside { file, target, mode } => (file, target, mode),
        };
        // Not when it is made: the process' umask would take from it there.
        if let Some(mode) = mode {
            file.as_file().set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        // A rename may become durable before what the file holds.
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|error| error.error)?;
        // The name is durable when its directory is; a filesystem that cannot say so leaves nothing to be done.
        if let Some(parent) = target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            let _ = File::open(parent).and_then(|parent| parent.sync_all());
        }
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::InPlace(file) => file.write(bytes),
            Self::Beside { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::InPlace(file) => file.flush(),
            Self::Beside { file, .. } => file.flush(),
        }
    }
}

/// Gives the new file the old one's owner and group: what root writes in a person's file stays that person's. Whether it has them.
fn owned_alike(file: &File, found: &Metadata) -> bool {
    let wanted = (found.uid(), found.gid());
    file.metadata().is_ok_and(|own| (own.uid(), own.gid()) == wanted)
        || std::os::unix::fs::fchown(file, Some(wanted.0), Some(wanted.1)).is_ok()
}

/// `/dev/stdout` may be a file that the shell has open, and goes on being written to after a new one has taken its name.
fn is_a_stream(path: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm")) || path.starts_with("/proc")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
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
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_stays_its_owner_s() {
        const SOMEBODY: u32 = 65_534;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result.json");
        std::fs::write(&path, "old").unwrap();
        if std::os::unix::fs::chown(&path, Some(SOMEBODY), Some(SOMEBODY)).is_err() {
            println!("skipped: a_file_stays_its_owner_s: only root may give a file to somebody else");
            return;
        }
        replace(&path, b"new", None).unwrap();
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid(), text(&path).as_str()), (SOMEBODY, SOMEBODY, "new"));
    }

    #[test]
    fn what_is_write_protected_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("baseline.json");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        if OpenOptions::new().write(true).open(&path).is_ok() {
            println!("skipped: what_is_write_protected_stays_as_it_is: root may write everything");
            return;
        }
        assert_eq!(replace(&path, b"new", None).unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(text(&path), "old");
    }

    #[test]
    fn a_link_stays_a_link_and_a_second_name_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, second] = ["file", "link", "second"].map(|name| directory.path().join(name));
        symlink(&file, &link).unwrap();
        replace(&link, b"where the link leads", None).unwrap();
        assert!(link.is_symlink() && text(&file) == "where the link leads");
        replace(&link, b"through the link", None).unwrap();
        assert!(link.is_symlink() && text(&file) == "through the link");
        std::fs::hard_link(&file, &second).unwrap();
        replace(&second, b"by both names", None).unwrap();
        assert_eq!(text(&file), "by both names");
    }

    #[test]
    fn what_cannot_be_made_leaves_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no/result.json");
        let error = replace(&missing, b"new", None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(!error.to_string().contains(".flushmark-"), "{error}");
        assert!(replace(directory.path(), b"new", None).is_err());
        replace(Path::new("/dev/null"), b"new", None).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
}
