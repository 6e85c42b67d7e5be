//! Errors of a store, one sentence each.

use std::time::Duration;

use blame::Blame;
use database::ConnectError;

use crate::run::RunId;
use crate::unwritable::Unwritable;

/// A problem with a particular store.
#[derive(Debug, thiserror::Error)]
#[error("the store {store} {problem}")]
pub struct StoreError {
    /// Location of the store, without a password.
    pub store: String,
    #[source]
    pub problem: Problem,
}

/// A problem with a store. The message continues a sentence that began with the store's name.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(
        "does not exist; `flushmark check` and `flushmark run` create it when they store a run"
    )]
    Absent,
    /// Its directory cannot be searched.
    #[error("cannot be opened: {0}; name another store (--store, FLUSHMARK_STORE)")]
    Unreadable(String),
    #[error("is a directory; name a file in it, such as results.db")]
    Directory,
    #[error(
        "is not an SQLite database; nothing was changed. Name another store (--store, \
         FLUSHMARK_STORE)"
    )]
    NotADatabase,
    #[error(
        "is an SQLite database of another program; nothing was changed. Name another store \
         (--store, FLUSHMARK_STORE)"
    )]
    Foreign,
    #[error(
        "has schema {found}, from a newer flushmark; this version supports schemas up to {known}. \
         Use that version or another store"
    )]
    Newer {
        /// Version of the store's schema.
        found: i64,
        /// The latest version that this program supports.
        known: i64,
    },
    #[error(
        "is damaged ({0}). Start a new store or restore this one from a backup; for an SQLite \
         file, `sqlite3 FILE .recover` saves what can still be read"
    )]
    Damaged(String),
    #[error("has been locked by another process for {} s; try again when that process is done", .0.as_secs_f64())]
    Locked(Duration),
    /// The file is read-only, for everyone or for this user.
    #[error("cannot be written to: {0}")]
    Unwritable(Unwritable),
    /// It could only be opened for reading, and the reason no longer exists.
    #[error("could only be opened for reading; try again")]
    ReadOnly,
    #[error("cannot grow: the disk or quota is full")]
    Full,
    #[error("cannot be used: {0}")]
    Io(String),
    #[error("has an invalid URL: {0}; expected postgres://USER@HOST/DATABASE")]
    Url(String),
    /// The connection cannot be encrypted, or the server's certificate cannot be trusted, as the
    /// URL requires.
    #[error("cannot be connected to with this sslmode: {0}")]
    Tls(String),
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error(
        "rejected the login: {0}. Give the password in PGPASSWORD, in the file named by PGPASSFILE \
         or ~/.pgpass, or in the URL"
    )]
    NotAdmitted(String),
    #[error("does not exist: {0}. Create it with `createdb`")]
    NoDatabase(String),
    #[error("closed the connection: {0}")]
    Gone(String),
    #[error("reported an error: {0}")]
    Refused(String),
    #[error("has no run {0}; `flushmark results list` lists its runs")]
    NoRun(RunId),
    #[error(
        "has {stored} tests of run {run}, but its document has {measured}; another program changed \
         the store"
    )]
    MoreTests { run: RunId, stored: usize, measured: usize },
    #[error("cannot delete run {0} while it is being measured; wait for it to finish")]
    Running(RunId),
}

impl From<ConnectError> for Problem {
    fn from(error: ConnectError) -> Problem {
        match error {
            ConnectError::Url(cause) => Problem::Url(cause),
            ConnectError::Tls(cause) => Problem::Tls(cause),
            ConnectError::NotAdmitted(said) => Problem::NotAdmitted(said),
            ConnectError::NoDatabase(said) => Problem::NoDatabase(said),
            ConnectError::TooManyConnections(said) | ConnectError::Unreachable(said) => {
                Problem::Unreachable(said)
            }
        }
    }
}

impl StoreError {
    pub const fn blame(&self) -> Blame {
        match self.problem {
            Problem::Absent
            | Problem::Directory
            | Problem::NotADatabase
            | Problem::Foreign
            | Problem::Newer { .. }
            | Problem::Url(_)
            | Problem::NoRun(_)
            | Problem::Running(_) => Blame::Usage,
            _ => Blame::System,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_wrong_use_and_a_full_disk_is_not() {
        let blame = |problem: Problem| StoreError { store: String::new(), problem }.blame();
        assert_eq!(blame(Problem::Absent), Blame::Usage);
        assert_eq!(blame(Problem::NoRun(RunId(7))), Blame::Usage);
        assert_eq!(blame(Problem::Full), Blame::System);
        assert_eq!(blame(Problem::Gone(String::new())), Blame::System);
    }
}
