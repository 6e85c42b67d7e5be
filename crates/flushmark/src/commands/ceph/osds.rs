//! `flushmark ceph osds`: every OSD by itself.

mod bench;

use std::time::Duration;

use anyhow::Context as _;
use ceph::OsdFacts;
use drive::{HostFacts, SystemRoot};
use engine::ceph::OBJECT_BYTES;
use measurement::{RunDocument, TargetRecord, TestResult};
use rados::{Cluster, RadosError};
use workload::Plan;

use super::super::look;
use super::{choice, cluster, kept_drives, pool};
use crate::args::ceph::{OsdsArgs, PlaceArgs};
use crate::args::store::KeepArgs;
use crate::ceph_leftovers::{self, CREATED_POOL, Recorded};
use crate::commands::measure::{deliver, expect_output};
use crate::exit::{ExitStatus, WrongUse};
use crate::keeping::{Keeping, KeptAs};
use crate::progress::Progress;
use crate::session::{Completed, new_document};
use crate::signals::{self, STOP};
use bench::{Bench, benches};

/// The name of its results.
pub const SUITE: &str = "ceph-osds";
/// OSDs whose objects are created at the same time. Each takes 20 MiB meanwhile, for whole objects
/// and the library's copies of them.
const CREATORS: usize = 2;
/// Objects on each OSD: enough for a drive's cache not to hold them by chance, and for several
/// placement groups.
pub const OBJECTS: usize = 16;
/// The passes that the time of each test is divided into.
const PASSES: u32 = 5;

pub fn run(args: &OsdsArgs) -> anyhow::Result<ExitStatus> {
    expect_output(&args.delivery)?;
    signals::listen().context("cannot handle signals")?;
    let cluster = cluster::connect(&args.access)?;
    let facts = cluster::facts(&cluster);
    let wanted = choice::wanted(&args.choice, &facts)?;
    let look = look();
    let progress = Progress::new(args.delivery.quiet, &look);
    choice::warn(&facts, &progress);
    let plan = plan(args.time, args.depth, OBJECTS)?;
    let at_once = if args.parallel { wanted.len() } else { 1 };
    let measurement = Measurement {
        suite: SUITE,
        cluster: &cluster,
        wanted: &wanted,
        plan: &plan,
        objects: OBJECTS,
        at_once,
        place: &args.place,
        keep: &args.keep,
    };
    let (completed, kept) = measurement.run(&progress)?;
    let document = &completed.document;
    let delivered = deliver(std::slice::from_ref(document), &args.delivery, || {
        report::ceph_osds_page(document, &look)
    });
    kept.report(&progress);
    let ended = completed.end()?;
    delivered.map(|()| ended.1)
}

/// The tests of each OSD, over this number of objects.
pub fn plan(time: Duration, depth: Option<u32>, objects: usize) -> anyhow::Result<Plan> {
    let time = (time / PASSES).as_millis().max(1);
    let warm_up = (time / 4).clamp(10, 100);
    let bytes = objects as u64 * OBJECT_BYTES;
    let mut text = format!(
        "[defaults]\nsize = \"{bytes}B\"\nblock = \"4KiB\"\ntime = \"{time}ms\"\nwarm_up = \
         \"{warm_up}ms\"\n"
    );
    text += "[[test]]\nname = \"write\"\npattern = \"randwrite\"\n";
    text += "[[test]]\nname = \"read\"\npattern = \"randread\"\n";
    if let Some(depth) = depth {
        text += &format!(
            "[[test]]\nname = \"write, depth {depth}\"\npattern = \"randwrite\"\ndepth = {depth}\n"
        );
    }
    Ok(Plan::from_toml("ceph osds", &text).map_err(|error| WrongUse(error.to_string()))?)
}

/// Some OSDs to measure, in a pool.
pub struct Measurement<'a> {
    /// The name that the result is kept under.
    pub suite: &'static str,
    pub cluster: &'a Cluster,
    pub wanted: &'a [&'a OsdFacts],
    pub plan: &'a Plan,
    /// Objects on each OSD.
    pub objects: usize,
    /// OSDs that are measured at the same time.
    pub at_once: usize,
    pub place: &'a PlaceArgs,
    pub keep: &'a KeepArgs,
}

impl Measurement<'_> {
    /// Measures and keeps the result. What was created for it is gone afterwards.
    pub fn run(&self, progress: &Progress) -> anyhow::Result<(Completed, KeptAs)> {
        for sentence in ceph_leftovers::remove(self.cluster) {
            progress.line(&sentence);
        }
        let made = pool::Made::by(self.place, self.cluster)?;
        let name = match (&made, &self.place.pool) {
            (Some(_), _) => CREATED_POOL.to_owned(),
            (None, Some(pool)) => pool.clone(),
            (None, None) => return Err(WrongUse("no pool is named".to_owned()).into()),
        };
        let benches = benches(self.cluster, &name, self.wanted, self.objects)?;
        let target = format!("rados:{name}");
        let mut keeping = Keeping::open(self.keep, &target)?;
        let drives = kept_drives::of(self.wanted, self.keep);
        let first = benches.first().context("no OSD is left")?;
        let spaces = benches.iter().filter_map(|bench| bench.target().object_space()).collect();
        let fsid = self.cluster.fsid().map_err(RadosError::from)?;
        let recorded = Recorded::of_objects(&fsid, spaces);
        let record = TargetRecord { given: target, ..first.target().record() };
        let host = HostFacts::read(&SystemRoot::default());
        let began = Some(jiff::Timestamp::now());
        let label = self.keep.label.clone();
        let document = RunDocument { label, host, ..new_document(self.suite, record, began) };
        keeping.begin(&document)?;
        let (results, error) = self.measure(benches, &drives, progress, &mut keeping);
        drop(recorded);
        drop(made);
        let completed = completed(RunDocument { results, ..document }, error);
        let kept = keeping.finish(&completed);
        Ok((completed, kept))
    }

    /// The results so far, and the error that ended it.
    fn measure(
        &self,
        mut benches: Vec<Bench>,
        drives: &kept_drives::Commits,
        progress: &Progress,
        keeping: &mut Keeping,
    ) -> (Vec<TestResult>, Option<anyhow::Error>) {
        let mut measured = each(&mut benches, self.at_once.min(CREATORS), Bench::prepare);
        for pass in 1..=PASSES {
            if measured.is_err() || STOP.is_requested() {
                break;
            }
            progress.line(&format!("pass {pass} of {PASSES} over {} OSDs", benches.len()));
            // Test by test, so that no OSD's writes are measured beside another's reads.
            measured = (0..self.plan.tests.len()).try_for_each(|number| {
                let test = &self.plan.tests[number];
                each(&mut benches, self.at_once, |bench| bench.test(number, test, self.cluster))
            });
        }
        let results: Vec<TestResult> =
            benches.into_iter().flat_map(|bench| bench.finish(drives)).collect();
        for result in &results {
            progress.measured(result);
            keeping.append(result);
        }
        (results, measured.err())
    }
}

/// Does something with all OSDs, some at a time, until an error or a signal ends it.
fn each(
    benches: &mut [Bench],
    at_once: usize,
    work: impl Fn(&mut Bench) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    for some in benches.chunks_mut(at_once.max(1)) {
        if STOP.is_requested() {
            break;
        }
        let work = &work;
        let ended: Vec<anyhow::Result<()>> = std::thread::scope(|scope| {
            let running: Vec<_> =
                some.iter_mut().map(|bench| scope.spawn(move || work(bench))).collect();
            let stopped = |_| Err(anyhow::anyhow!("a thread stopped unexpectedly"));
            running.into_iter().map(|one| one.join().unwrap_or_else(stopped)).collect()
        });
        ended.into_iter().collect::<anyhow::Result<()>>()?;
    }
    Ok(())
}

fn completed(mut document: RunDocument, error: Option<anyhow::Error>) -> Completed {
    if let Some(ceph) = &document.target.ceph {
        document.findings = judge::measured_osds(ceph, &document.results);
    }
    let verdict = match signals::received() {
        Some(signal) => ExitStatus::Interrupted(signal),
        None if document.results.is_empty() && error.is_none() => ExitStatus::NothingRan,
        None => ExitStatus::Done,
    };
    Completed { document, verdict, error }
}
