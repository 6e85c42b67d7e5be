//! `kill -9` at any moment: a run that was reported as kept stays kept.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::flushmark;
use store::{Location, RunId, State, Store};

const KILLS: u32 = 200;
/// Processes that write to the store at once, while one of them is killed.
const AT_ONCE: u32 = 6;
/// Longer than a whole run on a busy machine.
const LONGEST_MS: u32 = 600;
/// A process that is silent for this long hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// The time at which to kill a process.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// At this time after its start, whatever it has printed by then.
    AfterStart(Duration),
    /// At this time after it reported its run as kept.
    AfterPromise(Duration),
}

impl Moment {
    /// Half of the kills come at any moment, and half soon after the report, while the store is
    /// being closed.
    fn of(kill: u32) -> Moment {
        // A permutation, because the factor is prime, so all delays occur.
        let scattered = kill * 7919 % KILLS;
        if kill.is_multiple_of(2) {
            Moment::AfterStart(Duration::from_millis(u64::from(scattered * LONGEST_MS / KILLS)))
        } else {
            Moment::AfterPromise(Duration::from_micros(u64::from(scattered) * 25))
        }
    }
}

/// The number in `kept as run 12 (...)`.
fn promised(line: &str) -> Option<RunId> {
    line.split_once("kept as run ")?.1.split(' ').next()?.parse().ok()
}

/// Runs a separate plan, kills it, and returns the run that it had reported as kept, if any.
fn killed(location: &str, kill: u32, plans: &std::path::Path) -> Option<RunId> {
    let plan = plans.join(format!("{kill}.toml"));
    let text = format!(
        "[defaults]\npattern = \"randwrite\"\nsize = \"1MiB\"\nwarm_up = \"0s\"\ncount = 2000\n\
         [[test]]\nname = \"first of {kill}\"\n[[test]]\nname = \"second of {kill}\"\n"
    );
    std::fs::write(&plan, text).unwrap();
    let mut command = flushmark();
    command.args(["run", plan.to_str().unwrap(), "--target", "null:", "--store", location]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    let listener = std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            tell.send(line).unwrap();
        }
    });
    let mut heard = Vec::new();
    match Moment::of(kill) {
        Moment::AfterStart(delay) => std::thread::sleep(delay),
        Moment::AfterPromise(delay) => {
            let begun = Instant::now();
            while !heard.iter().any(|line: &String| promised(line).is_some()) {
                match told.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                    Ok(line) => heard.push(line),
                    Err(error) => {
                        panic!("run {kill} has not said that it is kept ({error}): {heard:?}")
                    }
                }
            }
            std::thread::sleep(delay);
        }
    }
    // SIGKILL; a process that has already ended is not there to kill.
    let _ = child.kill();
    child.wait().unwrap();
    listener.join().unwrap();
    heard.extend(told.try_iter());
    heard.iter().find_map(|line| promised(line))
}

/// Kills processes while others write, and compares what was reported with what is there.
fn no_promise_is_broken(location: &str) {
    let plans = tempfile::tempdir().unwrap();
    let next = AtomicU32::new(0);
    let promises: BTreeMap<u32, RunId> = std::thread::scope(|scope| {
        let worker = || {
            let mut promises = Vec::new();
            loop {
                let kill = next.fetch_add(1, Ordering::Relaxed);
                if kill >= KILLS {
                    return promises;
                }
                promises.extend(killed(location, kill, plans.path()).map(|run| (kill, run)));
            }
        };
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let mut store = Store::open_existing(&location.parse::<Location>().unwrap()).unwrap();
    for (kill, run) in &promises {
        let kept = store
            .get(*run)
            .unwrap_or_else(|error| panic!("run {run} of kill {kill} was promised: {error}"));
        let names: Vec<&str> =
            kept.document.results.iter().map(|result| result.test.as_str()).collect();
        assert_eq!(names, [format!("first of {kill}"), format!("second of {kill}")], "run {run}");
        assert_eq!(kept.summary.state, State::Complete, "run {run}");
    }
    // The runs killed after the report, and some of the others.
    assert!(promises.len() >= KILLS as usize / 2, "{} promises", promises.len());
    assert!(promises.len() < KILLS as usize, "every process had promised: none was killed before");
}

#[test]
fn what_sqlite_was_said_to_keep_survives_any_kill() {
    let place = tempfile::tempdir().unwrap();
    no_promise_is_broken(&place.path().join("results.db").to_string_lossy());
}

#[test]
fn what_postgresql_was_said_to_keep_survives_any_kill() {
    let Some(server) =
        postgresql::Server::start("what_postgresql_was_said_to_keep_survives_any_kill")
    else {
        return;
    };
    no_promise_is_broken(&server.database("results"));
}
