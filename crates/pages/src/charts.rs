//! The data of charts: values with their units. Colours and pixels are left to the page's script.
//! One file for each kind of chart.

use serde::Serialize;

pub mod block_sizes;
pub mod commit_time;
pub mod figure;
mod folding;
pub mod glance;
pub mod heat_map;
pub mod osd_map;
pub mod percentiles;
pub mod rate_over_time;
pub mod scaling;
pub mod sort_time;
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
    /// A figure over a parameter that grows in steps: block size, depth, number of jobs.
    Curve(Curve),
    /// A figure of several tests under several settings.
    Bars(write_cache::Bars),
    /// The time of several tests, divided into parts.
    Stacks(Stacks),
    /// The latency of every OSD among its peers.
    OsdMap(osd_map::OsdMap),
    /// The parts of one latency, one after the other.
    Waterfall(write_time::Waterfall),
}

impl Chart {
    /// Number of rows, for charts whose height grows with them.
    pub fn rows(&self) -> Option<usize> {
        match self {
            Chart::Glance(glance) => Some(glance.tests.len()),
            Chart::Bars(bars) => Some(bars.tests.len() * bars.settings.len()),
            // The legend of the parts needs a few lines as well.
            Chart::Stacks(stacks) => Some(stacks.tests.len() + 3),
            Chart::OsdMap(map) => Some(map.rows.len()),
            Chart::Waterfall(waterfall) => Some(waterfall.parts.len() + 3),
            _ => None,
        }
    }

    /// Whether it takes the whole width of the page.
    fn is_wide(&self) -> bool {
        // Two of them are compared side by side.
        self.rows().is_some() && !matches!(self, Chart::Waterfall(_))
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

/// Lines over the steps of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The parameter: `block size`, `jobs`.
    pub over: String,
    /// The steps, as labelled on the axis.
    pub steps: Vec<String>,
    /// The figure that is plotted.
    pub what: String,
    pub unit: Unit,
    pub lines: Vec<Line>,
    pub published: Vec<Line>,
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

impl Curve {
    /// Number of measured values.
    fn count(&self) -> usize {
        self.lines.iter().flat_map(|line| &line.values).filter(|value| value.is_some()).count()
    }

    /// The two ends of a line in words: `1.71 ms at 512 B, 17.1 ms at 8 MiB`. `None` if fewer than
    /// two values are known.
    fn ends(&self, line: &Line) -> Option<String> {
        let mut known =
            line.values.iter().zip(&self.steps).filter_map(|(value, step)| Some(((*value)?, step)));
        let (first, last) = (known.next()?, known.next_back()?);
        Some(format!(
            "{} at {}, {} at {}",
            self.unit.words(first.0),
            first.1,
            self.unit.words(last.0),
            last.1
        ))
    }

    /// The values as a table: a row for each step, a column for each line.
    fn table(&self) -> crate::table::Table {
        let lines = || self.lines.iter().chain(&self.published);
        let show = |value: f64| self.unit.words(value);
        let mut columns = vec![self.over.clone()];
        columns.extend(self.lines.iter().map(|line| line.name.clone()));
        columns.extend(self.published.iter().map(|line| format!("{} (published)", line.name)));
        let row = |(index, step): (usize, &String)| {
            let cells = lines()
                .map(|line| crate::table::or_dash(line.values.get(index).copied().flatten(), show));
            std::iter::once(step.clone()).chain(cells).collect()
        };
        crate::table::Table {
            columns,
            rows: self.steps.iter().enumerate().map(row).collect(),
            ..crate::table::Table::default()
        }
    }
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
