//! Operations per second over time, with the window in which they were steady.

use measurement::TestResult;
use serde::Serialize;
use workload::number::{latency, number};

use super::figure::Figure;
use super::heat_map::INTERVALS_MIN;
use super::{Chart, folding};
use crate::table::{Table, or_dash};

/// More values than a chart has pixels are useless.
const VALUES_MAX: usize = 480;

/// A rate for each interval, or for several combined.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateOverTime {
    /// Seconds per value.
    pub interval_s: f64,
    /// End of the last value, which may cover fewer intervals.
    pub end_s: f64,
    /// Operations per second.
    pub per_s: Vec<f64>,
    /// The slowest interval within each value; empty if a value is a single interval.
    pub least_per_s: Vec<f64>,
    /// Seconds from which on the rate was steady; `None` if it never was.
    pub steady_from_s: Option<f64>,
}

impl RateOverTime {
    /// Every interval unchanged.
    pub fn of(interval_s: f64, per_s: Vec<f64>) -> RateOverTime {
        let end_s = interval_s * per_s.len() as f64;
        RateOverTime { interval_s, end_s, per_s, least_per_s: Vec::new(), steady_from_s: None }
    }

    /// Combines intervals to as many values as a chart has room for.
    fn folded(interval_s: f64, per_s: &[f64]) -> RateOverTime {
        let width = folding::width(per_s.len(), VALUES_MAX);
        if width == 1 {
            return RateOverTime::of(interval_s, per_s.to_vec());
        }
        RateOverTime {
            interval_s: interval_s * width as f64,
            per_s: per_s.chunks(width).map(mean).map(drawn).collect(),
            least_per_s: per_s.chunks(width).map(least).map(drawn).collect(),
            ..RateOverTime::of(interval_s, per_s.to_vec())
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MAX, f64::min)
}

/// Rounded to a tenth: a chart cannot show more digits, and they make the page larger.
fn drawn(per_s: f64) -> f64 {
    (per_s * 10.0).round() / 10.0
}

/// The figure; `None` if there is no series or it is too short.
pub fn figure(id: String, title: String, result: &TestResult) -> Option<Figure> {
    let series = &result.series;
    if series.iops.len() < INTERVALS_MIN {
        return None;
    }
    let steady = result.steady_state;
    let most = series.iops.iter().copied().fold(0.0, f64::max);
    let mut summary =
        format!("Between {} and {} a second.", number(least(&series.iops)), number(most));
    let mut chart = RateOverTime::folded(series.interval_s, &series.iops);
    if !chart.least_per_s.is_empty() {
        let width = folding::width(series.iops.len(), VALUES_MAX);
        let (value, one) =
            (folding::span(width, series.interval_s), folding::span(1, series.interval_s));
        summary +=
            &format!(" The chart shows means over {value} and the slowest {one} within each.");
    }
    summary += match steady {
        Some(steady) if steady.reached => " Steady at the end (SNIA PTS: within 20 %, no trend).",
        Some(_) => " Not steady at the end (SNIA PTS).",
        None => " Too short to tell whether it is steady.",
    };
    chart.steady_from_s = steady.filter(|steady| steady.reached).and_then(|steady| steady.since_s);
    Some(Figure { id, title, summary, chart: Chart::RateOverTime(chart), table: table(result) })
}

fn table(result: &TestResult) -> Table {
    let series = &result.series;
    let width = folding::width(series.iops.len(), folding::ROWS_MAX);
    let of_several = width > 1;
    let mut table = if of_several {
        Table::new(["from", "per second", "slowest interval", "worst p99 of one"])
    } else {
        Table::new(["from", "per second", "half within", "99 % within"])
    };
    table.note = folding::note(width, series.interval_s);
    for (index, per_s) in series.iops.chunks(width).enumerate() {
        let from = index * width;
        let within = |values: &[Option<f64>]| {
            let values = values.iter().skip(from).take(per_s.len());
            or_dash(values.copied().flatten().max_by(f64::total_cmp), latency)
        };
        let second = if of_several { number(least(per_s)) } else { within(&series.commit_p50_us) };
        let from_s = format!("{} s", from as f64 * series.interval_s);
        table.rows.push(vec![from_s, number(mean(per_s)), second, within(&series.commit_p99_us)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(per_s: Vec<f64>) -> (Figure, RateOverTime) {
        let mut result = samples::check().remove(1);
        result.series.commit_p99_us = vec![Some(80.0); per_s.len()];
        result.series.commit_p99_us[per_s.len() / 2] = Some(9e5);
        result.series.iops = per_s;
        let figure = figure("id".to_owned(), "title".to_owned(), &result).unwrap();
        let Chart::RateOverTime(chart) = figure.chart.clone() else { panic!() };
        (figure, chart)
    }

    #[test]
    fn a_short_test_is_drawn_as_it_was() {
        let per_s: Vec<f64> = (1..=100).map(f64::from).collect();
        let (figure, chart) = of(per_s.clone());
        assert_eq!((chart.per_s, chart.least_per_s.len(), chart.end_s), (per_s, 0, 100.0));
        assert_eq!((figure.table.rows.len(), figure.table.note.as_str()), (100, ""));
    }

    #[test]
    fn a_stall_of_a_second_is_seen_in_a_day() {
        let mut per_s = vec![1000.0; 86_400];
        per_s[50_000] = 0.0;
        let (figure, chart) = of(per_s);
        assert_eq!((chart.per_s.len(), chart.least_per_s.len()), (480, 480));
        assert_eq!(chart.least_per_s.iter().filter(|per_s| **per_s == 0.0).count(), 1);
        let stalled = 50_000 / 180;
        assert_eq!(chart.per_s[stalled..=stalled], [994.4]);
        insta::assert_snapshot!(figure.summary, @"Between 0 and 1,000 a second. The chart shows means over 3 min and the slowest 1 s within each. Too short to tell whether it is steady.");
        assert_eq!(figure.table.rows.len(), 120);
        assert_eq!(figure.table.rows[50_000 / 720], ["49680 s", "999", "0", "80 µs"]);
        assert_eq!(figure.table.rows[43_200 / 720][3], "900 ms");
        assert!(figure.table.note.starts_with("Each row covers 12 min"), "{}", figure.table.note);
    }

    #[test]
    fn the_last_value_ends_where_the_test_did() {
        let (_, chart) = of(vec![10.0; 481]);
        assert_eq!((chart.per_s.len(), chart.interval_s, chart.end_s), (241, 2.0, 481.0));
        assert_eq!(chart.per_s.last(), Some(&10.0));
    }
}
