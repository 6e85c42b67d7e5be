//! The latency of each drive from run to run, with the facts that changed in between.

use std::collections::BTreeMap;

use jiff::Timestamp;
use measurement::RunDocument;
use store::{RunId, State, Summary};

use crate::facts::{Change, changes, facts};

/// A drive in the leading test of a suite, run by run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    pub host: Option<String>,
    /// The drive's serial number or, without one, the target.
    pub drive: String,
    pub model: Option<String>,
    /// The target of the newest run.
    pub target: String,
    pub suite: String,
    pub test: String,
    /// Oldest first.
    pub points: Vec<TrendPoint>,
}

/// A run of a trend.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendPoint {
    pub run: RunId,
    pub at: Timestamp,
    pub p50_us: f64,
    pub p99_us: f64,
    /// Facts that differ from those of the run before.
    pub changes: Vec<Change>,
}

/// Drives with a host, a name, a suite and a test in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Series<'a> {
    host: Option<&'a str>,
    drive: &'a str,
    suite: &'a str,
    test: &'a str,
}

/// The trends of complete runs, the longest first. A fact whose value is unknown in a run is
/// compared with the newest run before it that has one.
pub fn trends(runs: &[Summary], headers: &BTreeMap<RunId, RunDocument>) -> Vec<Trend> {
    let mut series: BTreeMap<Series<'_>, Vec<&Summary>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.state == State::Complete) {
        let Some(headline) = &run.headline else { continue };
        let of = Series {
            host: run.host.as_deref(),
            drive: drive(run),
            suite: &run.suite,
            test: &headline.test,
        };
        series.entry(of).or_default().push(run);
    }
    let mut trends: Vec<Trend> =
        series.into_iter().map(|(of, runs)| trend(of, runs, headers)).collect();
    trends.sort_by_key(|trend| std::cmp::Reverse(trend.points.len()));
    trends
}

fn trend(of: Series<'_>, mut runs: Vec<&Summary>, headers: &BTreeMap<RunId, RunDocument>) -> Trend {
    runs.sort_by_key(|run| (run.at, run.id));
    let model = runs.iter().rev().find_map(|run| match &run.drives[..] {
        [drive] => drive.model.clone(),
        _ => None,
    });
    let target = runs.last().map_or("", |run| &run.target).to_owned();
    let mut known = BTreeMap::new();
    let points = runs.iter().filter_map(|run| {
        let headline = run.headline.as_ref()?;
        let now = headers.get(&run.id).map(facts).unwrap_or_default();
        let changes = changes(&known, &now);
        known.extend(now);
        let (p50_us, p99_us) = (headline.p50_us, headline.p99_us);
        Some(TrendPoint { run: run.id, at: run.at, p50_us, p99_us, changes })
    });
    let points = points.collect();
    let Series { host, drive, suite, test } = of;
    Trend {
        host: host.map(str::to_owned),
        drive: drive.to_owned(),
        model,
        target,
        suite: suite.to_owned(),
        test: test.to_owned(),
        points,
    }
}

fn drive(run: &Summary) -> &str {
    match &run.drives[..] {
        [drive] => drive.serial.as_deref().unwrap_or(&run.target),
        _ => &run.target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Location, Origin, Store};

    /// A store of checks on two hosts, with a kernel for each run; empty if it is unknown.
    fn kept(runs: &[(&str, &str)]) -> (Vec<Summary>, BTreeMap<RunId, RunDocument>) {
        let place = tempfile::tempdir().unwrap();
        let mut store = Store::open(&Location::Sqlite(place.path().join("results.db"))).unwrap();
        for (index, (host, kernel)) in runs.iter().enumerate() {
            let mut document = samples::document(samples::check());
            document.started_at = format!("2026-11-{:02}T10:00:00Z", index + 1);
            document.host.kernel_release = (!kernel.is_empty()).then(|| (*kernel).to_owned());
            store.insert(&document, &Origin { host: Some((*host).to_owned()) }).unwrap();
        }
        let summaries = store.list(&store::Filter::default()).unwrap();
        let ids: Vec<RunId> = summaries.iter().map(|run| run.id).collect();
        let headers = store.headers(&ids).unwrap().into_iter().collect();
        (summaries, headers)
    }

    #[test]
    fn changes_are_found_between_runs_of_one_host() {
        let (runs, headers) =
            kept(&[("db1", "6.1"), ("db2", "6.6"), ("db1", "6.1"), ("db1", ""), ("db1", "6.12")]);
        let found = trends(&runs, &headers);
        let hosts: Vec<(Option<&str>, usize)> =
            found.iter().map(|trend| (trend.host.as_deref(), trend.points.len())).collect();
        assert_eq!(hosts, [(Some("db1"), 4), (Some("db2"), 1)]);
        let points = &found[0].points;
        assert!(points.is_sorted_by_key(|point| point.at));
        let changed: Vec<String> = points
            .iter()
            .flat_map(|point| &point.changes)
            .map(|change| format!("{}: {} to {}", change.fact.name(), change.before, change.after))
            .collect();
        assert_eq!(changed, ["kernel: 6.1 to 6.12"]);
        assert_eq!(points[3].changes.len(), 1);
        assert!(points[0].p50_us > 0.0 && points[0].p50_us <= points[0].p99_us);
    }

    #[test]
    fn no_runs_have_no_trends() {
        assert_eq!(trends(&[], &BTreeMap::new()), []);
    }
}
