//! What a host was promised: which writes the drive has called safe, and which of them really are, where it calls them so early.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use simdrive::device::Stamp;
use simdrive::time::Ns;

/// Promises that are made within this share of the time by which they are early come true together, so that their number is bounded.
const EARLY_STEPS: Ns = 256;

/// Writes that are safe: those that a flush covers, and single ones.
#[derive(Debug, Default)]
struct Safe {
    covered: Covers,
    single: BTreeSet<Stamp>,
}

/// What a flush makes safe: the writes before one, except those that were under way when it came.
#[derive(Debug, Clone, Default)]
struct Covers {
    before: Stamp,
    except: BTreeSet<Stamp>,
}

impl Safe {
    fn contains(&self, stamp: Stamp) -> bool {
        (stamp < self.covered.before && !self.covered.except.contains(&stamp)) || self.single.contains(&stamp)
    }

    fn cover(&mut self, covers: Covers) {
        // Of two flushes the one that came first may be done last; of two between the same writes it covers less.
        let covers_more = covers.before == self.covered.before && covers.except.is_subset(&self.covered.except);
        if covers.before > self.covered.before || covers_more {
            self.covered = covers;
        }
    }

    fn add(&mut self, promise: Promise) {
        self.covered_by(promise.flush);
        self.single.extend(promise.single);
    }

    fn covered_by(&mut self, flush: Option<Covers>) {
        if let Some(covers) = flush {
            self.cover(covers);
        }
    }
}

/// A promise that comes true later.
#[derive(Debug, Default)]
struct Promise {
    true_at: Ns,
    flush: Option<Covers>,
    single: Vec<Stamp>,
}

/// The promises of one drive.
#[derive(Debug, Default)]
pub struct Promises {
    /// By how much they are early.
    early: Option<Ns>,
    /// Writes that were not acknowledged yet.
    open: BTreeSet<Stamp>,
    /// What each flush under way covers.
    flushing: BTreeMap<u32, Covers>,
    made: Safe,
    /// Of promises that are early: those that came true, and the others in their order.
    came_true: Safe,
    outstanding: VecDeque<Promise>,
}

impl Promises {
    /// Of a drive that calls everything safe so much too early, or of one that does not.
    pub fn new(early: Option<Ns>) -> Promises {
        Promises { early, ..Promises::default() }
    }

    /// Writes come.
    pub fn write_came(&mut self, stamps: RangeInclusive<Stamp>) {
        self.open.extend(stamps);
    }

    /// Writes are acknowledged, as safe ones or not.
    pub fn write_done(&mut self, stamps: RangeInclusive<Stamp>, as_safe: bool, now: Ns) {
        for stamp in stamps {
            self.open.remove(&stamp);
            if as_safe {
                self.made.single.insert(stamp);
                if let Some(promise) = self.outstanding_at(now) {
                    promise.single.push(stamp);
                }
            }
        }
    }

    /// A flush comes, before the write `next`.
    pub fn flush_came(&mut self, id: u32, next: Stamp) {
        let covers = self.covers(next);
        self.flushing.insert(id, covers);
    }

    /// It is acknowledged.
    pub fn flush_done(&mut self, id: u32) {
        if let Some(covers) = self.flushing.remove(&id) {
            self.made.cover(covers);
        }
    }

    /// A flush is acknowledged as soon as it comes.
    pub fn flush_waved_through(&mut self, next: Stamp, now: Ns) {
        let covers = self.covers(next);
        if let Some(promise) = self.outstanding_at(now) {
            promise.flush = Some(covers.clone());
        }
        self.made.cover(covers);
    }

    fn covers(&self, next: Stamp) -> Covers {
        Covers { before: next, except: self.open.clone() }
    }

    /// Where a promise belongs that is made now and comes true later.
    fn outstanding_at(&mut self, now: Ns) -> Option<&mut Promise> {
        let early = self.early?;
        if self.outstanding.back().is_none_or(|promise| promise.true_at < now + early) {
            let true_at = now + early + early / EARLY_STEPS;
            self.outstanding.push_back(Promise { true_at, ..Promise::default() });
        }
        self.outstanding.back_mut()
    }

    /// Whether a write was not acknowledged.
    pub fn is_open(&self, stamp: Stamp) -> bool {
        self.open.contains(&stamp)
    }

    /// Whether the drive has called a write safe.
    pub fn is_made(&self, stamp: Stamp) -> bool {
        self.made.contains(stamp)
    }

    /// Whether promises are early, so that what is safe is known here and not by the model alone.
    pub const fn are_early(&self) -> bool {
        self.early.is_some()
    }

    /// Lets those come true whose time has come.
    pub fn go_on(&mut self, now: Ns) {
        while self.outstanding.front().is_some_and(|promise| promise.true_at <= now) {
            self.come_true();
        }
    }

    /// Lets the oldest one come true; whether there was one.
    pub fn come_true(&mut self) -> bool {
        let promise = self.outstanding.pop_front();
        let was_one = promise.is_some();
        promise.into_iter().for_each(|promise| self.came_true.add(promise));
        was_one
    }

    /// Of promises that are early: whether what was promised of this write came true.
    pub fn came_true(&self, stamp: Stamp) -> bool {
        self.came_true.contains(stamp)
    }

    /// The oldest write that was not acknowledged.
    pub fn oldest_open(&self) -> Option<Stamp> {
        self.open.first().copied()
    }

    /// Nobody asks for writes before this one any more.
    pub fn forget_before(&mut self, stamp: Stamp) {
        for safe in [&mut self.made, &mut self.came_true] {
            safe.single = safe.single.split_off(&stamp);
        }
    }

    /// Whatever was promised until now is true, or of no interest any more.
    pub fn forget_all(&mut self) {
        *self = Promises { early: self.early, open: std::mem::take(&mut self.open), ..Promises::default() };
    }

    /// After a power cut nothing is under way.
    pub fn start_anew(&mut self) {
        *self = Promises::new(self.early);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_covers_what_was_acknowledged_when_it_came() {
        let mut promises = Promises::new(None);
        promises.write_came(1..=3);
        promises.write_done(1..=1, false, 0);
        promises.flush_came(7, 4);
        promises.write_done(2..=2, false, 0);
        promises.write_done(3..=3, true, 0);
        assert!(!promises.is_made(1) && !promises.is_made(2) && promises.is_made(3));
        promises.flush_done(7);
        assert!(promises.is_made(1) && !promises.is_made(2));
        assert!(!promises.is_open(2) && promises.oldest_open().is_none());
    }

    #[test]
    fn of_two_flushes_the_one_that_came_first_takes_nothing_back() {
        let mut promises = Promises::new(None);
        promises.write_came(1..=1);
        promises.flush_came(7, 2);
        promises.write_done(1..=1, false, 0);
        promises.flush_came(8, 2);
        promises.flush_done(8);
        promises.flush_done(7);
        assert!(promises.is_made(1));
    }

    #[test]
    fn early_promises_come_true_later_and_only_what_was_promised() {
        let mut promises = Promises::new(Some(1000));
        promises.write_came(1..=2);
        promises.write_done(1..=2, false, 0);
        promises.go_on(1_000_000);
        // However old: nobody asked for it to be safe.
        assert!(!promises.came_true(1));
        promises.flush_waved_through(3, 1_000_000);
        assert!(promises.is_made(1) && !promises.came_true(1));
        promises.go_on(1_000_999);
        assert!(!promises.came_true(1));
        promises.go_on(1_001_010);
        assert!(promises.came_true(1) && promises.came_true(2) && !promises.came_true(3));
    }

    #[test]
    fn early_promises_are_few_however_many_are_made() {
        let mut promises = Promises::new(Some(1_000_000));
        for stamp in 1..200_000 {
            promises.flush_waved_through(stamp, stamp * 10);
            promises.go_on(stamp * 10);
        }
        assert!(promises.outstanding.len() <= EARLY_STEPS as usize + 1, "{}", promises.outstanding.len());
        // A million nanoseconds are a hundred thousand of them, and the 256th part of that.
        assert!(promises.came_true(99_500) && !promises.came_true(100_100));
    }
}
