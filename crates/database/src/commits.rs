//! Clients that commit one row at a time, timed.
//!
//! Each client is a thread with one connection and a prepared statement. The next commit begins
//! when the last one is acknowledged, so at any moment each client has one in flight. A commit
//! counts if its acknowledgement falls into the measured time, so the rate is exact. Clients hand
//! over their latencies once a second and share nothing meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use measurement::Histogram;
use mysql::prelude::Queryable as _;

use crate::connection::{Connection, of_mysql, of_postgres};
use crate::error::Problem;
use crate::server_url::ServerUrl;
use crate::workspace::FILLER;

/// Bytes of data in one row: two integers and a text.
pub const ROW_BYTES: u64 = 16 + FILLER as u64;
/// Latencies are handed over after each interval of this length.
const INTERVAL: Duration = Duration::from_secs(1);
/// The request to stop is checked at this interval.
const LOOK: Duration = Duration::from_millis(50);
/// After a request to stop, commits in flight have this long to end.
const GRACE: Duration = Duration::from_secs(5);

/// The clients, their statement and their time.
pub struct Run<'a> {
    pub url: &'a ServerUrl,
    pub password: Option<&'a str>,
    /// As `Workspace::make_table` returns it.
    pub statement: &'a str,
    pub clients: u32,
    pub warm_up: Duration,
    pub time: Duration,
    /// A statement, and the start of a client, end within this time.
    pub patience: Duration,
}

/// How a run ended.
#[derive(Debug)]
pub enum Finish {
    /// At its limit.
    Complete,
    Interrupted,
    /// A client failed, and all others stopped with it.
    Failed(Problem),
}

/// What the clients measured.
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
    /// When commits begin, once all clients are connected.
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
    for client in 0..run.clients {
        let (own, sender) = (Arc::clone(&shared), sender.clone());
        let (url, statement) = (run.url.clone(), run.statement.to_owned());
        let (password, patience) = (run.password.map(str::to_owned), run.patience);
        let work = move || {
            let opened = Connection::open(&url, password.as_deref(), patience);
            let ended = opened.and_then(|connection| {
                let _ = sender.send(Message::Connected);
                commit(connection, &statement, client, &own, &sender)
            });
            let _ = sender.send(Message::Ended(Instant::now(), ended.err()));
        };
        let spawned = std::thread::Builder::new().name(format!("client {client}")).spawn(work);
        if let Err(error) = spawned {
            shared.stop.store(true, Ordering::Relaxed);
            return Err(Problem::Refused(format!("cannot start client {client}: {error}")));
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

/// Commits rows until the time is over, a stop is requested or the server fails.
fn commit(
    mut connection: Connection,
    statement: &str,
    client: u32,
    shared: &Shared,
    sender: &Sender<Message>,
) -> Result<(), Problem> {
    match &mut connection {
        Connection::Postgres(conn) => {
            let prepared = conn.prepare(statement).map_err(|error| of_postgres(&error))?;
            let client = i64::from(client);
            turns(shared, sender, |turn| {
                let values: [&(dyn postgres::types::ToSql + Sync); 2] = [&client, &turn];
                conn.execute(&prepared, &values).map(drop).map_err(|error| of_postgres(&error))
            })
        }
        Connection::Mysql(conn) => {
            let prepared = conn.prep(statement).map_err(|error| of_mysql(&error))?;
            turns(shared, sender, |turn| {
                conn.exec_drop(&prepared, (client, turn)).map_err(|error| of_mysql(&error))
            })
        }
    }
}

/// The loop of a client, around one commit.
fn turns(
    shared: &Shared,
    sender: &Sender<Message>,
    mut commit: impl FnMut(i64) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let start = loop {
        match shared.start.get() {
            Some(start) => break *start,
            None if shared.stop.load(Ordering::Relaxed) => return Ok(()),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let measured = start + shared.warm_up;
    let end = measured + shared.time;
    let mut interval = 0;
    let mut next_interval = measured + INTERVAL;
    let mut latencies = Histogram::new();
    let hand_over = |interval, mut latencies: Histogram| {
        latencies.compact();
        let _ = sender.send(Message::Interval(interval, latencies));
    };
    let mut begun = Instant::now();
    let mut outcome = Ok(());
    for turn in 0.. {
        outcome = commit(turn);
        let now = Instant::now();
        if outcome.is_err() || now >= end {
            break;
        }
        if now >= measured {
            while now >= next_interval {
                hand_over(interval, std::mem::take(&mut latencies));
                interval += 1;
                next_interval += INTERVAL;
            }
            latencies.record((now - begun).as_nanos() as u64);
        }
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        begun = now;
    }
    hand_over(interval, latencies);
    outcome
}
