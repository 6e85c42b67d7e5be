//! Eight processes write at once, and one is killed: nothing that was acknowledged is lost, and no
//! run is half stored.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use samples::document::checked;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use measurement::RunDocument;
use postgresql::Server;
use store::{End, Filter, Location, Origin, RunId, State, Store};

const WRITERS: usize = 8;
const RUNS: usize = 4;
/// Passes the store's location to the writing process.
const STORE: &str = "STORE_OF_WRITER";

/// The writer: this test in a separate process. It prints each acknowledgement as a line.
#[test]
fn writer() {
    let Ok(location) = std::env::var(STORE) else { return };
    let mut store = Store::open(&location.parse().unwrap()).unwrap();
    for run in 0..RUNS {
        let whole =
            RunDocument { suite: format!("run {run} of {}", std::process::id()), ..checked() };
        let id = store
            .begin(&RunDocument { results: Vec::new(), ..whole.clone() }, &Origin::default())
            .unwrap();
        for (count, result) in whole.results.iter().enumerate() {
            store.append(id, result).unwrap();
            println!("kept {id} {}", count + 1);
        }
        store.finish(id, &whole, End::Complete).unwrap();
        println!("done {id}");
    }
}

struct Writer {
    process: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Writer {
    fn start(location: &str) -> Writer {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "writer", "--nocapture"]).env(STORE, location);
        let mut process = process.stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        Writer { process, said }
    }

    /// The next acknowledgement: a run, and the number of its tests; `None` for all.
    fn next(&mut self) -> Option<(RunId, Option<usize>)> {
        loop {
            let mut line = String::new();
            if self.said.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["kept", run, tests] => {
                    return Some((run.parse().unwrap(), Some(tests.parse().unwrap())));
                }
                ["done", run] => return Some((run.parse().unwrap(), None)),
                _ => {}
            }
        }
    }
}

fn one_of_eight_is_killed(location: &str) {
    let mut writers: Vec<Writer> = (0..WRITERS).map(|_| Writer::start(location)).collect();
    let mut acknowledged: BTreeMap<RunId, Option<usize>> = BTreeMap::new();
    // In the middle of its second run.
    let victim = &mut writers[3];
    let mut seen = 0;
    while seen < checked().results.len() + 3 {
        let (run, tests) = victim.next().unwrap();
        acknowledged.insert(run, tests);
        seen += 1;
    }
    victim.process.kill().unwrap();
    // The tests that it printed before it was killed were acknowledged as well.
    while let Some((run, tests)) = victim.next() {
        acknowledged.insert(run, tests);
    }
    victim.process.wait().unwrap();
    for (number, writer) in writers.iter_mut().enumerate().filter(|&(number, _)| number != 3) {
        while let Some((run, tests)) = writer.next() {
            acknowledged.insert(run, tests);
        }
        assert!(writer.process.wait().unwrap().success(), "writer {number}");
    }

    let mut store = Store::open_existing(&location.parse::<Location>().unwrap()).unwrap();
    // A server notices the end of a killed client's connection a moment later.
    let begun = Instant::now();
    while store.list(&Filter::default()).unwrap().iter().any(|run| run.state == State::Running) {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the killed writer's run counts as running"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let kept = store.list(&Filter::default()).unwrap();
    let whole = checked().results;
    let mut interrupted = 0;
    for summary in &kept {
        let results = store.get(summary.id).unwrap().document.results;
        assert!(whole.starts_with(&results), "run {} holds something else", summary.id);
        match acknowledged.get(&summary.id) {
            Some(None) => {
                assert_eq!((results.len(), summary.state), (whole.len(), State::Complete));
            }
            Some(Some(tests)) => assert!(
                results.len() >= *tests,
                "an acknowledged test of run {} is lost",
                summary.id
            ),
            None => assert!(results.len() <= 1, "it was started, but nothing was acknowledged"),
        }
        interrupted += usize::from(summary.state == State::Interrupted);
    }
    for run in acknowledged.keys() {
        assert!(kept.iter().any(|summary| summary.id == *run), "run {run} is lost");
    }
    assert!(
        kept.len() > (WRITERS - 1) * RUNS && interrupted <= 1,
        "{} runs, {interrupted} interrupted",
        kept.len()
    );
}

#[test]
fn on_sqlite() {
    let place = tempfile::tempdir().unwrap();
    one_of_eight_is_killed(&place.path().join("results.db").to_string_lossy());
}

#[test]
fn on_postgresql() {
    let Some(server) = Server::start("processes::on_postgresql") else { return };
    one_of_eight_is_killed(&server.database("results"));
}
