//! Operations per second, second by second, with the window in which they were steady.

use measurement::TestResult;
use report::number::{latency, rate};
use serde::Serialize;

use super::Chart;
use super::heat_map::INTERVALS_LEAST;
use crate::figure::Figure;
use crate::table::{Table, or_dash};

/// A rate for each interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateOverTime {
    /// Seconds to each interval.
    pub interval_s: f64,
    /// Operations per second.
    pub per_s: Vec<f64>,
    /// Seconds from which on it was steady; `None` where it never was.
    pub steady_from_s: Option<f64>,
}

/// The figure, or `None` where the series was not kept or is too short.
pub fn figure(id: String, title: String, result: &TestResult) -> Option<Figure> {
    let series = &result.series;
    if series.iops.len() < INTERVALS_LEAST {
        return None;
    }
    let steady = result.steady_state;
    let least = series.iops.iter().copied().fold(f64::MAX, f64::min);
    let most = series.iops.iter().copied().fold(0.0, f64::max);
    let spread = format!("Between {} and {} a second.", rate(least), rate(most));
    let settled = match steady {
        Some(steady) if steady.reached => " Steady at the end (SNIA PTS: within 20 %, no trend).",
        Some(_) => " Not steady at the end (SNIA PTS).",
        None => " Too short to tell whether it is steady.",
    };
    let steady_from_s = steady.filter(|steady| steady.reached).and_then(|steady| steady.since_s);
    let chart = RateOverTime { interval_s: series.interval_s, per_s: series.iops.clone(), steady_from_s };
    let mut table = Table::new(["from", "per second", "half within", "99 % within"]);
    for (index, per_s) in series.iops.iter().enumerate() {
        let at = |values: &[Option<f64>]| or_dash(values.get(index).copied().flatten(), latency);
        table.rows.push(vec![
            format!("{} s", index as f64 * series.interval_s),
            rate(*per_s),
            at(&series.commit_p50_us),
            at(&series.commit_p99_us),
        ]);
    }
    Some(Figure { id, title, summary: spread + settled, chart: Chart::RateOverTime(chart), table })
}
