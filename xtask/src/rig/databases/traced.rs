//! One database under load from several clients, traced by `flushmark trace`.

use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use measurement::{Committer, Reached, Stage, TraceDocument, TraceRecord};
use rustix::process::{Pid, Signal, kill_process};

use super::drive::EmulatedDrive;
use super::session::{Client, Session};
use super::{Database, Durability, LogSync, PATIENCE, trial};

/// More than one: transactions then wait for a sync together.
const CLIENTS: usize = 4;
const LOAD: Duration = Duration::from_secs(4);
/// The largest share of the commits' time for which no event shows what it was spent on.
const UNEXPLAINED_MAX: f64 = 0.05;

/// The largest deviation from the flushes that the drive counts: those of the first and last moment,
/// and those of the journal's own commits, every five seconds.
const FLUSHES_ERROR_MAX: f64 = 0.02;

/// The counts of a trace that agrees with its clients and its drive.
#[derive(Debug)]
pub struct Observed {
    transactions: u64,
    syncs: u64,
    call: &'static str,
    flushes: u64,
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Observed { transactions, syncs, call, flushes } = self;
        write!(f, "{transactions} transactions, {syncs} {call}, {flushes} flushes")
    }
}

/// Commits for some seconds, and compares the trace with what the clients and the drive counted.
pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<String> {
    let log_sync = database.log_sync().context("the database has no server")?;
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let place = trial::lay_out(database, template, &drive, directory.path())?;
    let mut session = Session::open(database, &place, Durability::On)?;
    session.make_table()?;
    let clients = (0..CLIENTS).map(|_| Client::connect(database, &place, Durability::On));
    let (_shells, mut clients): (Vec<_>, Vec<_>) =
        clients.collect::<anyhow::Result<Vec<_>>>()?.into_iter().unzip();
    // The tracer finds processes by the files that they have open.
    commit(&mut clients, 0, Duration::ZERO)?;
    drive.sync()?;

    let tracer = Tracer::start(binary, &place.data)?;
    let before = drive.flushes()?;
    let transactions = commit(&mut clients, 1, LOAD)?;
    let flushes = drive.flushes()? - before;
    let trace = tracer.finish()?.trace;
    judge(&trace, &log_sync, transactions, flushes)
        .map(|observed| observed.to_string())
        .with_context(|| format!("{transactions} transactions, {flushes} flushes: {trace:#?}"))
}

/// Compares a trace with what the clients and the drive counted.
fn judge(
    trace: &TraceRecord,
    log_sync: &LogSync,
    transactions: u64,
    flushes: u64,
) -> anyhow::Result<Observed> {
    ensure!(trace.lost == 0 && !trace.lost_uncounted, "events were lost");
    let times = trace.anatomies.iter().flat_map(|anatomy| &anatomy.stages);
    let ns = |is_it: fn(Stage) -> bool| -> f64 {
        let of_stage = times.clone().filter(|(stage, _)| is_it(**stage));
        of_stage.map(|(_, times)| times.total_ns as f64).sum()
    };
    let unexplained = ns(|stage| stage == Stage::Unexplained) / ns(|_| true);
    ensure!(unexplained <= UNEXPLAINED_MAX, "{:.1} % are unexplained", unexplained * 100.0);

    let of_log = trace.anatomies.iter().filter(|anatomy| anatomy.call == log_sync.call);
    let syncs = of_log.clone().map(|anatomy| anatomy.commits.count()).sum();
    ensure!(syncs > 0, "no {}", log_sync.call);
    let committers = of_log.flat_map(|anatomy| &anatomy.committers);
    let by = |committer: &Committer| {
        let title = title_of(committer.thread);
        log_sync.by.iter().any(|part| title.contains(part))
    };
    let expected: u64 = committers.filter(|one| by(one)).map(|one| one.count).sum();
    ensure!(expected > syncs / 2, "{expected} of {syncs} calls are by {:?}", log_sync.by);
    // Transactions that wait for the same sync are in one group.
    ensure!(syncs < transactions, "{syncs} calls for {transactions} transactions");

    let sum = |count: fn(&Reached) -> u64| -> u64 {
        trace.anatomies.iter().map(|anatomy| count(&anatomy.reached)).sum()
    };
    let traced = sum(Reached::flushes);
    // A flush that serves two commits is in the trace of both.
    let once = traced - sum(|reached| reached.shared_flushes);
    let deviation = (flushes as f64 * FLUSHES_ERROR_MAX) as u64;
    ensure!(
        once <= flushes + deviation && traced + deviation >= flushes,
        "the drive counted {flushes} flushes, the trace {once} to {traced}"
    );
    Ok(Observed { transactions, syncs, call: log_sync.call, flushes })
}

/// Lets all clients commit for this long, each at least once. Returns the number of acknowledged
/// transactions.
fn commit(clients: &mut [Client], round: u64, time: Duration) -> anyhow::Result<u64> {
    let begun = Instant::now();
    // Numbers are unique: each client has its own million in each round.
    let run = |client: &mut Client, index: u64| {
        let first = (round * CLIENTS as u64 + index) * 1_000_000;
        for number in first.. {
            client.commit(number)?;
            if begun.elapsed() >= time {
                return anyhow::Ok(number - first + 1);
            }
        }
        bail!("a client ran out of numbers")
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter_mut()
            .zip(0..)
            .map(|(client, index)| scope.spawn(move || run(client, index)))
            .collect();
        let ended = running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|_| bail!("a client panicked")));
        ended.sum()
    })
}

/// The command line of a thread's process; servers write there what it does.
fn title_of(thread: u32) -> String {
    let title = std::fs::read(format!("/proc/{thread}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&title).replace('\0', " ")
}

/// A running `flushmark trace`, killed when dropped.
struct Tracer(Child);

impl Tracer {
    /// Returns when it records the calls of the processes with files below this path.
    fn start(binary: &Path, path: &Path) -> anyhow::Result<Tracer> {
        let mut command = Command::new(binary);
        command.args(["trace", "--for", "1min", "--format", "json", "--path"]).arg(path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let tracer = Tracer(command.spawn().context("cannot start flushmark")?);
        let begun = Instant::now();
        while !tracer.reads_calls() {
            ensure!(begun.elapsed() < PATIENCE, "the tracer does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(tracer)
    }

    /// True once it has opened the kernel's buffers, which it does when it follows a thread.
    fn reads_calls(&self) -> bool {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).into_iter().flatten();
        let links = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
        links.into_iter().any(|link| link.to_string_lossy().contains("-calls/per_cpu"))
    }

    fn finish(mut self) -> anyhow::Result<TraceDocument> {
        let pid = Pid::from_raw(self.0.id() as i32).context("the tracer has no process")?;
        kill_process(pid, Signal::INT)?;
        let mut stdout = self.0.stdout.take().context("the tracer has no stdout")?;
        let mut text = String::new();
        stdout.read_to_string(&mut text)?;
        self.0.wait()?;
        serde_json::from_str(&text).context("the tracer printed no trace")
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
