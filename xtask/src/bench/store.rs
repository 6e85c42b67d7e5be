//! `cargo xtask bench store`: the time to keep a run, and to find some among very many.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use measurement::RunDocument;
use rusqlite::Connection;
use store::{Filter, HostScope, Location, Origin, Store};

use crate::build;
use crate::command::output;

#[derive(Debug, Args)]
pub struct Options {
    /// Number of runs
    #[arg(long, default_value_t = 100_000)]
    pub(super) runs: u32,

    /// Directory in which the store is made and removed again; it takes about 50 KiB per run
    #[arg(long, value_name = "DIR")]
    pub(super) at: Option<PathBuf>,

    /// The flushmark program to use (default: build a release)
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
}

/// Limit on `results list` and `results compare` in a store of 100,000 runs, from the start of the
/// process to its end.
const COMMAND_MAX: Duration = Duration::from_millis(200);
/// Repetitions of each measurement; medians are printed.
const TIMES: usize = 9;
/// The suite with the most tests of those that users run often.
const SUITE: &str = "fsync-study";

/// Fills a store and prints the figures.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let place = options.at.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::tempdir_in(&place)
        .with_context(|| format!("cannot make a directory in {}", place.display()))?;
    let path = directory.path().join("results.db");
    let location = Location::Sqlite(path.clone());
    let program = match &options.program {
        Some(program) => program,
        None => build::flushmark()?,
    };
    let program = program.to_string_lossy();
    let document = sample(&program)?;
    let mut store = Store::open(&location)?;
    let empty_bytes = bytes(&path)?;
    let mut number = 0;
    let mut keep = |store: &mut Store| {
        number += 1;
        let document = RunDocument {
            started_at: format!("2026-11-21T00:00:{number:02}Z"),
            ..document.clone()
        };
        store.insert(&document, &Origin { host: Some("db0".to_owned()) }).map(drop)
    };
    println!(
        "{SUITE}: {} tests, {} KiB of JSON",
        document.results.len(),
        serde_json::to_vec(&document)?.len() >> 10
    );
    figure("keeping a run in an empty store", || keep(&mut store))?;
    drop(store);
    println!(
        "{:<44} {:>8} KiB",
        "a kept run",
        ((bytes(&path)? - empty_bytes) / TIMES as u64) >> 10
    );
    fill(&path, options.runs)?;
    println!("{:<44} {:>8} MiB", format!("{} runs", options.runs), bytes(&path)? >> 20);

    let mut store = Store::open(&location)?;
    figure("keeping one more", || keep(&mut store))?;
    figure("opening", || Store::open(&location).map(drop))?;
    let first = document.results.first().context("the suite has no tests")?.test.clone();
    for (name, filter) in filters(options.runs, first) {
        figure(name, || store.list(&filter).map(drop))?;
    }
    let ids = store.ids(&Filter { limit: Some(2), skip: options.runs / 2, ..Filter::default() })?;
    figure("two whole runs", || ids.iter().try_for_each(|&run| store.get(run).map(drop)))?;
    figure("the last run of a host", || {
        store.newest(&HostScope::Host("db7".to_owned()), 0).map(drop)
    })?;
    figure("the ten before it of the same kind", || store.earlier(ids[0], 10).map(drop))?;
    drop(store);
    let path = path.to_string_lossy();
    for words in [
        &["list"][..],
        &["compare", "last~1@db7", "last@db7"],
        &["compare", "last@all", "--last", "10"],
    ] {
        let arguments = [&["results"], words, &["--store", &*path]].concat();
        let median = figure(&format!("flushmark results {}", words.join(" ")), || {
            output(&program, &arguments).map(drop)
        })?;
        println!(
            "{:<44} {:>7.0} % of {COMMAND_MAX:?}",
            "",
            median.as_secs_f64() / COMMAND_MAX.as_secs_f64() * 100.0
        );
    }
    Ok(())
}

/// Typical queries of users. `first` is a test that every run has.
fn filters(runs: u32, first: String) -> [(&'static str, Filter); 13] {
    let text = |text: &str| Some(text.to_owned());
    let all = Filter { limit: Some(20), ..Filter::default() };
    [
        ("list", all.clone()),
        ("list, the last page", Filter { skip: runs.saturating_sub(20), ..all.clone() }),
        ("list --host, of one in a hundred", Filter { host: text("db7"), ..all.clone() }),
        ("list --host, of none", Filter { host: text("nobody"), ..all.clone() }),
        ("list --drive, a model of one in ten", Filter { drive: text("model 3"), ..all.clone() }),
        ("list --drive, one serial number", Filter { drive: text("SN000777"), ..all.clone() }),
        ("list --suite, of none", Filter { suite: text("other"), ..all.clone() }),
        ("list --test, of all", Filter { test: Some(first), ..all.clone() }),
        (
            "list --test, of the oldest run only",
            Filter { test: text("only in the oldest"), ..all.clone() },
        ),
        ("list --note, of none", Filter { note: text("nothing"), ..all.clone() }),
        ("list --target, of none", Filter { target: text("nowhere"), ..all.clone() }),
        ("list --tag, of one in a thousand", Filter { tag: "fleet".parse().ok(), ..all.clone() }),
        ("list --since", Filter { since: "2026-01-01T00:00:00Z".parse().ok(), ..all }),
    ]
}

/// A run of the suite on a model, in virtual time.
pub(super) fn sample(program: &str) -> anyhow::Result<RunDocument> {
    let words = [
        "run",
        SUITE,
        "--target",
        "sim:consumer-nvme,filesystem=ext4",
        "--store",
        "none",
        "--quiet",
        "--format",
        "json",
    ];
    Ok(RunDocument::from_json(&output(program, &words)?)?)
}

/// Copies the rows of the first run as runs of other hosts and drives on other days. Through the
/// store's interface that would take hours of commits.
pub(super) fn fill(path: &Path, runs: u32) -> anyhow::Result<()> {
    let begun = Instant::now();
    let connection = Connection::open(path)?;
    connection.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN;
         CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY);
         WITH RECURSIVE count(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM count WHERE n < 999 + {runs}) INSERT INTO copies SELECT n FROM count;
         INSERT INTO runs SELECT n, 'x' || n, 'x' || n, at_us - n * 60000000, suite, target, 'db' || (n % 100), tool, state, NULL, '', NULL FROM copies, runs WHERE id = 1;
         UPDATE runs SET uuid = printf('00000000-0000-0000-0000-%012d', id) WHERE id >= 1000;
         INSERT INTO headers SELECT n, document FROM copies, headers WHERE run = 1;
         INSERT INTO drives SELECT n, 0, 'Model ' || (n % 10), printf('SN%06d', n), NULL FROM copies;
         INSERT INTO tags SELECT n, 'fleet' FROM copies WHERE n % 1000 = 0;
         INSERT INTO tests SELECT n, name, position, is_commit, p50_us, p99_us FROM copies, tests WHERE run = 1;
         INSERT INTO names (name) VALUES ('only in the oldest');
         INSERT INTO tests SELECT 999 + {runs}, id, 1000, 0, NULL, NULL FROM names WHERE name = 'only in the oldest';
         INSERT INTO results SELECT n, position, document FROM copies, results WHERE run = 1;
         INSERT INTO latencies SELECT n, position, name, histogram FROM copies, latencies WHERE run = 1;
         COMMIT; PRAGMA wal_checkpoint(TRUNCATE);"
    ))?;
    println!("{:<44} {:>8.0} s", "filling", begun.elapsed().as_secs_f64());
    Ok(())
}

fn bytes(path: &Path) -> anyhow::Result<u64> {
    Ok(std::fs::metadata(path)?.len())
}

/// Prints and returns the median.
pub(super) fn figure<E>(
    name: &str,
    mut work: impl FnMut() -> Result<(), E>,
) -> anyhow::Result<Duration>
where
    anyhow::Error: From<E>,
{
    let mut times: Vec<Duration> = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{name:<44} {:>8.1} ms (worst {:.1})", ms(times[TIMES / 2]), ms(times[TIMES - 1]));
    Ok(times[TIMES / 2])
}
