//! The SQLite engine of the store.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

use crate::engine::{Dialect, Engine, Row, Value};
use crate::error::Problem;
use crate::process;
use crate::unwritable::{self, Unwritable};

/// `FLSM`, as written by the first migration.
const APPLICATION_ID: i64 = 0x464C_534D;

pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    wait: Duration,
}

impl Sqlite {
    /// Like [`Sqlite::open`], followed by `set_up`. If either fails, no file is left that was not
    /// there before.
    pub(crate) fn open_as(
        path: &Path,
        create: bool,
        wait: Duration,
        set_up: impl FnOnce(&mut Sqlite) -> Result<(), Problem>,
    ) -> Result<Sqlite, Problem> {
        let was_absent = create && is_absent(path);
        let opened = Sqlite::open(path, create, wait).and_then(|mut engine| {
            set_up(&mut engine)?;
            Ok(engine)
        });
        // SQLite has closed the file and rolled back: one that another process has set up in the
        // meantime is not empty.
        let is_unused = |path: &Path| {
            std::fs::symlink_metadata(path)
                .is_ok_and(|file| file.is_file() && file.len() == 0 && !has_log(path))
        };
        match opened {
            Err(problem) if was_absent && is_unused(path) => {
                let _ = std::fs::remove_file(path);
                Err(problem)
            }
            // It is empty. Nothing will be stored in it if this user may not write to it.
            Err(Problem::Absent) if !is_absent(path) => {
                Err(unwritable::why(path).map_or(Problem::Absent, Problem::Unwritable))
            }
            opened => opened,
        }
    }

    /// Opens the file, and creates it if `create` is set. A file that is not a store stays as it
    /// is.
    pub(crate) fn open(path: &Path, create: bool, wait: Duration) -> Result<Sqlite, Problem> {
        let path = &locate(path, create)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
        // SQLite knows names that are not files, such as `:memory:` and `file:...`; none of them is
        // absolute.
        match Sqlite::over(path, path, flags, wait) {
            // A log cannot be shared in a read-only directory. A file that no process can be
            // writing to needs none.
            Err(Problem::Unwritable(_) | Problem::ReadOnly | Problem::Io(_))
                if path.exists() && !has_log(path) =>
            {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_URI);
                Sqlite::over(&unchanging(path), path, flags, wait)
            }
            opened => opened,
        }
    }

    /// `name` is what SQLite calls the file at `path`.
    fn over(name: &Path, path: &Path, flags: OpenFlags, wait: Duration) -> Result<Sqlite, Problem> {
        let connection = Connection::open_with_flags(name, flags)
            .map_err(|error| problem(&error, path, wait))?;
        let mut engine = Sqlite { connection, path: path.to_owned(), wait };
        engine.connection.busy_timeout(wait).map_err(|error| problem(&error, path, wait))?;
        engine.recognise()?;
        engine.batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")?;
        Ok(engine)
    }

    /// Distinguishes a store, or an unused file, from a database of another program.
    fn recognise(&mut self) -> Result<(), Problem> {
        // In this order: another process may create the store in between, and a process that
        // sees its tables also sees its application ID.
        let tables = self
            .one("SELECT count(*) FROM sqlite_schema", &[])?
            .map_or(Ok(0), |row| row.integer(0))?;
        let id = self.one("PRAGMA application_id", &[])?.map_or(Ok(0), |row| row.integer(0))?;
        if id == APPLICATION_ID || (id == 0 && tables == 0) {
            Ok(())
        } else {
            Err(Problem::Foreign)
        }
    }

    /// In WAL mode, readers and the single writer do not wait for each other. Switching the mode
    /// locks the file briefly, and SQLite does not wait for that lock by itself.
    pub(crate) fn share(&mut self) -> Result<(), Problem> {
        if self.connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(true) {
            return Ok(());
        }
        let begun = Instant::now();
        loop {
            let mode = self.one("PRAGMA journal_mode", &[])?;
            if mode.is_some_and(|row| row.text(0).is_ok_and(|mode| mode == "wal")) {
                return Ok(());
            }
            match self.query("PRAGMA journal_mode = WAL", &[]) {
                Ok(_) => {}
                Err(Problem::Locked(_)) => std::thread::sleep(Duration::from_millis(5)),
                Err(other) => return Err(other),
            }
            if begun.elapsed() > self.wait {
                return Err(Problem::Locked(self.wait));
            }
        }
    }

    fn explain(&self, error: &rusqlite::Error) -> Problem {
        problem(error, &self.path, self.wait)
    }
}

/// The path, without links, of a file that the kernel has found, or has opened as a new store.
/// SQLite would follow links itself, even those that the kernel does not follow.
fn locate(path: &Path, create: bool) -> Result<PathBuf, Problem> {
    if path.is_dir() {
        return Err(Problem::Directory);
    }
    let not_created = |error: io::Error| {
        let because = unwritable::of(error.kind(), Unwritable::Directory);
        let unknown = || Problem::Io(format!("the file cannot be created: {error}"));
        because.map_or_else(unknown, Problem::Unwritable)
    };
    match drive::resolve(path) {
        Ok(found) if !create || found.metadata().is_ok_and(|file| file.len() > 0) => {
            return Ok(found);
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Problem::Unreadable(error.to_string()));
        }
        Err(_) if !create => return Err(Problem::Absent),
        Ok(_) | Err(_) => {}
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut new = OpenOptions::new();
    new.write(true).create(true).truncate(false);
    parent
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| new.open(path))
        .and_then(|_| drive::resolve(path))
        .map_err(not_created)
}

/// Returns whether there is nothing at this path, as far as this user can know.
fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns whether there is a non-empty log next to the file.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// The URI of a file that is read as it is, without locks; some characters of a path are special in
/// a URI.
fn unchanging(path: &Path) -> PathBuf {
    let escaped = path.as_os_str().as_bytes().iter().flat_map(|&byte| match byte {
        b'%' | b'?' | b'#' => format!("%{byte:02x}").into_bytes(),
        plain => vec![plain],
    });
    let uri = b"file:".iter().copied().chain(escaped).chain(*b"?immutable=1").collect();
    PathBuf::from(OsString::from_vec(uri))
}

fn problem(error: &rusqlite::Error, path: &Path, wait: Duration) -> Problem {
    let Some(code) = error.sqlite_error_code() else {
        return Problem::Damaged(error.to_string());
    };
    match code {
        ErrorCode::NotADatabase => Problem::NotADatabase,
        ErrorCode::DatabaseCorrupt => Problem::Damaged(error.to_string()),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Problem::Locked(wait),
        // SQLite gives no reason, or a different one than the kernel.
        ErrorCode::ReadOnly => unwritable::why(path).map_or(Problem::ReadOnly, Problem::Unwritable),
        ErrorCode::DiskFull => unwritable::why(path).map_or(Problem::Full, Problem::Unwritable),
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => unwritable::why(path)
            .map_or_else(|| Problem::Io(error.to_string()), Problem::Unwritable),
        _ => Problem::Io(error.to_string()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn value(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_owned()),
    }
}

/// SQLite treats `$1` as a name, numbered by first appearance; `?1` is a number.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Engine for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn has_table(&mut self, name: &str) -> Result<bool, Problem> {
        let found = self.one(
            "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = $1",
            &[name.into()],
        )?;
        Ok(found.is_some())
    }

    fn batch(&mut self, sql: &str) -> Result<(), Problem> {
        self.connection.execute_batch(sql).map_err(|error| self.explain(&error))
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Problem> {
        let mut statement =
            self.connection.prepare_cached(&numbered(sql)).map_err(|error| self.explain(&error))?;
        let changed = statement
            .execute(rusqlite::params_from_iter(values))
            .map_err(|error| self.explain(&error))?;
        Ok(changed as u64)
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Problem> {
        let mut statement =
            self.connection.prepare_cached(&numbered(sql)).map_err(|error| self.explain(&error))?;
        let columns = statement.column_count();
        let cells = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns)
                .map(|column| row.get_ref(column).map(value))
                .collect::<Result<_, _>>()?;
            Ok(Row(cells))
        };
        let rows = statement.query_map(rusqlite::params_from_iter(values), cells);
        rows.and_then(Iterator::collect).map_err(|error| self.explain(&error))
    }

    fn begin(&mut self) -> Result<(), Problem> {
        // Takes the lock now: a transaction that reads first and writes later could not wait for
        // it.
        self.batch("BEGIN IMMEDIATE")
    }

    fn begin_reading(&mut self) -> Result<(), Problem> {
        self.batch("BEGIN DEFERRED")
    }

    fn begin_insert(&mut self, _keys: &BTreeSet<i32>) -> Result<(), Problem> {
        self.begin()
    }

    fn begin_migration(&mut self) -> Result<(), Problem> {
        self.begin()
    }

    fn lock_run(&mut self, _run: i64) -> Result<(), Problem> {
        Ok(())
    }

    fn unlock_run(&mut self, _run: i64) -> Result<(), Problem> {
        Ok(())
    }

    fn is_run_locked(&mut self, _run: i64, writer: &str) -> Result<bool, Problem> {
        Ok(process::lives(writer))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn each_code_has_its_cause() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("results.db");
        let wait = Duration::from_secs(3);
        let of = |code: i32, path: &Path| {
            problem(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None), path, wait)
        };
        assert!(matches!(of(ffi::SQLITE_NOTADB, &path), Problem::NotADatabase));
        assert!(matches!(of(ffi::SQLITE_CORRUPT, &path), Problem::Damaged(_)));
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED] {
            assert!(matches!(of(code, &path), Problem::Locked(waited) if waited == wait));
        }
        // Nothing prevents writing there, so SQLite's own reason counts.
        assert!(matches!(of(ffi::SQLITE_READONLY, &path), Problem::ReadOnly));
        assert!(matches!(of(ffi::SQLITE_FULL, &path), Problem::Full));
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_PERM, ffi::SQLITE_IOERR] {
            assert!(matches!(of(code, &path), Problem::Io(_)));
        }
        assert!(matches!(
            problem(&rusqlite::Error::InvalidQuery, &path, wait),
            Problem::Damaged(_)
        ));
        // Nobody can create a file in /sys, whatever SQLite reports.
        let sys = Path::new("/sys/results.db");
        for code in [ffi::SQLITE_READONLY, ffi::SQLITE_FULL, ffi::SQLITE_CANTOPEN, ffi::SQLITE_PERM]
        {
            assert!(matches!(of(code, sys), Problem::Unwritable(_)), "{code}");
        }
        assert!(matches!(of(ffi::SQLITE_IOERR, sys), Problem::Io(_)));
    }

    #[test]
    fn a_failure_leaves_no_file_that_was_not_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("results.db");
        let open = |set_up: fn(&mut Sqlite) -> Result<(), Problem>| {
            Sqlite::open_as(&path, true, Duration::from_secs(3), set_up).map(drop)
        };
        // The file exists, with a journal, until SQLite rolls back.
        let fails = |engine: &mut Sqlite| -> Result<(), Problem> {
            engine.batch("BEGIN IMMEDIATE; CREATE TABLE x (y)")?;
            Err(Problem::Full)
        };
        assert!(matches!(open(fails), Err(Problem::Full)));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        // One that was there before stays, even an empty one, and so does one with content.
        std::fs::write(&path, "").unwrap();
        assert!(open(fails).is_err() && path.exists());
        std::fs::remove_file(&path).unwrap();
        let later = |engine: &mut Sqlite| -> Result<(), Problem> {
            engine.batch("CREATE TABLE x (y)")?;
            Err(Problem::Full)
        };
        assert!(open(later).is_err() && path.exists());
    }

    #[test]
    fn only_a_non_empty_log_counts() {
        let place = tempfile::tempdir().unwrap();
        let (path, log) = (place.path().join("results.db"), place.path().join("results.db-wal"));
        assert!(!has_log(&path));
        std::fs::write(&log, "").unwrap();
        assert!(!has_log(&path));
        std::fs::write(&log, "x").unwrap();
        assert!(has_log(&path));
    }

    #[test]
    fn a_path_stays_itself_in_a_uri() {
        assert_eq!(
            unchanging(Path::new("/a b/50%?#.db")),
            Path::new("file:/a b/50%25%3f%23.db?immutable=1")
        );
    }

    #[test]
    fn a_store_is_recognised_by_its_application_id_and_a_new_one_by_being_empty() {
        let is_taken = |sql: &str| {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("results.db");
            Connection::open(&path).unwrap().execute_batch(sql).unwrap();
            Sqlite::open(&path, true, Duration::from_secs(3)).is_ok()
        };
        let ours = format!("PRAGMA application_id = {APPLICATION_ID};");
        assert!(is_taken("") && is_taken(&ours) && is_taken(&format!("{ours} CREATE TABLE x (y)")));
        assert!(!is_taken("PRAGMA application_id = 7") && !is_taken("CREATE TABLE x (y)"));
    }
}
