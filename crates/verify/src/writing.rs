//! A run: all lanes, one thread each, and the thread that reports how far they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use drive::SystemRoot;
use engine::Stop;

use crate::disk::OpenDisk;
use crate::drive_facts::DriveFacts;
use crate::error::VerifyError;
use crate::frontier::{Frontier, Frontiers};
use crate::geometry::LaneKind;
use crate::lane::{Lane, LaneFailure, Stepped};
use crate::message::Message;
use crate::run_header::RunHeader;
use crate::schedule::Schedule;
use crate::witness::Witness;

/// Interval at which the reporting thread looks for news. A message that is a millisecond late only
/// costs a millisecond of obligations.
const REPORT_EVERY: Duration = Duration::from_millis(1);
/// Interval at which counts of syncs and flushes are reported, which also shows the recorder that
/// the writer is alive.
const BEAT_EVERY: Duration = Duration::from_millis(200);
/// Delay after which a lane without a lease looks again.
const LEASE_WAIT: Duration = Duration::from_micros(50);

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// Time since the run began.
    pub elapsed: Duration,
    /// Commits so far: syncs that returned, and FUA writes.
    pub commits: u64,
    /// Writes so far.
    pub writes: u64,
}

/// The result of a run that was not cut.
#[derive(Debug, Default)]
pub struct Written {
    /// Total commits and writes.
    pub live: Live,
    /// Commits of flush lanes, commits of FUA lanes, writes of control lanes.
    pub by_kind: [u64; 3],
    /// Syncs that returned, each of which requires a flush; FUA writes do not.
    pub syncs: u64,
    /// Flushes that the driver counted meanwhile, if it counts.
    pub flushes: Option<u64>,
    /// Lanes that stopped at an error.
    pub failures: Vec<LaneFailure>,
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Writing<'a, O> {
    /// The run; every slot already holds version 0.
    pub run: &'a RunHeader,
    /// The storage that lanes open.
    pub storage: &'a O,
    /// The drives whose flushes are counted.
    pub facts: &'a DriveFacts,
    /// Stop after this time; `None` to write until stopped.
    pub time: Option<Duration>,
    pub stop: &'a Stop,
}

impl<O: OpenDisk> Writing<'_, O> {
    /// Writes until the time is over, it is asked to stop, every lane has failed, or the witness is
    /// lost.
    ///
    /// # Errors
    /// If it cannot begin, or the witness is lost: what the witness did not receive creates no
    /// obligation.
    pub fn run(
        &self,
        witness: &mut Witness,
        live: &mut dyn FnMut(Live),
    ) -> Result<Written, VerifyError> {
        let root = SystemRoot::default();
        let frontiers = Arc::new(Frontiers::new(&self.run.geometry));
        let flushes_before = self.facts.flushes(&root);
        let (halt, at_work) =
            (AtomicBool::new(false), AtomicU32::new(u32::from(self.run.geometry.lanes())));
        let begun = Instant::now();
        // A drive that comes back restarts its count, so a smaller count means nothing.
        let flushes = || self.facts.flushes(&root)?.checked_sub(flushes_before?);
        let mut failures = Vec::new();
        let outcome = std::thread::scope(|scope| {
            let lanes = 0..self.run.geometry.lanes();
            let start = |lane: u16| {
                let (frontiers, halt, at_work) = (&*frontiers, &halt, &at_work);
                let work = move || {
                    let failure = self.lane(lane, frontiers, halt);
                    at_work.fetch_sub(1, Ordering::AcqRel);
                    failure
                };
                std::thread::Builder::new().name(format!("lane-{lane}")).spawn_scoped(scope, work)
            };
            let threads: Result<Vec<_>, _> = lanes.map(start).collect();
            let outcome = match threads.as_ref() {
                Err(_) => Ok(()),
                // Lanes have waited for their leases until now.
                Ok(_) => witness.begin(self.run, &frontiers).and_then(|()| {
                    self.report(witness, &frontiers, begun, &at_work, &mut || flushes(), live)
                }),
            };
            halt.store(true, Ordering::Release);
            let threads = threads.map_err(|cause| VerifyError::Threads { cause })?;
            failures =
                threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
            outcome
        });
        // If the witness still receives, it also gets the last operations.
        outcome?;
        let mut known = vec![Frontier::default(); usize::from(self.run.geometry.lanes())];
        let news = news(&frontiers, &mut known);
        witness.acknowledge(&news, &frontiers)?;
        for failure in &failures {
            witness.send(&Message::Stopped { lane: failure.lane, why: failure.to_string() })?;
        }
        let mut written = self.counted(&frontiers, begun);
        written.flushes = flushes();
        written.failures = failures;
        witness.send(&Message::Beat { syncs: written.syncs, flushes: written.flushes })?;
        let all_failed = written.failures.len() == usize::from(self.run.geometry.lanes());
        let why = match (self.stop.is_requested(), all_failed) {
            (_, true) => "every lane stopped at an error",
            (true, false) => "asked to stop",
            (false, false) => "its time was over",
        };
        witness.send(&Message::End(why.to_owned()))?;
        witness.end()?;
        Ok(written)
    }

    /// Runs one lane from its first operation to its last.
    fn lane(&self, number: u16, frontiers: &Frontiers, halt: &AtomicBool) -> Option<LaneFailure> {
        let kind = self.run.geometry.kind(number);
        let mut disk = match self.storage.open_disk(kind == LaneKind::Fua) {
            Ok(disk) => disk,
            Err(source) => {
                return Some(LaneFailure {
                    lane: number,
                    kind,
                    seq: 0,
                    operation: "open".to_owned(),
                    source,
                });
            }
        };
        let mut lane = Lane::new(self.run, number, frontiers);
        while !halt.load(Ordering::Relaxed) {
            match lane.step(&mut disk) {
                Ok(Stepped::Waits) => std::thread::sleep(LEASE_WAIT),
                Ok(_) => {}
                Err(failure) => return Some(failure),
            }
        }
        None
    }

    /// Reports what is new until the run ends.
    fn report(
        &self,
        witness: &mut Witness,
        frontiers: &Frontiers,
        begun: Instant,
        at_work: &AtomicU32,
        flushes: &mut dyn FnMut() -> Option<u64>,
        live: &mut dyn FnMut(Live),
    ) -> Result<(), VerifyError> {
        let mut known = vec![Frontier::default(); usize::from(self.run.geometry.lanes())];
        let mut next_beat = Duration::ZERO;
        loop {
            let elapsed = begun.elapsed();
            let over = self.time.is_some_and(|time| elapsed >= time);
            if over || self.stop.is_requested() || at_work.load(Ordering::Acquire) == 0 {
                return Ok(());
            }
            if let Some(error) = witness.gone() {
                return Err(error);
            }
            let news = news(frontiers, &mut known);
            if !news.is_empty() {
                witness.acknowledge(&news, frontiers)?;
            }
            if elapsed >= next_beat {
                next_beat = elapsed + BEAT_EVERY;
                let counted = self.counted(frontiers, begun);
                witness.send(&Message::Beat { syncs: counted.syncs, flushes: flushes() })?;
                live(counted.live);
            }
            std::thread::sleep(REPORT_EVERY);
        }
    }

    fn counted(&self, frontiers: &Frontiers, begun: Instant) -> Written {
        let mut written = Written::default();
        for lane in 0..self.run.geometry.lanes() {
            let (kind, frontier) = (self.run.geometry.kind(lane), frontiers.of(lane));
            let writes = Schedule::new(self.run.run_id, &self.run.geometry, lane)
                .writes_up_to(frontier.completed);
            let (commits, syncs) = match kind {
                LaneKind::Flush => (frontier.completed - writes, frontier.completed - writes),
                LaneKind::Fua => (writes, 0),
                LaneKind::Control => (0, 0),
            };
            written.syncs += syncs;
            written.live.writes += writes;
            written.live.commits += commits;
            written.by_kind[kind as usize] +=
                if kind == LaneKind::Control { writes } else { commits };
        }
        written.live.elapsed = begun.elapsed();
        written
    }
}

/// The lanes that are further than `known`, which is updated.
fn news(frontiers: &Frontiers, known: &mut [Frontier]) -> Vec<(u16, Frontier)> {
    let mut news = Vec::new();
    for (lane, known) in known.iter_mut().enumerate() {
        let now = frontiers.of(lane as u16);
        if now != *known {
            *known = now;
            news.push((lane as u16, now));
        }
    }
    news
}
