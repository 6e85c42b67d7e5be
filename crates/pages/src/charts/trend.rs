//! The latency of a drive from run to run, with the facts that changed in between.

use fleet::Trend;
use serde::Serialize;
use workload::number::latency;

use super::Chart;
use super::figure::Figure;
use crate::table::Table;

/// Median and 99th percentile of each run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendLines {
    pub points: Vec<TrendMark>,
}

/// A run on the chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendMark {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    pub run: String,
    pub p50_us: f64,
    pub p99_us: f64,
    /// The number of the change before this run, as the table has it; `None` without one.
    pub change: Option<usize>,
    /// The change in words; empty without one.
    pub changed: String,
}

/// The figure of a drive in one test; `None` if it ran only once.
pub fn figure(id: String, title: String, trend: &Trend) -> Option<Figure> {
    let mut changes = 0;
    let mark = |point: &fleet::TrendPoint| {
        let has_changed = !point.changes.is_empty();
        changes += usize::from(has_changed);
        TrendMark {
            at_ms: point.at.as_millisecond(),
            run: format!("run {}", point.run),
            p50_us: point.p50_us,
            p99_us: point.p99_us,
            change: has_changed.then_some(changes),
            changed: if has_changed { report::what_changed(&point.changes) } else { String::new() },
        }
    };
    let is_drawn = |point: &&fleet::TrendPoint| point.p50_us > 0.0 && point.p99_us > 0.0;
    let points: Vec<TrendMark> = trend.points.iter().filter(is_drawn).map(mark).collect();
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < 2 {
        return None;
    }
    let mut summary = format!(
        "{}: half within {} at first, {} in the newest run; 99 % within {} and {}.",
        trend.test,
        latency(first.p50_us),
        latency(last.p50_us),
        latency(first.p99_us),
        latency(last.p99_us)
    );
    for point in points.iter().filter(|point| point.change.is_some()) {
        let number = point.change.unwrap_or_default();
        summary += &format!(" ({number}) Before {}: {}.", point.run, point.changed);
    }
    let mut table =
        Table::new(["run", "measured (UTC)", "half within", "99 % within", "what changed"]);
    let times = trend.points.iter().filter(is_drawn);
    table.rows = points
        .iter()
        .zip(times)
        .map(|(point, of)| {
            let what = match point.change {
                Some(number) => format!("({number}) {}", point.changed),
                None => "–".to_owned(),
            };
            let at = of.at.strftime("%Y-%m-%d %H:%M").to_string();
            vec![point.run.clone(), at, latency(point.p50_us), latency(point.p99_us), what]
        })
        .collect();
    Some(Figure { id, title, summary, chart: Chart::Trend(TrendLines { points }), table })
}

#[cfg(test)]
mod tests {
    use fleet::{Change, Fact, FactValue, TrendPoint};

    use super::*;

    fn trend(p50s_us: &[f64]) -> Trend {
        let word = |text: &str| FactValue::Word(text.to_owned());
        let change = Change { fact: Fact::Kernel, before: word("6.1"), after: word("6.12") };
        let point = |(index, us): (usize, &f64)| TrendPoint {
            run: (index + 1).to_string().parse().unwrap(),
            at: format!("2026-11-{:02}T10:00:00Z", index + 1).parse().unwrap(),
            p50_us: *us,
            p99_us: us * 2.0,
            changes: if index == 1 { vec![change.clone()] } else { Vec::new() },
        };
        Trend {
            host: Some("db1".to_owned()),
            drive: "S1".to_owned(),
            model: None,
            target: "/srv".to_owned(),
            suite: "check".to_owned(),
            test: "write + fsync".to_owned(),
            points: p50s_us.iter().enumerate().map(point).collect(),
        }
    }

    #[test]
    fn changes_are_numbered_and_named() {
        let figure =
            figure("t".to_owned(), "title".to_owned(), &trend(&[900.0, 1800.0, 1700.0])).unwrap();
        insta::assert_snapshot!(figure.summary, @"write + fsync: half within 900 µs at first, 1.7 ms in the newest run; 99 % within 1.8 ms and 3.4 ms. (1) Before run 2: kernel: 6.1 to 6.12.");
        insta::assert_snapshot!(figure.table.rows[1].join(" | "), @"run 2 | 2026-11-02 10:00 | 1.8 ms | 3.6 ms | (1) kernel: 6.1 to 6.12");
        let Chart::Trend(lines) = &figure.chart else { panic!("{figure:?}") };
        assert_eq!(
            lines.points.iter().map(|point| point.change).collect::<Vec<_>>(),
            [None, Some(1), None]
        );
    }

    #[test]
    fn a_single_run_is_no_trend() {
        assert!(figure(String::new(), String::new(), &trend(&[900.0])).is_none());
        assert!(figure(String::new(), String::new(), &trend(&[0.0, 900.0])).is_none());
    }
}
