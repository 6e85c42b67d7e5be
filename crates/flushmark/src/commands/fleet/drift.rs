//! `flushmark fleet drift`: drives that became slower than they were.

use std::collections::BTreeMap;

use fleet::{Drift, History};
use report::DriftRow;
use store::{RunFigures, Which};

use super::chosen;
use crate::args::fleet::ChoiceArgs;
use crate::args::store::StoreArgs;
use crate::commands::{look, print};
use crate::exit::ExitStatus;
use crate::keeping::Reading;

/// Runs, each with the median latency in microseconds.
type Runs<'a> = Vec<(&'a RunFigures, f64)>;

/// One drive in one test of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Series<'a> {
    host: &'a str,
    drive: &'a str,
    suite: &'a str,
    test: usize,
}

pub fn run(choice: &ChoiceArgs, place: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let mut store = Reading::of(place)?.expect()?;
    let figures = chosen::figures(&mut store, choice, Which::All)?;
    let mut series: BTreeMap<Series<'_>, Runs<'_>> = BTreeMap::new();
    for run in &figures.runs {
        for &(test, p50_us) in &run.tests {
            let of = Series { host: &run.host, drive: chosen::name(run), suite: &run.suite, test };
            series.entry(of).or_default().push((run, p50_us));
        }
    }
    let (series, runs): (Vec<Series<'_>>, Vec<Runs<'_>>) = series.into_iter().unzip();
    let histories: Vec<History> = runs
        .iter()
        .map(|runs| runs.iter().map(|(run, p50_us)| (run.at, *p50_us)).collect())
        .collect();
    let mut rows: Vec<DriftRow> = Vec::new();
    for drift in fleet::drifts(&histories) {
        let Series { host, drive, suite, test } = series[drift.history];
        // The worst of a drive's tests stands for all of them.
        let is_known = |row: &DriftRow| row.host == host && row.drive == drive;
        if rows.iter().any(is_known) {
            continue;
        }
        let Drift { shape, first_slow, before_us, since_us, .. } = drift;
        let [before, after] =
            [first_slow.saturating_sub(1), first_slow].map(|at| runs[drift.history][at].0);
        let headers = chosen::headers(&mut store, &[before.id, after.id])?;
        let facts =
            [before, after].map(|run| headers.get(&run.id).map(fleet::facts).unwrap_or_default());
        rows.push(DriftRow {
            host: host.to_owned(),
            drive: drive.to_owned(),
            model: after.drive.as_ref().and_then(|drive| drive.model.clone()),
            test: format!("{suite}: {}", figures.names[test]),
            shape,
            since: after.at,
            before_us,
            since_us,
            changes: fleet::changes(&facts[0], &facts[1]),
        });
    }
    let drives: std::collections::BTreeSet<_> =
        series.iter().map(|series| (series.host, series.drive)).collect();
    print(&report::drift_page(&rows, drives.len(), &look()))?;
    Ok(ExitStatus::Done)
}
