//! Measures only the time that a contestant is charged for.

use std::time::{Duration, Instant};

/// Sums up the timed parts; preparation and clean-up are left out.
#[derive(Debug, Default)]
pub struct Stopwatch {
    elapsed: Duration,
}

impl Stopwatch {
    /// Runs `work`, and adds its time.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.elapsed += begun.elapsed();
        result
    }

    /// The total so far.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}
