//! What can go wrong with a store, one sentence each.

use std::time::Duration;

use crate::run::RunId;
use crate::unwritable::Unwritable;

/// A problem with one store.
#[derive(Debug, thiserror::Error)]
#[error("the store {store} {problem}")]
pub struct StoreError {
    /// Where it is, without a password.
    pub store: String,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a store: the end of a sentence that began with its name.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// There is none.
    #[error("does not exist; `flushmark check` and `flushmark run` make it when they keep a run there")]
    Absent,
    /// A directory.
    #[error("is a directory; name a file in it, such as results.db")]
    Directory,
    /// A file of another kind.
    #[error("is a file that is no SQLite database; nothing was changed. Name another store (--store, FLUSHMARK_STORE)")]
    NotADatabase,
    /// A database of another program.
    #[error(
        "is an SQLite database of another program; nothing was changed. Name another store (--store, FLUSHMARK_STORE)"
    )]
    Foreign,
    /// Made by a later version.
    #[error(
        "has schema {found}, of a newer flushmark; this one knows schemas up to {known}. Use that version, or another store"
    )]
    Newer {
        /// Its schema.
        found: i64,
        /// The latest that this program knows.
        known: i64,
    },
    /// What it holds contradicts itself.
    #[error(
        "is damaged ({0}). Begin another one, or restore this from a backup; of an SQLite file, `sqlite3 FILE .recover` saves what can still be read"
    )]
    Damaged(String),
    /// Another process holds its lock.
    #[error("has been locked by another process for {} s; try again when that has ended", .0.as_secs_f64())]
    Locked(Duration),
    /// The kernel lets nobody, or not this user, write to it.
    #[error("cannot be written to: {0}")]
    Unwritable(Unwritable),
    /// It could be opened for reading only, and what kept it from more is gone.
    #[error("could only be opened for reading; try again")]
    ReadOnly,
    /// No room.
    #[error("cannot grow: its disk or quota is full")]
    Full,
    /// The system did not do its part.
    #[error("cannot be used: {0}")]
    Io(String),
    /// The URL does not read.
    #[error("is not named rightly: {0}. Write postgres://USER@HOST/DATABASE")]
    Url(String),
    /// A connection cannot be encrypted, or the server's certificate not be trusted, as the URL asks.
    #[error("is not connected to as its sslmode asks: {0}")]
    Tls(String),
    /// No connection.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The server does not let this user in.
    #[error(
        "does not let this user in: {0}. A password is taken from PGPASSWORD, from the file that PGPASSFILE names or ~/.pgpass, or from the URL"
    )]
    NotAdmitted(String),
    /// The server has no such database.
    #[error("is not there: {0}. Make it with `createdb`")]
    NoDatabase(String),
    /// The connection ended.
    #[error("went away: {0}")]
    Gone(String),
    /// The database refused, for a reason of its own.
    #[error("refused: {0}")]
    Refused(String),
    /// It holds no such run.
    #[error("holds no run {0}; `flushmark results list` shows what it holds")]
    NoRun(RunId),
    /// The run is measured right now.
    #[error("is being written to by run {0}, which is still measured; wait for its end")]
    Running(RunId),
}

impl StoreError {
    /// Whether a person named the wrong thing, and nothing is out of order.
    pub fn is_wrong_use(&self) -> bool {
        matches!(
            self.problem,
            Problem::Absent
                | Problem::Directory
                | Problem::NotADatabase
                | Problem::Foreign
                | Problem::Newer { .. }
                | Problem::Url(_)
                | Problem::NoRun(_)
                | Problem::Running(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_wrong_use_and_a_full_disk_is_not() {
        let is_wrong = |problem: Problem| StoreError { store: String::new(), problem }.is_wrong_use();
        assert!(is_wrong(Problem::Absent) && is_wrong(Problem::NoRun(RunId(7))));
        assert!(!is_wrong(Problem::Full) && !is_wrong(Problem::Gone(String::new())));
    }
}
