//! `flushmark ceph sizing`: the hardware of a planned cluster, and what to expect of it.

use std::time::Duration;

use anyhow::Context as _;
use catalogue::model::{Filesystem, Parameters};
use ceph::Medium;
use ceph::release::Release;
use ceph::sizing::{Basis, Candidate, Layout, Plan, Redundancy, size};
use measurement::Outcome;
use simdrive::{Machine, SimTarget};
use workload::WriteCache;

use super::super::{look, print};
use crate::args::Format;
use crate::args::ceph::SizingArgs;
use crate::exit::{ExitStatus, WrongUse};
use crate::modelled;

/// The disk of the layouts with disks.
const DISK: &str = "disk-7200rpm-cache-off";
/// Flash to compare if the user names none: with power-loss protection, and without.
const FLASH: [&str; 2] = ["enterprise-nvme", "consumer-nvme"];

/// A suite and the test in it that does what BlueStore does: write, then fdatasync.
const COMMIT_TEST: (&str, &str) = ("check", "write + fdatasync");
/// A protected drive with this many times the commits with its write cache off is listed with it off
/// as well: it writes its cache out on each flush.
const BETTER_OFF: f64 = 3.0;
/// Virtual time, long enough for hundreds of commits of a disk.
const COMMIT_TIME: Duration = Duration::from_secs(5);

pub fn run(args: &SizingArgs) -> anyhow::Result<ExitStatus> {
    let plan = plan(args)?;
    // Before anything is simulated.
    plan.check()?;
    let document = size(&plan, &candidates(args, plan.medium)?, env!("CARGO_PKG_VERSION"))?;
    match args.format {
        Format::Text => print(&report::ceph_sizing_page(&document, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&document)? + "\n"))?,
    }
    Ok(ExitStatus::Done)
}

fn plan(args: &SizingArgs) -> anyhow::Result<Plan> {
    let hdd = args.hdd.map(|size| (Medium::Hdd, size));
    let ssd = args.ssd.map(|size| (Medium::Ssd, size));
    let (medium, data) = hdd.or(ssd).context("clap requires --hdd or --ssd")?;
    let redundancy = args.ec.map_or(Redundancy::Replicated { size: args.replicas }, |code| {
        Redundancy::ErasureCoded { k: code.k, m: code.m }
    });
    Ok(Plan {
        osds: args.osds,
        medium,
        data,
        workload: args.workload.into(),
        version: args.release.unwrap_or(Release::NEWEST.into()),
        hosts: args.hosts,
        redundancy,
        db: args.db_size,
        db_device: args.db_device,
        osds_per_db_device: args.osds_per_db,
        rtt_us: args.rtt_us,
    })
}

fn candidates(args: &SizingArgs, medium: Medium) -> anyhow::Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for &layout in Layout::of(medium) {
        let names = match (layout, &args.drive) {
            (Layout::HddOnly, _) => vec![DISK],
            (_, Some(drive)) => vec![drive.as_str()],
            (_, None) => FLASH.to_vec(),
        };
        match args.commit_us {
            Some(commit_us) if layout != Layout::HddOnly => candidates.push(Candidate {
                layout,
                drive: "your drive".to_owned(),
                commit_us,
                basis: Basis::Given,
            }),
            _ => {
                for name in names {
                    candidates.extend(modelled(layout, name)?);
                }
            }
        }
    }
    Ok(candidates)
}

/// A drive's model, with a commit measured on it in virtual time; and the same with its write cache
/// off, if that makes its commits much faster although the cache is protected.
fn modelled(layout: Layout, name: &str) -> anyhow::Result<Vec<Candidate>> {
    let target = SimTarget::split(name).unwrap_or_else(|| SimTarget::new(name));
    let mut machine = modelled::machine(name, &target)?;
    // OSDs use the device itself.
    machine.model.host.filesystem = Filesystem::None;
    let candidate =
        |drive: String, commit_us| Candidate { layout, drive, commit_us, basis: Basis::Modelled };
    let commit_us = measured_commit_us(&machine, name)?;
    let name = name.strip_prefix("sim:").unwrap_or(name);
    let mut candidates = vec![candidate(name.to_owned(), commit_us)];
    if machine.write_cache == WriteCache::Unchanged && has_protected_cache_to_flush(&machine) {
        machine.write_cache = WriteCache::Off;
        let off_us = measured_commit_us(&machine, name)?;
        if commit_us >= BETTER_OFF * off_us {
            candidates.push(candidate(format!("{name},write-cache=off"), off_us));
        }
    }
    Ok(candidates)
}

fn has_protected_cache_to_flush(machine: &Machine) -> bool {
    let is_protected = match &machine.model.drive {
        Parameters::SolidState(drive) => drive.cache.protected,
        _ => false,
    };
    is_protected && machine.drive(false).is_ok_and(|drive| drive.identity().volatile_cache)
}

fn measured_commit_us(machine: &Machine, name: &str) -> anyhow::Result<f64> {
    let wrong = |error: String| WrongUse(error);
    let (suite, test) = COMMIT_TEST;
    let suite = workload::suites::named(suite).with_context(|| format!("no suite {suite}"))?;
    let suite = suite.clone().with_time(COMMIT_TIME);
    let test = suite
        .tests
        .iter()
        .find(|candidate| candidate.name == test)
        .with_context(|| format!("no test {test}"))?;
    let outcome = simdrive::run_alone(machine, test, &mut |_| true)
        .map_err(|error| wrong(error.to_string()))?;
    let commit = match &outcome {
        Outcome::Measured(result) => result.commit_us.as_ref(),
        Outcome::Skipped(_) => None,
    };
    Ok(commit.map(|commit| commit.mean).ok_or_else(|| {
        wrong(format!("`{name}` completes no commit in {} s", COMMIT_TIME.as_secs()))
    })?)
}
