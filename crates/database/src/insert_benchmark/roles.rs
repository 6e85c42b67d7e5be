//! The roles of a client's connections in a step.
//!
//! A client inserts on one connection, deletes on another and queries on a third, as fast as the
//! server answers. The inserting thread hands a token to the deleting one after each insert, and
//! waits if eight are pending, so neither gets ahead of the other.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;

use super::pace::Pace;
use super::prepared::{Prepared, Value};
use super::queries::{Keys, points, range};
use super::rows::Row;
use super::run::Message;
use super::statements::{SecondaryIndex, Table};
use super::step::QueryKind;
use super::tally::{Kind, Recorder};
use crate::connection::Connection;
use crate::error::Problem;
use crate::server_url::Product;

/// Inserts whose rows have not been deleted yet, at most.
pub(super) const PENDING_DELETES: usize = 8;
/// The first and last key are looked up again after this many deletes or queries, because keys have
/// gaps.
const DELETES_PER_LOOK: u64 = 1000;
const QUERIES_PER_LOOK: u64 = 100;
/// The request to stop is checked at this interval.
const LOOK: Duration = Duration::from_millis(50);

/// The state that all threads of a step share.
pub(super) struct Shared {
    pub stop: AtomicBool,
    /// Set once all of them are ready.
    pub start: OnceLock<Instant>,
    /// `None` if the step ends when its work is done.
    pub time: Option<Duration>,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_past(&self, now: Instant) -> bool {
        let (start, time) = (self.start.get(), self.time);
        start.zip(time).is_some_and(|(start, time)| now >= *start + time)
    }

    /// Returns `false` if the step ends before.
    fn wait_until(&self, due: Instant) -> bool {
        loop {
            let now = Instant::now();
            if self.is_stopped() || self.is_past(now) {
                return false;
            }
            if now >= due {
                return true;
            }
            std::thread::sleep((due - now).min(LOOK));
        }
    }
}

pub(super) enum Role {
    Insert {
        rows: u32,
        /// `None`: until the time of the step is over.
        inserts: Option<u64>,
        rows_per_s: Option<f64>,
        pending: Option<SyncSender<()>>,
    },
    Delete {
        rows: u32,
        pending: Receiver<()>,
        first_key: Arc<AtomicI64>,
    },
    Query {
        kind: QueryKind,
        first_key: Arc<AtomicI64>,
    },
    /// Statements that are executed once.
    Execute(Vec<String>),
}

/// A connection with its role.
pub(super) struct Worker<'a> {
    pub connection: Connection,
    pub thread: usize,
    pub table: Table,
    pub generator: Xoshiro256PlusPlus,
    pub shared: &'a Shared,
    pub sender: &'a Sender<Message>,
}

impl Worker<'_> {
    pub(super) fn work(self, role: Role) -> Result<(), Problem> {
        match role {
            Role::Insert { rows, inserts, rows_per_s, pending } => {
                self.insert(rows, inserts, rows_per_s, pending.as_ref())
            }
            Role::Delete { rows, pending, first_key } => self.delete(rows, &pending, &first_key),
            Role::Query { kind: QueryKind::Range, .. } => self.query_ranges(),
            Role::Query { kind: QueryKind::Point, first_key } => self.query_points(&first_key),
            Role::Execute(statements) => self.execute(&statements),
        }
    }

    /// Reports that it is ready, and waits for the start; `None` if there is none.
    fn begin(&mut self) -> Result<Option<Instant>, Problem> {
        let backend = self.backend()?;
        let _ = self.sender.send(Message::Ready { thread: self.thread, backend });
        loop {
            match self.shared.start.get() {
                Some(start) => return Ok(Some(*start)),
                None if self.shared.is_stopped() => return Ok(None),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// The server's number of this connection.
    fn backend(&mut self) -> Result<u64, Problem> {
        let sql = match self.table.product {
            Product::Postgres => "SELECT pg_catalog.pg_backend_pid()",
            Product::Mysql => "SELECT CONNECTION_ID()",
        };
        number(&mut self.connection, sql)?.ok_or(Problem::Incomplete("the number of a connection"))
    }

    fn insert(
        mut self,
        rows: u32,
        inserts: Option<u64>,
        rows_per_s: Option<f64>,
        pending: Option<&SyncSender<()>>,
    ) -> Result<(), Problem> {
        let statement = Prepared::new(&mut self.connection, &self.table.insert(rows))?;
        let Some(start) = self.begin()? else { return Ok(()) };
        let pace = rows_per_s.map(|rate| Pace::new(start, rate / f64::from(rows)));
        let mut recorder = Recorder::new(Kind::Insert, start, self.sender);
        let mut outcome = Ok(());
        for insert in 0..inserts.unwrap_or(u64::MAX) {
            let due = pace.map_or(start, |pace| pace.due(insert));
            if !self.shared.wait_until(due) {
                break;
            }
            let batch: Vec<Row> = (0..rows).map(|_| Row::drawn(&mut self.generator)).collect();
            let values: Vec<Value<'_>> = batch.iter().flat_map(values).collect();
            let begun = Instant::now();
            let inserted = match statement.execute(&mut self.connection, &values) {
                Ok(inserted) => inserted,
                Err(problem) => {
                    outcome = Err(problem);
                    break;
                }
            };
            let ended = Instant::now();
            if !self.shared.is_past(ended) {
                recorder.record(ended, ended - begun, inserted);
            }
            if pending.is_some_and(|pending| pending.send(()).is_err()) {
                // The deleting thread has failed, and reports why.
                break;
            }
        }
        recorder.hand_over();
        outcome
    }

    fn delete(
        mut self,
        rows: u32,
        pending: &Receiver<()>,
        first_key: &AtomicI64,
    ) -> Result<(), Problem> {
        let statement = Prepared::new(&mut self.connection, &self.table.delete(rows))?;
        let look = self.table.first_key();
        let mut first: i64 = number(&mut self.connection, &look)?.unwrap_or(0);
        first_key.store(first, Ordering::Relaxed);
        let Some(start) = self.begin()? else { return Ok(()) };
        let mut recorder = Recorder::new(Kind::Delete, start, self.sender);
        let mut outcome = Ok(());
        let mut made = 0_u64;
        while outcome.is_ok() && !self.shared.is_stopped() && pending.recv().is_ok() {
            made += 1;
            let looks = made.is_multiple_of(DELETES_PER_LOOK);
            let mut delete = || {
                let begun = Instant::now();
                let deleted = statement.execute(&mut self.connection, &[Value::Key(first)])?;
                let ended = Instant::now();
                if !self.shared.is_past(ended) {
                    recorder.record(ended, ended - begun, deleted);
                }
                let next = if looks { number(&mut self.connection, &look)? } else { None };
                Ok(next.unwrap_or(first + i64::from(rows)))
            };
            match delete() {
                Ok(next) => {
                    first = next;
                    first_key.store(first, Ordering::Relaxed);
                }
                Err(problem) => outcome = Err(problem),
            }
        }
        recorder.hand_over();
        outcome
    }

    fn query_ranges(mut self) -> Result<(), Problem> {
        let mut statements = Vec::new();
        for index in SecondaryIndex::ALL {
            let statement = Prepared::new(&mut self.connection, &self.table.range(index))?;
            statements.push((index, statement));
        }
        let Some(start) = self.begin()? else { return Ok(()) };
        let mut recorder = Recorder::new(Kind::Query, start, self.sender);
        let mut outcome = Ok(());
        while outcome.is_ok() && self.shared.wait_until(start) {
            let (index, from) = range(&mut self.generator);
            for (_, statement) in statements.iter().filter(|(of, _)| *of == index) {
                let values = [Value::Integer(from)];
                outcome = query(&mut self.connection, statement, &values, &mut recorder);
            }
        }
        recorder.hand_over();
        outcome
    }

    fn query_points(mut self, first_key: &AtomicI64) -> Result<(), Problem> {
        let statement = Prepared::new(&mut self.connection, &self.table.points())?;
        let look = self.table.last_key();
        let mut last = number(&mut self.connection, &look)?.unwrap_or(0);
        let Some(start) = self.begin()? else { return Ok(()) };
        let mut recorder = Recorder::new(Kind::Query, start, self.sender);
        let mut outcome = Ok(());
        let mut queries = 0_u64;
        while outcome.is_ok() && self.shared.wait_until(start) {
            let keys = Keys { first: first_key.load(Ordering::Relaxed), last };
            let values = points(&mut self.generator, keys).map(Value::Key);
            outcome = query(&mut self.connection, &statement, &values, &mut recorder);
            queries += 1;
            if outcome.is_ok() && queries.is_multiple_of(QUERIES_PER_LOOK) {
                match number(&mut self.connection, &look) {
                    Ok(found) => last = found.unwrap_or(last),
                    Err(problem) => outcome = Err(problem),
                }
            }
        }
        recorder.hand_over();
        outcome
    }

    fn execute(mut self, statements: &[String]) -> Result<(), Problem> {
        let Some(start) = self.begin()? else { return Ok(()) };
        for statement in statements {
            if !self.shared.wait_until(start) {
                break;
            }
            self.connection.rows(statement)?;
        }
        Ok(())
    }
}

fn query(
    connection: &mut Connection,
    statement: &Prepared,
    values: &[Value<'_>],
    recorder: &mut Recorder<'_>,
) -> Result<(), Problem> {
    let begun = Instant::now();
    let rows = statement.query(connection, values)?;
    let ended = Instant::now();
    recorder.record(ended, ended - begun, rows);
    Ok(())
}

const fn values(row: &Row) -> [Value<'_>; super::statements::ROW_PARAMETERS as usize] {
    [
        Value::Integer(row.cash_register),
        Value::Integer(row.customer),
        Value::Integer(row.product),
        Value::Integer(row.price),
        Value::Text(row.data.as_str()),
    ]
}

/// The one number that a statement returns; `None` for NULL.
fn number<T: std::str::FromStr>(
    connection: &mut Connection,
    sql: &str,
) -> Result<Option<T>, Problem> {
    let rows = connection.rows(sql)?;
    let text = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
    text.map(|text| text.parse().map_err(|_| Problem::Incomplete("a number"))).transpose()
}
