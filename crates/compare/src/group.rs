//! One side of a comparison: one run, or several of one kind whose results are added up.

use std::borrow::Cow;

use measurement::{MergeError, RunDocument, TestResult, started_at};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metric::{Metric, Seconds};

/// Runs that stand for one thing: a drive, a setting, the last ten nights.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// What the person called it.
    pub label: String,
    /// Its runs; at least one.
    pub runs: Vec<&'a RunDocument>,
}

/// A side as the comparison's document names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupRecord {
    /// What the person called it.
    pub label: String,
    /// How many runs, those counted that were merged before.
    pub runs: u32,
    /// The plans' names, each once.
    pub suites: Vec<String>,
    /// The targets as they were given, each once.
    pub targets: Vec<String>,
    /// When the first began, UTC, RFC 3339.
    pub from: String,
    /// When the last began.
    pub until: String,
    /// Whether one of them was a smoke run, whose numbers mean nothing.
    pub smoke: bool,
}

impl Group<'_> {
    /// As the document names it.
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
    /// Its results, the first run's first; those that are equal to the last digit are one run, and stand once.
    pub runs: Vec<&'a TestResult>,
    /// How many there were with the equal ones.
    pub named: usize,
    /// All of them together, or why they do not add up.
    whole: Result<Cow<'a, TestResult>, MergeError>,
}

impl<'a> GroupTest<'a> {
    /// Of these results; at least one, all of one workload.
    pub(crate) fn new(all: Vec<&'a TestResult>) -> GroupTest<'a> {
        let named = all.len();
        let mut runs: Vec<&TestResult> = Vec::new();
        for run in all {
            // Counts differ as good as always, so that the series are seldom looked at.
            if !runs.iter().any(|known| known.ops == run.ops && *known == run) {
                runs.push(run);
            }
        }
        let whole = match runs.as_slice() {
            [one] => Ok(Cow::Borrowed(*one)),
            several => TestResult::merged(several).map(Cow::Owned),
        };
        GroupTest { runs, named, whole }
    }

    /// The first run's, which has the names.
    pub fn first(&self) -> &'a TestResult {
        self.runs[0]
    }

    /// Why the runs do not add up, if they do not.
    pub fn not_added_up(&self) -> Option<&MergeError> {
        self.whole.as_ref().err()
    }

    /// The metric over all runs. Where results do not add up, rates still do; percentiles then have no value.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match (&self.whole, metric) {
            (Ok(whole), _) => metric.of(whole),
            (Err(_), Metric::Latency(..) | Metric::SortS) => None,
            (Err(_), _) => {
                let elapsed_s: f64 = self.runs.iter().map(|run| run.elapsed_s).sum();
                let counted: Option<f64> = self.runs.iter().map(|run| Some(metric.of(run)? * run.elapsed_s)).sum();
                counted.filter(|_| elapsed_s > 0.0).map(|counted| counted / elapsed_s)
            }
        }
    }

    /// The metrics that it has.
    pub fn metrics(&self) -> Vec<Metric> {
        Metric::all().filter(|metric| self.value(*metric).is_some()).collect()
    }

    /// How the metric moved, run by run; `None` where one kept no such series.
    pub fn seconds(&self, metric: Metric) -> Option<Vec<Seconds>> {
        self.runs.iter().map(|run| metric.seconds(run)).collect()
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
        let mut runs =
            [of("2026-03-02", "wal", Some(4)), of("2026-03-01", "wal", None), of("2026-03-03", "slog", None)];
        runs[1].smoke = true;
        let record = Group { label: "nights".to_owned(), runs: runs.iter().collect() }.record();
        assert_eq!((record.label.as_str(), record.runs, record.smoke), ("nights", 6, true));
        assert_eq!((record.suites, record.targets.len()), (vec!["wal".to_owned(), "slog".to_owned()], 1));
        assert_eq!((record.from.as_str(), record.until.as_str()), ("2026-03-01T10:00:00Z", "2026-03-03T10:00:00Z"));
    }

    #[test]
    fn rates_add_up_by_time_where_distributions_do_not() {
        let rate = |iops: f64, elapsed_s: f64, seed: u64| {
            let sample = result(FSYNC, 1000.0, 3, seed);
            TestResult { iops, elapsed_s, ..sample }
        };
        // A second one that has percentiles and no histogram.
        let bare = imported("fio", vec![rate(200.0, 30.0, 2)]).results.remove(0);
        let one = rate(100.0, 10.0, 1);
        let both = GroupTest::new(vec![&one, &bare]);
        assert!(both.not_added_up().is_some());
        // 1000 operations and 6000 in 40 s.
        assert_eq!(both.value(Metric::Iops), Some(175.0));
        assert_eq!(both.value(Metric::Latency(Operation::Commit, Point::P50)), None);
        assert_eq!(both.metrics(), [Metric::CommitsPerS, Metric::Iops, Metric::MibPerS]);
        let [one, bare] = [one, bare].map(|run| TestResult { elapsed_s: 0.0, ..run });
        assert_eq!(GroupTest::new(vec![&one, &bare]).value(Metric::Iops), None);
    }
}
