//! The test of whether a measurement has settled.
//!
//! SNIA Solid State Storage Performance Test Specification 2.0.2, section 2.1.24: within a window
//! of five consecutive rounds, the range of the tracked value is at most 20 % of its average *and*
//! the best straight line through it rises or falls by at most 10 % of the average over the window.
//! The specification's rounds last minutes; here a run is divided into equal rounds of whole
//! intervals, at most 25, which is the most that the specification allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::series::Series;

const WINDOW_ROUNDS: usize = 5;
/// The most rounds that a run is divided into.
const ROUNDS_MAX: usize = 25;
/// Largest range within a window, as a share of its average.
const RANGE_MAX: f64 = 0.20;
/// Largest rise or fall of the fitted line over a window, as a share of its average.
const SLOPE_MAX: f64 = 0.10;

/// Whether a run settled: both operations per second and commit latency must be steady in the last
/// window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// `true` if the last five rounds are steady in both.
    pub reached: bool,
    /// Length of a round, in seconds.
    pub round_s: f64,
    /// Seconds into the measurement at which the last window began; `null` if it is not steady. A
    /// steady stretch before it does not count, because the rule is about the end of a run.
    pub since_s: Option<f64>,
    /// The last window of operations per second.
    pub iops: Window,
    /// The last window of commit latency (the median of each round); `null` if a round had no
    /// commit.
    pub commit: Option<Window>,
}

/// Range and slope of a tracked value within a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Average over the window, in the value's own unit.
    pub average: f64,
    /// Largest minus smallest, as a percentage of the average.
    pub range_percent: f64,
    /// Rise or fall of the fitted line over the window, as a percentage of the average.
    pub slope_percent: f64,
}

impl Window {
    /// `None` if the average is not above zero.
    fn over(rounds: &[f64]) -> Option<Window> {
        let count = rounds.len() as f64;
        let average = rounds.iter().sum::<f64>() / count;
        if average <= 0.0 || !average.is_finite() {
            return None;
        }
        let largest = rounds.iter().copied().fold(f64::MIN, f64::max);
        let smallest = rounds.iter().copied().fold(f64::MAX, f64::min);
        let middle = (count - 1.0) / 2.0;
        // The offsets add up to 0, so the average need not be subtracted from the values.
        let offsets = || (0..rounds.len()).map(|index| index as f64 - middle);
        let covariance: f64 = offsets().zip(rounds).map(|(offset, value)| offset * value).sum();
        let variance: f64 = offsets().map(|offset| offset * offset).sum();
        let excursion = (covariance / variance).abs() * (count - 1.0);
        Some(Window {
            average,
            range_percent: (largest - smallest) / average * 100.0,
            slope_percent: excursion / average * 100.0,
        })
    }

    fn holds(&self) -> bool {
        self.range_percent <= RANGE_MAX * 100.0 && self.slope_percent <= SLOPE_MAX * 100.0
    }
}

impl SteadyState {
    /// Judges a series; `None` if it is too short for one window.
    pub fn of(series: &Series) -> Option<SteadyState> {
        let intervals = series.iops.len();
        let per_round = intervals.div_ceil(ROUNDS_MAX).max(1);
        // Whole rounds that end with the run: what is left over is at its start.
        let skipped = intervals % per_round;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let iops: Vec<f64> = series.iops[skipped..].chunks_exact(per_round).map(mean).collect();
        if iops.len() < WINDOW_ROUNDS {
            return None;
        }
        let commit: Vec<Option<f64>> = series
            .commit_p50_us
            .get(skipped..)
            .unwrap_or_default()
            .chunks_exact(per_round)
            .map(|round| {
                round.iter().copied().collect::<Option<Vec<f64>>>().map(|round| mean(&round))
            })
            .collect();
        let last = iops.len() - WINDOW_ROUNDS;
        let last_iops = Window::over(&iops[last..]);
        let latencies: Option<Vec<f64>> =
            commit.get(last..).and_then(|rounds| rounds.iter().copied().collect());
        let last_commit = latencies.and_then(|latencies| Window::over(&latencies));
        let holds = |window: Option<Window>| window.is_some_and(|window| window.holds());
        let reached = holds(last_iops) && holds(last_commit);
        let begin = (skipped + last * per_round) as f64 * series.interval_s;
        Some(SteadyState {
            reached,
            round_s: per_round as f64 * series.interval_s,
            since_s: reached.then_some(begin),
            iops: last_iops.unwrap_or(Window {
                average: 0.0,
                range_percent: 0.0,
                slope_percent: 0.0,
            }),
            commit: last_commit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(iops: &[f64]) -> Series {
        let latency: Vec<_> = iops.iter().map(|&iops| (iops > 0.0).then(|| 1e6 / iops)).collect();
        Series {
            iops: iops.to_vec(),
            commit_p50_us: latency.clone(),
            commit_p99_us: latency,
            ..Series::new()
        }
    }

    #[test]
    fn a_flat_series_is_steady_in_its_last_five_rounds() {
        let steady = SteadyState::of(&series(&[100.0; 8])).unwrap();
        assert!(steady.reached);
        assert_eq!(steady.since_s, Some(3.0));
    }

    #[test]
    fn a_steady_stretch_before_a_decline_does_not_count() {
        let decline = [100.0, 100.0, 100.0, 100.0, 100.0, 85.0, 75.0, 65.0, 60.0, 55.0];
        let steady = SteadyState::of(&series(&decline)).unwrap();
        assert!(!steady.reached);
        assert_eq!(steady.since_s, None);
    }

    #[test]
    fn a_cliff_and_the_steady_state_after_it_are_found() {
        let steady =
            SteadyState::of(&series(&[500.0, 500.0, 500.0, 100.0, 100.0, 100.0, 100.0, 100.0]))
                .unwrap();
        assert!(steady.reached);
        assert_eq!(steady.since_s, Some(3.0));
    }

    #[test]
    fn a_slow_decline_within_the_range_is_caught_by_the_slope() {
        // From 9 % above the average to 9 % below: the range of 18 % would pass, but the line falls
        // by 18 %.
        let steady = SteadyState::of(&series(&[109.0, 104.5, 100.0, 95.5, 91.0])).unwrap();
        assert!(steady.iops.range_percent < 20.0 && steady.iops.slope_percent > 10.0);
        assert!(!steady.reached);
    }

    #[test]
    fn the_specification_s_arithmetic() {
        let window = Window::over(&[10.0, 12.0, 11.0, 13.0, 14.0]).unwrap();
        // Least squares by hand: slope 0.9 a round, so 3.6 over the window; average 12.
        assert!((window.slope_percent - 30.0).abs() < 1e-9);
        assert!((window.range_percent - 100.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_stalled_second_is_not_steady() {
        let steady = SteadyState::of(&series(&[100.0, 100.0, 0.0, 100.0, 100.0])).unwrap();
        assert!(!steady.reached);
        assert_eq!(steady.commit, None);
    }

    #[test]
    fn four_seconds_are_too_few() {
        assert_eq!(SteadyState::of(&series(&[1.0; 4])), None);
    }

    #[test]
    fn a_long_run_is_cut_into_at_most_25_rounds() {
        let steady = SteadyState::of(&series(&[100.0; 120])).unwrap();
        assert!((steady.round_s - 5.0).abs() < f64::EPSILON);
    }

    #[test]
    fn either_limit_alone_is_enough_to_fail_and_at_the_limit_it_holds() {
        let holds = |rounds: [f64; 5]| Window::over(&rounds).unwrap().holds();
        // The average is 100 and, by symmetry, the slope is 0: the range decides.
        assert!(holds([90.0, 110.0, 100.0, 110.0, 90.0]));
        assert!(!holds([89.9, 110.1, 100.0, 110.1, 89.9]));
        // A straight line: range and excursion are equal, and the slope has the lower limit.
        assert!(holds([105.0, 102.5, 100.0, 97.5, 95.0]));
        assert!(!holds([105.1, 102.55, 100.0, 97.45, 94.9]));
    }

    #[test]
    fn a_run_without_operations_has_a_window_of_nothing_and_is_not_steady() {
        let steady = SteadyState::of(&series(&[0.0; 5])).unwrap();
        assert!(!steady.reached);
        assert_eq!(steady.iops, Window { average: 0.0, range_percent: 0.0, slope_percent: 0.0 });
        assert_eq!((steady.since_s, steady.commit), (None, None));
    }

    #[test]
    fn rounds_are_means_of_their_intervals_and_count_in_seconds() {
        // 50 intervals make 25 rounds of two. The first five rounds rise. After them, neighbouring
        // intervals differ by 20 % but all rounds are equal.
        let iops = |at: usize| {
            if at < 10 { 500.0 + 100.0 * at as f64 } else { 90.0 + 20.0 * (at % 2) as f64 }
        };
        let series = Series { interval_s: 2.0, ..series(&(0..50).map(iops).collect::<Vec<_>>()) };
        let steady = SteadyState::of(&series).unwrap();
        assert!(steady.reached);
        assert_eq!((steady.round_s, steady.since_s), (4.0, Some(80.0)));
        assert_eq!(steady.iops, Window { average: 100.0, range_percent: 0.0, slope_percent: 0.0 });
    }

    #[test]
    fn latency_has_to_settle_as_well() {
        let mut series = series(&[100.0; 5]);
        series.commit_p50_us = [50.0, 100.0, 150.0, 200.0, 250.0].map(Some).to_vec();
        assert!(!SteadyState::of(&series).unwrap().reached);
    }
}
