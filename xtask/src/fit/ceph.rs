//! `cargo xtask fit ceph`: what a write costs in Ceph's software (S), and how many commits it waits
//! for (k), for `ceph sizing`.
//!
//! `latency = S + k·F + RTT·(1 + (size > 1))`. F is what a commit takes on the drives under the
//! OSDs. For each F, a cluster starts with two OSDs on emulated drives that have it, and each OSD is
//! overwritten at depth 1 in three ways. They share S. k has a part for the log and one for data
//! that are written in place. Copies add some time of the software, which is printed but is not one
//! of the constants: here they share the processors. The coefficients are those with the smallest
//! relative errors. All daemons, the drives and the client share this machine, so S is what it takes here.
//! Medians are compared, because other work on the machine lengthens the slowest writes.

mod least_squares;
mod round_trip;

use std::path::Path;

use anyhow::Context as _;
use ceph::release::Version;
use serde_json::Value;

use self::least_squares::{Fit, Row};
use crate::rig::ceph::PACKAGES;
use crate::rig::ceph::cluster::{Cluster, Storage};
use crate::rig::ceph::drive::EmulatedDrive;
use crate::rig::ceph::place::Place;
use crate::{build, command, packages};

/// Times of a flush, in µs; the rest of a commit is what the emulation takes. In an order in which
/// a machine that gets slower does not look like slower drives.
const FLUSHES_US: [f64; 6] = [10.0, 2000.0, 200.0, 1000.0, 50.0, 500.0];
const OSDS: usize = 2;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Seconds of each measurement
    #[arg(long, default_value_t = 5)]
    seconds: u32,
}

/// The way in which a write reaches the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The data are written to their place and flushed, then the log is.
    InPlace,
    /// The same on two OSDs.
    Replicated,
    /// The log contains the data, as with disks; they are written to their place later.
    Deferred,
}

impl Way {
    const ALL: [Way; 3] = [Way::InPlace, Way::Replicated, Way::Deferred];

    const fn name(self) -> &'static str {
        match self {
            Way::InPlace => "in place, 1 copy",
            Way::Replicated => "in place, 2 copies",
            Way::Deferred => "deferred, 1 copy",
        }
    }

    const fn copies(self) -> u32 {
        match self {
            Way::InPlace | Way::Deferred => 1,
            Way::Replicated => 2,
        }
    }

    /// The terms of the coefficients: S, commits of the log, those of the data, copies.
    const fn terms(self, commit_us: f64) -> [f64; 4] {
        match self {
            Way::InPlace => [1.0, commit_us, commit_us, 0.0],
            Way::Replicated => [1.0, commit_us, commit_us, 1.0],
            Way::Deferred => [1.0, commit_us, 0.0, 0.0],
        }
    }

    const fn pool(self) -> &'static str {
        match self {
            Way::InPlace => "in-place",
            Way::Replicated => "replicated",
            Way::Deferred => "deferred",
        }
    }
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    packages::install(&PACKAGES)?;
    let flushmark = build::flushmark()?;
    let place = tempfile::tempdir()?;
    let version = command::output("ceph", &["--version"])?;
    let round_trip_us = round_trip::on_loopback()?;
    println!("{}", version.trim());
    println!("round trip on the loopback interface: {round_trip_us:.1} µs");
    let mut rows = Vec::new();
    for flush_us in FLUSHES_US {
        let model = place.path().join(format!("flush-{flush_us}.toml"));
        std::fs::write(&model, model_of(flush_us))?;
        let model = model.to_string_lossy();
        let commit_us = commit_us(flushmark, place.path(), &model)?;
        let models = [&*model; OSDS];
        let cluster = Cluster::start(Storage::Emulated { binary: flushmark, models: &models })?;
        for way in Way::ALL {
            for latency_us in latencies_us(flushmark, &cluster, way, options.seconds)? {
                println!("{:<20} F {commit_us:>7.1} µs  {latency_us:>8.1} µs", way.name());
                let round_trips = if way.copies() > 1 { 2.0 } else { 1.0 };
                let value = latency_us - round_trips * round_trip_us;
                rows.push(Row { terms: way.terms(commit_us), value });
            }
        }
    }
    let fit = Fit::of(&rows).context("the measurements determine no S and k")?;
    print(&fit, &version);
    Ok(())
}

/// The coefficients, and the constants of `ceph::sizing::prediction`.
fn print(fit: &Fit<4>, version: &str) {
    let names = ["S, µs", "k of the log", "k of data in place", "S of copies, µs"];
    println!();
    for (name, estimate) in names.iter().zip(&fit.coefficients) {
        println!("{name:<20} {:>9.3} ± {:.3}", estimate.value, estimate.standard_error);
    }
    let [software, log, data, _copies] = fit.coefficients;
    // `ceph version 16.2.15 (...) pacific (stable)`
    let number = version.split_whitespace().nth(2).unwrap_or_default();
    let since = number
        .parse::<Version>()
        .map_or_else(|error| error.to_string(), |version| version.release().name().to_owned());
    let (low, high) = (
        software.value - 2.0 * software.standard_error,
        software.value + 2.0 * software.standard_error,
    );
    println!(
        "\nCost {{\n    since: Release::{since},\n    software_us: ({low:.0}.0, {high:.0}.0),\n    \
         log_commits: {:.1},\n    data_commits: {:.1},\n    \
         origin: Origin::Fitted {{ version: \"{number}\", error_percent: {:.0}.0 }},\n}}",
        log.value,
        data.value,
        fit.relative_error * 100.0
    );
}

/// A drive that writes at once, and takes this long for a flush.
fn model_of(flush_us: f64) -> String {
    format!(
        "model = \"flush-{flush_us}\"\nlabel = \"A flush of {flush_us} µs\"\n\
         class = \"enterprise-nvme\"\nbasis = \"invented, for a fit\"\n\n\
         [drive]\nkind = \"solid-state\"\ncapacity_gb = 64.0\n\
         link = {{ queue_depth = 1023, mb_per_s = 6500.0, full_duplex = true, command_us = 1.0, \
         write_us = 9.0, read_us = 12.0 }}\n\
         cache = {{ size = \"64 MiB\", protected = true, told_volatile = true }}\n\
         fua = {{ how = \"cached\", extra_us = {flush_us:?} }}\n\n\
         [drive.flush]\ncommand_us = {flush_us:?}\nwaits_for = \"nothing\"\n\n\
         [drive.flash]\ndies = 64\nchannels = 16\nchannel_mb_per_s = 1200.0\n\
         program = \"96 KiB\"\nprogram_us = 1300.0\nread_us = 60.0\nerase_us = 4000.0\n\
         programs_per_block = 256\nspare_percent = 7.0\n"
    )
}

/// The median of a 4 KiB write + fdatasync on such a drive, which holds no OSD.
fn commit_us(flushmark: &Path, place: &Path, model: &str) -> anyhow::Result<f64> {
    let directory = tempfile::tempdir_in(place)?;
    let (plan, drive) = (directory.path().join("plan.toml"), directory.path().join("drive"));
    let test = "[[test]]\npattern = \"randwrite\"\nsync = \"fdatasync\"\ntime = \"5s\"\n";
    std::fs::write(&plan, test.to_owned() + "size = \"256MiB\"\n")?;
    let drive = EmulatedDrive::start(flushmark, &drive, model)?;
    let (plan, device) = (plan.to_string_lossy(), drive.device().to_string_lossy());
    let run = ["run", &plan, "--target", &device, "--destroy-data", "--quiet", "--format", "json"];
    let printed = command::output(&flushmark.to_string_lossy(), &run)?;
    let document: Value = serde_json::from_str(&printed)?;
    let median = document.pointer("/results/0/commit_us/p50").and_then(Value::as_f64);
    median.context("flushmark reported no commit")
}

/// The median latency of overwrites on each OSD.
fn latencies_us(
    flushmark: &Path,
    cluster: &Cluster,
    way: Way,
    seconds: u32,
) -> anyhow::Result<Vec<f64>> {
    if way == Way::Deferred {
        for option in ["bluestore_prefer_deferred_size_ssd", "bluestore_prefer_deferred_size"] {
            cluster.run("ceph", &["config", "set", "osd", option, "65536"])?;
        }
        // As with disks.
        cluster.run("ceph", &["config", "set", "osd", "bluestore_deferred_batch_ops", "64"])?;
    }
    let place = Place::new(cluster, way.pool(), way.copies())?;
    let (environment, time) = (place.environment(), format!("{seconds}s"));
    let flushmark = flushmark.to_string_lossy();
    let osds = [&*environment, &*flushmark, "ceph", "osds", "--pool", place.pool];
    let rest = ["--time", &time, "--quiet", "--format", "json"];
    let text = command::output("env", &[&osds[..], &rest].concat())?;
    let document: Value = serde_json::from_str(&text)?;
    let results = document["results"].as_array().context("a document without results")?;
    let writes = results.iter().filter_map(|result| result["write_us"]["p50"].as_f64());
    Ok(writes.collect())
}
