//! All tests at a glance: median, 99th percentile and largest latency.

use measurement::TestResult;
use serde::Serialize;
use workload::number::latency;

use super::Chart;
use super::figure::Figure;

/// A row for each test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Glance {
    /// Tests in the run's order.
    pub tests: Vec<Spread>,
}

/// The latencies of a test in three figures, in µs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    pub name: String,
    /// Anchor of the test's section.
    pub anchor: String,
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    pub max_us: f64,
}

/// The chart, if there are at least two tests, with its summary. The table of the run's tests has
/// the same numbers.
pub fn figure(
    id: String,
    tests: Vec<(String, String, &TestResult)>,
    table: crate::table::Table,
) -> Option<Figure> {
    let spreads = tests.into_iter().filter_map(|(name, anchor, result)| {
        let us = result
            .headline_us()
            .filter(|us| us.p50 > 0.0 && us.p50 <= us.p99 && us.p99 <= us.max)?;
        Some(Spread { name, anchor, p50_us: us.p50, p99_us: us.p99, max_us: us.max })
    });
    let tests: Vec<Spread> = spreads.collect();
    if tests.len() < 2 {
        return None;
    }
    let least = tests.iter().min_by(|a, b| a.p50_us.total_cmp(&b.p50_us))?;
    let most = tests.iter().max_by(|a, b| a.p50_us.total_cmp(&b.p50_us))?;
    let summary = format!(
        "From {} ({}) to {} ({}) at the median.",
        latency(least.p50_us),
        least.name,
        latency(most.p50_us),
        most.name
    );
    let title = "Latency of every test".to_owned();
    Some(Figure { id, title, summary, chart: Chart::Glance(Glance { tests }), table })
}
