//! `cargo xtask bench fleet`: answers over a fleet of very many invented hosts, on PostgreSQL or
//! SQLite. Filling PostgreSQL is a measurement too: many connections at once, and the server is
//! killed and started again in the middle.

mod invented;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Args;
use invented::{Fleet, Models};
use measurement::RunDocument;
use postgresql::Server;
use serde_json::Value;
use store::{Filter, Location, Origin, Store};

use super::web;
use crate::build;
use crate::command::output;

#[derive(Debug, Args)]
pub struct Options {
    /// Number of hosts, with one drive each
    #[arg(long, default_value_t = 20_000)]
    hosts: u32,

    /// Runs on each drive, one a week
    #[arg(long, default_value_t = 10)]
    runs_each: u32,

    /// SQLite instead of PostgreSQL
    #[arg(long)]
    sqlite: bool,

    /// Seed of the fleet
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Directory in which the store is made and removed again; it takes about 25 KiB per run
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,

    /// The flushmark program to use (default: build a release)
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Hidden slow drives, and those among them that became slow.
const SLOW: u32 = 40;
const DRIFTING: u32 = 12;
const FALSE_ALARMS_MAX: usize = 5;
/// Connections that keep runs at the same time.
const CONNECTIONS: u32 = 32;
/// Runs that are invented at a time: as many as fit in memory with ease.
const PART: usize = 5000;
/// Runs that must be kept per second, over all connections.
const INGEST_MIN: f64 = 300.0;
/// Limits, from the start of the process to its end, or from the request to the last byte.
const FINDING_MAX: Duration = Duration::from_secs(10);
const SUMMARY_MAX: Duration = Duration::from_secs(2);
const PAGE_MAX: Duration = Duration::from_millis(300);
/// Repetitions of each measurement; medians are printed.
const TIMES: usize = 3;

/// Fills a store and prints the figures. Fails if a slow drive is not found or runs are lost, not if
/// something is late.
pub fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(
        !cfg!(debug_assertions),
        "runs are made and kept by this program itself, so it must be optimised: `cargo run \
         --release -p xtask -- bench fleet`"
    );
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build::flushmark()?.to_owned(),
    };
    let program = program.to_string_lossy().into_owned();
    let models = Models::NAMES
        .map(|model| {
            let target = format!("sim:{model}");
            let words = ["run", "check", "--target", &target, "--store", "none", "--quiet"];
            let words = [&words[..], &["--format", "json"]].concat();
            Ok(RunDocument::from_json(&output(&program, &words)?)?)
        })
        .into_iter()
        .collect::<anyhow::Result<Vec<_>>>()?;
    let size = [options.hosts, options.runs_each];
    let fleet = Fleet::new(Models::of(models), options.seed, size, [SLOW, DRIFTING]);
    let place = options.at.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::tempdir_in(&place)
        .with_context(|| format!("cannot make a directory in {}", place.display()))?;
    let lake = directory.path().join("lake");
    if options.sqlite {
        let location = Location::Sqlite(directory.path().join("results.db"));
        fill_sqlite(&fleet, &location)?;
        print_size(&fleet, occupied(directory.path())?.1 as f64);
        return answers(&fleet, &location, &program, &lake);
    }
    let server = Server::start_in(&place, "the fleet").context("no PostgreSQL server")?;
    let location = Location::Postgres(server.database("fleet"));
    let server = fill_postgres(&fleet, &location, server)?;
    server.sql("fleet", "VACUUM ANALYZE");
    print_size(&fleet, server.sql("fleet", "SELECT pg_database_size('fleet')").trim().parse()?);
    answers(&fleet, &location, &program, &lake)
}

/// One connection, which is all that SQLite allows; not timed against a limit.
fn fill_sqlite(fleet: &Fleet, location: &Location) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut store = Store::open(location)?;
    for number in 0..fleet.runs() {
        let (host, document) = fleet.run(number)?;
        store.insert(&document, &Origin { host: Some(Fleet::name(host)) })?;
    }
    println!("{:<44} {:>8.0} s", "filling", begun.elapsed().as_secs_f64());
    Ok(())
}

/// All connections at once; the server is killed after a third, and started again. The runs are
/// invented before, in parts, so only keeping them is timed.
fn fill_postgres(fleet: &Fleet, location: &Location, mut server: Server) -> anyhow::Result<Server> {
    let mut stores = (0..CONNECTIONS)
        .map(|_| Ok(Store::open(location)?))
        .collect::<anyhow::Result<Vec<Store>>>()?;
    let crash_at = fleet.runs() / 3;
    let mut time = Duration::ZERO;
    for first in (0..fleet.runs()).step_by(PART) {
        let part = first..fleet.runs().min(first + PART as u32);
        let crashes = part.contains(&crash_at);
        let runs = invented(fleet, part)?;
        let next = AtomicUsize::new(0);
        let begun = Instant::now();
        std::thread::scope(|threads| {
            let workers: Vec<_> = stores
                .iter_mut()
                .map(|store| threads.spawn(|| keep(&runs, store, location, &next)))
                .collect();
            if crashes {
                while next.load(Ordering::Relaxed) < runs.len() / 2 {
                    std::thread::sleep(Duration::from_millis(10));
                }
                server.down();
                server.up();
            }
            for worker in workers {
                worker.join().map_err(|_| anyhow::anyhow!("a connection's thread panicked"))??;
            }
            anyhow::Ok(())
        })?;
        time += begun.elapsed();
    }
    let rate = f64::from(fleet.runs()) / time.as_secs_f64();
    println!(
        "{:<44} {rate:>8.0} runs/s over {CONNECTIONS} connections, {:.2} of {INGEST_MIN}",
        "keeping",
        rate / INGEST_MIN
    );
    let kept = stores[0].ids(&Filter::default())?.len();
    ensure!(kept == fleet.runs() as usize, "{kept} of {} runs are there", fleet.runs());
    println!("{:<44} {kept:>8} runs, none lost or kept twice", "after a crash of the server");
    Ok(server)
}

/// The runs of these numbers, each with its host. Every processor makes some of them.
fn invented(fleet: &Fleet, numbers: Range<u32>) -> anyhow::Result<Vec<(u32, RunDocument)>> {
    let processors = std::thread::available_parallelism()?.get() as u32;
    let length = numbers.len() as u32;
    let parts = (0..processors).map(|part| {
        let at = |part: u32| numbers.start + length * part / processors;
        at(part)..at(part + 1)
    });
    std::thread::scope(|threads| {
        let making: Vec<_> = parts
            .map(|part| threads.spawn(move || part.map(|number| fleet.run(number)).collect()))
            .collect();
        let mut runs = Vec::with_capacity(length as usize);
        for part in making {
            let part: anyhow::Result<Vec<_>> =
                part.join().map_err(|_| anyhow::anyhow!("a thread that invents runs panicked"))?;
            runs.extend(part?);
        }
        Ok(runs)
    })
}

/// Keeps runs until none is left. While the server is away, the same run is tried again.
fn keep(
    runs: &[(u32, RunDocument)],
    store: &mut Store,
    location: &Location,
    next: &AtomicUsize,
) -> anyhow::Result<()> {
    const PATIENCE: Duration = Duration::from_mins(1);
    while let Some((host, document)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
        let origin = Origin { host: Some(Fleet::name(*host)) };
        let begun = Instant::now();
        while let Err(error) = store.insert(document, &origin) {
            if begun.elapsed() > PATIENCE {
                return Err(error).with_context(|| {
                    format!(
                        "the run of {} of {} was not kept",
                        document.started_at,
                        Fleet::name(*host)
                    )
                });
            }
            std::thread::sleep(Duration::from_millis(50));
            if let Ok(again) = Store::open(location) {
                *store = again;
            }
        }
    }
    Ok(())
}

fn answers(fleet: &Fleet, location: &Location, program: &str, lake: &Path) -> anyhow::Result<()> {
    println!("{} runs of {} hosts", fleet.runs(), fleet.hosts);
    let store = match location {
        Location::Sqlite(path) => path.to_string_lossy().into_owned(),
        Location::Postgres(url) => url.clone(),
    };
    let host = Fleet::name(fleet.hosts / 2);
    let ask = |words: &[&str], most: Duration| -> anyhow::Result<String> {
        let arguments = [words, &["--store", &store]].concat();
        let mut said = String::new();
        let name = format!("flushmark {}", words.join(" "));
        figure(&name, most, || {
            said = output(program, &arguments)?;
            Ok(())
        })?;
        Ok(said)
    };
    let outliers = ask(&["fleet", "outliers", "--format", "json"], FINDING_MAX)?;
    check("outliers", &named(&outliers, "outliers")?, &fleet.slow())?;
    let drift = ask(&["fleet", "drift", "--format", "json"], FINDING_MAX)?;
    check("drift", &named(&drift, "drift")?, &fleet.drifting())?;
    // Half of the history, in which those that became slower then are slow from the start.
    let half = Fleet::week(fleet.runs_each / 2)?.to_string();
    ask(&["fleet", "drift", "--since", &half], FINDING_MAX)?;
    ask(&["fleet", "summary"], SUMMARY_MAX)?;
    ask(&["fleet", "summary", "--by", "model"], SUMMARY_MAX)?;
    ask(&["results", "list"], PAGE_MAX)?;
    ask(&["results", "list", "--host", &host], PAGE_MAX)?;
    let web = web::Server::start(program.as_ref(), &store)?;
    for path in ["/".to_owned(), format!("/?host={host}")] {
        figure(&format!("web {path}"), PAGE_MAX, || web.get(&path).map(drop))?;
    }
    drop(web);
    older_runs(fleet, program, &store, lake)
}

/// Exports the runs of the first week to a lake, and deletes them: this keeps a store small.
fn older_runs(fleet: &Fleet, program: &str, store: &str, lake: &Path) -> anyhow::Result<()> {
    let week = Fleet::week(1)?.to_string();
    let share = f64::from(fleet.hosts);
    let per_run = |what: &str, words: &[&str]| -> anyhow::Result<()> {
        let begun = Instant::now();
        output(program, &[words, &["--until", &week, "--store", store]].concat())?;
        let per_run = begun.elapsed().as_secs_f64() * 1e3 / share;
        println!("{what:<44} {per_run:>8.2} ms per run of the first week");
        Ok(())
    };
    let directory = lake.to_string_lossy();
    let export = ["results", "export", "--format", "parquet", "--partition-by", "month,host"];
    per_run("results export, to a lake", &[&export[..], &["-o", &directory]].concat())?;
    let (files, bytes) = occupied(lake)?;
    println!(
        "{:<44} {:>8.1} KiB and {:.1} files per run",
        "",
        bytes as f64 / share / 1024.0,
        files as f64 / share
    );
    per_run("results delete", &["results", "delete", "--yes"])
}

/// The files below a directory, and the bytes that they occupy.
fn occupied(directory: &Path) -> anyhow::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let (files, bytes) =
            if metadata.is_dir() { occupied(&entry.path())? } else { (1, metadata.blocks() * 512) };
        sum = (sum.0 + files, sum.1 + bytes);
    }
    Ok(sum)
}

fn print_size(fleet: &Fleet, bytes: f64) {
    let runs = f64::from(fleet.runs());
    println!("{:<44} {:>8.1} KiB per run", "size of the store", bytes / runs / 1024.0);
}

/// The hosts that an answer names.
fn named(json: &str, answer: &str) -> anyhow::Result<BTreeSet<String>> {
    let document: Value = serde_json::from_str(json)?;
    let found = document[answer]["found"].as_array().context("an answer without `found`")?;
    found
        .iter()
        .map(|drive| Ok(drive["host"].as_str().context("a drive without a host")?.to_owned()))
        .collect()
}

fn check(what: &str, named: &BTreeSet<String>, hidden: &BTreeSet<String>) -> anyhow::Result<()> {
    let missed: Vec<&String> = hidden.difference(named).collect();
    let wrong: Vec<&String> = named.difference(hidden).collect();
    println!(
        "{:<44} {:>8} of {} found, {} false",
        what,
        hidden.len() - missed.len(),
        hidden.len(),
        wrong.len()
    );
    ensure!(missed.is_empty(), "{what}: not found: {missed:?}");
    ensure!(wrong.len() <= FALSE_ALARMS_MAX, "{what}: false alarms: {wrong:?}");
    Ok(())
}

/// Prints the median, and how much of the limit it is.
fn figure(
    name: &str,
    most: Duration,
    mut work: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut times: Vec<Duration> = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let median = times[TIMES / 2];
    let share = median.as_secs_f64() / most.as_secs_f64() * 100.0;
    println!("{name:<44} {:>8.0} ms, {share:.0} % of {most:?}", median.as_secs_f64() * 1e3);
    Ok(())
}
