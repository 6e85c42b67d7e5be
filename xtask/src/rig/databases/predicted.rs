//! `cargo xtask rig predict`: is what `flushmark db predict` predicts what the servers do?
//!
//! Each server is measured on one emulated drive, and its rates on five others are predicted from
//! that and the drives' models. Then the server runs on each of the five. A second prediction starts
//! from the storage as it is measured there, without the server, and does not contain the difference
//! between an emulated drive and its model.
//!
//! The drive is served on one processor, server and clients have another. A real drive takes no
//! processor from its server, so the emulated one must not either.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, ensure};
use measurement::RunDocument;
use predict::{Basis, Calibration, Load, LoadPrediction, PredictionDocument, Rate};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::drive::EmulatedDrive;
use super::mariadb::Mariadb;
use super::postgres::Postgres;
use super::running::{MARIADB, POSTGRES};
use super::session::Session;
use super::{Database, Durability, LogSize, trial};
use crate::build;
use crate::kernel_workers::KernelWorkers;
use crate::rig::Outcome;

/// The drive on which the servers are measured first.
const CALIBRATED_ON: &str = "kioxia-cd6-3840gb";
/// The drives to predict: commits from some tens of microseconds to 8 ms.
const PREDICTED: [&str; 5] = [
    "enterprise-nvme",
    "enterprise-sata",
    "gcp-hyperdisk-balanced-1tb-ext4",
    "consumer-nvme",
    "disk-7200rpm-cache-off",
];
const CAPACITY: &str = "capacity=8GiB";
const CLIENTS: &str = "1,4,16,64";
/// Rates closer than this may be in either order.
const DIFFERENT: f64 = 1.1;
/// Limits of the predictions' median and worst error.
const MEDIAN_MAX: f64 = 0.10;
const WORST_MAX: f64 = 0.25;

/// Processors of the drive, and of server and clients.
const OF_DRIVE: usize = 0;
const OF_SERVER: usize = 1;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only the server whose name contains this
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,

    /// Seconds measured for each number of clients
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,

    /// Rows of the Insert Benchmark
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1000..))]
    pub rows: u32,

    /// Seed of the emulated drives
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

struct Server {
    database: &'static dyn Database,
    arguments: &'static [&'static str],
}

const SERVERS: [Server; 2] = [
    Server { database: &Postgres, arguments: &POSTGRES },
    Server { database: &Mariadb, arguments: &MARIADB },
];

/// The results of a server on one drive: those of `db commits` and of `db bench`.
struct Measured {
    documents: [tempfile::NamedTempFile; 2],
    loads: Vec<Load>,
}

/// The measured rate of a server on a drive, beside the predictions.
struct Compared {
    server: &'static str,
    drive: &'static str,
    load: String,
    measured: f64,
    /// From the drive's model; `None` if refused.
    from_model: Option<Rate>,
    /// From commits of the drive alone; `None` if refused.
    from_storage: Option<Rate>,
}

const BASES: [(Basis, &str); 2] =
    [(Basis::Modelled, "the model"), (Basis::Measured, "the measured storage")];

impl Compared {
    fn predicted(&self, basis: Basis) -> Option<Rate> {
        match basis {
            Basis::Modelled => self.from_model,
            Basis::Measured => self.from_storage,
        }
    }

    /// The error as a part of what was measured.
    fn error(&self, basis: Basis) -> Option<f64> {
        Some(self.predicted(basis)?.expected / self.measured - 1.0)
    }

    fn is_inside(&self, basis: Basis) -> bool {
        self.predicted(basis)
            .is_some_and(|Rate { low, high, .. }| (low..=high).contains(&self.measured))
    }
}

/// Prints the table. Fails if something could not be measured, not if an error is large.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "mounting the emulated drive needs root; run it as root"
    );
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let binary = build::flushmark()?;
    // Those of the loop device would compete with the server, and its syncs would wait for its own
    // clients.
    let _workers = KernelWorkers::confine(OF_DRIVE as u32)?;
    let mut compared = Vec::new();
    for server in SERVERS {
        let name = server.database.name();
        if options.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let templates = super::directory()?;
        let template = trial::template(server.database, templates.path(), LogSize::Usual)?;
        let on = |drive: &str| {
            ensure!(!stop.load(Ordering::Relaxed), "interrupted");
            eprintln!("{name} on {drive}");
            server.on(drive, &template, binary, options).with_context(|| format!("{name}, {drive}"))
        };
        let calibrated = on(CALIBRATED_ON)?;
        for drive in PREDICTED {
            let measured = on(drive)?;
            let model = format!("sim:{drive}");
            let from_model = calibrated.predict(binary, [model.as_ref(); 2])?;
            let from_storage = calibrated.predict(binary, measured.paths().map(Path::as_os_str))?;
            compared.extend(compare(name, drive, &measured.loads, &from_model, &from_storage));
        }
    }
    ensure!(!compared.is_empty(), "no server has that name; expected postgresql or mariadb");
    print!("{}", page(&compared));
    Ok(Outcome { passed: compared.len() as u64, failed: 0 })
}

impl Server {
    fn on(
        &self,
        drive: &str,
        template: &Path,
        binary: &Path,
        options: &Options,
    ) -> anyhow::Result<Measured> {
        let directory = super::directory()?;
        let model = format!("{drive},{CAPACITY}");
        let drive = {
            let _pinned = Pinned::to(OF_DRIVE)?;
            EmulatedDrive::of_model(&model, binary, directory.path(), None, options.seed)?
        };
        let _pinned = Pinned::to(OF_SERVER)?;
        let place = trial::lay_out(self.database, template, &drive, directory.path())?;
        let session = Session::open_with(self.database, &place, Durability::On, self.arguments)?;
        let url = self.database.url(&place).context("the database has no server")?;
        let (time, rows) = (format!("{}s", options.seconds), options.rows.to_string());
        let commits = ["commits", &url, "--clients", CLIENTS, "--time", &time];
        let bench = ["bench", &url, "--steps", "l.i0,l.x,l.i1", "--rows", &rows];
        let documents = [document(binary, &commits)?, document(binary, &bench)?];
        drop(session);
        let mut loads = Vec::new();
        for file in &documents {
            let document = RunDocument::from_json(&std::fs::read_to_string(file.path())?)?;
            let calibration = Calibration::of(&document)?;
            ensure!(calibration.processors == Some(1), "{:?} processors", calibration.processors);
            loads.extend(calibration.loads);
        }
        Ok(Measured { documents, loads })
    }
}

/// The document of a measurement by a subcommand of `db`, in a file.
fn document(binary: &Path, arguments: &[&str]) -> anyhow::Result<tempfile::NamedTempFile> {
    let file = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(binary);
    command.arg("db").args(arguments).args(["--store", "none", "--quiet", "--busy", "--output"]);
    let output = command.arg(file.path()).output().context("cannot start flushmark")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", output.status);
    Ok(file)
}

impl Measured {
    fn paths(&self) -> [&Path; 2] {
        self.documents.each_ref().map(tempfile::NamedTempFile::path)
    }

    /// The predictions from the documents, each on a model or on the storage of another document.
    fn predict(&self, binary: &Path, on: [&OsStr; 2]) -> anyhow::Result<Vec<LoadPrediction>> {
        let mut loads = Vec::new();
        for (source, on) in self.paths().into_iter().zip(on) {
            loads.extend(predictions(binary, source, on)?);
        }
        Ok(loads)
    }
}

fn predictions(binary: &Path, source: &Path, on: &OsStr) -> anyhow::Result<Vec<LoadPrediction>> {
    let mut command = Command::new(binary);
    command.args(["db", "predict", "--format", "json"]).arg(source).arg("--on").arg(on);
    let output = command.output().context("cannot start flushmark")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {said}", output.status);
    let document: PredictionDocument = serde_json::from_slice(&output.stdout)?;
    // The first is the server on its own storage.
    let last = document.predictions.into_iter().next_back().context("nothing is predicted")?;
    Ok(last.loads)
}

fn compare(
    server: &'static str,
    drive: &'static str,
    loads: &[Load],
    from_model: &[LoadPrediction],
    from_storage: &[LoadPrediction],
) -> Vec<Compared> {
    let compared = loads.iter().map(|load| {
        let rate = |predictions: &[LoadPrediction]| {
            let found = predictions.iter().find(|prediction| prediction.load == load.name)?;
            found.rows_per_s.or(found.commits_per_s)
        };
        Compared {
            server,
            drive,
            load: load.name.clone(),
            measured: load.rows_per_s.unwrap_or(load.commits_per_s),
            from_model: rate(from_model),
            from_storage: rate(from_storage),
        }
    });
    compared.collect()
}

fn page(compared: &[Compared]) -> String {
    let mut page = format!(
        "calibrated on {CALIBRATED_ON}; commits/s, and rows/s of l.i0 and l.i1\n\n\
         | server | load | drive | measured |"
    );
    for (_, name) in BASES {
        page += &format!(" from {name} | interval | error |");
    }
    page += &format!("\n|{}\n", " --- |".repeat(4 + 3 * BASES.len()));
    for row in compared {
        let Compared { server, drive, load, measured, .. } = row;
        page += &format!("| {server} | {load} | {drive} | {measured:.0} |");
        for (basis, _) in BASES {
            page += &row.predicted(basis).zip(row.error(basis)).map_or_else(
                || " refused | - | - |".to_owned(),
                |(Rate { expected, low, high }, error)| {
                    format!(" {expected:.0} | {low:.0}-{high:.0} | {:+.1} % |", error * 100.0)
                },
            );
        }
        page += "\n";
    }
    for (basis, name) in BASES {
        page += &format!("\nfrom {name}\n{}", summary(compared, basis));
    }
    page
}

fn summary(compared: &[Compared], basis: Basis) -> String {
    let mut errors: Vec<f64> =
        compared.iter().filter_map(|row| Some(row.error(basis)?.abs())).collect();
    errors.sort_by(f64::total_cmp);
    let refused = compared.len() - errors.len();
    let inside = compared.iter().filter(|row| row.is_inside(basis)).count();
    let (Some(worst), Some(median)) = (errors.last(), errors.get(errors.len() / 2)) else {
        return "nothing was predicted\n".to_owned();
    };
    let verdict = |is_met: bool| if is_met { "ok" } else { "SHORT" };
    let wrong = wrong_orders(compared, basis);
    format!(
        "median error {:.1} %  wanted <= 10 %  {}\nworst error {:.1} %  wanted <= 25 %  {}\n\
         pairs of drives in the wrong order: {wrong}  wanted 0  {}\n\
         inside the interval: {inside} of {}; refused: {refused}\n",
        median * 100.0,
        verdict(*median <= MEDIAN_MAX),
        worst * 100.0,
        verdict(*worst <= WORST_MAX),
        verdict(wrong == 0),
        errors.len(),
    )
}

/// Pairs of drives whose measured rates differ, and whose predicted ones are the other way round.
fn wrong_orders(compared: &[Compared], basis: Basis) -> usize {
    let pairs = compared.iter().enumerate().flat_map(|(at, one)| {
        let same = |other: &&Compared| other.server == one.server && other.load == one.load;
        compared[at + 1..].iter().filter(same).map(move |other| (one, other))
    });
    let is_wrong = |(one, other): &(&Compared, &Compared)| {
        let (slow, fast) = if one.measured < other.measured { (one, other) } else { (other, one) };
        let differ = fast.measured > slow.measured * DIFFERENT;
        let expected = |of: &Compared| of.predicted(basis).map(|rate| rate.expected);
        differ && expected(slow).zip(expected(fast)).is_some_and(|(slow, fast)| slow > fast)
    };
    pairs.filter(is_wrong).count()
}

/// This thread, and what it starts, on one processor until dropped.
struct Pinned(CpuSet);

impl Pinned {
    fn to(processor: usize) -> anyhow::Result<Pinned> {
        let before = sched_getaffinity(None::<Pid>)?;
        ensure!(before.is_set(processor), "processor {processor} is missing; two are needed");
        let mut one = CpuSet::new();
        one.set(processor);
        sched_setaffinity(None, &one)?;
        Ok(Pinned(before))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(drive: &'static str, measured: f64, expected: f64) -> Compared {
        let rate = Rate { expected, low: expected * 0.9, high: expected * 1.1 };
        let load = "1 client".to_owned();
        Compared { server: "s", drive, load, measured, from_model: Some(rate), from_storage: None }
    }

    #[test]
    fn the_table_judges_itself() {
        let good = [row("a", 100.0, 105.0), row("b", 200.0, 190.0), row("c", 205.0, 189.0)];
        let good = page(&good);
        assert!(good.contains("median error 5.0 %  wanted <= 10 %  ok"), "{good}");
        assert!(good.contains("wrong order: 0  wanted 0  ok"), "{good}");
        let bad = page(&[row("a", 100.0, 180.0), row("b", 150.0, 150.0)]);
        assert!(bad.contains("worst error 80.0 %  wanted <= 25 %  SHORT"), "{bad}");
        assert!(bad.contains("wrong order: 1  wanted 0  SHORT"), "{bad}");
        assert!(bad.contains("inside the interval: 1 of 2"), "{bad}");
    }
}
