//! The run itself: all lanes at work, one thread each, and the thread that passes on how far they are.

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

/// A lane looks whether it is asked to stop, and the reporter what is new, this often. A message that is a millisecond old costs a millisecond of obligations, nothing else.
const REPORT_EVERY: Duration = Duration::from_millis(1);
/// The counts of syncs and flushes are passed on this often, and the recorder hears that the writer lives.
const BEAT_EVERY: Duration = Duration::from_millis(200);
/// A lane without lease looks again after this time.
const LEASE_WAIT: Duration = Duration::from_micros(50);

/// What a run is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// Since it began.
    pub elapsed: Duration,
    /// Commits so far: syncs that returned, and writes with FUA.
    pub commits: u64,
    /// Writes so far.
    pub writes: u64,
}

/// What a run came to, when it was not cut.
#[derive(Debug, Default)]
pub struct Written {
    /// Commits and writes in all.
    pub live: Live,
    /// Commits of flush lanes, commits of FUA lanes, writes of control lanes.
    pub by_kind: [u64; 3],
    /// Syncs that returned, each of which asks for a flush; writes with FUA do not.
    pub syncs: u64,
    /// Flushes that the driver counted meanwhile, where it counts.
    pub flushes: Option<u64>,
    /// Lanes that stopped at an error.
    pub failures: Vec<LaneFailure>,
}

/// What a run works with.
#[derive(Debug)]
pub struct Writing<'a, O> {
    /// The run, of which every slot holds version 0.
    pub run: &'a RunHeader,
    /// What lanes open.
    pub storage: &'a O,
    /// Whose flushes are counted.
    pub facts: &'a DriveFacts,
    /// Ends after this time; without one, when it is asked to.
    pub time: Option<Duration>,
    /// Asked by everybody.
    pub stop: &'a Stop,
}

impl<O: OpenDisk> Writing<'_, O> {
    /// Writes until the time is over, somebody asks it to stop, every lane has failed, or the witness goes away.
    ///
    /// # Errors
    /// When it cannot begin, or the witness went away: nothing is claimed then of what it did not hear.
    pub fn run(&self, witness: &mut Witness, live: &mut dyn FnMut(Live)) -> Result<Written, VerifyError> {
        let root = SystemRoot::default();
        let frontiers = Arc::new(Frontiers::new(&self.run.geometry));
        let flushes_before = self.facts.flushes(&root);
        let (halt, at_work) = (AtomicBool::new(false), AtomicU32::new(u32::from(self.run.geometry.lanes())));
        let begun = Instant::now();
        // A drive that comes back counts anew: of less than before nothing follows.
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
                // Lanes wait for their leases until now.
                Ok(_) => witness
                    .begin(self.run, &frontiers)
                    .and_then(|()| self.report(witness, &frontiers, begun, &at_work, &mut || flushes(), live)),
            };
            halt.store(true, Ordering::Release);
            let threads = threads.map_err(|cause| VerifyError::Threads { cause })?;
            failures = threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect();
            outcome
        });
        // What the last operations came to is passed on, too, when somebody still listens.
        outcome?;
        let mut known = vec![Frontier::default(); usize::from(self.run.geometry.lanes())];
        let news = news(&frontiers, &mut known);
        witness.acknowledge(&news, &frontiers)?;
        for failure in &failures {
            witness.say(&Message::Stopped { lane: failure.lane, why: failure.to_string() })?;
        }
        let mut written = self.counted(&frontiers, begun);
        written.flushes = flushes();
        written.failures = failures;
        witness.say(&Message::Beat { syncs: written.syncs, flushes: written.flushes })?;
        let all_failed = written.failures.len() == usize::from(self.run.geometry.lanes());
        let why = match (self.stop.is_requested(), all_failed) {
            (_, true) => "every lane stopped at an error",
            (true, false) => "asked to stop",
            (false, false) => "its time was over",
        };
        witness.say(&Message::End(why.to_owned()))?;
        witness.end()?;
        Ok(written)
    }

    /// One lane, from its first operation to its last.
    fn lane(&self, number: u16, frontiers: &Frontiers, halt: &AtomicBool) -> Option<LaneFailure> {
        let kind = self.run.geometry.kind(number);
        let mut disk = match self.storage.open_disk(kind == LaneKind::Fua) {
            Ok(disk) => disk,
            Err(source) => {
                return Some(LaneFailure { lane: number, kind, seq: 0, operation: "open".to_owned(), source });
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

    /// Passes on what is new until the run ends.
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
                witness.say(&Message::Beat { syncs: counted.syncs, flushes: flushes() })?;
                live(counted.live);
            }
            std::thread::sleep(REPORT_EVERY);
        }
    }

    fn counted(&self, frontiers: &Frontiers, begun: Instant) -> Written {
        let mut written = Written::default();
        for lane in 0..self.run.geometry.lanes() {
            let (kind, frontier) = (self.run.geometry.kind(lane), frontiers.of(lane));
            let writes = Schedule::new(self.run.run_id, &self.run.geometry, lane).writes_up_to(frontier.completed);
            let (commits, syncs) = match kind {
                LaneKind::Flush => (frontier.completed - writes, frontier.completed - writes),
                LaneKind::Fua => (writes, 0),
                LaneKind::Control => (0, 0),
            };
            written.syncs += syncs;
            written.live.writes += writes;
            written.live.commits += commits;
            written.by_kind[kind as usize] += if kind == LaneKind::Control { writes } else { commits };
        }
        written.live.elapsed = begun.elapsed();
        written
    }
}

/// The lanes that are further than `known`, which is brought up to date.
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
