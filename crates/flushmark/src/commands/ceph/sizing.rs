//! `flushmark ceph sizing`: the hardware of a planned cluster, and what to expect of it.

use std::time::Duration;

use anyhow::Context as _;
use catalogue::model::Filesystem;
use ceph::Medium;
use ceph::release::Release;
use ceph::sizing::{Basis, Candidate, Layout, Plan, Redundancy, size};
use measurement::Outcome;
use simdrive::Machine;

use super::super::{look, print};
use crate::args::Format;
use crate::args::ceph::SizingArgs;
use crate::exit::{ExitStatus, WrongUse};

/// The disk of the layouts with disks.
const DISK: &str = "disk-7200rpm-cache-off";
/// Flash to compare if the user names none: with power-loss protection, and without.
const FLASH: [&str; 2] = ["enterprise-nvme", "consumer-nvme"];

/// A suite and the test in it that does what BlueStore does: write, then fdatasync.
const COMMIT_TEST: (&str, &str) = ("check", "write + fdatasync");
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
                    candidates.push(modelled(layout, name)?);
                }
            }
        }
    }
    Ok(candidates)
}

/// A drive's model, with a commit measured on it in virtual time.
fn modelled(layout: Layout, name: &str) -> anyhow::Result<Candidate> {
    let wrong = |error: String| WrongUse(error);
    let model = simdrive::model(name).map_err(|error| match catalogue::find(name) {
        // Only the catalogue has a similar name.
        Err(unknown) if error.nearest.is_empty() => wrong(unknown.to_string()),
        _ => wrong(error.to_string()),
    })?;
    let mut machine = Machine::new(model.into_owned());
    // OSDs use the device itself.
    machine.model.host.filesystem = Filesystem::None;
    let (suite, test) = COMMIT_TEST;
    let suite = workload::suites::named(suite).with_context(|| format!("no suite {suite}"))?;
    let suite = suite.clone().with_time(COMMIT_TIME);
    let test = suite
        .tests
        .iter()
        .find(|candidate| candidate.name == test)
        .with_context(|| format!("no test {test}"))?;
    let outcome = simdrive::run_alone(&machine, test, &mut |_| true)
        .map_err(|error| wrong(error.to_string()))?;
    let commit = match &outcome {
        Outcome::Measured(result) => result.commit_us.as_ref(),
        Outcome::Skipped(_) => None,
    };
    let commit_us = commit.map(|commit| commit.mean).ok_or_else(|| {
        wrong(format!("`{name}` completes no commit in {} s", COMMIT_TIME.as_secs()))
    })?;
    Ok(Candidate { layout, drive: machine.model.model, commit_us, basis: Basis::Modelled })
}
