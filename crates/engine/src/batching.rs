//! Selects the number of completions that a job at depth waits for in one system call.
//!
//! Waiting for one completion keeps the drive's queue as full as possible; waiting for several
//! saves wake-ups, which cost more than the I/O itself on a fast device. At a fixed depth,
//! throughput determines the mean latency (Little's law: depth = rate × latency), so the batch size
//! with the highest rate also has the lowest mean latency. The job therefore tries several sizes,
//! during the warm-up if it lasts long enough, and keeps the best.

use std::time::Duration;

use crate::clock::Clock;

/// Duration of one trial of one size. A duration well above the scheduler's time slice (1 to 4 ms)
/// would be better, but all rounds must fit in a warm-up of half a second.
const TRIAL: Duration = Duration::from_millis(2);
/// Trials of each size; their median counts.
const ROUNDS: usize = 15;
/// The queue must turn over at least this many times in a trial.
const TURNOVERS_MIN: u64 = 2;
/// If completions are further apart than this, each justifies its wake-up (a few microseconds on
/// bare metal, 20 µs in a virtual machine), and no trials are needed.
const GAP_MAX: Duration = Duration::from_micros(50);
/// Of all sizes this close to the best, the largest one uses the least CPU time.
const NEAR_BEST: f64 = 0.98;

/// Selects the number of completions to wait for.
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
    /// Each size with the rates that it reached.
    sizes: Vec<(u32, Vec<f64>)>,
    current: usize,
    /// Start of the trial, and the operations completed by then; `None` until one wait has passed
    /// with this size.
    began: Option<(u64, u64)>,
}

impl Batching {
    pub fn new(depth: u32, clock: Clock) -> Batching {
        let doubled = std::iter::successors(Some(1), |size| Some(size * 2));
        let sizes = doubled.take_while(|size| *size < depth).chain([depth]);
        let sizes: Vec<(u32, Vec<f64>)> = sizes.map(|size| (size, Vec::new())).collect();
        let state = if sizes.len() == 1 {
            State::Decided(1)
        } else {
            State::Trying(Trials { sizes, current: 0, began: None })
        };
        Batching { clock, depth, state }
    }

    /// The number of completions to wait for now.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.state {
            State::Decided(size) => *size,
            State::Trying(trials) => trials.sizes[trials.current].0,
        }
    }

    /// Starts a phase, which counts its operations from zero. Discards the current trial.
    pub fn begin_phase(&mut self) {
        if let State::Trying(trials) = &mut self.state {
            trials.began = None;
        }
    }

    /// Records that `completed` operations of the phase were complete at `now`, after a wait.
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
    /// Returns the selected size once all trials are done.
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
        let medians: Vec<(u32, f64)> =
            self.sizes.iter_mut().map(|(size, rates)| (*size, median(rates))).collect();
        let most = medians.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        let as_good = medians.iter().rev().find(|&&(_, rate)| rate >= most * NEAR_BEST);
        as_good.map_or(1, |&(size, _)| size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates one second of a queue on which a wait for `size` completions takes the returned
    /// number of nanoseconds.
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
        // Each wait costs 5 µs and each completion 1 µs: the larger the batch, the better.
        assert_eq!(decided(32, |size| 5_000 + 1_000 * u64::from(size)), 32);
        assert_eq!(decided(128, |size| 5_000 + 1_000 * u64::from(size)), 128);
        // A device that runs dry: waiting for more than 8 completions loses time.
        assert_eq!(
            decided(32, |size| if size > 8 { 4_000 } else { 500 } * u64::from(size) + 2_000),
            8
        );
    }

    #[test]
    fn among_equals_the_largest_costs_least() {
        assert_eq!(decided(32, |size| 2_000 * u64::from(size)), 32);
    }

    #[test]
    fn a_slow_device_is_not_kept_waiting() {
        assert_eq!(decided(32, |size| 100_000 * u64::from(size)), 1);
        // A hundred random writes per second: also decided within the first second.
        assert_eq!(decided(4, |size| 10_000_000 * u64::from(size)), 1);
    }

    #[test]
    fn a_warm_up_that_ends_within_a_trial_is_followed_by_another_trial() {
        let clock = Clock::calibrated();
        let mut batching = Batching::new(32, clock);
        let at = |us| clock.ticks_of(Duration::from_micros(us));
        batching.note(at(0), 1_000);
        batching.begin_phase();
        // A new phase counts from zero, so below the previous count.
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
