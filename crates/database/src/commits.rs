//! Clients that commit one row at a time, timed.
//!
//! Each client has one connection and a prepared statement. The next commit begins when the last one
//! is acknowledged, so at any moment each client has one in flight. A commit counts if its
//! acknowledgement falls into the measured time, so the rate is exact. Clients hand over their
//! latencies once a second and share nothing meanwhile. Where the connections allow it, clients
//! share threads, and fewer of these have to be woken up.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use measurement::Histogram;
use mysql::prelude::Queryable as _;

use crate::connection::{Connection, of_connecting, of_mysql, of_postgres, timeouts_of_postgres};
use crate::error::Problem;
use crate::postgres::{connect_sharing, while_driving};
use crate::server_url::{Product, ServerUrl};
use crate::workspace::FILLER;

/// Bytes of data in one row: two integers and a text.
pub const ROW_BYTES: u64 = 16 + FILLER as u64;
/// Latencies are handed over after each interval of this length.
const INTERVAL: Duration = Duration::from_secs(1);
/// The request to stop is checked at this interval.
const LOOK: Duration = Duration::from_millis(50);
/// Clients of PostgreSQL that share a thread, at most. MariaDB's and MySQL's have one each, because
/// their connections block.
const SHARING_MAX: u32 = 16;
/// After a request to stop, commits in flight have this long to end.
const GRACE: Duration = Duration::from_secs(5);

/// The clients, their statement and their time.
pub struct Run<'a> {
    pub url: &'a ServerUrl,
    pub password: Option<&'a str>,
    /// The statement that `Workspace::make_table` returns.
    pub statement: &'a str,
    pub clients: u32,
    pub warm_up: Duration,
    pub time: Duration,
    /// A statement, and the start of a client, end within this time.
    pub patience: Duration,
}

/// The end of a run.
#[derive(Debug)]
pub enum Finish {
    /// It reached its limit.
    Complete,
    Interrupted,
    /// A client failed, and all others stopped with it.
    Failed(Problem),
}

/// The commits that the clients measured.
#[derive(Debug)]
pub struct Seen {
    /// Seconds measured.
    pub elapsed_s: f64,
    /// Seconds for which the clients committed: the warm-up and the time measured.
    pub committing_s: f64,
    /// Latencies of all commits.
    pub all: Histogram,
    /// The same, by whole seconds.
    pub seconds: Vec<Histogram>,
    pub ended: Finish,
}

enum Message {
    Connected,
    /// The latencies of one interval.
    Interval(usize, Histogram),
    /// The client has ended; when, and why if it was not asked to.
    Ended(Instant, Option<Problem>),
}

struct Shared {
    stop: AtomicBool,
    /// The time at which commits begin, once all clients are connected.
    start: OnceLock<Instant>,
    warm_up: Duration,
    time: Duration,
}

/// Runs the clients. Returns `Err` if they could not all connect; nothing was committed then.
pub fn run(run: &Run<'_>, is_stopped: &dyn Fn() -> bool) -> Result<Seen, Problem> {
    let shared = Arc::new(Shared {
        stop: AtomicBool::new(false),
        start: OnceLock::new(),
        warm_up: run.warm_up,
        time: run.time,
    });
    let (sender, receiver) = channel();
    for clients in threads(run) {
        let crew = Crew {
            url: run.url.clone(),
            password: run.password.map(str::to_owned),
            statement: run.statement.to_owned(),
            patience: run.patience,
            shared: Arc::clone(&shared),
            sender: sender.clone(),
        };
        let name = format!("client {}", clients.start);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let spawned = runtime.and_then(|runtime| {
            let work = move || runtime.block_on(crew.work(clients));
            std::thread::Builder::new().name(name.clone()).spawn(work)
        });
        if let Err(error) = spawned {
            shared.stop.store(true, Ordering::Relaxed);
            return Err(Problem::Refused(format!("cannot start {name}: {error}")));
        }
    }
    drop(sender);
    let gathered = gather(run, &shared, &receiver, is_stopped);
    shared.stop.store(true, Ordering::Relaxed);
    gathered
}

/// Starts the clients together, and adds up what they hand over until they have ended.
fn gather(
    run: &Run<'_>,
    shared: &Shared,
    receiver: &Receiver<Message>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Seen, Problem> {
    let mut waiting = run.clients;
    let mut alive = run.clients;
    let mut all = Histogram::new();
    let mut seconds: Vec<Histogram> = Vec::new();
    let mut failure: Option<(Instant, Problem)> = None;
    let mut stopped_at: Option<Instant> = None;
    let mut deadline = Instant::now() + run.patience;
    while alive > 0 {
        match receiver.recv_timeout(LOOK) {
            Ok(Message::Connected) => {
                waiting -= 1;
                if waiting == 0 {
                    let start = Instant::now();
                    deadline = start + run.warm_up + run.time + run.patience;
                    let _ = shared.start.set(start);
                }
            }
            Ok(Message::Interval(at, latencies)) => {
                all.merge(&latencies);
                if seconds.len() <= at {
                    seconds.resize_with(at + 1, Histogram::new);
                }
                seconds[at].merge(&latencies);
                // Earlier seconds are complete but for stragglers.
                if let Some(earlier) = at.checked_sub(2) {
                    seconds[earlier].compact();
                }
            }
            Ok(Message::Ended(when, problem)) => {
                alive -= 1;
                if let Some(problem) = problem {
                    shared.stop.store(true, Ordering::Relaxed);
                    let is_first = failure.as_ref().is_none_or(|(earlier, _)| when < *earlier);
                    if is_first {
                        failure = Some((when, problem));
                    }
                    deadline = deadline.min(Instant::now() + GRACE);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        if stopped_at.is_none() && is_stopped() {
            shared.stop.store(true, Ordering::Relaxed);
            stopped_at = Some(now);
            deadline = deadline.min(now + GRACE);
        }
        if now > deadline {
            if failure.is_none() && stopped_at.is_none() {
                failure = Some((now, Problem::Silent(run.patience)));
            }
            break;
        }
    }
    let measured_from = shared.start.get().map(|start| *start + run.warm_up);
    let until = match (&failure, stopped_at) {
        (Some((when, _)), _) => Some(*when),
        (None, when) => when,
    };
    let elapsed = match (measured_from, until) {
        (Some(from), Some(until)) => until.saturating_duration_since(from).min(run.time),
        (Some(_), None) => run.time,
        (None, _) => Duration::ZERO,
    };
    let committing = match (shared.start.get(), until) {
        (Some(start), Some(until)) => {
            until.saturating_duration_since(*start).min(run.warm_up + run.time)
        }
        (Some(_), None) => run.warm_up + run.time,
        (None, _) => Duration::ZERO,
    };
    let ended = match failure {
        Some((_, problem)) if measured_from.is_none() => return Err(problem),
        Some((_, problem)) => Finish::Failed(problem),
        None if stopped_at.is_some() => Finish::Interrupted,
        None => Finish::Complete,
    };
    // An interval that ended early is not a whole second.
    seconds.resize_with(elapsed.as_secs() as usize, Histogram::new);
    seconds.iter_mut().for_each(Histogram::compact);
    Ok(Seen {
        elapsed_s: elapsed.as_secs_f64(),
        committing_s: committing.as_secs_f64(),
        all,
        seconds,
        ended,
    })
}

/// The clients of each thread.
fn threads(run: &Run<'_>) -> Vec<Range<u32>> {
    let threads = match run.url.product() {
        Product::Postgres => run.clients.div_ceil(SHARING_MAX),
        Product::Mysql => run.clients,
    };
    let first = |thread| (u64::from(thread) * u64::from(run.clients) / u64::from(threads)) as u32;
    (0..threads).map(|thread| first(thread)..first(thread + 1)).collect()
}

/// The state that the clients of a thread share.
struct Crew {
    url: ServerUrl,
    password: Option<String>,
    statement: String,
    patience: Duration,
    shared: Arc<Shared>,
    sender: Sender<Message>,
}

impl Crew {
    async fn work(self, clients: Range<u32>) {
        let crew = Arc::new(self);
        let clients: Vec<_> =
            clients.map(|client| tokio::spawn(Arc::clone(&crew).client(client))).collect();
        for client in clients {
            let _ = client.await;
        }
    }

    async fn client(self: Arc<Self>, client: u32) {
        let ended = match self.url.product() {
            Product::Postgres => self.commit_in_postgres(client).await,
            Product::Mysql => self.commit_in_mysql(client).await,
        };
        let _ = self.sender.send(Message::Ended(Instant::now(), ended.err()));
    }

    /// Commits rows until the time is over, a stop is requested or the server fails.
    async fn commit_in_postgres(&self, client: u32) -> Result<(), Problem> {
        let connected = connect_sharing(self.url.text(), self.password.as_deref(), self.patience);
        let refused = |error| of_connecting(error, self.url.product());
        let (conn, connection) = connected.await.map_err(refused)?;
        let work = async {
            conn.batch_execute(&timeouts_of_postgres(self.patience)).await?;
            let prepared = conn.prepare(&self.statement).await?;
            let Some(mut turns) = self.begin().await else { return Ok(()) };
            let client = i64::from(client);
            let mut turn = 0_i64;
            loop {
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&client, &turn];
                let committed = conn.execute(&prepared, &values).await;
                if !turns.goes_on_after(committed.is_ok()) {
                    return committed.map(drop);
                }
                turn += 1;
            }
        };
        while_driving(connection, work).await.map_err(|error| of_postgres(&error))
    }

    /// The same; blocks the thread.
    async fn commit_in_mysql(&self, client: u32) -> Result<(), Problem> {
        let opened = Connection::open_mysql(&self.url, self.password.as_deref(), self.patience);
        let mut conn = opened?;
        let prepared = conn.prep(&self.statement).map_err(|error| of_mysql(&error))?;
        let Some(mut turns) = self.begin().await else { return Ok(()) };
        let mut turn = 0_i64;
        loop {
            let committed = conn.exec_drop(&prepared, (client, turn));
            if !turns.goes_on_after(committed.is_ok()) {
                return committed.map_err(|error| of_mysql(&error));
            }
            turn += 1;
        }
    }

    /// Waits until all clients are connected; `None` if they are to stop.
    async fn begin(&self) -> Option<Turns<'_>> {
        let _ = self.sender.send(Message::Connected);
        let start = loop {
            match self.shared.start.get() {
                Some(start) => break *start,
                None if self.shared.stop.load(Ordering::Relaxed) => return None,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        let measured = start + self.shared.warm_up;
        Some(Turns {
            crew: self,
            measured,
            end: measured + self.shared.time,
            interval: 0,
            next_interval: measured + INTERVAL,
            latencies: Histogram::new(),
            begun: Instant::now(),
        })
    }
}

/// The commits of a client, one after another.
struct Turns<'a> {
    crew: &'a Crew,
    measured: Instant,
    end: Instant,
    interval: usize,
    next_interval: Instant,
    latencies: Histogram,
    /// The time at which the commit in flight began.
    begun: Instant,
}

impl Turns<'_> {
    /// Counts a commit that has just ended, unless it failed. False if it was the last one.
    fn goes_on_after(&mut self, is_acknowledged: bool) -> bool {
        let now = Instant::now();
        let is_in_time = is_acknowledged && now < self.end;
        if is_in_time && now >= self.measured {
            while now >= self.next_interval {
                self.hand_over();
                self.interval += 1;
                self.next_interval += INTERVAL;
            }
            self.latencies.record((now - self.begun).as_nanos() as u64);
        }
        self.begun = now;
        let goes_on = is_in_time && !self.crew.shared.stop.load(Ordering::Relaxed);
        if !goes_on {
            self.hand_over();
        }
        goes_on
    }

    fn hand_over(&mut self) {
        let mut latencies = std::mem::take(&mut self.latencies);
        latencies.compact();
        let _ = self.crew.sender.send(Message::Interval(self.interval, latencies));
    }
}
