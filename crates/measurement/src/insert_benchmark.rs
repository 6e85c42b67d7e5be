//! A step of the Insert Benchmark: what its clients did beside committing, and what an operation
//! cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, LatencySummary};

/// Below this share of its rate, a background load counts as failed, as the author of the benchmark
/// counts it.
pub const RATE_SHARE_MIN: f64 = 0.95;

/// What a step did. Its inserts and deletes together are the commits of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InsertBenchmarkStep {
    /// Rows of one insert or delete, which is a transaction; 0 for the step that creates indexes.
    pub rows_per_commit: u32,
    /// Rows in the indexes that were created; absent for all other steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inserts: Option<StatementFigures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletes: Option<StatementFigures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<StatementFigures>,
    /// Rows per second that all clients together had to insert, and to delete, beside the queries;
    /// absent if they worked as fast as they could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_rows_per_s: Option<f64>,
    /// Costs of one operation, to the server and its drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<OperationCosts>,
}

impl InsertBenchmarkStep {
    /// The smaller of the rates of inserted and deleted rows, as a share of the rate wanted; `None`
    /// without one.
    pub fn background_share(&self) -> Option<f64> {
        let wanted = self.background_rows_per_s?;
        let rate = |figures: &Option<StatementFigures>| {
            figures.as_ref().map_or(0.0, |figures| figures.rows_per_s)
        };
        Some(rate(&self.inserts).min(rate(&self.deletes)) / wanted)
    }

    /// Returns whether the background load kept its rate; `None` without one.
    pub fn background_is_met(&self) -> Option<bool> {
        self.background_share().map(|share| share >= RATE_SHARE_MIN)
    }
}

/// Statements of one kind in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementFigures {
    /// Rows that they inserted, deleted or returned.
    pub rows: u64,
    pub rows_per_s: f64,
    /// Statements per second.
    pub per_s: f64,
    /// Latency of a statement in microseconds; an insert or delete includes its commit.
    pub us: LatencySummary,
    /// The complete distribution, in nanoseconds.
    pub histogram: Histogram,
    /// Statements in each whole second.
    pub seconds: Vec<u64>,
    /// The slowest statement of each whole second, in microseconds; `null` for a second without
    /// any.
    pub slowest_us: Vec<Option<f64>>,
}

impl StatementFigures {
    /// `None` without a statement. `seconds` are the statements by whole seconds.
    pub fn new(
        rows: u64,
        elapsed_s: f64,
        histogram: Histogram,
        seconds: &[Histogram],
    ) -> Option<StatementFigures> {
        let us = histogram.summary()?;
        let per_second = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
        Some(StatementFigures {
            rows,
            rows_per_s: per_second(rows),
            per_s: per_second(histogram.count()),
            us,
            seconds: seconds.iter().map(Histogram::count).collect(),
            slowest_us: seconds
                .iter()
                .map(|second| second.summary().map(|summary| summary.max))
                .collect(),
            histogram,
        })
    }

    /// The number of statements in the second with the fewest.
    pub fn worst_second(&self) -> Option<u64> {
        self.seconds.iter().copied().min()
    }
}

/// The operations by which the costs of a step are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    InsertedRow,
    IndexedRow,
    Query,
}

impl OperationKind {
    /// One of them.
    pub const fn label(self) -> &'static str {
        match self {
            OperationKind::InsertedRow => "inserted row",
            OperationKind::IndexedRow => "indexed row",
            OperationKind::Query => "query",
        }
    }
}

/// What one operation cost: everything that happened during a step, divided by its operations. So
/// a query also pays for the rows that were inserted and deleted meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationCosts {
    pub operation: OperationKind,
    pub operations: u64,
    /// Requests that the drives below the server counted, including those of other programs; absent
    /// if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<DriveCosts>,
    /// Processor time of the server's processes, in microseconds; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us: Option<f64>,
    /// Why figures are absent, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Requests to drives for one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveCosts {
    pub writes: f64,
    /// KiB, which the author of the benchmark calls KB.
    pub written_kib: f64,
    pub reads: f64,
    pub read_kib: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(rows: u64, seconds: &[u64]) -> StatementFigures {
        let second = |count: &u64| {
            let mut histogram = Histogram::new();
            histogram.record_n(1_000_000, *count);
            histogram
        };
        let seconds: Vec<Histogram> = seconds.iter().map(second).collect();
        let mut all = Histogram::new();
        seconds.iter().for_each(|second| all.merge(second));
        StatementFigures::new(rows, seconds.len() as f64, all, &seconds).unwrap()
    }

    #[test]
    fn the_worst_second_is_the_one_with_the_fewest_statements() {
        let figures = figures(150, &[20, 0, 10]);
        assert_eq!(
            (figures.worst_second(), figures.rows_per_s, figures.per_s),
            (Some(0), 50.0, 10.0)
        );
        assert_eq!(figures.slowest_us[1], None);
        assert_eq!(StatementFigures::new(0, 1.0, Histogram::new(), &[]), None);
    }

    #[test]
    fn a_background_load_fails_below_95_percent_of_inserts_or_of_deletes() {
        let step = |inserted, deleted| InsertBenchmarkStep {
            rows_per_commit: 50,
            indexed_rows: None,
            inserts: Some(figures(inserted, &[1, 1])),
            deletes: Some(figures(deleted, &[1, 1])),
            queries: None,
            background_rows_per_s: Some(100.0),
            costs: None,
        };
        assert_eq!(step(200, 200).background_is_met(), Some(true));
        assert_eq!(step(200, 190).background_is_met(), Some(true));
        assert_eq!(step(200, 189).background_is_met(), Some(false));
        assert_eq!(step(100, 200).background_share(), Some(0.5));
        let idle = InsertBenchmarkStep { inserts: None, ..step(1, 200) };
        assert_eq!(idle.background_is_met(), Some(false));
        let unlimited = InsertBenchmarkStep { background_rows_per_s: None, ..idle };
        assert_eq!(unlimited.background_is_met(), None);
    }
}
