//! The few things that a database does for the store.
//!
//! The store's statements are written once, in the SQL that both databases understand, with `$1`, `$2`... for what is filled in.

use std::fmt;

use crate::error::Problem;

/// What stands in a cell.
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
    /// PostgreSQL knows no text with a NUL in it; the columns are for lists and searches, the document keeps it.
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

/// A row of an answer.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    fn unexpected(&self, column: usize, wanted: impl fmt::Display) -> Problem {
        Problem::Damaged(format!("{wanted} was expected in column {column}, and it holds {:?}", self.0.get(column)))
    }

    pub(crate) fn integer(&self, column: usize) -> Result<i64, Problem> {
        match self.0.get(column) {
            Some(Value::Integer(number)) => Ok(*number),
            _ => Err(self.unexpected(column, "a whole number")),
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
            _ => Err(self.unexpected(column, "a text")),
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

/// One of the two databases, opened.
pub(crate) trait Engine: Send {
    /// Which SQL it reads, where the two differ.
    fn dialect(&self) -> Dialect;

    /// Whether it has a table of this name.
    fn has_table(&mut self, name: &str) -> Result<bool, Problem>;

    /// Runs statements without values or answers.
    fn batch(&mut self, sql: &str) -> Result<(), Problem>;

    /// Runs a statement; the number of rows that it changed.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Problem>;

    /// Asks.
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Problem>;

    /// Begins a transaction that writes.
    fn begin(&mut self) -> Result<(), Problem>;

    /// Begins a transaction that reads, all of it from one moment.
    fn begin_reading(&mut self) -> Result<(), Problem>;

    /// Begins a transaction that keeps a document unless it is kept already: no other process is in one of those.
    fn begin_insert(&mut self) -> Result<(), Problem>;

    /// Begins the transaction in which the schema is changed: no other process is in one of those.
    fn begin_migration(&mut self) -> Result<(), Problem>;

    /// Shows other processes that this one measures a run, for as long as it lives.
    fn hold(&mut self, run: i64) -> Result<(), Problem>;

    /// No longer.
    fn release(&mut self, run: i64) -> Result<(), Problem>;

    /// Whether the process that measures a run still lives.
    fn is_held(&mut self, run: i64, writer: &str) -> Result<bool, Problem>;

    /// The answer's only row.
    fn one(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>, Problem> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// Does the work as one transaction: all of it, or nothing.
pub(crate) fn atomically<T>(
    engine: &mut dyn Engine,
    work: impl FnOnce(&mut dyn Engine) -> Result<T, Problem>,
) -> Result<T, Problem> {
    engine.begin()?;
    finish(engine, work)
}

/// The end of a transaction that has begun.
pub(crate) fn finish<T>(
    engine: &mut dyn Engine,
    work: impl FnOnce(&mut dyn Engine) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let done = work(engine).and_then(|value| engine.batch("COMMIT").map(|()| value));
    if done.is_err() {
        // Where this fails, too, the connection is gone, or the database has rolled back by itself.
        let _ = engine.batch("ROLLBACK");
    }
    done
}
