//! The points at which a job's loop has something to do besides its operations: the end of its
//! phase, a pause, or a check that it is fast enough.
//!
//! The loops compare with the nearest of them, so a job without pauses and checks compares with
//! its end only.

use workload::access::Operations;
use workload::{Bounds, RateCheck, ThinkTime};

use crate::clock::Clock;
use crate::flow::FlowShare;
use crate::job::{Failure, JobEnd, Stop};
use crate::pace::wait_until;

#[derive(Debug)]
pub struct Checkpoints<'a> {
    bounds: Bounds,
    nearest: Bounds,
    clock: Clock,
    check: Option<RateCheck>,
    think: Option<ThinkTime>,
    /// Number of operations before the next pause.
    think_at: u64,
    /// The job's share in the operations of its flow, of a loop that has one operation in flight.
    flow: Option<&'a mut FlowShare>,
}

impl<'a> Checkpoints<'a> {
    /// The checkpoints of a phase that begins at `start`. The share of a flow counts the first
    /// operation, which is never too much.
    pub fn new(
        operations: &Operations<'_>,
        bounds: Bounds,
        clock: Clock,
        start: u64,
        mut flow: Option<&'a mut FlowShare>,
    ) -> Checkpoints<'a> {
        if let Some(flow) = &mut flow {
            flow.take();
        }
        let workload = operations.workload();
        let check = operations
            .rate_min()
            .map(|min| RateCheck::new(min, start, |time| clock.ticks_of(time)));
        let think_at = workload.think.map_or(u64::MAX, |think| u64::from(think.every));
        let think = workload.think;
        let mut checkpoints =
            Checkpoints { bounds, nearest: bounds, clock, check, think, think_at, flow };
        checkpoints.find_nearest();
        checkpoints
    }

    fn find_nearest(&mut self) {
        self.nearest = match (&self.check, self.think, &self.flow) {
            (None, None, None) => self.bounds,
            // Each operation needs its share.
            (_, _, Some(_)) => self.bounds.or_at(0, 0),
            (check, ..) => {
                self.bounds.or_at(check.as_ref().map_or(u64::MAX, RateCheck::due), self.think_at)
            }
        };
    }

    /// An operation was ignored, so the job has one less to do.
    pub fn leave_one_out(&mut self) {
        self.bounds = self.bounds.without_one();
        self.find_nearest();
    }

    /// Returns `true` at the nearest checkpoint of a job that has done `ops` operations by `now`.
    #[inline]
    pub const fn reached(&self, now: u64, ops: u64) -> bool {
        self.nearest.reached(now, ops)
    }

    /// Passes a checkpoint, with nothing in flight if the job pauses. Returns the time at which the
    /// job continues; `None` if it ends.
    ///
    /// # Errors
    /// Fails if the job is too slow.
    #[cold]
    pub fn pass(
        &mut self,
        mut now: u64,
        end: &JobEnd,
        stop: &Stop,
    ) -> Result<Option<u64>, Failure> {
        let ops = end.reads + end.writes;
        if self.bounds.reached(now, ops) || stop.is_requested() {
            return Ok(None);
        }
        if let Some(check) = self.check.as_mut().filter(|check| now >= check.due()) {
            check.check(now, end.read_bytes, end.written_bytes).map_err(Failure::BelowRateMin)?;
        }
        if let Some(think) = self.think.filter(|_| ops >= self.think_at) {
            self.think_at = ops + u64::from(think.every);
            let until =
                now.saturating_add(self.clock.ticks_of(think.time())).min(self.bounds.deadline());
            while self.clock.ticks() < until && !stop.is_requested() {
                wait_until(self.clock, until);
            }
            now = self.clock.ticks();
            if self.bounds.reached(now, ops) || stop.is_requested() {
                return Ok(None);
            }
        }
        if let Some(flow) = &mut self.flow {
            while !flow.take() {
                flow.wait();
                now = self.clock.ticks();
                if self.bounds.reached(now, ops) || stop.is_requested() {
                    return Ok(None);
                }
            }
        }
        self.find_nearest();
        Ok(Some(now))
    }
}
