//! `cargo xtask versus nbd`: flushmark and fio as clients of the same NBD server.
//!
//! The clients are pinned to one processor. fio's engine uses libnbd, as most clients do. The
//! servers keep the data in memory and answer at once, so the rates show what the clients cost.
//! Servers run where the scheduler puts them; at depth 1, where that changes the figures, they are
//! measured on the client's processor as well.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::nbdkit::{Program, Server, serve};
use super::{Compared, Shared, Wanted, and_build, in_turns, print};
use crate::build;
use crate::command::{is_there, watched_output};

/// Size of what the servers serve.
const BYTES: &str = "1GiB";

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    #[command(flatten)]
    shared: Shared,

    /// The processor to which the clients are pinned
    #[arg(long, default_value_t = 1)]
    cpu: u32,

    /// The fio to compare with, built with libnbd
    #[arg(long, default_value = "fio")]
    fio: String,
}

/// A client.
enum Client<'a> {
    Flushmark(&'a Path),
    Fio,
}

/// A measurement of one client.
struct Sample {
    iops: f64,
    /// Processor seconds of the client for a million requests.
    cpu_s_per_million: f64,
}

/// Runs the rows and prints the table.
///
/// # Errors
/// If a program is missing or a measurement fails.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !is_there(&options.fio, &["--enghelp=nbd"]) {
        bail!("{} has no engine nbd; install Debian's (apt-get install fio)", options.fio);
    }
    if !is_there("nbdkit", &["--version"]) {
        bail!("nbdkit is missing; install it (apt-get install nbdkit)");
    }
    let flushmark = build::flushmark()?;
    let place = tempfile::tempdir()?;
    let ours = ["emulate", &format!("ideal,capacity={BYTES}"), "--quiet"];
    let programs = [Program::Flushmark(flushmark), Program::Nbdkit];
    let servers = serve(&programs, place.path(), &ours, &["memory", "1G"])?;
    let mut clients = vec![Client::Flushmark(flushmark), Client::Fio];
    clients.extend(options.shared.builds.iter().map(|build| Client::Flushmark(build)));
    let mut table = Vec::new();
    for (name, server) in ["emulate", "nbdkit"].into_iter().zip(&servers) {
        // The server has allocated its memory by then.
        Client::Fio.measure(server, "write", 32, 2, options)?;
        for pattern in ["randread", "randwrite"] {
            for (depth, together) in [(1, false), (1, true), (32, false)] {
                let place = if together { ", one processor" } else { "" };
                let row = format!("{name} {pattern} 4k depth {depth}{place}");
                if options.shared.wants(&row) {
                    eprintln!("{row}");
                    server.run_on(together.then_some(options.cpu))?;
                    table.extend(compare(&row, server, (pattern, depth), &clients, options)?);
                    server.run_on(None)?;
                }
            }
        }
    }
    print(&table);
    Ok(())
}

fn compare(
    row: &str,
    server: &Server,
    (pattern, depth): (&str, u32),
    clients: &[Client<'_>],
    options: &Options,
) -> anyhow::Result<Vec<Compared>> {
    let iops: fn(&Sample) -> f64 = |sample| sample.iops;
    let cpu: fn(&Sample) -> f64 = |sample| sample.cpu_s_per_million;
    let samples = in_turns(options.shared.rounds, clients, iops, |client| {
        client.measure(server, pattern, depth, options.shared.seconds, options)
    })?;
    let mut lines = Vec::new();
    for (client, theirs) in clients.iter().zip(&samples).skip(1) {
        let figures = match client {
            Client::Fio => [
                ("IOPS".to_owned(), iops, Wanted::AtLeast(1.0)),
                ("CPU s per million".to_owned(), cpu, Wanted::AtMost(1.0)),
            ],
            Client::Flushmark(build) => [
                (and_build("IOPS", build), iops, Wanted::BUILD_RATE),
                (and_build("CPU", build), cpu, Wanted::BUILD_TIME),
            ],
        };
        lines.extend(figures.map(|(what, figure, wanted)| {
            Compared::medians(row, what, [&samples[0], theirs], figure, wanted)
        }));
    }
    Ok(lines)
}

impl Client<'_> {
    fn measure(
        &self,
        server: &Server,
        pattern: &str,
        depth: u32,
        seconds: u32,
        options: &Options,
    ) -> anyhow::Result<Sample> {
        let cpu = options.cpu.to_string();
        let uri = format!("nbd+unix:///?socket={}", server.socket());
        let measured = Duration::from_secs(seconds.into());
        let steady = measured / 2..measured * 19 / 20;
        let (iops, processors) = match self {
            Client::Flushmark(program) => {
                let directory = tempfile::tempdir()?;
                let plan = directory.path().join("row.toml");
                let row = format!(
                    "[[test]]\npattern = \"{pattern}\"\ndepth = {depth}\ntime = \"{seconds}s\"\n\
                     size = \"1GiB\"\n"
                );
                std::fs::write(&plan, row)?;
                let (plan, program) = (plan.to_string_lossy(), program.to_string_lossy());
                let run = ["-c", &cpu, &program, "run", &plan, "--target", &uri];
                let rest = ["--destroy-data", "--quiet", "--format", "json"];
                let (text, processors) =
                    watched_output("taskset", &[&run[..], &rest].concat(), steady)?;
                let document: Value =
                    serde_json::from_str(&text).context("flushmark printed no JSON")?;
                (document["results"][0]["iops"].as_f64(), processors)
            }
            Client::Fio => {
                let (uri, runtime) = (format!("--uri={uri}"), format!("--runtime={seconds}"));
                let (work, depth) = (format!("--rw={pattern}"), format!("--iodepth={depth}"));
                let run = ["-c", &cpu, &options.fio, "--name=x", "--ioengine=nbd", &uri, &runtime];
                let rest = [
                    &work, &depth, "--bs=4k", "--size=1g", "--time_based", "--norandommap=1",
                    "--output-format=json",
                ];
                let (text, processors) =
                    watched_output("taskset", &[&run[..], &rest].concat(), steady)?;
                let start = text.find('{').context("fio printed no JSON")?;
                let document: Value =
                    serde_json::from_str(&text[start..]).context("fio printed no JSON")?;
                let direction = if pattern.ends_with("read") { "read" } else { "write" };
                (document["jobs"][0][direction]["iops"].as_f64(), processors)
            }
        };
        let iops = iops.filter(|&iops| iops > 0.0).context("a client reported no rate")?;
        Ok(Sample { iops, cpu_s_per_million: processors / iops * 1e6 })
    }
}
