//! `cargo xtask versus fio`: the engine and fio compared in one run, on the same target, pinned to
//! the same processor.
//!
//! The kernel's workers are confined to that processor as well. For each row, fio uses the best of
//! the set-ups that `rows` lists, found in a preliminary round. `docs/benchmarks.md` explains each
//! row.

mod bare;
mod job_files;
mod ours;
mod peer;
mod rigs;
mod rows;
mod zram;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::bare::BareLoop;
use self::rigs::Rigs;
use self::rows::{ROWS, Row};
use super::{Compared, Shared, Wanted, and_build, in_turns, median, print};
use crate::build;
use crate::command::{is_there, output, shown};
use crate::kernel_workers::KernelWorkers;

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// The processor to which both sides and the kernel's workers are pinned
    #[arg(long, default_value_t = 1)]
    cpu: u32,

    /// fio's bare loop, `t/io_uring` as built in fio's sources; it is measured on the rows of
    /// random reads at depth
    #[arg(long, value_name = "PATH", conflicts_with = "jobfiles")]
    bare: Option<PathBuf>,

    /// Compare fio's job files instead, each run by both programs
    #[arg(long)]
    jobfiles: bool,

    /// The fio to compare with
    #[arg(long, default_value = "fio")]
    fio: String,
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

/// Runs the rows and prints the table. Fails if fio is missing or a measurement fails, not if a
/// ratio falls short.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !is_there(&options.fio, &["--version"]) {
        bail!("{} is missing; install it (apt-get install fio)", options.fio);
    }
    // Ctrl-C ends the measured program; this one then takes down what it set up.
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)))?;
    build::flushmark()?;
    let _confined = KernelWorkers::confine(options.cpu)?;
    if options.jobfiles {
        return job_files::compare(options);
    }
    for bench in ["bare_loop", "crate_loop"] {
        shown("cargo", &["bench", "--quiet", "--no-run", "--package", "engine", "--bench", bench])?;
    }
    let rigs = Rigs::set_up().context("cannot set up the devices for the measurements")?;
    let mut table = Vec::new();
    for row in ROWS.iter().filter(|row| options.shared.wants(row.name)) {
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
        let (seconds, cpu) = (options.shared.seconds, options.cpu);
        match self {
            Contestant::Flushmark(program) => ours::measure(program, row, target, seconds, cpu),
            Contestant::Fio(setup) => peer::measure(row, setup, target, seconds, options),
            Contestant::FullQueue(bare) => bare.measure(target, seconds, cpu),
            Contestant::SystemCalls(arguments) => ours::bare(*arguments, target, seconds, cpu),
        }
    }
}

fn iops(sample: &Sample) -> f64 {
    sample.iops
}

fn cpu(sample: &Sample) -> f64 {
    sample.cpu_s_per_million
}

fn p50(sample: &Sample) -> f64 {
    sample.p50_us
}

fn compare(row: &'static Row, rigs: &Rigs, options: &Options) -> anyhow::Result<Vec<Compared>> {
    let target = rigs.target(row.rig);
    let mut contestants = vec![
        Contestant::Flushmark(build::flushmark()?),
        Contestant::Fio(best_setup(row, target, options)?),
    ];
    let builds = options.shared.builds.iter();
    contestants.extend(builds.map(|program| Contestant::Flushmark(program)));
    contestants.extend(bare::loops(row, target, options)?.into_iter().map(Contestant::FullQueue));
    contestants.extend(row.bare.map(Contestant::SystemCalls));
    let samples = in_turns(options.shared.rounds, &contestants, iops, |contestant| {
        contestant.measure(row, target, options)
    })?;
    let ours = &samples[0][..];
    let line = |what: &str, theirs: &[Sample], figure: fn(&Sample) -> f64, wanted: Wanted| {
        Compared::medians(row.name, what, [ours, theirs], figure, wanted)
    };
    let mut lines = Vec::new();
    for (contestant, theirs) in contestants.iter().zip(&samples).skip(1) {
        match contestant {
            Contestant::Fio(_) => {
                lines.push(line("IOPS", theirs, iops, Wanted::AtLeast(row.iops_ratio)));
                lines.push(line("CPU s per million", theirs, cpu, Wanted::AtMost(row.cpu_ratio)));
                if row.commits {
                    lines.push(line("commit p50, µs", theirs, p50, Wanted::AtMost(1.0)));
                }
            }
            Contestant::Flushmark(build) => {
                lines.push(line(&and_build("IOPS", build), theirs, iops, Wanted::BUILD_RATE));
                lines.push(line(&and_build("CPU", build), theirs, cpu, Wanted::BUILD_TIME));
            }
            Contestant::FullQueue(bare) => {
                lines.push(line(bare.name(), theirs, iops, Wanted::AtLeast(bare::SHARE_MIN)));
            }
            Contestant::SystemCalls(_) => {
                lines.push(line("p50 and a bare loop's, µs", theirs, p50, Wanted::AtMost(1.03)));
            }
        }
    }
    if let Some(queue) = row.queue {
        let depth = [Sample { in_flight: f64::from(queue.depth), ..Sample::default() }];
        let in_flight = |sample: &Sample| sample.in_flight;
        lines.push(line("in flight and asked for", &depth, in_flight, Wanted::Within(0.02)));
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
            .map(|_| peer::measure(row, setup, target, 1, options))
            .collect::<anyhow::Result<_>>()?;
        let iops = median(trials.iter().map(|sample| sample.iops));
        eprintln!("  fio {}: {iops:.0} IOPS", setup.join(" "));
        if iops > best.0 {
            best = (iops, setup);
        }
    }
    Ok(best.1)
}

/// Runs a bench of the engine, pinned to a processor; returns its stdout.
fn engine_bench(name: &str, cpu: &str, args: &[&str]) -> anyhow::Result<String> {
    let cargo =
        ["-c", cpu, "cargo", "bench", "--quiet", "--package", "engine", "--bench", name, "--"];
    output("taskset", &[&cargo[..], args].concat())
}
