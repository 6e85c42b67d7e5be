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
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};

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

/// The part of a measurement in which processor time is observed: both sides have started and
/// warmed up by then, and have not ended.
fn steady_part(seconds: u32) -> Range<Duration> {
    let measured = Duration::from_secs(seconds.into());
    measured / 2..measured * 19 / 20
}

/// A line of the table.
struct Compared {
    row: &'static str,
    what: &'static str,
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

fn compare(row: &'static Row, rigs: &Rigs, options: &Options) -> anyhow::Result<Vec<Compared>> {
    let target = rigs.target(row.rig);
    let setup = best_setup(row, target, options)?;
    let loops = bare::loops(row, target, options)?;
    let mut of_loops: Vec<Vec<Sample>> = loops.iter().map(|_| Vec::new()).collect();
    let (mut ours, mut theirs, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let measure_ours = || ours::measure(row, target, options.seconds, options.cpu);
        let measure_fio = || fio::measure(row, setup, target, options);
        if round % 2 == 0 {
            ours.push(measure_ours()?);
            theirs.push(measure_fio()?);
        } else {
            theirs.push(measure_fio()?);
            ours.push(measure_ours()?);
        }
        if let Some(bare_loop) = row.bare {
            bare.push(ours::bare(bare_loop, target, options.seconds, options.cpu)?);
        }
        for (bare, samples) in loops.iter().zip(&mut of_loops) {
            samples.push(bare.measure(target, options.seconds, options.cpu)?);
        }
        let last =
            [&ours, &theirs].into_iter().chain(&of_loops).filter_map(|samples| samples.last());
        let figures: Vec<String> = last.map(|sample| format!("{:.0}", sample.iops)).collect();
        eprintln!("  round {}: {} IOPS", round + 1, figures.join(", "));
    }
    let line =
        |what, ours: &[Sample], theirs: &[Sample], figure: fn(&Sample) -> f64, wanted| Compared {
            row: row.name,
            what,
            ours: median(ours.iter().map(figure)),
            theirs: median(theirs.iter().map(figure)),
            wanted,
        };
    let mut lines = vec![
        line("IOPS", &ours, &theirs, |sample| sample.iops, Wanted::AtLeast(row.iops_ratio)),
        line(
            "CPU s per million",
            &ours,
            &theirs,
            |sample| sample.cpu_s_per_million,
            Wanted::AtMost(row.cpu_ratio),
        ),
    ];
    for (bare, samples) in loops.iter().zip(&of_loops) {
        lines.push(line(
            bare.name(),
            &ours,
            samples,
            |sample| sample.iops,
            Wanted::AtLeast(bare::SHARE_MIN),
        ));
    }
    if let Some(queue) = row.queue {
        let depth = [Sample { in_flight: f64::from(queue.depth), ..Sample::default() }];
        lines.push(line(
            "in flight and asked for",
            &ours,
            &depth,
            |sample| sample.in_flight,
            Wanted::Within(0.02),
        ));
    }
    if row.commits {
        lines.push(line(
            "commit p50, µs",
            &ours,
            &theirs,
            |sample| sample.p50_us,
            Wanted::AtMost(1.0),
        ));
    }
    if !bare.is_empty() {
        lines.push(line(
            "p50 and a bare loop's, µs",
            &ours,
            &bare,
            |sample| sample.p50_us,
            Wanted::AtMost(1.03),
        ));
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
