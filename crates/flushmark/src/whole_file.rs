//! Files that are there whole or not at all: whoever reads one at any moment, and whatever ends the program, finds the old content or the new.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Result, Seek as _, Write};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, StatxAttributes, StatxFlags, linkat, statx};
use rustix::io::Errno;
use tempfile::TempPath;
use xattr::FileExt as _;

/// Of a new file, before the process' umask takes from it.
const NEW: u32 = 0o666;

/// Of one that is to be as private as the file in whose place it comes, until it has that file's mode.
const PRIVATE: u32 = 0o600;

/// Puts this content in the place of the file's, as a [`Replacement`].
///
/// # Errors
/// When that cannot be done; a file that was there is as it was, then, if it was to be replaced.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<()> {
    let mut replacement = Replacement::begin(path, mode)?;
    replacement.write_all(bytes)?;
    replacement.finish()
}

/// What will be a file's content. Dropped unfinished, it leaves the old content, and nothing behind.
pub enum Replacement {
    /// What is no file of its own (a device, a pipe, `/dev/stdout`) is written to.
    Stream(File),
    /// A new file takes the name when it is finished. The old one's owner, attributes and mode stay, unless another mode is wanted.
    Beside(Beside),
    /// A file that must stay the one that it is (it has a second name, is mounted, lies where nothing can be made, or has an owner or attributes
    /// that another cannot be given) is written over when all of its content is there.
    Over { content: File, target: PathBuf },
}

/// A file in the target's directory, without a name until it is whole: whatever ends the program, nothing stays. Where the filesystem has no such files (NFS),
/// it has one of its own.
pub struct Beside {
    file: File,
    name: Option<TempPath>,
    target: PathBuf,
    mode: Option<u32>,
}

impl Replacement {
    /// Ready to be written to. Nothing that is there has been changed.
    ///
    /// # Errors
    /// When neither a file beside it nor it itself can be written.
    pub fn begin(path: &Path, mode: Option<u32>) -> Result<Self> {
        // Behind a symbolic link, the file that it names is what is replaced, and the link stays.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let found = std::fs::metadata(&target).ok();
        if is_a_stream(path) || found.as_ref().is_some_and(|found| !found.is_file()) {
            return OpenOptions::new().write(true).create(true).truncate(true).open(path).map(Self::Stream);
        }
        let Some(found) = found else {
            return if path.is_symlink() { Self::over(target) } else { Beside::of_new(target, mode).map(Self::Beside) };
        };
        // A directory lets a file be replaced that is write-protected, and whoever protected a baseline meant it.
        OpenOptions::new().write(true).open(&target)?;
        if found.nlink() > 1 || is_mounted(&target) {
            return Self::over(target);
        }
        match Beside::in_place_of(&target, &found, mode) {
            Ok(Some(beside)) => Ok(Self::Beside(beside)),
            Ok(None) => Self::over(target),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Self::over(target),
            Err(error) => Err(error),
        }
    }

    fn over(target: PathBuf) -> Result<Self> {
        // Where the target lies there is room for it, and more often than in memory.
        let content = tempfile::tempfile_in(directory_of(&target)).or_else(|_| tempfile::tempfile())?;
        Ok(Self::Over { content, target })
    }

    /// Makes it durable, and the file.
    ///
    /// # Errors
    /// When it cannot be made durable, or the name cannot be taken.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stream(file) if file.metadata().is_ok_and(|facts| facts.is_file()) => file.sync_all(),
            // A pipe or a terminal has nothing to make durable.
            Self::Stream(_) => Ok(()),
            Self::Beside(beside) => beside.finish(),
            Self::Over { mut content, target } => {
                content.rewind()?;
                let mut file = File::create(&target)?;
                std::io::copy(&mut content, &mut file)?;
                file.sync_all()
            }
        }
    }

    fn file(&self) -> &File {
        match self {
            Self::Stream(file) | Self::Beside(Beside { file, .. }) | Self::Over { content: file, .. } => file,
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file().flush()
    }
}

impl AsFd for Replacement {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file().as_fd()
    }
}

impl Beside {
    fn of_new(target: PathBuf, mode: Option<u32>) -> Result<Self> {
        let (file, name) = nameless(directory_of(&target), mode.map_or(NEW, |_| PRIVATE))?;
        Ok(Self { file, name, target, mode })
    }

    /// `None` if it cannot be made like the one that is there.
    fn in_place_of(target: &Path, found: &Metadata, mode: Option<u32>) -> Result<Option<Self>> {
        let (file, name) = nameless(directory_of(target), PRIVATE)?;
        if !owned_alike(&file, found) || !attributed_alike(&file, target) {
            return Ok(None);
        }
        Ok(Some(Self { file, name, target: target.to_owned(), mode: Some(mode.unwrap_or(found.mode())) }))
    }

    fn finish(self) -> Result<()> {
        let Self { file, name, target, mode } = self;
        let directory = directory_of(&target);
        // Not when it is made: the process' umask would take from it there.
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        // A rename may become durable before what the file holds.
        file.sync_all()?;
        let name = if let Some(name) = name {
            name
        } else {
            let name = names().make_in(directory, |name| link(&file, name))?.into_temp_path();
            // For Btrfs and ZFS, which make nothing durable that has no name; the others have nothing left to write.
            file.sync_all()?;
            name
        };
        name.persist(&target).map_err(|error| error.error)?;
        sync_directory(directory)
    }
}

/// A file in this directory that has no name, or, where there are none such, one of its own. Opened here, because an error would tell of that name, and not of
/// the one that a person chose.
fn nameless(directory: &Path, mode: u32) -> Result<(File, Option<TempPath>)> {
    let mut options = OpenOptions::new();
    options.write(true).mode(mode);
    // It gets its name by way of /proc.
    if Path::new("/proc/self/fd").exists() {
        let flags = OFlags::TMPFILE.bits().cast_signed();
        match options.clone().custom_flags(flags).open(directory) {
            // What kernels and filesystems say that have no such files.
            Err(error) if [Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT].contains(&errno(&error)) => {}
            file => return Ok((file?, None)),
        }
    }
    let (file, name) = names().make_in(directory, |path| options.clone().create_new(true).open(path))?.into_parts();
    Ok((file, Some(name)))
}

/// Its own names do not end as a collector's files do.
fn names() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".flushmark-").suffix(".tmp");
    builder
}

fn link(file: &File, name: &Path) -> Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, unnamed, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The directory that a file's name is in, also of a name without one.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name is durable when its directory is; a filesystem that cannot say so leaves nothing to be done, nor does a directory that may be written but not read.
fn sync_directory(directory: &Path) -> Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if ![Errno::INVAL, Errno::OPNOTSUPP, Errno::ACCESS].contains(&errno(&error)) => Err(error),
        _ => Ok(()),
    }
}

/// Gives the new file the old one's owner and group: what root writes in a person's file stays that person's. Whether it has them.
fn owned_alike(file: &File, found: &Metadata) -> bool {
    let wanted = (found.uid(), found.gid());
    file.metadata().is_ok_and(|own| (own.uid(), own.gid()) == wanted)
        || std::os::unix::fs::fchown(file, Some(wanted.0), Some(wanted.1)).is_ok()
}

/// Gives the new file the old one's extended attributes, access control lists among them. Whether it has them.
fn attributed_alike(file: &File, target: &Path) -> bool {
    // Where a filesystem has none, it says so.
    let Ok(names) = xattr::list(target) else { return true };
    names.into_iter().all(|name| {
        let Ok(Some(value)) = xattr::get(target, &name) else { return false };
        file.get_xattr(&name).is_ok_and(|own| own.as_ref() == Some(&value)) || file.set_xattr(&name, &value).is_ok()
    })
}

/// A file that is mounted, as containers are given some, cannot be renamed over.
fn is_mounted(target: &Path) -> bool {
    statx(CWD, target, AtFlags::empty(), StatxFlags::empty())
        .is_ok_and(|facts| facts.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
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
    fn nothing_has_a_name_or_is_readable_by_others_before_it_is_finished() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mut replacement = Replacement::begin(&path, None).unwrap();
        replacement.write_all(b"new").unwrap();
        assert_eq!(replacement.file().metadata().unwrap().mode() & 0o077, 0);
        let Replacement::Beside(beside) = &replacement else { panic!("it is an ordinary file") };
        if beside.name.is_some() {
            println!("skipped: nothing_has_a_name: the filesystem of temporary files has no files without one");
            return;
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        drop(replacement);
        assert_eq!(text(&path), "old");
    }

    #[test]
    fn where_files_need_names_one_is_taken_and_given_up_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let named = || {
            let (file, name) = names().make_in(directory.path(), |path| File::create_new(path)).unwrap().into_parts();
            Replacement::Beside(Beside { file, name: Some(name), target: path.clone(), mode: None })
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
            println!("skipped: extended_attributes_stay: the filesystem of temporary files has none");
            return;
        }
        replace(&path, b"new", None).unwrap();
        assert_eq!(text(&path), "new");
        assert_eq!(xattr::get(&path, "user.origin").unwrap().as_deref(), Some(&b"a drive"[..]));
    }

    #[test]
    fn a_name_without_a_directory_is_in_this_one() {
        assert_eq!(directory_of(Path::new("out")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/out")), Path::new("a"));
        sync_directory(Path::new(".")).unwrap();
        assert_eq!(sync_directory(Path::new("no such directory")).unwrap_err().kind(), ErrorKind::NotFound);
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
