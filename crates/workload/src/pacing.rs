//! Pauses between a job's operations, and the rate below which a job fails.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pause between operations of a job, as of a program that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ThinkTime {
    /// Length of each pause in microseconds; above 0.
    pub time_us: u64,
    /// Number of operations before each pause; at least 1.
    pub every: u32,
}

impl ThinkTime {
    /// Length of each pause.
    pub const fn time(self) -> Duration {
        Duration::from_micros(self.time_us)
    }
}

/// The rate below which a job fails, in bytes per second of each job; 0 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RateMin {
    /// Bytes read per second.
    pub read_bytes: u64,
    /// Bytes written per second.
    pub write_bytes: u64,
    /// Time in milliseconds over which the rate is averaged.
    pub cycle_ms: u64,
}

impl RateMin {
    /// fio's default (`rate_cycle`).
    pub const CYCLE_MS: u64 = 1000;
}

/// The share of a job in the operations of all jobs of the same flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// The flow; jobs of different flows do not affect each other.
    pub id: u32,
    /// Weight of the job relative to the other jobs of the flow; at least 1.
    pub weight: u32,
    /// Pause in microseconds of a job that has exceeded its share, with nothing in flight; 0 if it
    /// tries again at once.
    pub sleep_us: u64,
}

impl Flow {
    /// Returns `true` if a job with `own` of the flow's `all` operations has had more than its
    /// share, given the `weights` of all jobs together.
    pub fn is_exceeded(self, own: u64, all: u64, weights: u64) -> bool {
        u128::from(own) * u128::from(weights) > u128::from(self.weight) * u128::from(all)
    }
}

/// A job was slower than its [`RateMin`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a job {verb} {actual} B/s, less than the required {required} B/s")]
pub struct BelowRateMin {
    verb: &'static str,
    actual: u64,
    required: u64,
}

/// Time from the start of a measurement to the first rate, in which a job can settle (fio's
/// `__check_min_rate`).
const SETTLE: Duration = Duration::from_secs(2);

/// Compares the rate of a job with the lowest one allowed, as operations complete.
#[derive(Debug, Clone, Copy)]
pub struct RateCheck {
    min: RateMin,
    ticks_per_s: u64,
    cycle: u64,
    due: u64,
    /// Time of the previous check, and the bytes read and written by then.
    previous: Option<(u64, [u64; 2])>,
}

impl RateCheck {
    /// A check of a measurement that begins at `start`; `ticks` converts a duration to clock ticks.
    pub fn new(min: RateMin, start: u64, ticks: impl Fn(Duration) -> u64) -> RateCheck {
        let (due, cycle) =
            (start.saturating_add(ticks(SETTLE)), ticks(Duration::from_millis(min.cycle_ms)));
        RateCheck { min, ticks_per_s: ticks(Duration::from_secs(1)), cycle, due, previous: None }
    }

    /// The time after which the next completed operation is followed by a check.
    pub const fn due(&self) -> u64 {
        self.due
    }

    /// Checks the rate since the previous check.
    ///
    /// # Errors
    /// Fails if it is too low. A direction in which nothing was moved yet has no rate, as in fio.
    pub fn check(
        &mut self,
        now: u64,
        read_bytes: u64,
        written_bytes: u64,
    ) -> Result<(), BelowRateMin> {
        let moved = [read_bytes, written_bytes];
        if let Some((at, before)) = self.previous.replace((now, moved)) {
            let spent = u128::from(now.saturating_sub(at).max(1));
            let required = [self.min.read_bytes, self.min.write_bytes];
            for (index, verb) in ["read", "wrote"].into_iter().enumerate() {
                let bytes = u128::from(moved[index] - before[index]);
                let actual = (bytes * u128::from(self.ticks_per_s) / spent) as u64;
                if moved[index] > 0 && actual < required[index] {
                    return Err(BelowRateMin { verb, actual, required: required[index] });
                }
            }
        }
        self.due = now.saturating_add(self.cycle);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> RateCheck {
        let min = RateMin { read_bytes: 1000, write_bytes: 0, cycle_ms: 500 };
        RateCheck::new(min, 100, |time| time.as_millis() as u64)
    }

    #[test]
    fn the_first_rate_follows_two_seconds_and_a_cycle() {
        let mut check = check();
        assert_eq!(check.due(), 2100);
        // Nothing before the first check counts.
        assert_eq!((check.check(2150, 7, 0), check.due()), (Ok(()), 2650));
        assert_eq!(check.check(2650, 507, 0), Ok(()));
        let slow = check.check(3150, 1006, 0).unwrap_err();
        assert_eq!(slow.to_string(), "a job read 998 B/s, less than the required 1000 B/s");
    }

    #[test]
    fn operations_are_shared_by_weight() {
        let weights = [1, 8];
        let mut own = [0; 2];
        for turn in 0..9000 {
            let exceeded = |job: usize| {
                let flow = Flow { id: 0, weight: weights[job], sleep_us: 0 };
                flow.is_exceeded(own[job], own.iter().sum(), 9)
            };
            let next = [turn % 2, 1 - turn % 2].into_iter().find(|job| !exceeded(*job)).unwrap();
            own[next] += 1;
        }
        assert!(own[0].abs_diff(1000) < 3, "{own:?}");
        // A job that is alone has the whole flow.
        assert!(!Flow { id: 0, weight: 3, sleep_us: 0 }.is_exceeded(7, 7, 3));
    }

    #[test]
    fn a_direction_without_a_limit_or_without_bytes_has_no_rate() {
        let mut check = check();
        assert_eq!(
            [2100, 2600, 3100].map(|now| check.check(now, 0, now)),
            [Ok(()), Ok(()), Ok(())]
        );
        assert!(check.check(3600, 1, 0x1000).is_err());
    }
}
