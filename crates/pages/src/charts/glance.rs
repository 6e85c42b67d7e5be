//! All tests at a glance: median, 99th percentile and largest latency.

use serde::Serialize;
use workload::number::latency;

use super::Chart;
use super::figure::Figure;
use crate::table::Table;

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

/// The chart; `None` if there are fewer than two tests.
pub fn figure(id: String, tests: Vec<Spread>) -> Option<Figure> {
    let is_drawn = |test: &Spread| {
        test.p50_us > 0.0 && test.p50_us <= test.p99_us && test.p99_us <= test.max_us
    };
    let tests: Vec<Spread> = tests.into_iter().filter(is_drawn).collect();
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
    let mut table = Table::new(["test", "half within", "99 % within", "slowest"]);
    let row = |test: &Spread| {
        let cells = [test.p50_us, test.p99_us, test.max_us].map(latency);
        std::iter::once(test.name.clone()).chain(cells).collect()
    };
    table.rows = tests.iter().map(row).collect();
    let title = "Latency of every test".to_owned();
    Some(Figure { id, title, summary, chart: Chart::Glance(Glance { tests }), table })
}
