//! Connections: how many may be open at once, how long each may take, and which one is closed when
//! all are taken.
//!
//! A client that never finishes its request must not keep others out. Its connection ends after
//! [`HEAD_MAX`]. When all connections are taken, the one that has waited longest for its client is
//! closed at once in favour of a new one. A connection that is being answered is never closed for
//! that.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Time to send the head of a request, counted from the opening of the connection or from the
/// previous answer. Browsers send it at once, and reopen an idle connection that was closed.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Time for an answer, and for the body of the request before it: longer than the limit on a query
/// of the store.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Maximum size of the head of a request: browsers send 1 KiB; hyper's default is 400 KiB.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Interval at which the loop checks whether the server should stop.
const STOP_POLL: Duration = Duration::from_millis(100);
/// Pause after the kernel has refused a connection for lack of descriptors or memory, which become
/// available only when something else ends.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);
/// Time that answers in progress still get when the server stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// Limits that keep the server within the process's file descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of concurrent queries of the store.
    pub queries: usize,
}

impl Limits {
    const CONNECTIONS_MAX: u64 = 256;
    /// More would only wait for each other at the database.
    const QUESTIONS_MAX: u64 = 8;
    /// Standard streams, signals, epoll, the listener, a connection that waits to be accepted,
    /// files of running tests, and some to spare.
    const RESERVED: u64 = 16;
    /// For each query: SQLite's database, log and index, a journal, and a directory that is synced.
    const PER_QUESTION: u64 = 5;

    /// Limits that fit into this process's soft limit on descriptors (`ulimit -n`).
    pub fn of_process() -> Limits {
        Limits::within(rustix::process::getrlimit(rustix::process::Resource::Nofile).current)
    }

    /// Limits that fit into this many descriptors; `None` means no limit.
    fn within(descriptors: Option<u64>) -> Limits {
        let free = descriptors.unwrap_or(u64::MAX).saturating_sub(Limits::RESERVED);
        let queries = (free / 2 / Limits::PER_QUESTION).clamp(1, Limits::QUESTIONS_MAX);
        let connections =
            free.saturating_sub(queries * Limits::PER_QUESTION).clamp(1, Limits::CONNECTIONS_MAX);
        Limits { connections: connections as usize, queries: queries as usize }
    }
}

/// Accepts and answers connections until `stop` returns true.
pub async fn serve(
    listener: std::net::TcpListener,
    router: Router,
    most: usize,
    stop: impl Fn() -> bool,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(most));
    let (open, ending) = (Register::default(), GracefulShutdown::new());
    while !stop() {
        let Ok(accepted) = tokio::time::timeout(STOP_POLL, listener.accept()).await else {
            continue;
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // The client disconnected before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                open.evict();
                tokio::time::sleep(REFUSED_PAUSE).await;
                continue;
            }
        };
        if let Some(place) = place(&places, &open, &stop).await {
            converse(stream, place, &router, &open, &ending);
        }
    }
    drop(listener);
    // An answer that is still in progress, because the store hangs, ends with the program.
    let _ = tokio::time::timeout(FAREWELL, ending.shutdown()).await;
    Ok(())
}

/// Waits for a free connection; `None` if the server stops first.
async fn place(
    places: &Arc<Semaphore>,
    open: &Register,
    stop: &impl Fn() -> bool,
) -> Option<OwnedSemaphorePermit> {
    while !stop() {
        if places.available_permits() == 0 {
            open.evict();
        }
        if let Ok(place) = tokio::time::timeout(STOP_POLL, Arc::clone(places).acquire_owned()).await
        {
            return place.ok();
        }
    }
    None
}

fn converse(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    router: &Router,
    open: &Register,
    ending: &GracefulShutdown,
) {
    let entry = open.enter();
    let (turns, id) = (open.clone(), entry.id);
    let answering = TowerToHyperService::new(router.clone());
    let service = service_fn(move |request: axum::http::Request<Incoming>| {
        let turns = turns.clone();
        turns.set(id, Turn::Ours);
        let answer = answering.call(request);
        async move {
            let answer = tokio::time::timeout(ANSWER_MAX, answer).await;
            turns.set(id, Turn::Client(turns.now()));
            Ok::<_, Infallible>(match answer {
                Ok(Ok(answer)) => answer,
                Err(_) => too_late(),
            })
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(HEAD_BYTES_MAX);
    let conversation = ending.watch(http.serve_connection(TokioIo::new(stream), service));
    let task = tokio::spawn(async move {
        let _held = (place, entry);
        // An error on one connection concerns only its client.
        let _ = conversation.await;
    });
    open.name(id, task.abort_handle());
}

/// The answer to a request whose body did not arrive in time.
fn too_late() -> Response<Body> {
    let said =
        format!("This request took longer than {} s and was cancelled.\n", ANSWER_MAX.as_secs());
    let mut answer = (StatusCode::REQUEST_TIMEOUT, said).into_response();
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// The side that a connection waits for.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// The client, to send a request or read an answer, since that event.
    Client(u64),
    Ours,
}

#[derive(Debug)]
struct Open {
    turn: Turn,
    /// Closes it; `None` until its task runs.
    end: Option<AbortHandle>,
}

#[derive(Debug, Clone, Default)]
struct Register(Arc<Mutex<Connections>>);

#[derive(Debug, Default)]
struct Connections {
    open: HashMap<u64, Open>,
    /// Counts events, to order them in time.
    clock: u64,
}

/// A connection's entry, removed when its task ends.
#[derive(Debug)]
struct Admission {
    id: u64,
    register: Register,
}

impl Register {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        let mut connections = self.lock();
        connections.clock += 1;
        connections.clock
    }

    fn enter(&self) -> Admission {
        let id = self.now();
        self.lock().open.insert(id, Open { turn: Turn::Client(id), end: None });
        Admission { id, register: self.clone() }
    }

    fn name(&self, id: u64, end: AbortHandle) {
        if let Some(open) = self.lock().open.get_mut(&id) {
            open.end = Some(end);
        }
    }

    fn set(&self, id: u64, turn: Turn) {
        if let Some(open) = self.lock().open.get_mut(&id) {
            open.turn = turn;
        }
    }

    /// Closes the connection that has waited longest for its client, if any.
    fn evict(&self) {
        let mut connections = self.lock();
        let waiting = connections.open.iter().filter_map(|(&id, open)| match open.turn {
            Turn::Client(since) => Some((since, id)),
            Turn::Ours => None,
        });
        let evicted = waiting.min().and_then(|(_, id)| connections.open.remove(&id));
        if let Some(end) = evicted.and_then(|open| open.end) {
            end.abort();
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.register.lock().open.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_fit_the_descriptors_that_there_are() {
        for descriptors in [18, 24, 40, 64, 256, 1024, 65_536] {
            let limits = Limits::within(Some(descriptors));
            let used = Limits::RESERVED
                + limits.connections as u64
                + limits.queries as u64 * Limits::PER_QUESTION;
            assert!(descriptors < 24 || used <= descriptors, "{descriptors}: {limits:?}");
            assert!(limits.connections >= 1 && limits.queries >= 1, "{descriptors}: {limits:?}");
        }
        assert_eq!(Limits::within(Some(40)), Limits { connections: 14, queries: 2 });
        assert_eq!(Limits::within(Some(1024)), Limits { connections: 256, queries: 8 });
        assert_eq!(Limits::within(None), Limits { connections: 256, queries: 8 });
    }

    #[test]
    fn the_connection_that_waits_longest_gives_way_and_one_that_is_answered_does_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let register = Register::default();
            let entries: Vec<Admission> = (0..3).map(|_| register.enter()).collect();
            let tasks: Vec<_> = entries
                .iter()
                .map(|entry| {
                    let task = tokio::spawn(std::future::pending::<()>());
                    register.name(entry.id, task.abort_handle());
                    task
                })
                .collect();
            // The first is being answered; the second was answered and waits again, since a later
            // event than the third.
            register.set(entries[0].id, Turn::Ours);
            register.set(entries[1].id, Turn::Client(register.now()));
            let mut ended = Vec::new();
            for _ in 0..4 {
                register.evict();
                tokio::time::sleep(Duration::from_millis(1)).await;
                ended.push(
                    tasks.iter().map(|task| u8::from(task.is_finished())).collect::<Vec<_>>(),
                );
            }
            assert_eq!(ended, [[0, 0, 1], [0, 1, 1], [0, 1, 1], [0, 1, 1]]);
        });
    }
}
