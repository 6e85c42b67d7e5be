//! Commits per second and their latency, for tests that each commit in their own way: the sync
//! methods of a log, the calls of different software.

use judge::ETCD_P99_US;
use measurement::TestResult;
use serde::Serialize;
use workload::number::{latency, number};

use super::figure::Figure;
use super::{Chart, positive};
use crate::table::{Table, or_dash};

/// A bar and a span for each test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommitRates {
    pub tests: Vec<CommitRate>,
    /// Only where its program was measured.
    pub limit: Option<Limit>,
}

/// A test that commits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommitRate {
    /// The words that it shares with the tests beside it: `one 8 KiB write`. Empty if there are
    /// none.
    pub group: String,
    /// The words that distinguish it: `fdatasync`.
    pub name: String,
    pub per_s: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
}

/// A latency that the 99th percentile of a commit should not exceed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    pub name: String,
    pub us: f64,
}

impl CommitRates {
    /// Rows of the chart: the tests, and a heading for each group.
    pub(super) fn rows(&self) -> usize {
        let headings = self.tests.chunk_by(|one, other| one.group == other.group);
        self.tests.len() + headings.filter(|tests| !tests[0].group.is_empty()).count()
    }
}

/// The figure; `None` unless most tests are programs of steps that commit.
pub fn figure(id: String, names: &[String], results: &[TestResult]) -> Option<Figure> {
    let programs = results.iter().filter(|result| !result.workload.steps.is_empty()).count();
    if programs < 2 || programs * 2 < results.len() {
        return None;
    }
    let mut tests: Vec<CommitRate> = Vec::new();
    for (name, result) in names.iter().zip(results) {
        // A control that commits nothing is in the table of numbers; here it would hide the rest.
        let Some(per_s) = result.commits_per_s.and_then(positive) else { continue };
        let us = result.headline_us();
        let (group, name) = name.split_once(": ").unwrap_or(("", name));
        tests.push(CommitRate {
            group: group.to_owned(),
            name: name.to_owned(),
            per_s,
            p50_us: us.and_then(|us| positive(us.p50)),
            p99_us: us.and_then(|us| positive(us.p99)),
        });
    }
    if tests.len() < 2 {
        return None;
    }
    let limit = tests
        .iter()
        .any(is_etcd)
        .then(|| Limit { name: "etcd's limit".to_owned(), us: ETCD_P99_US });
    let mut table = Table::new(["test", "per second", "half within", "99 % within"]);
    table.rows = tests
        .iter()
        .map(|test| {
            let cells = [test.p50_us, test.p99_us].map(|us| or_dash(us, latency));
            [full_name(test), number(test.per_s)].into_iter().chain(cells).collect()
        })
        .collect();
    Some(Figure {
        id,
        title: "Commits per second, and their latency".to_owned(),
        summary: report::wal_answer(results).unwrap_or_else(|| summary(&tests, results)),
        chart: Chart::CommitRates(CommitRates { tests, limit }),
        table,
    })
}

fn full_name(test: &CommitRate) -> String {
    if test.group.is_empty() { test.name.clone() } else { format!("{}: {}", test.group, test.name) }
}

fn is_etcd(test: &CommitRate) -> bool {
    test.name.starts_with("etcd")
}

/// The fastest and the slowest test, and whether etcd's limit is met.
fn summary(tests: &[CommitRate], results: &[TestResult]) -> String {
    let fastest = tests.iter().max_by(|one, other| one.per_s.total_cmp(&other.per_s));
    let slowest = tests.iter().min_by(|one, other| one.per_s.total_cmp(&other.per_s));
    let ends = fastest.zip(slowest).map(|(fastest, slowest)| {
        let [low, high] = [slowest, fastest].map(|test| number(test.per_s));
        format!("From {low} commits/s ({}) to {high} ({}).", full_name(slowest), full_name(fastest))
    });
    let etcd = results.iter().filter_map(report::etcd_verdict);
    ends.into_iter().chain(etcd).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(suite: &str, sync_us: f64) -> Option<(Figure, CommitRates)> {
        let results = samples::suite(suite, 15.0, sync_us);
        let names: Vec<String> = results.iter().map(|result| result.test.clone()).collect();
        let figure = figure("run-1-rates".to_owned(), &names, &results)?;
        let Chart::CommitRates(rates) = figure.chart.clone() else { panic!("{figure:?}") };
        Some((figure, rates))
    }

    #[test]
    fn sync_methods_are_grouped_by_what_they_write() {
        let (figure, rates) = of("wal", 1700.0).unwrap();
        assert_eq!(rates.limit, None, "etcd is not among them");
        assert_eq!(rates.tests[0].group, "one 8 KiB write");
        assert_eq!(rates.tests[0].name, "open_datasync");
        assert_eq!(rates.rows(), rates.tests.len() + 6, "a heading for each group");
        insta::assert_snapshot!(figure.summary, @"One 8 KiB write: open_datasync is the fastest with 644 commits/s, open_sync makes 448. It makes no difference that the log advances.");
        insta::assert_snapshot!(figure.table.rows[1].join(" | "), @"one 8 KiB write: fdatasync | 581 | 1.72 ms | 1.79 ms");
    }

    #[test]
    fn slow_commits_are_counted_against_the_limit() {
        let (figure, rates) = of("commits", 17_000.0).unwrap();
        assert_eq!(rates.limit.as_ref().map(|limit| limit.us), Some(ETCD_P99_US));
        assert_eq!(rates.rows(), rates.tests.len());
        insta::assert_snapshot!(figure.summary, @"From 35.6 commits/s (innodb, O_DIRECT, 3 files, fsync) to 58.8 (rocksdb-wal). etcd requires a sync p99 of at most 10 ms: 17.7 ms is above that.");
    }

    #[test]
    fn other_suites_have_no_such_chart() {
        assert!(of("check", 1700.0).is_none());
        assert!(of("slog", 1700.0).is_none());
    }
}
