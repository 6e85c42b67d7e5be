//! `cargo xtask versus verify`: `flushmark verify write` compared with `fio --verify=crc32c
//! --fsync=1`, on a file in memory, which is as close to an ideal drive as a machine has. The
//! comparison shows what each adds to a commit.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Compared, Options, Wanted, median, print};
use crate::build;
use crate::command::{is_there, output};

/// Size of the file that both sides write.
const SIZE: &str = "256m";
/// Number of jobs and lanes, each with one commit in flight.
const JOBS: [(u32, &str); 2] = [(1, "commits, 1 at a time"), (4, "commits, 4 at a time")];

/// Runs both, and prints the table. Fails if fio is missing or a measurement fails, not if a ratio
/// falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !is_there("fio", &["--version"]) {
        bail!("fio is missing; install it (apt-get install fio)");
    }
    build::flushmark()?;
    let place = tempfile::tempdir_in("/dev/shm").context("cannot make a directory in memory")?;
    let mut table = Vec::new();
    for (jobs, row) in JOBS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..options.rounds {
            if round % 2 == 0 {
                ours.push(flushmark(place.path(), jobs, options.seconds)?);
                theirs.push(fio(place.path(), jobs, options.seconds)?);
            } else {
                theirs.push(fio(place.path(), jobs, options.seconds)?);
                ours.push(flushmark(place.path(), jobs, options.seconds)?);
            }
            if let (Some(ours), Some(theirs)) = (ours.last(), theirs.last()) {
                eprintln!("  round {}: {ours:.0} and {theirs:.0} a second", round + 1);
            }
        }
        let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
        table.push(Compared {
            row,
            what: "commits a second".to_owned(),
            ours,
            theirs,
            wanted: Wanted::AtLeast(1.0),
        });
    }
    print(&table);
    Ok(())
}

fn flushmark(place: &Path, lanes: u32, seconds: u32) -> anyhow::Result<f64> {
    let binary = build::flushmark()?;
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

fn fio(place: &Path, jobs: u32, seconds: u32) -> anyhow::Result<f64> {
    let filename = format!("--filename={}", place.join("fio").display());
    let (jobs, runtime, size) =
        (format!("--numjobs={jobs}"), format!("--runtime={seconds}"), format!("--size={SIZE}"));
    let work = [
        "--name=row",
        "--rw=randwrite",
        "--bs=4k",
        "--verify=crc32c",
        "--do_verify=0",
        "--fsync=1",
        "--direct=1",
    ];
    // Threads cost less than processes; a state for a later verification is not needed.
    let way = [
        "--ioengine=psync",
        "--thread",
        "--group_reporting",
        "--time_based",
        "--verify_state_save=0",
    ];
    let rest = [filename.as_str(), &jobs, &runtime, &size, "--output-format=json"];
    let text = output("fio", &[&work[..], &way, &rest].concat())?;
    let document: Value = serde_json::from_str(&text).context("fio printed no JSON")?;
    document["jobs"][0]["write"]["iops"].as_f64().context("fio printed no IOPS")
}
