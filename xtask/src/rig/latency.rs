//! `cargo xtask rig latency`: whether an emulated drive is as slow as its model, and as the drive
//! that was measured.
//!
//! | part | what fio does | compared with |
//! | --- | --- | --- |
//! | commits | 4 KiB at random with a sync after each, depth 1, over NBD and on the loop device on FUSE | the model's commit, in virtual time |
//! | rows | a published row's test, on the loop device or on ext4 on it | the published figure, and the model's; as operations a second |
//!
//! Only models whose commit takes 100 µs or more: below that the transport is slower than the
//! drive. fio reports write and sync latency separately; the median of a commit is taken to be the
//! sum of their medians.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use catalogue::Drive;
use catalogue::model::{Filesystem, Model};
use emulate::Nominal;
use measurement::TestResult;
use serde_json::Value;
use simdrive::sample::{Figure, Sample};
use simdrive::{Machine, published, run_alone as run_model};
use workload::{SyncMethod, Test, Work, Workload};

use super::Outcome;
use crate::build;
use crate::command::output;
use crate::served::{Access, Served};

/// Debian packages that the rig needs.
pub const PACKAGES: [&str; 4] = ["fio", "fuse3", "util-linux", "e2fsprogs"];
/// Below this, a commit mostly measures the transport.
const COMMIT_NS_MIN: u64 = 100_000;
/// Allowed deviation of a commit's median from the model's.
const COMMIT_ERROR_MAX: f64 = 0.05;
/// Allowed deviation of a row from the published figure.
const ROW_ERROR_MAX: f64 = 0.10;
/// Maximum throughput of FUSE and a loop device, in MiB/s.
const TRANSPORT_MIB_MAX: f64 = 1000.0;
/// Size of the area that tests work on.
const AREA_BYTES: u64 = 1 << 30;
/// Part of the drive that is filled before a test: the area that it works on.
const FILL_PERCENT: &str = "25";
/// Size of the drives whose commits are measured; rows are measured on whole drives.
const CAPACITY: &str = "4GiB";

#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Only models whose names contain this
    #[arg(value_name = "MODEL")]
    pub filter: Option<String>,

    /// Seconds of each measurement
    #[arg(long, default_value_t = 4)]
    pub seconds: u32,
}

/// Measures, prints both tables, and counts what deviates too much as failed.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let program = build::flushmark()?;
    let named =
        |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
    let mut outcome = Outcome::default();
    println!(
        "{:<32} {:<6} {:>12} {:>12} {:>8}",
        "commit p50", "access", "model", "emulated", "error"
    );
    for model in catalogue::models().iter().filter(|model| named(&model.model)) {
        let machine = machine(model);
        if Nominal::of(machine.drive(false)?).commit_ns() < COMMIT_NS_MIN {
            continue;
        }
        let model_us = commit_us(&machine)?;
        for access in [Access::Nbd, Access::Device] {
            let client =
                Client::start(program, &format!("{},capacity={CAPACITY}", model.model), access)?;
            let us = client
                .commit_us(machine.drive(false)?.identity().volatile_cache, options.seconds)?;
            let error = us / model_us - 1.0;
            count(&mut outcome, error, COMMIT_ERROR_MAX);
            println!(
                "{:<32} {:<6} {model_us:>9.1} µs {us:>9.1} µs {:>7.1} %{}",
                model.model,
                access.name(),
                error * 100.0,
                too_far(error, COMMIT_ERROR_MAX)
            );
        }
    }
    println!(
        "\n{:<32} {:<44} {:>10} {:>10} {:>10} {:>8}",
        "published row", "test", "published", "model", "emulated", "error"
    );
    let mut not_replayed = Vec::new();
    for model in catalogue::models().iter().filter(|model| named(&model.model)) {
        if let Some(drive) = &model.fitted_to {
            let drive = catalogue::find(drive)?;
            not_replayed.extend(rows(drive, model, program, options, &mut outcome)?);
        }
    }
    not_replayed.sort_unstable();
    for same in not_replayed.chunk_by(|a, b| a == b) {
        println!("not replayed: {} rows, {}", same.len(), same[0].because());
    }
    println!("\nlatency: {} passed, {} failed", outcome.passed, outcome.failed);
    Ok(outcome)
}

fn too_far(error: f64, most: f64) -> &'static str {
    if error.abs() > most { "  FAR" } else { "" }
}

fn count(outcome: &mut Outcome, error: f64, most: f64) {
    if error.abs() > most {
        outcome.failed += 1;
    } else {
        outcome.passed += 1;
    }
}

/// The model as it is emulated: without the filesystem that its rows may include.
fn machine(model: &Model) -> Machine {
    let mut machine = Machine::new(model.clone());
    machine.capacity_bytes = Some(4 << 30);
    machine.model.host.filesystem = Filesystem::None;
    machine
}

/// The median of a model's commit of 4 KiB at random, in virtual time.
fn commit_us(machine: &Machine) -> anyhow::Result<f64> {
    let text = format!(
        "[[test]]\nname = \"commit\"\npattern = \"randwrite\"\nsync = \"fsync\"\nsize = \
         {AREA_BYTES}\ntime = \"2s\"\nwarm_up = \"0s\"\n"
    );
    let plan = workload::Plan::from_toml("commit", &text)?;
    match run_model(machine, &plan.tests[0], &mut |_| true)? {
        measurement::Outcome::Measured(result) => {
            Ok(result.headline_us().context("the model made no commits")?.p50)
        }
        measurement::Outcome::Skipped(skipped) => bail!("{}", skipped.because),
    }
}

/// Why a row is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NotReplayed {
    TooFast,
    TooMuch,
    NoBlocks,
    NoSwitch,
    CoarseTime,
}

impl NotReplayed {
    const fn because(self) -> &'static str {
        match self {
            NotReplayed::TooFast => "more operations per second than the transport can carry",
            NotReplayed::TooMuch => "more bytes per second than the transport can carry",
            NotReplayed::CoarseTime => {
                "ext4 commits its journal on fsync only if the file's change time has moved, and \
                 this kernel's clock ticks less often than the row's operations come"
            }
            NotReplayed::NoBlocks => "a step program, which fio cannot run",
            NotReplayed::NoSwitch => "the model has no cache that can be switched",
        }
    }
}

fn rows(
    drive: &Drive,
    model: &Model,
    program: &Path,
    options: &Options,
    outcome: &mut Outcome,
) -> anyhow::Result<Vec<NotReplayed>> {
    let samples = published::samples(drive, model)
        .map_err(|row| anyhow::anyhow!("no test corresponds to {row:?}"))?;
    let mut not_replayed = Vec::new();
    for sample in samples {
        let Work::Blocks(workload) = &sample.test.work else {
            not_replayed.push(NotReplayed::NoBlocks);
            continue;
        };
        let block_mib = f64::from(workload.block_bytes.get()) / f64::from(1 << 20);
        let published = match sample.figure {
            Figure::Iops(iops) => iops,
            Figure::MibPerS(mib) => mib / block_mib,
        };
        if 1e9 / published < COMMIT_NS_MIN as f64 {
            not_replayed.push(NotReplayed::TooFast);
            continue;
        }
        if published * block_mib > TRANSPORT_MIB_MAX {
            not_replayed.push(NotReplayed::TooMuch);
            continue;
        }
        let on_ext4 = model.host.filesystem != Filesystem::None;
        if on_ext4 && workload.sync == SyncMethod::Fsync && 1e9 / published < tick_ns() {
            not_replayed.push(NotReplayed::CoarseTime);
            continue;
        }
        let wants_on = sample.test.write_cache.requires_on();
        let identity = Machine::new(model.clone()).drive(false)?.identity();
        if wants_on.is_some_and(|on| on != identity.volatile_cache && !identity.switchable) {
            not_replayed.push(NotReplayed::NoSwitch);
            continue;
        }
        let access = if model.host.filesystem == Filesystem::None {
            Access::Device
        } else {
            Access::Mounted
        };
        let modelled = match (modelled(model, &sample)?, sample.figure) {
            (result, Figure::Iops(_)) => result.iops,
            (result, Figure::MibPerS(_)) => result.mib_per_s / block_mib,
        };
        let cache =
            wants_on.map_or("", |on| if on { ",write-cache=on" } else { ",write-cache=off" });
        let client = Client::start(program, &format!("{}{cache}", drive.name), access)?;
        let emulated = client.row_iops(workload, options.seconds)?;
        let (low, high) = sample.span;
        let in_units = |iops: f64| {
            if matches!(sample.figure, Figure::Iops(_)) { iops } else { iops * block_mib }
        };
        // If the same test was published several times, any figure in that range is right.
        let nearest = in_units(emulated).clamp(low, high);
        let error = in_units(emulated) / nearest - 1.0;
        count(outcome, error, ROW_ERROR_MAX);
        println!(
            "{:<32} {:<44} {published:>10.1} {modelled:>10.1} {emulated:>10.1} {:>7.1} %{}",
            format!("{}{cache}", drive.name),
            sample.test.name,
            error * 100.0,
            too_far(error, ROW_ERROR_MAX)
        );
    }
    Ok(not_replayed)
}

/// Resolution of this kernel's coarse clock, from which files get their times.
fn tick_ns() -> f64 {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::RealtimeCoarse);
    tick.tv_nsec as f64
}

fn modelled(model: &Model, sample: &Sample) -> anyhow::Result<TestResult> {
    let machine = Machine::new(model.clone());
    let test: &Test = &sample.test;
    match run_model(&machine, test, &mut |_| true)? {
        measurement::Outcome::Measured(result) => Ok(*result),
        measurement::Outcome::Skipped(skipped) => bail!("{}", skipped.because),
    }
}

/// fio, on a drive that is served.
struct Client {
    served: Served,
}

impl Client {
    fn start(program: &Path, model: &str, access: Access) -> anyhow::Result<Client> {
        // Filled as far as the tests work on it, like the model's tests.
        Ok(Client { served: Served::start(program, model, access, FILL_PERCENT)? })
    }

    fn target(&self) -> anyhow::Result<Vec<String>> {
        let fact = |name: &str| self.served.facts()[name].as_str().map(str::to_owned);
        if let Some(directory) = fact("mounted") {
            let file = PathBuf::from(directory).join("area");
            return Ok(vec![
                format!("--filename={}", file.display()),
                "--ioengine=psync".to_owned(),
                "--direct=1".to_owned(),
            ]);
        }
        if let Some(device) = fact("device") {
            return Ok(vec![
                format!("--filename={device}"),
                "--ioengine=psync".to_owned(),
                "--direct=1".to_owned(),
            ]);
        }
        let uri = fact("nbd").context("the drive is not served over NBD")?;
        Ok(vec!["--ioengine=nbd".to_owned(), format!("--uri={uri}")])
    }

    fn fio(&self, more: &[String], seconds: u32) -> anyhow::Result<Value> {
        let mut args = vec![
            "--name=x".to_owned(),
            format!("--size={AREA_BYTES}"),
            "--output-format=json".to_owned(),
        ];
        args.extend(["--time_based".to_owned(), format!("--runtime={seconds}")]);
        args.extend(self.target()?);
        args.extend_from_slice(more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let text = output("fio", &args)?;
        let start = text.find('{').context("fio printed no JSON")?;
        let document: Value = serde_json::from_str(&text[start..])?;
        Ok(document["jobs"][0].clone())
    }

    /// Writes through the area once, and lets the drive forget that. Afterwards the memory that
    /// holds the data is allocated; and on ext4, fio's layout would leave extents that count as
    /// unwritten, each of which commits the journal on its first write.
    fn lay_out(&self) -> anyhow::Result<()> {
        let size = format!("--size={AREA_BYTES}");
        let target = self.target()?;
        let fixed =
            ["--name=x", &size, "--rw=write", "--bs=1m", "--fallocate=none", "--end_fsync=1"];
        let args: Vec<&str> = fixed.into_iter().chain(target.iter().map(String::as_str)).collect();
        output("fio", &args)?;
        let control =
            self.served.facts()["control"].as_str().context("the drive has no control socket")?;
        output(
            &self.served.program().to_string_lossy(),
            &["emulate", "ctl", control, "fill", FILL_PERCENT],
        )
        .map(drop)
    }

    fn commit_us(&self, flushes: bool, seconds: u32) -> anyhow::Result<f64> {
        let mut args = vec!["--rw=randwrite".to_owned(), "--bs=4k".to_owned()];
        if flushes {
            args.push("--fsync=1".to_owned());
        }
        let job = self.fio(&args, seconds)?;
        let middle = |of: &Value| of["percentile"]["50.000000"].as_f64().unwrap_or(0.0);
        // fio's NBD engine sends within the submission.
        let submitted = job["write"]["slat_ns"]["mean"].as_f64().unwrap_or(0.0);
        Ok((middle(&job["write"]["clat_ns"]) + submitted + middle(&job["sync"]["lat_ns"])) / 1e3)
    }

    fn row_iops(&self, workload: &Workload, seconds: u32) -> anyhow::Result<f64> {
        let mut args = vec![
            format!("--rw={}", workload.pattern.name()),
            format!("--bs={}", workload.block_bytes.get()),
        ];
        match workload.sync {
            SyncMethod::Fsync => args.push(format!("--fsync={}", workload.sync_every)),
            SyncMethod::Fdatasync => args.push(format!("--fdatasync={}", workload.sync_every)),
            SyncMethod::None => {}
            SyncMethod::ODsync | SyncMethod::RwfDsync => args.push("--sync=dsync".to_owned()),
            _ => args.push("--sync=1".to_owned()),
        }
        self.lay_out()?;
        if workload.depth.get() > 1 {
            args.extend([
                "--ioengine=libaio".to_owned(),
                format!("--iodepth={}", workload.depth.get()),
            ]);
        }
        if workload.jobs.get() > 1 {
            args.extend([
                format!("--numjobs={}", workload.jobs.get()),
                "--group_reporting".to_owned(),
            ]);
        }
        let job = self.fio(&args, seconds)?;
        let side = if workload.pattern.writes() { "write" } else { "read" };
        job[side]["iops"].as_f64().context("fio printed no rate")
    }
}
