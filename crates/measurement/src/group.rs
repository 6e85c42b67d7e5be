//! Runs on several targets or hosts whose tests began at the same moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, LatencySummary};
use crate::result::TestResult;

/// The group that a run was part of, as this run saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    /// Identity of the group, the same in all of its runs: a UUID, or the time of the start if each
    /// host had only that.
    pub id: String,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// This run's name in the group: its target if the group is of one host, else its host, with the
    /// target if there are several.
    pub member: String,
    pub agreement: Agreement,
    /// Runs that were to begin together; `null` if each had only the time of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u32>,
    /// Upper bound of the error with which this host knew the common clock, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_us: Option<f64>,
    /// The starts of the tests, in the order they ran.
    pub starts: Vec<GroupStart>,
    /// What kept the runs from beginning together, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the runs of a group agreed on the moment of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// They were in one process.
    Process,
    /// In the PostgreSQL store, by its clock.
    Store,
    /// Each by its own host's clock.
    Clock,
}

/// The start of one test, or of several that ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupStart {
    /// Name of the test; of several, joined with ` + `.
    pub test: String,
    /// When this run began it, by the common clock: UTC, RFC 3339.
    pub at: String,
    /// How long after the agreed moment that was, in microseconds.
    pub late_us: f64,
    /// Runs that began it, with this one.
    pub present: u32,
    /// Time between the first and the last of these starts, in microseconds; `null` if the others'
    /// are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_us: Option<f64>,
    /// The other runs of the group that did not begin it, as far as their names are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
}

/// One test of several runs that were made at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTotal {
    pub test: String,
    /// Runs that measured it.
    pub runs: usize,
    /// Sum of the rates.
    pub iops: f64,
    pub mib_per_s: f64,
    /// Sum of the commit rates; `None` if a run made no commits.
    pub commits_per_s: Option<f64>,
    /// Headline latency of all operations together, in microseconds; `None` if a run did not keep
    /// its distribution.
    pub latency_us: Option<LatencySummary>,
    /// The run with the highest 99th percentile: its position among the runs, and that percentile in
    /// microseconds.
    pub slowest: Option<(usize, f64)>,
}

impl GroupTotal {
    /// One for each test of the first run that has it, in its order, from the results of each run.
    pub fn of(runs: &[&[TestResult]]) -> Vec<GroupTotal> {
        let mut names: Vec<&str> = Vec::new();
        for result in runs.iter().copied().flatten() {
            if !names.contains(&result.test.as_str()) {
                names.push(&result.test);
            }
        }
        names.into_iter().map(|name| GroupTotal::of_test(name, runs)).collect()
    }

    fn of_test(name: &str, runs: &[&[TestResult]]) -> GroupTotal {
        let parts: Vec<(usize, &TestResult)> = runs
            .iter()
            .enumerate()
            .flat_map(|(run, results)| results.iter().map(move |result| (run, result)))
            .filter(|(_, result)| result.test == name)
            .collect();
        let sum = |figure: fn(&TestResult) -> f64| parts.iter().map(|(_, part)| figure(part)).sum();
        let mut pool = Some(Histogram::default());
        for (_, part) in &parts {
            pool = pool.zip(part.headline_histogram()).map(|(mut pool, own)| {
                pool.merge(own);
                pool
            });
        }
        let p99 = |&(run, part): &(usize, &TestResult)| Some((run, part.headline_us()?.p99));
        GroupTotal {
            test: name.to_owned(),
            runs: parts.len(),
            iops: sum(|part| part.iops),
            mib_per_s: sum(|part| part.mib_per_s),
            commits_per_s: parts.iter().map(|(_, part)| part.commits_per_s).sum(),
            latency_us: pool.as_ref().and_then(Histogram::summary),
            slowest: parts.iter().filter_map(p99).max_by(|one, other| one.1.total_cmp(&other.1)),
        }
    }
}
