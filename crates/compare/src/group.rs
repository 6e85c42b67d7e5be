//! One side of a comparison: one run, or several of one kind whose results are added up.

use std::borrow::Cow;

use measurement::{NotOfOneKind, RunDocument, TestResult};
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
        let begun = || self.runs.iter().map(|run| run.started_at.clone());
        GroupRecord {
            label: self.label.clone(),
            runs: self.runs.iter().map(|run| run.merged_runs.unwrap_or(1)).sum(),
            suites: distinct(|run| &run.suite),
            targets: distinct(|run| &run.target.given),
            from: begun().min().unwrap_or_default(),
            until: begun().max().unwrap_or_default(),
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
    whole: Result<Cow<'a, TestResult>, NotOfOneKind>,
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
    pub fn not_added_up(&self) -> Option<&NotOfOneKind> {
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
