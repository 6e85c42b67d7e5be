//! `cargo xtask versus fio`: the engine and fio compared in one run, on the same target, pinned to
//! the same processor.
//!
//! The kernel's workers are confined to that processor as well. Rounds alternate in which side goes
//! first, and medians are compared. For each row, fio uses the best of the set-ups that `rows`
//! lists, found in a preliminary round. `docs/benchmarks.md` explains each row.

mod bare;
mod fio;
mod job_files;
mod kernel_workers;
pub mod nbdkit;
mod ours;
mod rigs;
mod rows;
pub mod sort;
pub mod verify;
mod zram;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::bare::BareLoop;
use self::kernel_workers::KernelWorkers;
use self::rigs::Rigs;
use self::rows::{ROWS, Row};
use crate::build;
use crate::command::{is_there, shown};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Rounds of each row, of which medians are taken
    #[arg(long, default_value_t = 5)]
    rounds: u32,

    /// Seconds of each measurement
    #[arg(long, default_value_t = 3)]
    seconds: u32,

    /// The processor to which both sides and the kernel's workers are pinned
    #[arg(long, default_value_t = 1)]
    cpu: u32,

    /// fio's bare loop, `t/io_uring` as built in fio's sources; it is measured on the rows of
    /// random reads at depth
    #[arg(long, value_name = "PATH")]
    bare: Option<PathBuf>,

    /// Another build of flushmark, such as the version before, measured in the same rounds; can be
    /// repeated
    #[arg(long = "build", value_name = "PROGRAM")]
    builds: Vec<PathBuf>,

    /// Compare fio's job files instead, each run by both programs
    #[arg(long)]
    jobfiles: bool,

    /// The fio to compare with
    #[arg(long, default_value = "fio")]
    fio: String,

    /// Only rows whose name contains one of these
    rows: Vec<String>,
}

/// A measurement of one side.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    iops: f64,
    /// Median commit (or operation) latency.
    p50_us: f64,
    /// Processor seconds for a million operations.
    cpu_s_per_million: f64,
    /// Operations in flight, computed as rate times mean latency.
    in_flight: f64,
}

/// The share of another build's rate that this one must reach: what is written for clarity, and
/// the release profile, may cost 3 %.
const BUILD_SHARE_MIN: f64 = 0.97;

/// The part of a measurement in which processor time is observed: both sides have started and
/// warmed up by then, and have not ended.
fn steady_part(seconds: u32) -> Range<Duration> {
    let measured = Duration::from_secs(seconds.into());
    measured / 2..measured * 19 / 20
}

/// A line of the table.
struct Compared {
    row: &'static str,
    what: String,
    ours: f64,
    theirs: f64,
    wanted: Wanted,
}

/// The requirement on the ratio of ours to theirs.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
    /// At most this far from 1.
    Within(f64),
}

/// Runs the rows and prints the table. Fails if fio is missing or a measurement fails, not if a
/// ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !is_there(&options.fio, &["--version"]) {
        bail!("{} is missing; install it (apt-get install fio)", options.fio);
    }
    // Ctrl-C ends the measured program; this one then takes down what it set up.
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)))?;
    build::flushmark()?;
    if options.jobfiles {
        return job_files::compare(options);
    }
    let _confined = KernelWorkers::confine(options.cpu)?;
    for bench in ["bare_loop", "crate_loop"] {
        shown("cargo", &["bench", "--quiet", "--no-run", "--package", "engine", "--bench", bench])?;
    }
    let wanted = |row: &&Row| {
        options.rows.is_empty() || options.rows.iter().any(|part| row.name.contains(part.as_str()))
    };
    let rigs = Rigs::set_up().context("cannot set up the devices for the measurements")?;
    let mut table = Vec::new();
    for row in ROWS.iter().filter(wanted) {
        eprintln!("{}", row.name);
        table.extend(compare(row, &rigs, options)?);
    }
    print(&table);
    Ok(())
}

/// One of those that do the work of a row.
enum Contestant<'a> {
    Flushmark(&'a Path),
    Fio(&'static [&'static str]),
    FullQueue(BareLoop<'a>),
    /// `crates/engine/benches/bare_loop.rs`, with its arguments.
    SystemCalls([&'static str; 2]),
}

impl Contestant<'_> {
    fn measure(&self, row: &Row, target: &str, options: &Options) -> anyhow::Result<Sample> {
        let Options { seconds, cpu, .. } = *options;
        match self {
            Contestant::Flushmark(program) => ours::measure(program, row, target, seconds, cpu),
            Contestant::Fio(setup) => fio::measure(row, setup, target, options),
            Contestant::FullQueue(bare) => bare.measure(target, seconds, cpu),
            Contestant::SystemCalls(arguments) => ours::bare(*arguments, target, seconds, cpu),
        }
    }
}

fn compare(row: &'static Row, rigs: &Rigs, options: &Options) -> anyhow::Result<Vec<Compared>> {
    let target = rigs.target(row.rig);
    let mut contestants = vec![
        Contestant::Flushmark(build::flushmark()?),
        Contestant::Fio(best_setup(row, target, options)?),
    ];
    contestants.extend(options.builds.iter().map(|program| Contestant::Flushmark(program)));
    contestants.extend(bare::loops(row, target, options)?.into_iter().map(Contestant::FullQueue));
    contestants.extend(row.bare.map(Contestant::SystemCalls));
    let mut samples: Vec<Vec<Sample>> = contestants.iter().map(|_| Vec::new()).collect();
    for round in 0..options.rounds as usize {
        // The order is reversed in every other round, and begins with the next one after two
        // rounds.
        let forward = |turn| (turn + round / 2) % contestants.len();
        let turns = (0..contestants.len()).map(forward);
        let turns: Vec<usize> =
            if round % 2 == 0 { turns.collect() } else { turns.rev().collect() };
        for turn in turns {
            samples[turn].push(contestants[turn].measure(row, target, options)?);
        }
        let last = samples.iter().filter_map(|samples| samples.last());
        let figures: Vec<String> = last.map(|sample| format!("{:.0}", sample.iops)).collect();
        eprintln!("  round {}: {} IOPS", round + 1, figures.join(", "));
    }
    let ours = &samples[0];
    let line =
        |what: String, theirs: &[Sample], figure: fn(&Sample) -> f64, wanted: Wanted| Compared {
            row: row.name,
            what,
            ours: median(ours.iter().map(figure)),
            theirs: median(theirs.iter().map(figure)),
            wanted,
        };
    let iops: fn(&Sample) -> f64 = |sample| sample.iops;
    let cpu: fn(&Sample) -> f64 = |sample| sample.cpu_s_per_million;
    let p50: fn(&Sample) -> f64 = |sample| sample.p50_us;
    let mut lines = Vec::new();
    for (contestant, theirs) in contestants.iter().zip(&samples).skip(1) {
        match contestant {
            Contestant::Fio(_) => {
                lines.push(line("IOPS".to_owned(), theirs, iops, Wanted::AtLeast(row.iops_ratio)));
                let per_million = "CPU s per million".to_owned();
                lines.push(line(per_million, theirs, cpu, Wanted::AtMost(row.cpu_ratio)));
                if row.commits {
                    lines.push(line("commit p50, µs".to_owned(), theirs, p50, Wanted::AtMost(1.0)));
                }
            }
            Contestant::Flushmark(program) => {
                let name = program.file_name().unwrap_or_default().to_string_lossy();
                let wanted = Wanted::AtLeast(BUILD_SHARE_MIN);
                lines.push(line(format!("IOPS and {name}'s"), theirs, iops, wanted));
                let wanted = Wanted::AtMost(1.0 / BUILD_SHARE_MIN);
                lines.push(line(format!("CPU and {name}'s"), theirs, cpu, wanted));
            }
            Contestant::FullQueue(bare) => {
                let wanted = Wanted::AtLeast(bare::SHARE_MIN);
                lines.push(line(bare.name().to_owned(), theirs, iops, wanted));
            }
            Contestant::SystemCalls(_) => {
                let what = "p50 and a bare loop's, µs".to_owned();
                lines.push(line(what, theirs, p50, Wanted::AtMost(1.03)));
            }
        }
    }
    if let Some(queue) = row.queue {
        let depth = [Sample { in_flight: f64::from(queue.depth), ..Sample::default() }];
        let what = "in flight and asked for".to_owned();
        lines.push(line(what, &depth, |sample| sample.in_flight, Wanted::Within(0.02)));
    }
    Ok(lines)
}

/// The set-up of fio that does best in a short trial.
fn best_setup(
    row: &'static Row,
    target: &str,
    options: &Options,
) -> anyhow::Result<&'static [&'static str]> {
    let [first, others @ ..] = row.fio else { bail!("row {} has no fio set-up", row.name) };
    if others.is_empty() {
        return Ok(first);
    }
    let mut best = (0.0, *first);
    for setup in row.fio {
        let trials: Vec<Sample> = (0..3)
            .map(|_| fio::measure(row, setup, target, &Options { seconds: 1, ..options.clone() }))
            .collect::<anyhow::Result<_>>()?;
        let iops = median(trials.iter().map(|sample| sample.iops));
        eprintln!("  fio {}: {iops:.0} IOPS", setup.join(" "));
        if iops > best.0 {
            best = (iops, setup);
        }
    }
    Ok(best.1)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn print(table: &[Compared]) {
    println!(
        "{:<32} {:<26} {:>12} {:>12} {:>7}  wanted",
        "row", "figure", "flushmark", "beside", "ratio"
    );
    for line in table {
        let ratio = if line.theirs > 0.0 { line.ours / line.theirs } else { 0.0 };
        let (wanted, holds) = match line.wanted {
            Wanted::AtLeast(least) => (format!(">= {least}"), ratio >= least),
            Wanted::AtMost(most) => (format!("<= {most}"), ratio <= most),
            Wanted::Within(off) => (format!("1 ± {off}"), (ratio - 1.0).abs() <= off),
        };
        let verdict = if holds { "" } else { "  SHORT" };
        println!(
            "{:<32} {:<26} {:>12} {:>12} {ratio:>7.3}  {wanted}{verdict}",
            line.row,
            line.what,
            figure(line.ours),
            figure(line.theirs)
        );
    }
}

fn figure(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < f64::EPSILON);
        assert!(median(std::iter::empty()).abs() < f64::EPSILON);
    }
}
