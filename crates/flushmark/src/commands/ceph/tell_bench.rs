//! `flushmark ceph tell-bench`: the OSDs' own benchmark beside what a commit costs.

mod depth_one;

use std::time::Duration;

use anyhow::Context as _;
use ceph::osd_bench::{
    BenchedOsd, OsdBench, OsdBenchLimits, OsdBenchResult, SCHEMA, TellBenchDocument,
};
use ceph::{ClusterFacts, OsdFacts, Question};
use rados::{Cluster, RadosError};
use workload::number::{capacity, number};

use self::depth_one::Earlier;
use super::super::{look, print};
use super::confirm::confirm;
use super::{choice, cluster};
use crate::args::Format;
use crate::args::ceph::TellBenchArgs;
use crate::exit::{ExitStatus, WrongUse};
use crate::progress::Progress;
use crate::signals::{self, STOP};

/// An OSD ends a benchmark after `osd_bench_duration`, 30 s, if it is as fast as its limits assume.
const PATIENCE: Duration = Duration::from_mins(10);
const BENCHES: [OsdBench; 2] = [OsdBench::SMALL_WRITES, OsdBench::LARGE_WRITES];

pub fn run(args: &TellBenchArgs) -> anyhow::Result<ExitStatus> {
    signals::listen().context("cannot handle signals")?;
    let cluster = cluster::connect_for(&args.access, PATIENCE)?;
    let facts = cluster::facts(&cluster);
    let wanted = choice::wanted(&args.choice, &facts)?;
    let earlier = depth_one::find(args, facts.fsid.as_deref())?;
    for osd in &wanted {
        expect_accepted(&cluster, osd)?;
        expect_room(osd, &facts)?;
    }
    let progress = Progress::new(false, &look());
    choice::warn(&facts, &progress);
    if !args.yes {
        let commands = |osd: &&OsdFacts| BENCHES.map(|bench| tell(osd, &bench));
        confirm(
            "tell-bench slows the OSDs down for their clients",
            "These commands go to the OSDs, one after the other:",
            &wanted.iter().flat_map(commands).collect::<Vec<_>>(),
        )?;
    }
    let mut osds = Vec::new();
    let mut outcome = Ok(());
    for osd in wanted {
        match benched(&cluster, osd, earlier.as_ref()) {
            Ok(Some(benched)) => osds.push(benched),
            Ok(None) => break,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    if !osds.is_empty() {
        show(args, &document(&facts, earlier, osds))?;
    }
    outcome.map(|()| signals::received().map_or(ExitStatus::Done, ExitStatus::Interrupted))
}

fn document(
    facts: &ClusterFacts,
    earlier: Option<Earlier>,
    osds: Vec<BenchedOsd>,
) -> TellBenchDocument {
    TellBenchDocument {
        schema: SCHEMA.to_owned(),
        flushmark: env!("CARGO_PKG_VERSION").to_owned(),
        cluster: facts.fsid.clone(),
        compared_with: earlier.map(|earlier| earlier.origin),
        osds,
    }
}

fn show(args: &TellBenchArgs, document: &TellBenchDocument) -> anyhow::Result<()> {
    match args.format {
        Format::Text => print(&report::ceph_tell_bench_page(document, &look())),
        Format::Json => print(&(serde_json::to_string_pretty(document)? + "\n")),
    }
}

/// Both benchmarks of an OSD; `None` if the user interrupted them.
fn benched(
    cluster: &Cluster,
    osd: &OsdFacts,
    earlier: Option<&Earlier>,
) -> anyhow::Result<Option<BenchedOsd>> {
    let Some(small) = bench(cluster, osd, OsdBench::SMALL_WRITES)? else { return Ok(None) };
    let Some(large) = bench(cluster, osd, OsdBench::LARGE_WRITES)? else { return Ok(None) };
    Ok(Some(BenchedOsd {
        id: osd.id,
        host: osd.host.clone(),
        class: osd.class.clone(),
        small,
        large,
        depth_1: earlier.and_then(|earlier| earlier.of(osd.id)),
    }))
}

/// Sends the command and waits for its answer, or for a signal: no call of the library ends an
/// OSD's benchmark early.
fn bench(
    cluster: &Cluster,
    osd: &OsdFacts,
    bench: OsdBench,
) -> anyhow::Result<Option<OsdBenchResult>> {
    let answer = cluster.osd_command_unless(osd.id, &bench.command(), || STOP.is_requested());
    let Some(answer) = answer else { return Ok(None) };
    let answer = answer.map_err(RadosError::from)?;
    let result = OsdBenchResult::parse(&answer);
    Ok(Some(result.with_context(|| format!("cannot read the answer to `{}`", tell(osd, &bench)))?))
}

/// The command as a user would send it.
fn tell(osd: &OsdFacts, bench: &OsdBench) -> String {
    format!("ceph tell {} {bench}", osd.name())
}

/// Foresees that the OSD refuses a benchmark.
fn expect_accepted(cluster: &Cluster, osd: &OsdFacts) -> anyhow::Result<()> {
    // Before Octopus, an OSD answers this only on its host.
    let Ok(config) = cluster::send(cluster, &Question::RunningConfig(osd.id)) else {
        return Ok(());
    };
    let Ok(limits) = OsdBenchLimits::of_running_config(&config) else { return Ok(()) };
    for bench in BENCHES {
        if let Some(limit) = limits.exceeded_by(&bench) {
            let name = osd.name();
            return Err(WrongUse(format!(
                "{name} refuses `{bench}`: {setting} is {}, expected at least {needed}; `ceph \
                 config set {name} {setting} {needed}` allows it",
                limit.set,
                setting = limit.setting,
                needed = limit.needed
            ))
            .into());
        }
    }
    Ok(())
}

/// A full OSD stops all writes of the cluster.
fn expect_room(osd: &OsdFacts, facts: &ClusterFacts) -> anyhow::Result<()> {
    let (Some(size), Some(used)) = (osd.size_bytes, osd.use_percent) else { return Ok(()) };
    let near_full = facts.full_ratios.unwrap_or_default().near_full;
    let space = BENCHES.iter().map(OsdBench::space_bytes).max().unwrap_or(0);
    let then = used / 100.0 + space as f64 / size as f64;
    if then > near_full {
        return Err(WrongUse(format!(
            "{} is too small or too full: the benchmark needs {} for a while, and {} % of {} would \
             be in use, more than nearfull_ratio, {} %",
            osd.name(),
            capacity(space),
            number(then * 100.0),
            capacity(size),
            number(near_full * 100.0)
        ))
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_osd_that_would_become_nearly_full_is_refused() {
        let osd = |size_bytes, use_percent| OsdFacts {
            id: 3,
            size_bytes: Some(size_bytes),
            use_percent: Some(use_percent),
            ..OsdFacts::default()
        };
        let facts = ClusterFacts::default();
        assert!(expect_room(&osd(4_000_000_000_000, 84.9), &facts).is_ok());
        assert!(expect_room(&OsdFacts::default(), &facts).is_ok(), "nothing is known");
        let refused = expect_room(&osd(4_000_000_000, 60.0), &facts).unwrap_err().to_string();
        insta::assert_snapshot!(refused, @"osd.3 is too small or too full: the benchmark needs 1.07 GB for a while, and 86.8 % of 4 GB would be in use, more than nearfull_ratio, 85 %");
    }
}
