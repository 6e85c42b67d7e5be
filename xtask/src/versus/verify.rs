//! `cargo xtask versus verify`: `flushmark verify write` compared with `fio --verify=crc32c
//! --fsync=1`, on a file in memory, which is as close to an ideal drive as a machine has. The
//! comparison shows what each adds to a commit.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Compared, Shared, Wanted, and_build, in_turns, print};
use crate::build;
use crate::command::{is_there, output};

/// Size of the file that both sides write.
const SIZE: &str = "256m";
/// Number of jobs and lanes, each with one commit in flight.
const JOBS: [(u32, &str); 2] = [(1, "commits, 1 at a time"), (4, "commits, 4 at a time")];

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// The fio to compare with
    #[arg(long, default_value = "fio")]
    fio: String,
}

#[derive(Debug, Clone, Copy)]
enum Program<'a> {
    Flushmark(&'a Path),
    Fio(&'a str),
}

impl Program<'_> {
    /// Commits per second.
    fn measure(self, place: &Path, jobs: u32, seconds: u32) -> anyhow::Result<f64> {
        match self {
            Program::Flushmark(binary) => flushmark(binary, place, jobs, seconds),
            Program::Fio(program) => fio(program, place, jobs, seconds),
        }
    }
}

/// Runs both, and prints the table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !is_there(&options.fio, &["--version"]) {
        bail!("{} is missing; install it (apt-get install fio)", options.fio);
    }
    let mut contestants = vec![Program::Flushmark(build::flushmark()?), Program::Fio(&options.fio)];
    contestants.extend(options.shared.builds.iter().map(|build| Program::Flushmark(build)));
    let place = tempfile::tempdir_in("/dev/shm").context("cannot make a directory in memory")?;
    let mut table = Vec::new();
    for (jobs, row) in JOBS.into_iter().filter(|(_, row)| options.shared.wants(row)) {
        eprintln!("{row}");
        let rate: fn(&f64) -> f64 = |rate| *rate;
        let samples = in_turns(options.shared.rounds, &contestants, rate, |program| {
            program.measure(place.path(), jobs, options.shared.seconds)
        })?;
        for (program, theirs) in contestants.iter().zip(&samples).skip(1) {
            let (what, wanted) = match program {
                Program::Fio(_) => ("commits a second".to_owned(), Wanted::AtLeast(1.0)),
                Program::Flushmark(build) => (and_build("commits", build), Wanted::BUILD_RATE),
            };
            table.push(Compared::medians(row, what, [&samples[0], theirs], rate, wanted));
        }
    }
    print(&table);
    Ok(())
}

fn flushmark(binary: &Path, place: &Path, lanes: u32, seconds: u32) -> anyhow::Result<f64> {
    let (place, lanes, time) = (place.to_string_lossy(), lanes.to_string(), format!("{seconds}s"));
    let args = ["verify", "write", &place, "--size", SIZE, "--lanes", &lanes, "--time", &time];
    let only_flush = ["--fua-lanes", "0", "--control-lanes", "0", "--quiet"];
    let text = output(&binary.to_string_lossy(), &[&args[..], &only_flush].concat())?;
    let commits = text.split(" commits in ").next().unwrap_or_default().replace(',', "");
    let commits: f64 = commits
        .parse()
        .with_context(|| format!("flushmark printed no count of commits: {text}"))?;
    Ok(commits / f64::from(seconds))
}

fn fio(program: &str, place: &Path, jobs: u32, seconds: u32) -> anyhow::Result<f64> {
    let filename = format!("--filename={}", place.join("fio").display());
    let (jobs, runtime, size) =
        (format!("--numjobs={jobs}"), format!("--runtime={seconds}"), format!("--size={SIZE}"));
    let work = [
        "--name=row", "--rw=randwrite", "--bs=4k", "--verify=crc32c", "--do_verify=0", "--fsync=1",
        "--direct=1",
    ];
    // Threads cost less than processes; a state for a later verification is not needed.
    let way = [
        "--ioengine=psync", "--thread", "--group_reporting", "--time_based",
        "--verify_state_save=0",
    ];
    let rest = [filename.as_str(), &jobs, &runtime, &size, "--output-format=json"];
    let text = output(program, &[&work[..], &way, &rest].concat())?;
    let document: Value = serde_json::from_str(&text).context("fio printed no JSON")?;
    document["jobs"][0]["write"]["iops"].as_f64().context("fio printed no IOPS")
}
