//! The times at which inserts of a given rate are due.

use std::time::{Duration, Instant};

/// A fixed schedule: what is late is caught up with, so a stall delays inserts but loses none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    start: Instant,
    interval: Duration,
}

impl Pace {
    pub(super) fn new(start: Instant, per_second: f64) -> Pace {
        Pace { start, interval: Duration::from_secs_f64(1.0 / per_second) }
    }

    /// The time at which the insert with this number, from 0, is due.
    pub(super) fn due(&self, number: u64) -> Instant {
        let offset_s = self.interval.as_secs_f64() * number as f64;
        self.start + Duration::from_secs_f64(offset_s)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_second_has_as_many_inserts_as_the_rate(rate in 1u32..100_000, second in 0u64..1000) {
            let start = Instant::now();
            let pace = Pace::new(start, f64::from(rate));
            let first = second * u64::from(rate);
            let from = (pace.due(first) - start).as_secs_f64();
            let until = (pace.due(first + u64::from(rate)) - start).as_secs_f64();
            prop_assert!((until - from - 1.0).abs() < 1e-3, "{from} to {until}");
        }
    }
}
