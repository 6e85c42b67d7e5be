//! Time that a contestant is charged for.

use std::time::{Duration, Instant};

/// Sums up what is timed; what a contestant needs before and after is left out.
#[derive(Debug, Default)]
pub struct Stopwatch {
    elapsed: Duration,
}

impl Stopwatch {
    /// Runs and times it.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.elapsed += begun.elapsed();
        result
    }

    /// What was timed so far.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}
