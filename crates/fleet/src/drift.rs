//! Drives that became slower than they were.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use measurement::RunDocument;
use schemars::JsonSchema;
use serde::Serialize;
use store::{Figures, RunFigures, RunId};

use crate::change::{History, RUNS_MIN, Rise, Shape, rises};
use crate::facts::{Change, changes, facts};
use crate::specimen::name;

/// A drive that became slower.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    pub host: String,
    /// The drive's serial number or, without one, the target.
    pub drive: String,
    pub model: Option<String>,
    pub suite: String,
    /// The test in which it changed most.
    pub test: String,
    pub shape: Shape,
    /// The last run before, and the first that was slow.
    pub runs: [RunId; 2],
    /// When the first run that was slow began.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// Median latencies before and since, in microseconds.
    pub before_us: f64,
    pub since_us: f64,
    /// Facts that differ between these two runs.
    pub changes: Vec<Change>,
}

/// A change shows in this many runs of a drive: as many before it as since.
pub const HISTORY_MIN: usize = 2 * RUNS_MIN;

/// Drives that became slower, among all with a history.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Drifts {
    /// The one with the largest change first.
    pub found: Vec<Drift>,
    /// Drives with a test that was run often enough.
    pub drives: usize,
}

/// One drive in one test of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Series<'a> {
    host: &'a str,
    drive: &'a str,
    suite: &'a str,
    test: usize,
}

impl Drifts {
    /// Looks at all runs of each drive. What changed is filled in by [`Drifts::explain`].
    pub fn of(figures: &Figures) -> Drifts {
        let mut series: BTreeMap<Series<'_>, Vec<(&RunFigures, f64)>> = BTreeMap::new();
        for run in &figures.runs {
            for &(test, p50_us) in &run.tests {
                let of = Series { host: &run.host, drive: name(run), suite: &run.suite, test };
                series.entry(of).or_default().push((run, p50_us));
            }
        }
        let (series, runs): (Vec<_>, Vec<_>) = series.into_iter().unzip();
        let histories: Vec<History> =
            runs.iter().map(|runs| runs.iter().map(|(_, p50_us)| *p50_us).collect()).collect();
        let mut found = Vec::new();
        let mut named: BTreeSet<(&str, &str)> = BTreeSet::new();
        for rise in rises(&histories) {
            let Series { host, drive, suite, test } = series[rise.history];
            // The worst of a drive's tests stands for all of them.
            if !named.insert((host, drive)) {
                continue;
            }
            let Rise { shape, first_slow, before_us, since_us, .. } = rise;
            let [before, after] =
                [first_slow.saturating_sub(1), first_slow].map(|at| runs[rise.history][at].0);
            found.push(Drift {
                host: host.to_owned(),
                drive: drive.to_owned(),
                model: after.drive.as_ref().and_then(|drive| drive.model.clone()),
                suite: suite.to_owned(),
                test: figures.names[test].clone(),
                shape,
                runs: [before.id, after.id],
                since: after.at,
                before_us,
                since_us,
                changes: Vec::new(),
            });
        }
        let with_history = series.iter().zip(&runs).filter(|(_, runs)| runs.len() >= HISTORY_MIN);
        let drives: BTreeSet<(&str, &str)> =
            with_history.map(|(series, _)| (series.host, series.drive)).collect();
        Drifts { found, drives: drives.len() }
    }

    /// The runs whose documents [`Drifts::explain`] needs.
    pub fn runs(&self) -> Vec<RunId> {
        self.found.iter().flat_map(|drift| drift.runs).collect()
    }

    /// Fills in what changed, from documents without their tests.
    pub fn explain(&mut self, headers: &BTreeMap<RunId, RunDocument>) {
        for drift in &mut self.found {
            let [before, after] =
                drift.runs.map(|run| headers.get(&run).map(facts).unwrap_or_default());
            drift.changes = changes(&before, &after);
        }
    }
}
