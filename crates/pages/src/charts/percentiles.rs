//! Latency by percentile, on a scale of nines: the distance from 90 % to 99 % equals that from 99 %
//! to 99.9 %, because commits differ in the tail.

use drive::{HostFacts, Place};
use judge::{Basis, Case};
use measurement::{Histogram, TestResult};
use serde::Serialize;
use workload::number::latency;

use super::figure::Figure;
use super::{Chart, positive};
use crate::table::{Table, or_dash};

/// Points per nine: finer than a line can show.
const POINTS_PER_NINE: u32 = 20;
/// Most published drives in the background; with more, their names overlap.
const PUBLISHED_MAX: usize = 5;
/// The percentiles of the data table.
const ROWS: [(&str, f64); 9] = [
    ("smallest", 0.0),
    ("25 %", 0.25),
    ("50 %", 0.5),
    ("75 %", 0.75),
    ("90 %", 0.9),
    ("99 %", 0.99),
    ("99.9 %", 0.999),
    ("99.99 %", 0.9999),
    ("99.999 %", 0.99999),
];

/// Distributions, and published means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Percentiles {
    pub lines: Vec<Distribution>,
    /// Published means of the same test.
    pub published: Vec<Published>,
}

/// A distribution as points of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// Name for the legend.
    pub name: String,
    /// Number of nines, and the latency (µs) that this share does not exceed: 1 is 90 %, 2 is 99 %.
    pub points: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    pub name: String,
    /// Mean latency of the same test on that drive, in µs.
    pub mean_us: f64,
}

pub struct NamedDistribution<'a> {
    /// Name for the legend.
    pub name: String,
    pub histogram: &'a Histogram,
}

/// The distributions of one test: the latency that an application waits for, and the two parts of a
/// commit.
pub fn parts(result: &TestResult) -> Vec<NamedDistribution<'_>> {
    let histograms = &result.histograms;
    let parts = [
        ("commit", &histograms.commit),
        ("write", &histograms.write),
        ("sync", &histograms.sync),
        ("read", &histograms.read),
    ];
    let named = parts.into_iter().filter_map(|(name, histogram)| {
        let histogram = histogram.as_ref().filter(|histogram| !histogram.is_empty())?;
        Some(NamedDistribution { name: name.to_owned(), histogram })
    });
    let mut named: Vec<NamedDistribution<'_>> = named.collect();
    // If the sync is a flag of the write, both have the same distribution.
    if result.histograms.commit.is_some() && result.histograms.commit == result.histograms.write {
        named.retain(|named| named.name != "write");
    }
    named
}

/// The latencies that an application waits for in a test.
pub fn headline(result: &TestResult) -> Option<&Histogram> {
    let histograms = &result.histograms;
    let all = [&histograms.commit, &histograms.write, &histograms.read];
    all.into_iter().flatten().find(|histogram| !histogram.is_empty())
}

/// Published means of exactly the same test, the most similar drives first.
pub fn published(result: &TestResult, place: Option<&Place>, host: &HostFacts) -> Vec<Published> {
    let alone = std::slice::from_ref(result);
    let nearest = judge::nearest(&Case::new(alone, place, host), catalogue::drives().len());
    let means = nearest.into_iter().filter_map(|near| {
        let same = near.compared.iter().find(|compared| compared.unit == "us")?;
        let name = if near.write_cache.is_known() {
            format!("{}, cache {}", near.drive.label, near.write_cache.name())
        } else {
            near.drive.label.clone()
        };
        // Of another size or method it would be another test's figure, and the chart has no room for
        // doubts.
        (near.basis == Basis::SameTests).then_some(Published { name, mean_us: same.published })
    });
    means.take(PUBLISHED_MAX).collect()
}

/// The figure of one test and its parts; `None` if nothing was measured.
pub fn figure(
    id: String,
    title: String,
    named: &[NamedDistribution<'_>],
    published: Vec<Published>,
) -> Option<Figure> {
    let first = named.first()?;
    let us = first.histogram.summary()?;
    let mut summary = format!(
        "{}: half within {}, 99 % within {}, the slowest of {} took {}.",
        first.name,
        latency(us.p50),
        latency(us.p99),
        workload::number::number(us.count as f64),
        latency(us.max)
    );
    if !published.is_empty() {
        summary += " Grey: published means of the same test on other drives.";
    }
    Some(drawn(id, title, summary, named, published))
}

/// The figure of one test in several runs; `None` if fewer than two measured anything.
pub fn overlay(id: String, title: String, named: &[NamedDistribution<'_>]) -> Option<Figure> {
    let halves = named.iter().filter_map(|named| {
        let us = named.histogram.summary()?;
        Some(format!("{} in {}, 99 % in {}", named.name, latency(us.p50), latency(us.p99)))
    });
    let halves: Vec<String> = halves.collect();
    (halves.len() > 1).then(|| {
        drawn(id, title, format!("Half within: {}.", halves.join("; ")), named, Vec::new())
    })
}

fn drawn(
    id: String,
    title: String,
    summary: String,
    named: &[NamedDistribution<'_>],
    published: Vec<Published>,
) -> Figure {
    let lines: Vec<Distribution> = named
        .iter()
        .map(|named| Distribution { name: named.name.clone(), points: points(named.histogram) })
        .collect();
    let table = table(named, &published);
    Figure {
        id,
        title,
        summary,
        chart: Chart::Percentiles(Percentiles { lines, published }),
        table,
    }
}

/// The curve from the smallest latency to the largest, which the count of latencies limits. Points
/// on a straight line are left out.
pub(crate) fn points(histogram: &Histogram) -> Vec<(f64, f64)> {
    let count = histogram.count() as f64;
    let last = (count.log10() * f64::from(POINTS_PER_NINE)).floor() as u32;
    let at = |nines: f64| {
        let share = 1.0 - 10_f64.powf(-nines);
        // A logarithmic axis has no zero; a clock with nanosecond resolution means less than one.
        (three_decimals(nines), (histogram.quantile_ns(share).max(1)) as f64 / 1e3)
    };
    let mut points: Vec<(f64, f64)> =
        (0..=last).map(|step| at(f64::from(step) / f64::from(POINTS_PER_NINE))).collect();
    points.push((
        three_decimals(count.log10().max(f64::from(last) / f64::from(POINTS_PER_NINE))),
        at(f64::INFINITY).1,
    ));
    points.dedup();
    let flat = |index: usize| {
        let (before, here, after) =
            (points.get(index.wrapping_sub(1)), points.get(index), points.get(index + 1));
        matches!((before, here, after), (Some(a), Some(b), Some(c)) if same(a.1, b.1) && same(b.1, c.1))
    };
    (0..points.len()).filter(|&index| !flat(index)).map(|index| points[index]).collect()
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= f64::EPSILON * one.abs()
}

fn three_decimals(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn table(named: &[NamedDistribution<'_>], published: &[Published]) -> Table {
    let mut table = Table { columns: vec!["share of all".to_owned()], ..Table::default() };
    table.columns.extend(named.iter().map(|named| named.name.clone()));
    let rows = ROWS.into_iter().filter(|(_, share)| {
        // A percentile with less than one latency beyond it equals the maximum.
        named.iter().any(|named| (1.0 - share) * named.histogram.count() as f64 >= 1.0)
    });
    for (label, share) in rows.chain([("largest", 1.0)]) {
        let cells =
            named.iter().map(|named| latency(named.histogram.quantile_ns(share) as f64 / 1e3));
        table.rows.push(std::iter::once(label.to_owned()).chain(cells).collect());
    }
    let count = named.iter().map(|named| workload::number::number(named.histogram.count() as f64));
    table.rows.push(std::iter::once("count".to_owned()).chain(count).collect());
    for drive in published {
        let first = or_dash(positive(drive.mean_us), latency);
        let rest = (1..named.len()).map(|_| "–".to_owned());
        table.rows.push(
            [format!("{}, published mean", drive.name), first].into_iter().chain(rest).collect(),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_the_count_does() {
        let mut histogram = Histogram::new();
        histogram.record_n(1_000_000, 99);
        histogram.record(5_000_000);
        let points = points(&histogram);
        assert_eq!(points.first(), Some(&(0.0, histogram.quantile_ns(0.0) as f64 / 1e3)));
        let (nines, us) = points[points.len() - 1];
        assert!((nines - 2.0).abs() < 1e-9 && (us - 5_000.0).abs() < 5.0, "{points:?}");
        // The flat part is its two ends.
        assert!(points.len() <= 4, "{points:?}");
    }

    #[test]
    fn a_single_latency_is_a_point() {
        let mut histogram = Histogram::new();
        histogram.record(0);
        assert_eq!(points(&histogram).iter().map(|point| point.0).collect::<Vec<_>>(), [0.0]);
        assert!(points(&histogram)[0].1 > 0.0);
    }

    #[test]
    fn an_empty_distribution_is_no_figure() {
        let empty = Histogram::new();
        let named = [NamedDistribution { name: "commit".to_owned(), histogram: &empty }];
        assert!(figure("a".to_owned(), "b".to_owned(), &named, Vec::new()).is_none());
        assert!(figure("a".to_owned(), "b".to_owned(), &[], Vec::new()).is_none());
    }
}
