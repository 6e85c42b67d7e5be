//! A job that computes instead of using the target, for the load of other programs.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{ClockId, clock_gettime};
use workload::{Bounds, Compute, ComputeTask};

use crate::clock::Clock;
use crate::crew::{Report, Stage};
use crate::job::{JobEnd, Stop, Tally};
use crate::pace::wait_until;

/// The computations of one job.
pub struct Computing {
    compute: Compute,
    clock: Clock,
    draws: Xoshiro256PlusPlus,
    /// The numbers of a sort.
    numbers: Vec<u32>,
}

impl Computing {
    pub fn new(compute: Compute, clock: Clock, draws: Xoshiro256PlusPlus) -> Computing {
        let numbers = match compute.task {
            ComputeTask::Spin => Vec::new(),
            ComputeTask::Sort => vec![0; ComputeTask::NUMBERS],
        };
        Computing { compute, clock, draws, numbers }
    }

    pub fn run(mut self, stage: Stage<'_>) -> Report {
        stage.act(Vec::new(), |_, bounds, tally, stop| self.phase(bounds, tally, stop))
    }

    fn phase(&mut self, bounds: Bounds, tally: &Arc<Tally>, stop: &Arc<Stop>) -> JobEnd {
        let (clock, mut end) = (self.clock, JobEnd::new());
        let used_before = thread_time_ns();
        let mut now = clock.ticks();
        while !bounds.reached(now, end.reads) && !stop.is_requested() {
            self.compute(now, bounds.deadline());
            let busy = clock.ticks().saturating_sub(now);
            tally.read.record(clock.ns(busy));
            end.reads += 1;
            // As in fio, the pause follows from the time that has passed, not from the processor
            // time: on a busy host, the job does not catch up.
            let until = (now + busy).saturating_add(self.compute.pause(busy));
            let until = until.min(bounds.deadline());
            while clock.ticks() < until && !stop.is_requested() {
                wait_until(clock, until);
            }
            now = clock.ticks();
        }
        end.computed_ns = Some(thread_time_ns().saturating_sub(used_before));
        end
    }

    /// Computes once, from `begun` on.
    fn compute(&mut self, begun: u64, deadline: u64) {
        match self.compute.task {
            ComputeTask::Spin => {
                let until = begun.saturating_add(self.clock.ticks_of(self.compute.chunk()));
                while self.clock.ticks() < until.min(deadline) {
                    spin_loop();
                }
            }
            ComputeTask::Sort => {
                // Sorted numbers would be recognised, and cost little to sort again.
                self.numbers.fill_with(|| self.draws.next_u32());
                self.numbers.sort_unstable();
                black_box(&self.numbers);
            }
        }
    }
}

/// Processor time of the calling thread.
fn thread_time_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload::Limit;
    use workload::random::generator;

    use super::*;

    fn phase(compute: Compute, limit: Limit) -> (JobEnd, Arc<Tally>, f64) {
        let (clock, tally) = (Clock::calibrated(), Arc::new(Tally::new()));
        let begun = clock.ticks();
        let mut computing = Computing::new(compute, clock, generator(1, 0));
        let end = computing.phase(clock.bounds(limit, begun), &tally, &Arc::new(Stop::new()));
        let elapsed_s = clock.ns(clock.ticks() - begun) as f64 / 1e9;
        (end, tally, elapsed_s)
    }

    #[test]
    fn a_job_pauses_for_the_rest_of_its_time() {
        let compute = Compute { load_percent: 25, chunk_us: 2000, ..Compute::DEFAULT };
        let (end, tally, elapsed_s) = phase(compute, Limit::Count(20));
        assert_eq!((end.reads, end.writes, tally.read.count()), (20, 0, 20));
        // A busy machine can only make it use less than a quarter.
        let used_s = end.computed_ns.unwrap() as f64 / 1e9;
        assert!(elapsed_s >= 0.16, "{elapsed_s}");
        assert!(used_s > 0.0 && used_s < 0.4 * elapsed_s, "{used_s} of {elapsed_s}");
    }

    #[test]
    fn a_full_load_has_no_pauses_and_ends_on_time() {
        let compute = Compute { chunk_us: 60_000_000, ..Compute::DEFAULT };
        let (end, _, elapsed_s) = phase(compute, Limit::Time(Duration::from_millis(50)));
        assert_eq!(end.reads, 1);
        assert!(elapsed_s >= 0.05, "{elapsed_s}");
    }

    #[test]
    fn a_sort_is_a_computation() {
        let compute = Compute { task: ComputeTask::Sort, ..Compute::DEFAULT };
        let (end, tally, _) = phase(compute, Limit::Count(2));
        assert_eq!((end.reads, tally.read.count()), (2, 2));
        assert!(end.computed_ns.unwrap() > 0);
    }
}
