//! One side of a comparison: one run, or several of one kind whose results are merged.

use std::borrow::Cow;

use measurement::{MergeError, RunDocument, TestResult, started_at};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metric::{Course, Metric, Piece};

/// Runs that represent one thing: a drive, a setting, the last ten nights.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// The label given by the user.
    pub label: String,
    /// Its runs; at least one.
    pub runs: Vec<&'a RunDocument>,
}

/// One side, as recorded in the comparison's document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupRecord {
    /// The label given by the user.
    pub label: String,
    /// The runs' own label, or their drive's name, if all have the same; otherwise `label`.
    pub name: String,
    /// Number of runs, counting each part of a merged run.
    pub runs: u32,
    /// Names of the plans or suites, each once.
    pub suites: Vec<String>,
    /// The targets as the users wrote them, each once.
    pub targets: Vec<String>,
    /// Start of the first run, UTC, RFC 3339.
    pub from: String,
    /// Start of the last run.
    pub until: String,
    /// True if one of them was a smoke run, whose numbers are meaningless.
    pub smoke: bool,
}

impl Group<'_> {
    /// The label or drive that all runs of this side share, or else `label`.
    fn name(&self) -> String {
        let name = |run: &&RunDocument| run.label.clone().or_else(|| run.drive_name());
        let mut names: Vec<Option<String>> = self.runs.iter().map(name).collect();
        names.dedup();
        match names.as_slice() {
            [Some(name)] => name.clone(),
            _ => self.label.clone(),
        }
    }

    pub fn record(&self) -> GroupRecord {
        let distinct = |text: fn(&RunDocument) -> &String| {
            let mut texts: Vec<String> = Vec::new();
            for run in &self.runs {
                if !texts.contains(text(run)) {
                    texts.push(text(run).clone());
                }
            }
            texts
        };
        let begun = || self.runs.iter().filter_map(|run| run.began());
        GroupRecord {
            label: self.label.clone(),
            name: self.name(),
            runs: self.runs.iter().map(|run| run.merged_runs.unwrap_or(1)).sum(),
            suites: distinct(|run| &run.suite),
            targets: distinct(|run| &run.target.given),
            from: started_at::write(begun().min()),
            until: started_at::write(begun().max()),
            smoke: self.runs.iter().any(|run| run.smoke),
        }
    }
}

/// One test of one side, from all runs that have it.
#[derive(Debug, Clone)]
pub struct GroupTest<'a> {
    /// Results in the order of the runs. Identical results count as one run and are listed once.
    pub runs: Vec<&'a TestResult>,
    /// Number of results including identical ones.
    pub listed: usize,
    /// All results merged, or why they cannot be.
    whole: Result<Cow<'a, TestResult>, MergeError>,
}

impl<'a> GroupTest<'a> {
    /// `all` must not be empty, and all results must have the same workload.
    pub(crate) fn new(all: Vec<&'a TestResult>) -> GroupTest<'a> {
        let listed = all.len();
        let mut runs: Vec<&TestResult> = Vec::new();
        for run in all {
            // The counts almost always differ, so the series are rarely compared.
            if !runs.iter().any(|known| known.ops == run.ops && *known == run) {
                runs.push(run);
            }
        }
        let whole = match runs.as_slice() {
            [one] => Ok(Cow::Borrowed(*one)),
            several => TestResult::merged(several).map(Cow::Owned),
        };
        GroupTest { runs, listed, whole }
    }

    /// The result of the first run, which provides the names.
    pub fn first(&self) -> &'a TestResult {
        self.runs[0]
    }

    /// Why the results cannot be merged; `None` if they can.
    pub fn merge_error(&self) -> Option<&MergeError> {
        self.whole.as_ref().err()
    }

    /// The metric over all runs. If the results cannot be merged, rates still add up but
    /// percentiles have no value.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match (&self.whole, metric) {
            (Ok(whole), _) => metric.of(whole),
            (Err(_), Metric::Latency(..) | Metric::SortS) => None,
            (Err(_), _) => {
                let elapsed_s: f64 = self.runs.iter().map(|run| run.elapsed_s).sum();
                let counted: Option<f64> =
                    self.runs.iter().map(|run| Some(metric.of(run)? * run.elapsed_s)).sum();
                counted.filter(|_| elapsed_s > 0.0).map(|counted| counted / elapsed_s)
            }
        }
    }

    /// The metrics that have a value.
    pub fn metrics(&self) -> Vec<Metric> {
        Metric::all().filter(|metric| self.value(*metric).is_some()).collect()
    }

    /// The metric piece by piece, for each run; `None` if the pieces of a run do not have it.
    pub fn courses(&self, metric: Metric, piece: Piece) -> Option<Vec<Course>> {
        self.runs.iter().map(|run| metric.course(run, piece)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Operation, Point};
    use samples::series::{imported, result, run};

    const FSYNC: &str = "write + fsync";

    #[test]
    fn a_group_is_recorded_by_what_its_runs_have_each_once() {
        let of = |day: &str, suite: &str, merged_runs: Option<u32>| RunDocument {
            started_at: format!("{day}T10:00:00Z"),
            suite: suite.to_owned(),
            merged_runs,
            ..run(vec![])
        };
        let mut runs = [
            of("2026-03-02", "wal", Some(4)),
            of("2026-03-01", "wal", None),
            of("2026-03-03", "slog", None),
        ];
        runs[1].smoke = true;
        let record = Group { label: "nights".to_owned(), runs: runs.iter().collect() }.record();
        assert_eq!((record.label.as_str(), record.runs, record.smoke), ("nights", 6, true));
        assert_eq!(
            (record.suites, record.targets.len()),
            (vec!["wal".to_owned(), "slog".to_owned()], 1)
        );
        assert_eq!(
            (record.from.as_str(), record.until.as_str()),
            ("2026-03-01T10:00:00Z", "2026-03-03T10:00:00Z")
        );
    }

    #[test]
    fn rates_add_up_by_time_where_distributions_do_not() {
        let rate = |iops: f64, elapsed_s: f64, seed: u64| {
            let sample = result(FSYNC, 1000.0, 3, seed);
            TestResult { iops, elapsed_s, ..sample }
        };
        // A second result that has percentiles but no histogram.
        let bare = imported("fio", vec![rate(200.0, 30.0, 2)]).results.remove(0);
        let one = rate(100.0, 10.0, 1);
        let both = GroupTest::new(vec![&one, &bare]);
        assert!(both.merge_error().is_some());
        // 1000 operations and 6000 in 40 s.
        assert_eq!(both.value(Metric::Iops), Some(175.0));
        assert_eq!(both.value(Metric::Latency(Operation::Commit, Point::P50)), None);
        assert_eq!(both.metrics(), [Metric::CommitsPerS, Metric::Iops, Metric::MibPerS]);
        let [one, bare] = [one, bare].map(|run| TestResult { elapsed_s: 0.0, ..run });
        assert_eq!(GroupTest::new(vec![&one, &bare]).value(Metric::Iops), None);
    }
}
