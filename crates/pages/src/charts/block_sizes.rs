//! The time of a commit by its size, as `diskinfo -S` shows it for ZFS log devices, against
//! published drives.

use catalogue::{Row, WriteCache};
use measurement::TestResult;
use workload::format_bytes;

use super::curves::{Curves, Panel};
use super::figure::Figure;
use super::{Chart, Line, Unit, positive};

/// Fewest sizes that make a curve.
const SIZES_MIN: usize = 4;
/// Most published drives in the background.
const PUBLISHED_MAX: usize = 6;

/// The tests of one run, with its name for the legend.
pub struct NamedRun<'a> {
    /// Name for the legend.
    pub name: String,
    pub results: &'a [TestResult],
}

/// Latency and throughput by block size; `None` if too few sizes were committed one at a time.
pub fn figure(id: &str, runs: &[NamedRun<'_>]) -> Option<Figure> {
    let of_runs: Vec<(&str, Vec<Point>)> = runs
        .iter()
        .map(|run| (run.name.as_str(), run.results.iter().filter_map(measured).collect::<Vec<_>>()))
        .filter(|(_, points)| sizes([points]).len() >= SIZES_MIN)
        .collect();
    let sizes = sizes(of_runs.iter().map(|(_, points)| points));
    if sizes.is_empty() {
        return None;
    }
    let published = published(&sizes);
    let line = |name: &str, points: &[Point], figure: fn(&Point) -> f64| Line {
        name: name.to_owned(),
        values: sizes
            .iter()
            .map(|size| {
                points
                    .iter()
                    .find(|point| point.block_bytes == *size)
                    .map(figure)
                    .and_then(positive)
            })
            .collect(),
    };
    let panel = |what: &str, unit, figure: fn(&Point) -> f64| Panel {
        name: String::new(),
        what: what.to_owned(),
        unit,
        lines: of_runs.iter().map(|(name, points)| line(name, points, figure)).collect(),
        published: published.iter().map(|(name, points)| line(name, points, figure)).collect(),
        mark: None,
    };
    let curves = Curves {
        over: "block size".to_owned(),
        steps: sizes.iter().map(|size| format_bytes(*size)).collect(),
        columns: 2,
        panels: vec![
            panel("time of one commit", Unit::Us, |point| point.commit_us),
            panel("throughput", Unit::MibPerS, Point::mib_per_s),
        ],
    };
    Some(Figure {
        id: format!("{id}-sizes"),
        title: "Time and throughput of a commit by its size".to_owned(),
        summary: summary(&curves),
        table: curves.table(),
        chart: Chart::Curves(curves),
    })
}

#[derive(Debug, Clone, Copy)]
struct Point {
    block_bytes: u64,
    commit_us: f64,
}

impl Point {
    fn mib_per_s(&self) -> f64 {
        self.block_bytes as f64 / f64::from(1 << 20) / (self.commit_us / 1e6)
    }
}

/// `Some` for a test that commits single writes, one at a time.
fn measured(result: &TestResult) -> Option<Point> {
    let work = &result.workload;
    let alone = work.depth == 1 && work.jobs == 1 && work.rate.is_none() && work.sync_every == 1;
    let writes = work.pattern.is_some_and(|pattern| pattern.writes() && !pattern.is_mixed());
    let commit_us = positive(result.commit_us?.mean)?;
    (alone && writes).then_some(Point { block_bytes: work.block_bytes, commit_us })
}

fn sizes<'a>(points: impl IntoIterator<Item = &'a Vec<Point>>) -> Vec<u64> {
    let mut sizes: Vec<u64> = points.into_iter().flatten().map(|point| point.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Published drives with enough of these sizes, by the setting of their cache.
fn published(sizes: &[u64]) -> Vec<(String, Vec<Point>)> {
    let point = |row: &Row| {
        let known = sizes.contains(&row.block_bytes);
        Some(Point { block_bytes: row.block_bytes, commit_us: row.commit_us()? }).filter(|_| known)
    };
    let settings = [WriteCache::Default, WriteCache::Unknown, WriteCache::On, WriteCache::Off];
    let drives = catalogue::drives().iter().flat_map(|drive| {
        settings.iter().filter_map(move |setting| {
            let rows = drive.rows().filter(|(_, row)| row.write_cache == *setting);
            let points: Vec<Point> = rows.filter_map(|(_, row)| point(row)).collect();
            let name = if setting.is_known() {
                format!("{}, cache {}", drive.label, setting.name())
            } else {
                drive.label.clone()
            };
            (self::sizes([&points]).len() >= SIZES_MIN).then_some((name, points))
        })
    });
    drives.take(PUBLISHED_MAX).collect()
}

fn summary(curves: &Curves) -> String {
    let Some(time) = curves.panels.first() else { return String::new() };
    let of_line = |line: &Line| {
        let name = if time.lines.len() == 1 { String::new() } else { format!("{}: ", line.name) };
        Some(name + &curves.ends(time.unit, line)?)
    };
    let mut text = time.lines.iter().filter_map(of_line).collect::<Vec<_>>().join("; ") + ".";
    if !time.published.is_empty() {
        text += " Grey: published drives.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slog_suite_is_drawn_with_published_drives() {
        let results = samples::suite("slog", 15.0, 1700.0);
        let figure =
            figure("run-1", &[NamedRun { name: "here".to_owned(), results: &results }]).unwrap();
        insta::assert_snapshot!(figure.summary, @"2.05 ms at 512 B, 17.4 ms at 8 MiB. Grey: published drives.");
        let Chart::Curves(curves) = &figure.chart else { panic!() };
        assert_eq!(curves.panels.len(), 2);
        for panel in &curves.panels {
            assert_eq!(panel.count(), 15);
            assert!(!panel.published.is_empty());
            assert!(panel.published.iter().all(|line| line.values.len() == 15));
        }
    }

    #[test]
    fn a_few_sizes_make_no_curve() {
        let results = samples::check();
        assert!(
            figure("run-1", &[NamedRun { name: "here".to_owned(), results: &results }]).is_none()
        );
    }
}
