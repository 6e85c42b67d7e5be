//! One database server under `flushmark db bench`.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use measurement::{InsertBenchmarkStep, RunDocument, ServerActivity};
use rustix::process::{Pid, Signal, kill_process};

use super::commits::{Observed, schemas};
use super::drive::EmulatedDrive;
use super::session::Session;
use super::{Database, Durability, PATIENCE, Place, trial};

/// Rows of a smoke run, and of its steps with inserts and deletes.
const SMOKE_ROWS: [(&str, u64); 3] = [("l.i0", 5_000), ("l.i1", 4_000), ("l.i2", 1_000)];
/// Rows loaded in the run that is interrupted.
const ROWS: u64 = 4_000;
/// Rows that are inserted but not yet deleted: eight pending inserts of 50 rows, one that waits, and
/// one whose delete has not ended.
const PENDING_ROWS_MAX: u64 = 10 * 50;

struct Rig<'a> {
    binary: &'a Path,
    url: String,
}

/// Runs the command against a server on an emulated drive: all steps, a signal, and a rate of
/// inserts that no server keeps.
pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<Observed> {
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let place: Place = trial::lay_out(database, template, &drive, directory.path())?;
    let mut session = Session::open(database, &place, Durability::On)?;
    let url = database.url(&place).context("the database has no server")?;
    let rig = Rig { binary, url };

    let observed = rig.smoke().context("a smoke run")?;
    ensure!(schemas(database, &mut session)?.is_empty(), "a run left its schema");
    rig.interrupted(database, &mut session).context("interrupted beside queries")?;
    ensure!(schemas(database, &mut session)?.is_empty(), "an interrupted run left its schema");
    rig.too_fast().context("a rate that cannot be met")?;
    rig.too_many_clients().context("more clients than the server accepts")?;
    Ok(observed)
}

impl Rig<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(["db", "bench", &self.url, "--store", "none", "--quiet", "--busy"]);
        command.args(["--format", "json"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        self.command(arguments).output().context("cannot start flushmark")
    }

    /// All steps: what was deleted is what was inserted, and everything has its figures.
    fn smoke(&self) -> anyhow::Result<Observed> {
        let begun = Instant::now();
        let document = document(&self.output(&["--smoke"])?, 0)?;
        ensure!(begun.elapsed() < PATIENCE, "a smoke run took {:?}", begun.elapsed());
        let steps = document.results.iter().filter(|result| result.insert_benchmark.is_some());
        let count = steps.count();
        ensure!(count == 10 && document.smoke, "{count} steps");
        for (name, rows) in SMOKE_ROWS {
            let step = step(&document, name)?;
            let inserted = step.inserts.as_ref().map(|inserts| inserts.rows);
            ensure!(inserted == Some(rows), "{name} inserted {inserted:?} rows instead of {rows}");
            let deleted = step.deletes.as_ref().map(|deletes| deletes.rows);
            let wanted = (name != "l.i0").then_some(rows);
            ensure!(deleted == wanted, "{name} deleted {deleted:?} rows instead of {wanted:?}");
        }
        let indexed = step(&document, "l.x")?.indexed_rows;
        ensure!(indexed == Some(SMOKE_ROWS[0].1), "{indexed:?} rows are indexed");
        let mut rates = Vec::new();
        for name in ["qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"] {
            let queries = step(&document, name)?.queries.as_ref();
            let queries = queries.with_context(|| format!("{name} made no query"))?;
            let each = queries.rows as f64 / queries.histogram.count() as f64;
            // A range may end with its index. Keys have gaps: each connection of PostgreSQL begins
            // with another thousand.
            ensure!((3.0..=10.0).contains(&each), "a query of {name} returned {each} rows");
            rates.push(queries.per_s);
        }
        let costs = step(&document, "l.i2")?.costs.as_ref().context("l.i2 has no costs")?;
        ensure!(costs.unknown.is_empty(), "unknown costs: {:?}", costs.unknown);
        let (drives, rows) = (costs.drives, costs.operations as f64);
        let small = document.results.iter().find(|result| result.test == "l.i2");
        let server = small.and_then(|result| result.server.as_ref());
        let syncs = server.and_then(ServerActivity::syncs_in_total).map(|syncs| syncs / rows);
        // Five rows are a commit, and so are five deletes; clients may share a sync.
        ensure!(syncs.is_some_and(|syncs| (0.05..2.0).contains(&syncs)), "{syncs:?} syncs per row");
        ensure!(drives.is_some_and(|drives| drives.writes > 0.05), "{drives:?} for a row");
        ensure!(costs.server_cpu_us.is_some_and(|us| us > 0.0), "{:?} µs", costs.server_cpu_us);
        let rate = |name: &str| -> anyhow::Result<f64> {
            Ok(step(&document, name)?.inserts.as_ref().context("no inserts")?.rows_per_s)
        };
        Ok(format!(
            "{:.0} rows/s loaded, {:.0} and {:.0} changed, {:.0} to {:.0} queries/s",
            rate("l.i0")?,
            rate("l.i1")?,
            rate("l.i2")?,
            rates.iter().copied().fold(f64::INFINITY, f64::min),
            rates.iter().copied().fold(0.0, f64::max)
        ))
    }

    /// Counts the rows in the server while the last step is under way, and interrupts it.
    fn interrupted(
        &self,
        database: &'static dyn Database,
        session: &mut Session,
    ) -> anyhow::Result<()> {
        let rows = ROWS.to_string();
        let steps = ["--steps", "l.i0,l.x,l.i1,qp1000", "--rows", &rows, "--time", "60s"];
        let child = self.command(&steps).spawn()?;
        let begun = Instant::now();
        // Keys grow by one in MariaDB, and by a thousand with each connection in PostgreSQL.
        let rows_before_queries = ROWS + ROWS * 4 / 5;
        let counts = loop {
            ensure!(begun.elapsed() < PATIENCE, "the step with queries does not begin");
            std::thread::sleep(Duration::from_millis(300));
            let Some(schema) = schemas(database, session)?.pop() else { continue };
            let table = format!("{schema}.purchases_1");
            // The table may not exist yet.
            let exists = session.ask(&format!(
                "select count(*) from information_schema.tables where table_schema = '{schema}';"
            ))?;
            if exists != ["1"] {
                continue;
            }
            let printed = session.ask(&format!("select count(*), max(id) from {table};"))?;
            let numbers: Vec<Option<u64>> = printed
                .first()
                .map(|line| line.split('\t').map(|cell| cell.parse().ok()).collect())
                .unwrap_or_default();
            if let [Some(count), Some(last)] = numbers[..]
                && last > rows_before_queries + 2000
            {
                break count;
            }
        };
        ensure!(
            (ROWS..=ROWS + PENDING_ROWS_MAX).contains(&counts),
            "{counts} rows instead of {ROWS} and those of pending deletes"
        );
        let pid = Pid::from_raw(child.id() as i32).context("flushmark has no process")?;
        kill_process(pid, Signal::INT)?;
        let document = document(&child.wait_with_output()?, 130)?;
        let last = document.results.iter().rfind(|result| result.insert_benchmark.is_some());
        let last = last.context("nothing was measured")?;
        ensure!(last.test == "qp1000", "interrupted in {}", last.test);
        Ok(())
    }

    fn too_fast(&self) -> anyhow::Result<()> {
        let steps = ["--steps", "l.i0,l.x,qr1000000", "--rows", "2000", "--time", "1s"];
        let document = document(&self.output(&steps)?, 0)?;
        let met = step(&document, "qr1000000")?.background_is_met();
        ensure!(met == Some(false), "a million rows per second: {met:?}");
        Ok(())
    }

    fn too_many_clients(&self) -> anyhow::Result<()> {
        let output = self.output(&["--clients", "1000"])?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(2), "{:?}: {said}", output.status);
        ensure!(said.contains("1000 clients need 3001 connections"), "{said}");
        Ok(())
    }
}

fn document(output: &Output, status: i32) -> anyhow::Result<RunDocument> {
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(status), "{:?}: {said}", output.status);
    Ok(RunDocument::from_json(&String::from_utf8_lossy(&output.stdout))?)
}

fn step<'a>(document: &'a RunDocument, name: &str) -> anyhow::Result<&'a InsertBenchmarkStep> {
    let result = document.results.iter().find(|result| result.test == name);
    let step = result.and_then(|result| result.insert_benchmark.as_deref());
    step.with_context(|| format!("{name} was not measured"))
}
