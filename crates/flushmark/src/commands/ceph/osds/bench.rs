//! One OSD with its objects: what it is measured with.
//!
//! The objects of each OSD are one target of the engine. Their names are chosen so that this OSD is
//! their primary: the cluster is asked once for its placement groups, and a sample of the names is
//! compared with what the monitors compute.
//!
//! Each test is divided into passes, which the OSDs make in turn. So a disturbance of a few seconds
//! meets all of them, and what differs in every pass is a property of the OSD.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use ceph::latency::{ClientWrites, Counter, Decomposition, PerfDifference, PerfDump};
use ceph::{OsdFacts, Question};
use drive::{Counters, DeviceNumber, SystemRoot};
use engine::ceph::{CephTarget, OBJECT_BYTES, Objects, namespace};
use engine::{EngineError, Options, Target};
use measurement::{
    DriveCommit, DriveCommitOrigin, Ended, Histogram, LatencySummary, OsdRecord, Outcome,
    TestResult,
};
use rados::{Cluster, ObjectName, Pool, RadosError};
use workload::Test;

use super::super::{cluster, kept_drives};
use crate::keeping::host_name;
use crate::signals::STOP;

/// Operations without a device, whose latency is that of the way to the OSD.
const ROUND_TRIPS: usize = 200;
const CONNECTIONS: usize = 25;
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(2);
/// The wait for placement groups that serve nothing yet.
const PATIENCE: Duration = Duration::from_secs(15);
/// Names of each OSD that are compared with what the monitors compute.
const CHECKED_NAMES: usize = 3;

pub struct Bench {
    osd: OsdRecord,
    facts: OsdFacts,
    target: Target,
    /// Another handle, for round trips.
    pool: Pool,
    /// An object of this OSD that does not exist.
    absent: ObjectName,
    copies: u64,
    /// Its drive, if that is here.
    local: Option<(String, DeviceNumber)>,
    /// The results of the passes, in the order of the plan's tests.
    measured: Vec<Measured>,
}

/// One test of an OSD, all passes so far together.
#[derive(Default)]
struct Measured {
    result: Option<TestResult>,
    counted: Option<PerfDifference>,
    /// The kernel's counters for the OSD's drive.
    disk: Option<Counters>,
}

/// The wanted OSDs with this number of objects on each in this pool.
///
/// # Errors
/// If one of them is the primary of no placement group.
pub fn benches(
    cluster: &Cluster,
    name: &str,
    wanted: &[&OsdFacts],
    objects: usize,
) -> anyhow::Result<Vec<Bench>> {
    let mut pool = cluster.pool(name).map_err(RadosError::from)?;
    let placement = cluster::placement(cluster, name, PATIENCE)?;
    let space = namespace();
    pool.set_namespace(&space).map_err(RadosError::from)?;
    let ids: Vec<u32> = wanted.iter().map(|osd| osd.id).collect();
    // One more, which is never created.
    let mut names = placement.names_on(space.as_bytes(), &ids, objects + 1);
    let mut benches = Vec::new();
    let mut left_out = Vec::new();
    for osd in wanted {
        let Some(mut of_osd) = names.remove(&osd.id) else {
            left_out.push(osd.name());
            continue;
        };
        check_names(cluster, &pool, osd.id, &of_osd)?;
        let absent = ObjectName::new(of_osd.pop().unwrap_or_default())?;
        let objects: Vec<ObjectName> =
            of_osd.into_iter().map(ObjectName::new).collect::<Result<_, _>>()?;
        let objects = Objects::named(pool.reopen()?, objects, OBJECT_BYTES);
        let ceph = CephTarget::objects(cluster, objects)?;
        let copies = u64::from(ceph.record().replicas.unwrap_or(1));
        benches.push(Bench {
            osd: OsdRecord::new(osd.id, osd.host.clone(), osd.class.clone()),
            facts: (*osd).clone(),
            target: Target::in_ceph(format!("rados:{name}"), ceph),
            pool: pool.reopen()?,
            absent,
            copies,
            local: local_drive(osd),
            measured: Vec::new(),
        });
    }
    if !left_out.is_empty() {
        bail!(
            "no placement group of the pool {name} has its primary on {}; use a pool with more \
             placement groups, or --make-pool",
            left_out.join(", ")
        );
    }
    Ok(benches)
}

/// Compares some names with what the monitors compute.
fn check_names(cluster: &Cluster, pool: &Pool, osd: u32, names: &[String]) -> anyhow::Result<()> {
    for name in names.iter().take(CHECKED_NAMES) {
        let command = serde_json::json!({
            "prefix": "osd map", "pool": pool.name(), "object": name, "nspace": pool.namespace(),
            "format": "json",
        });
        let answer = cluster.monitor_command(&command.to_string()).map_err(RadosError::from)?;
        let answer: serde_json::Value =
            serde_json::from_slice(&answer).context("the monitors' answer is no JSON")?;
        if answer["acting_primary"] != osd {
            bail!(
                "the placement of the pool {} has changed, or is not the one that flushmark \
                 computes: {name} is on osd.{} instead of osd.{osd}; wait until no recovery runs, \
                 and try again",
                pool.name(),
                answer["acting_primary"]
            );
        }
    }
    Ok(())
}

/// The drive that the OSD commits to, if the OSD runs on this host.
fn local_drive(osd: &OsdFacts) -> Option<(String, DeviceNumber)> {
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    if short(osd.host.as_deref()?) != short(&host_name()?) {
        return None;
    }
    let [drive] = osd.log_device().drives.as_slice() else { return None };
    let number = std::fs::read_to_string(format!("/sys/class/block/{}/dev", drive.name)).ok()?;
    Some((drive.name.clone(), number.trim().parse().ok()?))
}

impl Bench {
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Creates the objects, and measures the way to the OSD.
    pub fn prepare(&mut self) -> anyhow::Result<()> {
        self.osd.first_write_us =
            self.target.create_objects(&STOP)?.and_then(|times| summary(times.into_iter()));
        let mut round_trips = Vec::with_capacity(ROUND_TRIPS);
        for _ in 0..ROUND_TRIPS {
            let begun = Instant::now();
            self.pool.size(&self.absent).map_err(RadosError::from)?;
            round_trips.push(begun.elapsed().as_nanos() as u64);
        }
        self.osd.round_trip_us = summary(round_trips.into_iter());
        self.osd.connect_us = self.connections();
        Ok(())
    }

    /// The time that connections to its port take; `None` if that cannot be reached directly.
    fn connections(&self) -> Option<LatencySummary> {
        let socket = self.facts.front_socket()?;
        let connect = || {
            let begun = Instant::now();
            TcpStream::connect_timeout(&socket, CONNECTION_TIME_MAX).ok()?;
            Some(begun.elapsed().as_nanos() as u64)
        };
        let times: Option<Vec<u64>> = (0..CONNECTIONS).map(|_| connect()).collect();
        summary(times?.into_iter())
    }

    /// Runs the test with this number in the plan for one pass.
    pub fn test(&mut self, number: usize, test: &Test, cluster: &Cluster) -> anyhow::Result<()> {
        let tests = self.measured.len().max(number + 1);
        self.measured.resize_with(tests, Measured::default);
        let counters = || {
            let answer = cluster::send(cluster, &Question::PerfDump(self.osd.id)).ok()?;
            PerfDump::parse(&answer).ok()
        };
        let root = SystemRoot::default();
        let disk = || Counters::read(&root, self.local.as_ref()?.1).ok();
        let name = format!("{}: {}", self.osd.name(), test.name);
        let test = [Test { name, ..test.clone() }];
        let before = (counters(), disk());
        let outcomes =
            match engine::run(&test, &self.target, &Options::default(), &STOP, &mut |_| {}) {
                Err(EngineError::Interrupted) => return Ok(()),
                outcomes => outcomes?,
            };
        let Some(Outcome::Measured(result)) = outcomes.into_iter().next() else { return Ok(()) };
        if let Ended::Failed { error } = &result.ended {
            bail!("{}: {error}", result.test);
        }
        let after = (counters(), disk());
        let counted = before.0.zip(after.0).map(|(before, after)| after.since(&before)).transpose();
        let on_disk = before.1.zip(after.1).map(|(before, after)| after.since(&before));
        let restarted = counted.as_ref().err().map(ToString::to_string);
        let counted = counted.ok().flatten();
        let notes = result.notes.iter().cloned().chain(restarted).collect();
        let both = |one: PerfDifference, other: PerfDifference| one.plus(&other);
        let measured = &mut self.measured[number];
        measured.counted = joined(measured.counted.take(), counted, both);
        measured.disk = joined(measured.disk, on_disk, |one, other| one.plus(&other));
        let result = TestResult { notes, ..*result }.as_pass();
        measured.result = Some(match measured.result.take() {
            Some(so_far) => TestResult::merged(&[&so_far, &result])?,
            None => result,
        });
        Ok(())
    }

    /// The results, each of all passes together. Removes the objects.
    pub fn finish(mut self, kept: &kept_drives::Commits) -> Vec<TestResult> {
        let all = std::mem::take(&mut self.measured);
        let finished = all.into_iter().filter_map(|mut measured| {
            let result = measured.result.take()?;
            let osd = self.osd_of(&result, &measured, kept);
            Some(TestResult { osd: Some(osd), ..result })
        });
        finished.collect()
    }

    fn osd_of(
        &self,
        result: &TestResult,
        measured: &Measured,
        kept: &kept_drives::Commits,
    ) -> OsdRecord {
        let Some(write) = result.write_us else { return self.osd.clone() };
        let counted_writes = measured.counted.as_ref().map(|one| one.count(Counter::OpWrite));
        // The counters are those of the drive with the log. Where data are on another one, they
        // bound a part of the device's time only.
        let on_one_drive = self.facts.db.is_none() && self.facts.wal.is_none();
        let disk = measured.disk.filter(|_| on_one_drive);
        let in_device_us = disk.zip(counted_writes).and_then(|(disk, writes)| {
            let ms = disk.write_ms + disk.flush_ms?;
            (writes > 0).then(|| ms as f64 * 1000.0 / writes as f64)
        });
        let client = ClientWrites {
            latency_us: write.mean,
            round_trip_us: self.osd.round_trip_us.map(|round_trip| round_trip.mean),
            copies: self.copies,
            in_device_us,
        };
        OsdRecord {
            write_time: measured
                .counted
                .as_ref()
                .map(|counted| Decomposition::of(&client, counted)),
            drive: self.drive_commit(measured).or_else(|| kept.get(&self.osd.id).cloned()),
            ..self.osd.clone()
        }
    }

    /// A flush of its drive, as the kernel counted them, or a write if it needs none. Writes are not
    /// added to flushes: most of them wait for a flush that another thread sent.
    fn drive_commit(&self, measured: &Measured) -> Option<DriveCommit> {
        let ((name, _), disk) = (self.local.as_ref()?, measured.disk?);
        let (ms, count) = match (disk.flushes?, disk.flush_ms?) {
            // The kernel sends none to a drive without a volatile cache.
            (0, _) => (disk.write_ms, disk.writes),
            (flushes, ms) => (ms, flushes),
        };
        (count > 0).then(|| DriveCommit {
            us: ms as f64 * 1000.0 / count as f64,
            from: DriveCommitOrigin::Counters(name.clone()),
        })
    }
}

/// Both together, or the one that is known.
fn joined<T>(one: Option<T>, other: Option<T>, both: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

fn summary(times_ns: impl Iterator<Item = u64>) -> Option<LatencySummary> {
    let mut histogram = Histogram::new();
    times_ns.for_each(|ns| histogram.record(ns));
    histogram.summary()
}
