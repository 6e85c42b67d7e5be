//! `flushmark ceph check`: one page about a cluster.

use std::time::Duration;

use anyhow::Context as _;
use ceph::{ClusterFacts, OsdFacts};
use engine::ceph::OBJECT_BYTES;
use measurement::ceph_document::{CHECK_SCHEMA, CheckDocument};
use measurement::{Finding, RunDocument};

use super::super::{look, print};
use super::cluster;
use super::osds::{Measurement, OBJECTS, plan};
use crate::args::Format;
use crate::args::ceph::CheckArgs;
use crate::exit::ExitStatus;
use crate::progress::Progress;
use crate::signals;

/// The time of each test of an OSD, in all passes together.
const TIME: Duration = Duration::from_millis(1500);
/// With more OSDs than this, several are measured at the same time, so that the whole takes no
/// longer.
const ONE_BY_ONE_MAX: usize = 12;
/// Limit of the data written to all OSDs together. At two objects at a time, and 60 ms for each
/// as on a disk, that takes half a minute.
const FILLED_BYTES_MAX: u64 = 4 << 30;
/// Minimum number of one OSD's objects, in two placement groups.
const OBJECTS_MIN: usize = 2;

pub fn run(args: &CheckArgs) -> anyhow::Result<ExitStatus> {
    signals::listen().context("cannot handle signals")?;
    let cluster = cluster::connect(&args.access)?;
    let facts = cluster::facts(&cluster);
    let findings = judge::cluster(&facts);
    let progress = Progress::new(args.quiet, &look());
    let osds = facts.osds.clone();
    let wanted: Vec<&OsdFacts> = osds.iter().filter(|osd| osd.up != Some(false)).collect();
    if args.place.is_absent() || wanted.is_empty() {
        show(args.format, facts, None, findings)?;
        return Ok(ExitStatus::Done);
    }
    let objects = objects(wanted.len());
    let measurement = Measurement {
        suite: "ceph-check",
        cluster: &cluster,
        wanted: &wanted,
        plan: &plan(TIME, None, objects)?,
        objects,
        at_once: wanted.len().div_ceil(ONE_BY_ONE_MAX),
        place: &args.place,
        keep: &args.keep,
    };
    let (completed, kept) = measurement.run(&progress)?;
    let document = completed.document.clone();
    let shown = show(args.format, facts, Some(document), findings);
    kept.report(&progress);
    let ended = completed.end()?;
    shown.map(|()| ended.1)
}

/// Objects on each of this number of OSDs: as many as `ceph osds` creates, as long as the cluster is
/// filled in half a minute.
fn objects(osds: usize) -> usize {
    let all = (FILLED_BYTES_MAX / OBJECT_BYTES) as usize;
    (all / osds.max(1)).clamp(OBJECTS_MIN, OBJECTS)
}

fn show(
    format: Format,
    facts: ClusterFacts,
    run: Option<RunDocument>,
    findings: Vec<Finding>,
) -> anyhow::Result<()> {
    match format {
        Format::Text => print(&report::ceph_check_page(&facts, run.as_ref(), &findings, &look())),
        Format::Json => {
            let document = CheckDocument {
                schema: CHECK_SCHEMA.to_owned(),
                flushmark: env!("CARGO_PKG_VERSION").to_owned(),
                facts,
                findings,
                run,
            };
            print(&(serde_json::to_string_pretty(&document)? + "\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_clusters_get_fewer_objects_on_each_osd() {
        assert_eq!([1, 3, 64, 128, 512, 5000].map(objects), [16, 16, 16, 8, 2, 2]);
    }
}
