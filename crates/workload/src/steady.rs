//! The steady state of a test, in which its rate or latency no longer changes.

use std::collections::VecDeque;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A measurement that ends once the values of a window differ by less than a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UntilSteady {
    /// The quantity that is sampled, all jobs together.
    pub quantity: SteadyQuantity,
    /// The change of the quantity within the window that is compared with the limit.
    pub change: SteadyChange,
    /// The change below which the state is steady.
    pub limit: f64,
    /// Set if the limit is a percentage of the mean; otherwise it is in operations per second.
    pub percent: bool,
    /// Seconds of the window; a multiple of the interval.
    pub window_s: u32,
    /// Seconds at the start that are not sampled.
    pub ramp_s: u32,
    /// Seconds between samples; at least 1.
    pub interval_s: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SteadyQuantity {
    /// Reads and writes per second.
    Iops,
    /// Mean latency of reads and writes, in nanoseconds.
    Latency,
}

/// The change of a quantity within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SteadyChange {
    /// The largest distance of a sample from the mean.
    Deviation,
    /// The slope per interval of the line through the samples (least squares).
    Slope,
}

/// The operations of all jobs so far, and the sum of their latencies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SteadyTotals {
    /// Completed reads and writes.
    pub operations: u64,
    /// Their latencies in nanoseconds.
    pub latency_ns: f64,
}

/// Compares the latest window of a measurement with its [`UntilSteady`].
#[derive(Debug, Clone)]
pub struct SteadyCheck {
    steady: UntilSteady,
    /// Seconds after which the next sample is due.
    due_s: f64,
    /// Time and totals of the previous sample.
    previous: Option<(f64, SteadyTotals)>,
    samples: VecDeque<f64>,
    /// The change within the window, once there is one.
    change: Option<f64>,
}

impl SteadyCheck {
    /// A check of a measurement that has just begun.
    pub fn new(steady: UntilSteady) -> SteadyCheck {
        let due_s = f64::from(steady.ramp_s);
        let previous = (steady.ramp_s == 0).then(|| (0.0, SteadyTotals::default()));
        let mut check =
            SteadyCheck { steady, due_s, previous, samples: VecDeque::new(), change: None };
        if check.previous.is_some() {
            check.due_s += f64::from(steady.interval_s);
        }
        check
    }

    /// Returns `true` if a sample is due.
    pub fn is_due(&self, elapsed_s: f64) -> bool {
        elapsed_s >= self.due_s
    }

    /// Takes a sample; returns `true` once the state is steady.
    pub fn sample(&mut self, elapsed_s: f64, totals: SteadyTotals) -> bool {
        self.due_s += f64::from(self.steady.interval_s);
        let Some((at, before)) = self.previous.replace((elapsed_s, totals)) else { return false };
        let operations = (totals.operations - before.operations) as f64;
        self.samples.push_back(match self.steady.quantity {
            SteadyQuantity::Iops => operations / (elapsed_s - at),
            SteadyQuantity::Latency if operations > 0.0 => {
                (totals.latency_ns - before.latency_ns) / operations
            }
            SteadyQuantity::Latency => 0.0,
        });
        let window = (self.steady.window_s / self.steady.interval_s) as usize;
        if self.samples.len() > window {
            self.samples.pop_front();
        }
        if self.samples.len() == window {
            self.change = Some(self.change_in_window());
        }
        self.is_steady()
    }

    fn is_steady(&self) -> bool {
        self.change.is_some_and(|change| change < self.steady.limit)
    }

    fn change_in_window(&self) -> f64 {
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().sum::<f64>() / count;
        let deviations = || self.samples.iter().map(|sample| sample - mean);
        let change = match self.steady.change {
            SteadyChange::Deviation => deviations().map(f64::abs).fold(0.0, f64::max),
            SteadyChange::Slope => {
                let middle = (count - 1.0) / 2.0;
                let positions = || (0..self.samples.len()).map(|index| index as f64 - middle);
                let products = positions().zip(deviations()).map(|(x, y)| x * y);
                (products.sum::<f64>() / positions().map(|x| x * x).sum::<f64>()).abs()
            }
        };
        if self.steady.percent { 100.0 * change / mean } else { change }
    }
}

impl fmt::Display for SteadyCheck {
    /// One sentence on whether the state was reached.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steady = self.steady;
        let state = if self.is_steady() { "reached" } else { "not reached" };
        let Some(change) = self.change else {
            return write!(f, "steady state not reached: ended before {} s", steady.window_s);
        };
        let of = match (steady.change, steady.quantity) {
            (SteadyChange::Deviation, SteadyQuantity::Iops) => "deviation of the IOPS",
            (SteadyChange::Deviation, SteadyQuantity::Latency) => "deviation of the mean latency",
            (SteadyChange::Slope, SteadyQuantity::Iops) => "slope of the IOPS",
            (SteadyChange::Slope, SteadyQuantity::Latency) => "slope of the mean latency",
        };
        let unit = if steady.percent { " %" } else { " IOPS" };
        write!(
            f,
            "steady state {state}: {of} over the last {} s {change:.2}{unit} (limit {}{unit})",
            steady.window_s, steady.limit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(quantity: SteadyQuantity, change: SteadyChange, percent: bool) -> UntilSteady {
        let (window_s, ramp_s, interval_s) = (4, 2, 1);
        UntilSteady { quantity, change, limit: 10.0, percent, window_s, ramp_s, interval_s }
    }

    /// The number of the sample that is steady, for these operations in each second.
    fn steady_at(steady: UntilSteady, each_second: &[u64]) -> (Option<usize>, String) {
        let mut check = SteadyCheck::new(steady);
        let (mut operations, mut found) = (0, None);
        for (second, count) in each_second.iter().enumerate() {
            operations += count;
            let elapsed_s = second as f64 + 1.0;
            let latency_ns = operations as f64 * 1000.0;
            if check.is_due(elapsed_s)
                && check.sample(elapsed_s, SteadyTotals { operations, latency_ns })
            {
                found = Some(second);
                break;
            }
        }
        (found, check.to_string())
    }

    #[test]
    fn the_ramp_is_left_out_and_the_window_is_full_before_it_is_judged() {
        let of = |change| steady(SteadyQuantity::Iops, change, true);
        let (found, text) =
            steady_at(of(SteadyChange::Deviation), &[900, 900, 100, 100, 105, 95, 100]);
        assert_eq!(found, Some(5));
        insta::assert_snapshot!(text, @"steady state reached: deviation of the IOPS over the last 4 s 5.00 % (limit 10 %)");
        let rising = [0, 0, 100, 120, 140, 160, 180, 200];
        let (found, text) = steady_at(of(SteadyChange::Slope), &rising);
        assert_eq!(found, None);
        insta::assert_snapshot!(text, @"steady state not reached: slope of the IOPS over the last 4 s 11.76 % (limit 10 %)");
        let (_, text) = steady_at(of(SteadyChange::Slope), &rising[..4]);
        insta::assert_snapshot!(text, @"steady state not reached: ended before 4 s");
    }

    #[test]
    fn a_limit_may_be_absolute_and_latency_is_a_mean() {
        let rising = [0, 0, 1000, 1009, 1018, 1027];
        let (found, text) =
            steady_at(steady(SteadyQuantity::Iops, SteadyChange::Slope, false), &rising);
        assert_eq!(found, Some(5));
        insta::assert_snapshot!(text, @"steady state reached: slope of the IOPS over the last 4 s 9.00 IOPS (limit 10 IOPS)");
        let latency = steady(SteadyQuantity::Latency, SteadyChange::Slope, true);
        let (found, text) = steady_at(latency, &[0, 0, 5, 50, 500, 5000]);
        assert_eq!(found, Some(5));
        insta::assert_snapshot!(text, @"steady state reached: slope of the mean latency over the last 4 s 0.00 % (limit 10 %)");
    }
}
