//! The few operations that the store needs from a database.
//!
//! The store's statements are written once, in the SQL that both databases understand, with `$1`,
//! `$2`... as parameters.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::Problem;

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

impl From<&str> for Value {
    /// PostgreSQL does not allow NUL in a text. The columns serve lists and searches; the document
    /// keeps the NUL.
    fn from(text: &str) -> Value {
        Value::Text(text.replace('\0', "\u{fffd}"))
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Blob(bytes)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    fn unexpected(&self, column: usize, wanted: impl fmt::Display) -> Problem {
        Problem::Damaged(format!(
            "expected {wanted} in column {column}, found {:?}",
            self.0.get(column)
        ))
    }

    pub(crate) fn integer(&self, column: usize) -> Result<i64, Problem> {
        match self.0.get(column) {
            Some(Value::Integer(number)) => Ok(*number),
            _ => Err(self.unexpected(column, "an integer")),
        }
    }

    pub(crate) fn real(&self, column: usize) -> Result<f64, Problem> {
        match self.0.get(column) {
            Some(Value::Real(number)) => Ok(*number),
            _ => Err(self.unexpected(column, "a number")),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, Problem> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.unexpected(column, "text")),
        }
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, Problem> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => self.text(column).map(|text| Some(text.to_owned())),
        }
    }

    pub(crate) fn blob(&self, column: usize) -> Result<&[u8], Problem> {
        match self.0.get(column) {
            Some(Value::Blob(bytes)) => Ok(bytes),
            _ => Err(self.unexpected(column, "a document")),
        }
    }
}

/// The SQL of one of the two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// An open connection to one of the two databases.
pub(crate) trait Engine: Send {
    /// The SQL to use where the two differ.
    fn dialect(&self) -> Dialect;

    fn has_table(&mut self, name: &str) -> Result<bool, Problem>;

    /// Runs statements without parameters or results.
    fn batch(&mut self, sql: &str) -> Result<(), Problem>;

    /// Runs a statement; returns the number of rows that it changed.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Problem>;

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Problem>;

    /// Begins a transaction that writes.
    fn begin(&mut self) -> Result<(), Problem>;

    /// Begins a transaction that reads from one snapshot.
    fn begin_reading(&mut self) -> Result<(), Problem>;

    /// Begins a transaction that stores documents unless they are already stored. Only one process
    /// at a time can be in one with the same key.
    fn begin_insert(&mut self, keys: &BTreeSet<i32>) -> Result<(), Problem>;

    /// Begins the transaction that changes the schema. Only one process at a time can be in one.
    fn begin_migration(&mut self) -> Result<(), Problem>;

    /// Shows other processes that this one measures a run, as long as it is alive.
    fn lock_run(&mut self, run: i64) -> Result<(), Problem>;

    /// Ends what [`lock_run`](Engine::lock_run) began.
    fn unlock_run(&mut self, run: i64) -> Result<(), Problem>;

    /// Returns whether the process that measures a run is alive.
    fn is_run_locked(&mut self, run: i64, writer: &str) -> Result<bool, Problem>;

    /// The only row of a result.
    fn one(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>, Problem> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// Runs the work in the transaction that has begun, and commits it or rolls it back.
pub(crate) fn finish<T>(
    engine: &mut dyn Engine,
    work: impl FnOnce(&mut dyn Engine) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let done = work(engine).and_then(|value| engine.batch("COMMIT").map(|()| value));
    if done.is_err() {
        // If this fails as well, the connection is gone or the database has already rolled back.
        let _ = engine.batch("ROLLBACK");
    }
    done
}
