//! All clients of one step.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use measurement::Histogram;
use workload::random::generator;

use super::roles::{PENDING_DELETES, Role, Shared, Worker};
use super::statements::Table;
use super::step::Step;
use super::tally::{Kind, Tally};
use crate::commits::Finish;
use crate::connection::Connection;
use crate::error::{DatabaseError, Problem};
use crate::server_url::{Product, ServerUrl};
use crate::session::Session;

/// The request to stop is checked at this interval.
const LOOK: Duration = Duration::from_millis(50);
/// After a request to stop, statements in flight have this long to end.
const GRACE: Duration = Duration::from_secs(5);
/// The server ends a statement that takes too long; only if it does not, its silence is reported.
const MARGIN: Duration = Duration::from_secs(1);
/// The server is asked for a sign of life at least this often while it creates an index.
const SIGN_OF_LIFE_MAX: Duration = Duration::from_secs(10);
/// MariaDB's and MySQL's client ends a wait for an answer after this time.
const TABLE_PATIENCE: Duration = Duration::from_hours(7 * 24);

/// The kind of a step's statements, which determines their time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statements {
    /// Statements on some rows: within the user's time.
    Rows,
    /// Statements on a whole table, such as CREATE INDEX: as long as the server is alive.
    Tables,
}

/// The clients of a run, each with its own table.
pub struct Clients<'a> {
    pub url: &'a ServerUrl,
    pub password: Option<&'a str>,
    /// The name of the schema, which exists.
    pub schema: &'a str,
    pub clients: u32,
    /// Rows that each client loads.
    pub rows: u64,
    /// The time of each step with queries.
    pub time: Duration,
    /// A statement on some rows, and the start of a client, end within this time.
    pub patience: Duration,
    pub seed: u64,
}

/// The work of all clients in a step.
#[derive(Debug)]
pub struct StepSeen {
    pub elapsed_s: f64,
    pub inserts: Tally,
    pub deletes: Tally,
    pub queries: Tally,
    pub ended: Finish,
}

pub(super) enum Message {
    Ready {
        thread: usize,
        /// The server's number of the connection.
        backend: u64,
    },
    Interval {
        kind: Kind,
        second: usize,
        latencies: Histogram,
        rows: u64,
    },
    /// The thread has ended; when, and why if its work was not done.
    Ended {
        thread: usize,
        at: Instant,
        problem: Option<Problem>,
    },
}

impl Clients<'_> {
    fn product(&self) -> Product {
        self.url.product()
    }

    fn tables(&self) -> impl Iterator<Item = Table> + '_ {
        (0..self.clients).map(|client| Table::of_client(self.product(), self.schema, client))
    }

    /// Creates the empty table of each client.
    pub fn create_tables(&self, session: &mut Session) -> Result<(), DatabaseError> {
        self.tables().try_for_each(|table| session.rows(&table.create()).map(drop))
    }

    /// Runs a step; `number` is its position among those of the run. Returns `Err` if the clients
    /// could not all connect; nothing was done then.
    pub fn step(
        &self,
        step: Step,
        number: u32,
        session: &mut Session,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<StepSeen, Problem> {
        let mut roles = Vec::new();
        for table in self.tables() {
            roles.extend(self.roles(step, &table).into_iter().map(|role| (table.clone(), role)));
        }
        let time = matches!(step, Step::Queries { .. }).then_some(self.time);
        let on = if step == Step::Index { Statements::Tables } else { Statements::Rows };
        self.run(roles, time, on, number, session, is_stopped)
    }

    /// Removes what the steps before left, so queries do not depend on when the server does it.
    /// Returns what could not be done.
    pub fn clean_up(
        &self,
        session: &mut Session,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<String>, Problem> {
        let execute = |table: Table| {
            let statements = vec![table.clean_up()];
            (table, Role::Execute(statements))
        };
        let roles = self.tables().map(execute).collect();
        match self.run(roles, None, Statements::Tables, 0, session, is_stopped)?.ended {
            Finish::Failed(problem) => return Err(problem),
            Finish::Interrupted => return Ok(None),
            Finish::Complete => {}
        }
        if self.product() == Product::Mysql {
            return Ok(None);
        }
        let first = self.tables().take(1);
        let checkpoint =
            first.map(|table| (table, Role::Execute(vec!["CHECKPOINT".to_owned()]))).collect();
        match self.run(checkpoint, None, Statements::Tables, 0, session, is_stopped)?.ended {
            Finish::Failed(Problem::LacksPrivilege(_)) => Ok(Some(
                "no checkpoint was made before the queries, because this user may not request \
                 one; the first steps with queries include the writes of an earlier one"
                    .to_owned(),
            )),
            Finish::Failed(problem) => Err(problem),
            Finish::Interrupted | Finish::Complete => Ok(None),
        }
    }

    /// The connections of one client.
    fn roles(&self, step: Step, table: &Table) -> Vec<Role> {
        if step == Step::Index {
            return vec![Role::Execute(table.create_indexes())];
        }
        let rows = step.rows_per_commit();
        let first_key = Arc::new(AtomicI64::new(0));
        let (kind, rows_per_s) = match step {
            Step::Queries { kind, rate } => (Some(kind), Some(f64::from(rate.get()))),
            _ => (None, None),
        };
        let mut roles = Vec::new();
        let mut pending = None;
        if step.deletes() {
            let (sender, receiver) = sync_channel(PENDING_DELETES);
            let first_key = Arc::clone(&first_key);
            roles.push(Role::Delete { rows, pending: receiver, first_key });
            pending = Some(sender);
        }
        roles.extend(kind.map(|kind| Role::Query { kind, first_key }));
        roles.push(Role::Insert { rows, inserts: step.inserts(self.rows), rows_per_s, pending });
        roles
    }

    fn run(
        &self,
        roles: Vec<(Table, Role)>,
        time: Option<Duration>,
        on: Statements,
        number: u32,
        session: &mut Session,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<StepSeen, Problem> {
        let shared =
            Arc::new(Shared { stop: AtomicBool::new(false), start: OnceLock::new(), time });
        let (sender, receiver) = channel();
        let threads = roles.len();
        for (thread, (table, role)) in roles.into_iter().enumerate() {
            let (own, sender) = (Arc::clone(&shared), sender.clone());
            let (url, password) = (self.url.clone(), self.password.map(str::to_owned));
            let patience = self.patience;
            // No two connections of a run draw the same rows.
            let generator =
                generator(self.seed, number * threads_max(self.clients) + thread as u32);
            let work = move || {
                let opened = open(&url, password.as_deref(), patience, on);
                let problem = opened.and_then(|connection| {
                    let (shared, sender) = (&*own, &sender);
                    Worker { connection, thread, table, generator, shared, sender }.work(role)
                });
                let (at, problem) = (Instant::now(), problem.err());
                let _ = sender.send(Message::Ended { thread, at, problem });
            };
            let spawned = std::thread::Builder::new().name(format!("client {thread}")).spawn(work);
            if let Err(error) = spawned {
                shared.stop.store(true, Ordering::Relaxed);
                return Err(Problem::Refused(format!("cannot start client {thread}: {error}")));
            }
        }
        drop(sender);
        let mut gathering = Gathering::new(threads, self.patience);
        let alive = (on == Statements::Tables).then_some(&mut *session);
        gathering.gather(&shared, &receiver, is_stopped, alive);
        shared.stop.store(true, Ordering::Relaxed);
        gathering.end_connections(session);
        gathering.seen(&shared)
    }
}

/// Connects, for statements of this kind.
fn open(
    url: &ServerUrl,
    password: Option<&str>,
    patience: Duration,
    on: Statements,
) -> Result<Connection, Problem> {
    match (on, url.product()) {
        (Statements::Rows, _) => Connection::open(url, password, patience),
        (Statements::Tables, Product::Mysql) => Connection::open(url, password, TABLE_PATIENCE),
        (Statements::Tables, Product::Postgres) => {
            let mut connection = Connection::open(url, password, patience)?;
            connection.rows("SET statement_timeout = 0; SET lock_timeout = 0")?;
            Ok(connection)
        }
    }
}

/// Connections of all clients in the step with the most.
const fn threads_max(clients: u32) -> u32 {
    3 * clients
}

#[derive(Debug, Clone, Copy)]
enum Thread {
    Starting,
    Ready { backend: u64 },
    Ended,
}

/// Collects what the threads report, and gives up those that hang.
struct Gathering {
    threads: Vec<Thread>,
    patience: Duration,
    inserts: Tally,
    deletes: Tally,
    queries: Tally,
    /// The last message of any thread.
    heard: Instant,
    /// The last end of a thread whose work was done.
    done: Option<Instant>,
    failure: Option<(Instant, Problem)>,
    stopped_at: Option<Instant>,
    /// Threads are given up at this time.
    deadline: Option<Instant>,
}

impl Gathering {
    fn new(threads: usize, patience: Duration) -> Gathering {
        Gathering {
            threads: vec![Thread::Starting; threads],
            patience,
            inserts: Tally::default(),
            deletes: Tally::default(),
            queries: Tally::default(),
            heard: Instant::now(),
            done: None,
            failure: None,
            stopped_at: None,
            deadline: None,
        }
    }

    fn any(&self, is: impl Fn(&Thread) -> bool) -> bool {
        self.threads.iter().any(is)
    }

    /// Starts the threads together, and waits until they have ended. With a session, statements may
    /// take as long as the server answers there.
    fn gather(
        &mut self,
        shared: &Shared,
        receiver: &Receiver<Message>,
        is_stopped: &dyn Fn() -> bool,
        mut session: Option<&mut Session>,
    ) {
        let mut asked = Instant::now();
        while self.any(|thread| !matches!(thread, Thread::Ended)) {
            match receiver.recv_timeout(LOOK) {
                Ok(message) => self.take(message, shared),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if self.stopped_at.is_none() && is_stopped() {
                shared.stop.store(true, Ordering::Relaxed);
                self.stopped_at = Some(now);
                self.give_up_by(now + GRACE);
            }
            if let Some(session) = session.as_deref_mut()
                && shared.start.get().is_some()
                && now >= asked + SIGN_OF_LIFE_MAX.min(self.patience / 2)
            {
                asked = now;
                match session.try_rows("SELECT 1") {
                    Ok(_) => self.heard = Instant::now(),
                    Err(problem) => self.fail(now, problem, shared),
                }
            }
            // A thread that hangs in a statement sends nothing; all others wait for it in the end.
            if now > self.heard + self.patience + MARGIN {
                self.fail(now, Problem::Silent(self.patience), shared);
                break;
            }
            if self.deadline.is_some_and(|deadline| now > deadline) {
                break;
            }
        }
    }

    fn take(&mut self, message: Message, shared: &Shared) {
        self.heard = Instant::now();
        match message {
            Message::Ready { thread, backend } => {
                self.threads[thread] = Thread::Ready { backend };
                if !self.any(|thread| matches!(thread, Thread::Starting)) {
                    let _ = shared.start.set(Instant::now());
                }
            }
            Message::Interval { kind, second, latencies, rows } => {
                let tally = match kind {
                    Kind::Insert => &mut self.inserts,
                    Kind::Delete => &mut self.deletes,
                    Kind::Query => &mut self.queries,
                };
                tally.add(second, &latencies, rows);
            }
            Message::Ended { thread, at, problem } => {
                self.threads[thread] = Thread::Ended;
                match problem {
                    Some(problem) => self.fail(at, problem, shared),
                    None => self.done = self.done.max(Some(at)),
                }
            }
        }
    }

    /// The first failure counts; others may follow from it.
    fn fail(&mut self, at: Instant, problem: Problem, shared: &Shared) {
        shared.stop.store(true, Ordering::Relaxed);
        if self.failure.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
            self.failure = Some((at, problem));
        }
        self.give_up_by(Instant::now() + GRACE);
    }

    fn give_up_by(&mut self, when: Instant) {
        self.deadline = Some(self.deadline.map_or(when, |earlier| earlier.min(when)));
    }

    /// Ends connections whose threads were given up: their statements would hold locks on tables
    /// that are about to be dropped.
    fn end_connections(&self, session: &mut Session) {
        for thread in &self.threads {
            if let Thread::Ready { backend } = thread {
                let sql = match session.url().product() {
                    Product::Postgres => {
                        format!("SELECT pg_catalog.pg_terminate_backend({backend})")
                    }
                    Product::Mysql => format!("KILL {backend}"),
                };
                // The connection may have ended meanwhile.
                let _ = session.try_rows(&sql);
            }
        }
    }

    fn seen(self, shared: &Shared) -> Result<StepSeen, Problem> {
        let until = match (&self.failure, self.stopped_at) {
            (Some((at, _)), _) => Some(*at),
            (None, Some(at)) => Some(at),
            (None, None) => self.done,
        };
        let elapsed = match (shared.start.get(), until) {
            (Some(start), Some(until)) => until.saturating_duration_since(*start),
            _ => Duration::ZERO,
        };
        // After the time of a step, only the deletes of the last inserts are left.
        let elapsed = shared.time.map_or(elapsed, |time| elapsed.min(time));
        let ended = match self.failure {
            Some((_, problem)) if shared.start.get().is_none() => return Err(problem),
            Some((_, problem)) => Finish::Failed(problem),
            None if self.stopped_at.is_some() => Finish::Interrupted,
            None => Finish::Complete,
        };
        let [mut inserts, mut deletes, mut queries] = [self.inserts, self.deletes, self.queries];
        for tally in [&mut inserts, &mut deletes, &mut queries] {
            tally.end(elapsed);
        }
        Ok(StepSeen { elapsed_s: elapsed.as_secs_f64(), inserts, deletes, queries, ended })
    }
}
