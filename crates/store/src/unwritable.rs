//! Why a file cannot be written to. SQLite reports only "read-only" if it could not create its log
//! next to the file, even if the disk is full, so this module tries the same and reports the
//! kernel's reason.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// The least space that a log and its index need.
const LOG_BYTES: usize = 64 << 10;

/// The kernel's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unwritable {
    #[error(
        "the disk is full (ENOSPC); free some space or name another store (--store, \
         FLUSHMARK_STORE)"
    )]
    Full,
    #[error(
        "this user's disk quota is used up (EDQUOT); free some space or name another store \
         (--store, FLUSHMARK_STORE)"
    )]
    Quota,
    #[error("the filesystem is read-only (EROFS); name another store (--store, FLUSHMARK_STORE)")]
    ReadOnlyFilesystem,
    /// Denied by the file's mode, owner or attributes.
    #[error(
        "this user has no permission to write to the file (EACCES); name another store (--store, \
         FLUSHMARK_STORE)"
    )]
    File,
    /// Denied by the directory's mode, owner or attributes.
    #[error(
        "this user has no permission to create files in its directory (EACCES); name another store \
         (--store, FLUSHMARK_STORE)"
    )]
    Directory,
}

/// Why SQLite cannot write to the file; `None` if it could now, or for another reason.
pub(crate) fn why(path: &Path) -> Option<Unwritable> {
    match OpenOptions::new().write(true).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return of(error.kind(), Unwritable::File),
    }
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = directory.join(format!(".flushmark-{}.tmp", std::process::id()));
    let tried = File::create_new(&beside).and_then(|mut file| {
        // Some filesystems detect a lack of space when writing, others when syncing.
        let written = file.write_all(&vec![0; LOG_BYTES]).and_then(|()| file.sync_all());
        std::fs::remove_file(&beside).and(written)
    });
    tried.err().and_then(|error| of(error.kind(), Unwritable::Directory))
}

/// `denied` is the reason to report for a missing permission.
pub(crate) fn of(kind: ErrorKind, denied: Unwritable) -> Option<Unwritable> {
    match kind {
        ErrorKind::StorageFull => Some(Unwritable::Full),
        ErrorKind::QuotaExceeded => Some(Unwritable::Quota),
        ErrorKind::ReadOnlyFilesystem => Some(Unwritable::ReadOnlyFilesystem),
        ErrorKind::PermissionDenied => Some(denied),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn kernel_errors_map_to_reasons() {
        // ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO.
        let causes = [28, 122, 30, 13, 1, 5].map(|errno| {
            let cause = of(Error::from_raw_os_error(errno).kind(), Unwritable::Directory);
            cause.map_or("-".to_owned(), |cause| cause.to_string())
        });
        insta::assert_snapshot!(causes.join("\n"), @"
        the disk is full (ENOSPC); free some space or name another store (--store, FLUSHMARK_STORE)
        this user's disk quota is used up (EDQUOT); free some space or name another store (--store, FLUSHMARK_STORE)
        the filesystem is read-only (EROFS); name another store (--store, FLUSHMARK_STORE)
        this user has no permission to create files in its directory (EACCES); name another store (--store, FLUSHMARK_STORE)
        this user has no permission to create files in its directory (EACCES); name another store (--store, FLUSHMARK_STORE)
        -
        ");
    }

    #[test]
    fn a_place_that_can_be_written_to_has_no_reason_and_gets_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("results.db");
        assert_eq!(why(&file), None);
        std::fs::write(&file, "").unwrap();
        assert_eq!(why(&file), None);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
