//! A drive's promises to its host: the writes that it has called safe, and which of them really
//! are, if it acknowledges early.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use simdrive::{Ns, Stamp};

/// Early promises made within this fraction of the delay are fulfilled together, which bounds their
/// number.
const EARLY_STEPS: Ns = 256;

/// Safe writes: those covered by a flush, and single ones.
#[derive(Debug, Default)]
struct Safe {
    covered: Covers,
    single: BTreeSet<Stamp>,
}

/// The writes that a flush makes safe: all before it, except those in progress when it arrived.
#[derive(Debug, Clone, Default)]
struct Covers {
    before: Stamp,
    except: BTreeSet<Stamp>,
}

impl Safe {
    fn contains(&self, stamp: Stamp) -> bool {
        (stamp < self.covered.before && !self.covered.except.contains(&stamp))
            || self.single.contains(&stamp)
    }

    fn cover(&mut self, covers: Covers) {
        // Of two flushes, the first to arrive may finish last; if they arrived between the same
        // writes, it covers less.
        let covers_more =
            covers.before == self.covered.before && covers.except.is_subset(&self.covered.except);
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

/// A promise to be fulfilled later.
#[derive(Debug, Default)]
struct Promise {
    true_at: Ns,
    flush: Option<Covers>,
    single: Vec<Stamp>,
}

#[derive(Debug, Default)]
pub(super) struct Promises {
    /// The delay by which promises are early.
    early: Option<Ns>,
    /// Writes that were not acknowledged yet.
    open: BTreeSet<Stamp>,
    /// The writes covered by each flush in progress.
    flushing: BTreeMap<u32, Covers>,
    made: Safe,
    /// Fulfilled early promises; the outstanding ones follow in order.
    fulfilled: Safe,
    outstanding: VecDeque<Promise>,
}

impl Promises {
    /// The promises of a drive that makes them this early, or on time.
    pub(super) fn new(early: Option<Ns>) -> Promises {
        Promises { early, ..Promises::default() }
    }

    /// Records that writes have arrived.
    pub(super) fn write_came(&mut self, stamps: RangeInclusive<Stamp>) {
        self.open.extend(stamps);
    }

    /// Records that writes were acknowledged, as safe or not.
    pub(super) fn write_done(&mut self, stamps: RangeInclusive<Stamp>, as_safe: bool, now: Ns) {
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

    /// Records that a flush has arrived, before the write `next`.
    pub(super) fn flush_came(&mut self, id: u32, next: Stamp) {
        let covers = self.covers(next);
        self.flushing.insert(id, covers);
    }

    /// Records that a flush was acknowledged.
    pub(super) fn flush_done(&mut self, id: u32) {
        if let Some(covers) = self.flushing.remove(&id) {
            self.made.cover(covers);
        }
    }

    /// Records a flush that is acknowledged on arrival.
    pub(super) fn flush_waved_through(&mut self, next: Stamp, now: Ns) {
        let covers = self.covers(next);
        if let Some(promise) = self.outstanding_at(now) {
            promise.flush = Some(covers.clone());
        }
        self.made.cover(covers);
    }

    fn covers(&self, next: Stamp) -> Covers {
        Covers { before: next, except: self.open.clone() }
    }

    /// The entry for a promise that is made now and fulfilled later.
    fn outstanding_at(&mut self, now: Ns) -> Option<&mut Promise> {
        let early = self.early?;
        if self.outstanding.back().is_none_or(|promise| promise.true_at < now + early) {
            let true_at = now + early + early / EARLY_STEPS;
            self.outstanding.push_back(Promise { true_at, ..Promise::default() });
        }
        self.outstanding.back_mut()
    }

    /// Returns whether a write is not yet acknowledged.
    pub(super) fn is_open(&self, stamp: Stamp) -> bool {
        self.open.contains(&stamp)
    }

    /// Returns whether the drive has called a write safe.
    pub(super) fn is_made(&self, stamp: Stamp) -> bool {
        self.made.contains(stamp)
    }

    /// Fulfils the promises that are due.
    pub(super) fn go_on(&mut self, now: Ns) {
        while self.outstanding.front().is_some_and(|promise| promise.true_at <= now) {
            self.fulfil_oldest();
        }
    }

    /// Fulfils the oldest promise; returns whether there was one.
    pub(super) fn fulfil_oldest(&mut self) -> bool {
        let promise = self.outstanding.pop_front();
        let was_one = promise.is_some();
        promise.into_iter().for_each(|promise| self.fulfilled.add(promise));
        was_one
    }

    /// With early promises: whether the promise for this write was fulfilled.
    pub(super) fn fulfilled(&self, stamp: Stamp) -> bool {
        self.fulfilled.contains(stamp)
    }

    /// The oldest unacknowledged write.
    pub(super) fn oldest_open(&self) -> Option<Stamp> {
        self.open.first().copied()
    }

    pub(super) fn forget_before(&mut self, stamp: Stamp) {
        for safe in [&mut self.made, &mut self.fulfilled] {
            safe.single = safe.single.split_off(&stamp);
        }
    }

    /// Forgets everything: it is fulfilled or no longer matters.
    pub(super) fn forget_all(&mut self) {
        *self = Promises {
            early: self.early,
            open: std::mem::take(&mut self.open),
            ..Promises::default()
        };
    }

    /// Resets after a power cut, when nothing is in progress.
    pub(super) fn reset(&mut self) {
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
        // It is old, but no flush covered it.
        assert!(!promises.fulfilled(1));
        promises.flush_waved_through(3, 1_000_000);
        assert!(promises.is_made(1) && !promises.fulfilled(1));
        promises.go_on(1_000_999);
        assert!(!promises.fulfilled(1));
        promises.go_on(1_001_010);
        assert!(promises.fulfilled(1) && promises.fulfilled(2) && !promises.fulfilled(3));
    }

    #[test]
    fn early_promises_are_few_however_many_are_made() {
        let mut promises = Promises::new(Some(1_000_000));
        for stamp in 1..200_000 {
            promises.flush_waved_through(stamp, stamp * 10);
            promises.go_on(stamp * 10);
        }
        assert!(
            promises.outstanding.len() <= EARLY_STEPS as usize + 1,
            "{}",
            promises.outstanding.len()
        );
        // A million nanoseconds contain a hundred thousand of them, and a 256th of that.
        assert!(promises.fulfilled(99_500) && !promises.fulfilled(100_100));
    }
}
