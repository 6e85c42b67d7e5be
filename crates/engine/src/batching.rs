//! How many completions a job at depth waits for in one system call.
//!
//! Waiting for one completion keeps the drive's queue fullest; waiting for several saves wake-ups,
//! which cost more than the I/O itself on a fast device. At a fixed depth the number of operations
//! per second and the mean latency are one figure (Little's law: depth = rate × latency), so the
//! size with the highest rate is also the one with the lowest mean latency. The job therefore
//! tries sizes in turn, during the warm-up as far as that lasts, and keeps the best.

use std::time::Duration;

use crate::clock::Clock;

/// One trial of one size. Long against a time slice of the scheduler's tick (1 to 4 ms) would be
/// better, but a warm-up of half a second has to hold all rounds.
const TRIAL: Duration = Duration::from_millis(2);
/// Trials of each size, of which the median counts.
const ROUNDS: usize = 15;
/// A trial must see the queue turn over this many times.
const TURNOVERS_MIN: u64 = 2;
/// Where completions are further apart than this, each is worth its wake-up (a few microseconds
/// on bare metal, 20 µs in a virtual machine), and nothing needs to be tried.
const GAP_MAX: Duration = Duration::from_micros(50);
/// Among sizes that are this close to the best, the largest costs the least processor time.
const AS_GOOD: f64 = 0.98;

/// Decides how many completions to wait for.
#[derive(Debug)]
pub struct Batching {
    clock: Clock,
    depth: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Trying(Trials),
    Decided(u32),
}

#[derive(Debug)]
struct Trials {
    /// The sizes, and the rates that each reached.
    sizes: Vec<(u32, Vec<f64>)>,
    current: usize,
    /// When the trial began, and how many operations had completed; `None` until a wait has passed
    /// with this size.
    began: Option<(u64, u64)>,
}

impl Batching {
    /// For a queue of this depth.
    pub fn new(depth: u32, clock: Clock) -> Batching {
        let doubled = std::iter::successors(Some(1), |size| Some(size * 2));
        let sizes = doubled.take_while(|size| *size < depth).chain([depth]);
        let sizes: Vec<(u32, Vec<f64>)> = sizes.map(|size| (size, Vec::new())).collect();
        let state =
            if sizes.len() == 1 { State::Decided(1) } else { State::Trying(Trials { sizes, current: 0, began: None }) };
        Batching { clock, depth, state }
    }

    /// Completions to wait for now.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.state {
            State::Decided(size) => *size,
            State::Trying(trials) => trials.sizes[trials.current].0,
        }
    }

    /// A phase begins, which counts its operations from zero: the trial under way is void.
    pub fn begin_phase(&mut self) {
        if let State::Trying(trials) = &mut self.state {
            trials.began = None;
        }
    }

    /// Takes note that `completed` operations of the phase were done at `now`, after a wait.
    #[inline]
    pub fn note(&mut self, now: u64, completed: u64) {
        if let State::Trying(trials) = &mut self.state
            && let Some(decided) = trials.note(now, completed, self.depth, self.clock)
        {
            self.state = State::Decided(decided);
        }
    }
}

impl Trials {
    /// The decision, once there is one.
    fn note(&mut self, now: u64, completed: u64, depth: u32, clock: Clock) -> Option<u32> {
        let Some((began, before)) = self.began else {
            self.began = Some((now, completed));
            return None;
        };
        let (elapsed, done) = (now.saturating_sub(began), completed - before);
        if done < u64::from(depth) * TURNOVERS_MIN || elapsed < clock.ticks_of(TRIAL) {
            return None;
        }
        if self.current == 0 && elapsed / done > clock.ticks_of(GAP_MAX) {
            return Some(1);
        }
        self.began = None;
        self.sizes[self.current].1.push(done as f64 / elapsed as f64);
        self.current = (self.current + 1) % self.sizes.len();
        (self.current == 0 && self.sizes[0].1.len() == ROUNDS).then(|| self.best())
    }

    fn best(&mut self) -> u32 {
        let median = |rates: &mut Vec<f64>| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        };
        let medians: Vec<(u32, f64)> = self.sizes.iter_mut().map(|(size, rates)| (*size, median(rates))).collect();
        let most = medians.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        let as_good = medians.iter().rev().find(|&&(_, rate)| rate >= most * AS_GOOD);
        as_good.map_or(1, |&(size, _)| size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a queue run whose wait for `size` completions takes so many nanoseconds, for a second.
    fn decided(depth: u32, wait_ns: impl Fn(u32) -> u64) -> u32 {
        let clock = Clock::calibrated();
        let mut batching = Batching::new(depth, clock);
        let (mut now_ns, mut completed) = (0, 0);
        while now_ns < 1_000_000_000 {
            let size = batching.size();
            assert!((1..=depth).contains(&size));
            now_ns += wait_ns(size);
            completed += u64::from(size);
            batching.note(clock.ticks_of(Duration::from_nanos(now_ns)), completed);
        }
        assert!(matches!(batching.state, State::Decided(_)), "undecided after a second");
        batching.size()
    }

    #[test]
    fn the_size_with_the_highest_rate_is_kept() {
        // Each wait costs 5 µs and each completion 1 µs: the more at once, the better.
        assert_eq!(decided(32, |size| 5_000 + 1_000 * u64::from(size)), 32);
        assert_eq!(decided(128, |size| 5_000 + 1_000 * u64::from(size)), 128);
        // A device that runs dry: what is waited for beyond 8 is lost.
        assert_eq!(decided(32, |size| if size > 8 { 4_000 } else { 500 } * u64::from(size) + 2_000), 8);
    }

    #[test]
    fn among_equals_the_largest_costs_least() {
        assert_eq!(decided(32, |size| 2_000 * u64::from(size)), 32);
    }

    #[test]
    fn a_slow_device_is_not_kept_waiting() {
        assert_eq!(decided(32, |size| 100_000 * u64::from(size)), 1);
        // A hundred random writes a second: decided within the first second, too.
        assert_eq!(decided(4, |size| 10_000_000 * u64::from(size)), 1);
    }

    #[test]
    fn a_warm_up_that_ends_within_a_trial_is_followed_by_another_trial() {
        let clock = Clock::calibrated();
        let mut batching = Batching::new(32, clock);
        let at = |us| clock.ticks_of(Duration::from_micros(us));
        batching.note(at(0), 1_000);
        batching.begin_phase();
        // Counted anew, and less than before.
        batching.note(at(100), 1);
        batching.note(at(4_100), 501);
        let State::Trying(trials) = &batching.state else { panic!("decided after one trial") };
        assert_eq!((trials.current, trials.sizes[0].1.len()), (1, 1));
    }

    #[test]
    fn depth_1_has_nothing_to_decide() {
        assert_eq!(decided(1, |_| 1_000), 1);
    }
}
