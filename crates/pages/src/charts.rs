//! The data of charts: values with their units. Colours and pixels are left to the page's script.
//! One file for each kind of chart.

use serde::Serialize;

pub mod block_sizes;
pub mod commit_rates;
pub mod commit_time;
pub mod curves;
pub mod figure;
mod folding;
pub mod glance;
pub mod heat_map;
pub mod osd_map;
pub mod percentiles;
pub mod rate_over_time;
pub mod scaling;
pub mod sort_time;
pub mod trend;
pub mod write_cache;
pub mod write_time;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Chart {
    /// Median, 99th percentile and largest latency of each test.
    Glance(glance::Glance),
    Percentiles(percentiles::Percentiles),
    /// Latency distribution second by second.
    HeatMap(heat_map::HeatMap),
    /// Operations per second, second by second.
    RateOverTime(rate_over_time::RateOverTime),
    /// Figures over a parameter that grows in steps: block size, depth, number of jobs.
    Curves(curves::Curves),
    /// Commits per second and their latency, test by test.
    CommitRates(commit_rates::CommitRates),
    /// A figure of several tests with the write cache off and on.
    Dumbbells(write_cache::Dumbbells),
    /// The time of several tests, divided into parts.
    Stacks(Stacks),
    /// The latency of every OSD among its peers.
    OsdMap(osd_map::OsdMap),
    /// Latency from run to run.
    Trend(trend::TrendLines),
    /// The parts of one latency, one after the other.
    Waterfall(write_time::Waterfall),
}

impl Chart {
    /// Number of rows, for charts whose height grows with them.
    pub fn rows(&self) -> Option<usize> {
        match self {
            Chart::Glance(glance) => Some(glance.tests.len()),
            Chart::Dumbbells(dumbbells) => Some(dumbbells.tests.len()),
            Chart::CommitRates(rates) => Some(rates.rows()),
            // The legend of the parts needs a few lines as well.
            Chart::Stacks(stacks) => Some(stacks.tests.len() + 3),
            Chart::OsdMap(map) => Some(map.rows.len()),
            Chart::Waterfall(waterfall) => Some(waterfall.parts.len() + 3),
            _ => None,
        }
    }

    /// Returns whether it takes the whole width of the page.
    fn is_wide(&self) -> bool {
        // Two of them are compared side by side.
        match self {
            Chart::Curves(curves) => curves.panels.len() > 1,
            Chart::Waterfall(_) => false,
            _ => self.rows().is_some(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Us,
    S,
    /// Operations or commits per second.
    PerS,
    /// MiB per second.
    MibPerS,
}

/// A line: a value for each step, `None` where it is unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Name for the legend.
    pub name: String,
    /// One value per step.
    pub values: Vec<Option<f64>>,
}

/// A bar for each test, of parts that add up to its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stacks {
    pub unit: Unit,
    pub tests: Vec<String>,
    /// The parts, with the time of each test. The last one is drawn in a weaker colour.
    pub parts: Vec<Line>,
}

impl Unit {
    pub fn words(self, value: f64) -> String {
        match self {
            Unit::Us => workload::number::latency(value),
            Unit::S => workload::number::seconds(value),
            Unit::PerS => format!("{}/s", workload::number::number(value)),
            Unit::MibPerS => format!("{} MiB/s", workload::number::throughput(value)),
        }
    }
}

/// `None` for values that a logarithmic axis cannot show.
pub(crate) fn positive(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then_some(value)
}
