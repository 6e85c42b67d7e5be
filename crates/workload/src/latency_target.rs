//! The largest depth at which a job keeps its latency below a target.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The latency that a job must keep. Before the measurement, the job looks for the largest depth at
/// which it does, up to the depth of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyTarget {
    /// Latency in nanoseconds that reads and writes must not exceed.
    pub latency_ns: u64,
    /// Percentage of reads and writes that must not exceed it, above 0.
    pub percent: f64,
    /// Microseconds for which each depth is tried, and of the measurement at the one found.
    pub window_us: u64,
}

impl LatencyTarget {
    /// Windows after which the search ends if noise keeps it from settling.
    pub const WINDOWS_MAX: u32 = 64;

    /// The time for which each depth is tried.
    pub const fn window(self) -> Duration {
        Duration::from_micros(self.window_us)
    }
}

/// The search of a job: doubles the depth until the latency exceeds the target, then bisects.
#[derive(Debug, Clone)]
pub struct DepthSearch {
    target: LatencyTarget,
    window: u64,
    depth_max: u32,
    depth: u32,
    low: u32,
    high: u32,
    /// Tick of the start of the current window; `None` before the first operation.
    begun: Option<u64>,
    operations: u64,
    late: u64,
    is_settled: bool,
    /// Percentage of operations within the target at the latest depth that was tried.
    met: f64,
}

impl DepthSearch {
    /// A search for a depth of up to `depth_max`, with windows of this many ticks.
    pub const fn new(target: LatencyTarget, depth_max: u32, window: u64) -> DepthSearch {
        DepthSearch {
            target,
            window,
            depth_max,
            depth: 1,
            low: 1,
            high: depth_max,
            begun: None,
            operations: 0,
            late: 0,
            is_settled: false,
            met: 0.0,
        }
    }

    /// The depth to try, or the one found.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns `true` if the depth does not change any more.
    pub const fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Counts a completed operation.
    pub fn note(&mut self, latency_ns: u64) {
        self.operations += 1;
        self.late += u64::from(latency_ns > self.target.latency_ns);
    }

    /// Changes the depth at the end of a window, or as soon as a single operation is too many.
    pub fn check(&mut self, now: u64) {
        let begun = *self.begun.get_or_insert(now);
        let is_lost = self.late > 0 && self.target.percent >= 100.0;
        if self.is_settled || (!is_lost && now.saturating_sub(begun) < self.window) {
            return;
        }
        self.met = 100.0 * (self.operations - self.late) as f64 / self.operations.max(1) as f64;
        let tried = self.depth;
        if self.operations > 0 && self.met >= self.target.percent {
            self.low = tried;
            let next =
                if self.high == self.depth_max { 2 * tried } else { tried.midpoint(self.high) };
            self.depth = next.min(self.depth_max);
            self.is_settled = self.depth == tried;
        } else if tried == 1 {
            self.is_settled = true;
        } else {
            self.high = tried;
            self.low = self.low.min(tried - 1);
            self.depth = tried.midpoint(self.low).max(1);
        }
        (self.begun, self.operations, self.late) = (Some(now), 0, 0);
    }

    /// The result of the search, in one sentence.
    pub fn outcome(&self) -> String {
        let DepthSearch { depth, met, target, .. } = self;
        let latency_us = target.latency_ns / 1000;
        match self.is_settled {
            true if *met >= target.percent => format!(
                "latency target: depth {depth} keeps {} % of I/Os within {latency_us} µs",
                target.percent
            ),
            true => format!(
                "latency target: missed even at depth 1, {met:.2} % of I/Os within {latency_us} µs"
            ),
            false => format!("latency target: no depth found in time, measured at depth {depth}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches on a drive whose latency grows by 1 µs with each I/O in flight.
    fn found(latency_us: u64, percent: f64, depth_max: u32) -> (Vec<u32>, String) {
        let target = LatencyTarget { latency_ns: latency_us * 1000, percent, window_us: 100 };
        let mut search = DepthSearch::new(target, depth_max, 100);
        let mut tried = Vec::new();
        for now in 0..10_000 {
            if tried.last() != Some(&search.depth()) {
                tried.push(search.depth());
            }
            search.note(u64::from(search.depth()) * 1000);
            search.check(now);
            if search.is_settled() {
                break;
            }
        }
        (tried, search.outcome())
    }

    #[test]
    fn the_depth_doubles_until_it_is_too_much_and_is_then_bisected() {
        let (tried, text) = found(21, 99.9, 128);
        assert_eq!(tried, [1, 2, 4, 8, 16, 32, 24, 20, 22, 21]);
        insta::assert_snapshot!(text, @"latency target: depth 21 keeps 99.9 % of I/Os within 21 µs");
        // A single late operation ends the trial of a depth.
        assert_eq!(found(21, 100.0, 128).0, tried);
        assert_eq!(found(500, 100.0, 100).0, [1, 2, 4, 8, 16, 32, 64, 100]);
    }

    #[test]
    fn a_target_out_of_reach_is_reported() {
        insta::assert_snapshot!(found(0, 99.0, 8).1, @"latency target: missed even at depth 1, 0.00 % of I/Os within 0 µs");
        let target = LatencyTarget { latency_ns: 1, percent: 50.0, window_us: 1 };
        insta::assert_snapshot!(DepthSearch::new(target, 8, 1).outcome(), @"latency target: no depth found in time, measured at depth 1");
    }
}
