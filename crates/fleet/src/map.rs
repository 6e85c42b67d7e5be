//! Every drive in every test of a suite, compared with the middle of its model.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use store::{Figures, RunFigures, RunId};

use crate::robust::median;
use crate::specimen::name;

/// A drive in one test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The median of its headline latency, in microseconds.
    pub p50_us: f64,
    /// Times the middle of its model; `None` for a drive of an unknown model.
    pub ratio: Option<f64>,
}

/// The newest run of a drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub run: RunId,
    pub at: Timestamp,
    pub host: String,
    /// The drive's serial number or, without one, the target.
    pub drive: String,
    pub model: Option<String>,
    pub firmware: Option<String>,
    /// One for each test of the map; `None` where it was not measured.
    pub cells: Vec<Option<Cell>>,
}

impl Row {
    /// The highest ratio of its tests; 0 if it is not compared.
    pub fn worst(&self) -> f64 {
        self.cells.iter().flatten().filter_map(|cell| cell.ratio).fold(0.0, f64::max)
    }
}

/// One test over the drives of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub test: String,
    pub drives: usize,
    /// Lowest, middle and highest median latency, in microseconds.
    pub p50_us: [f64; 3],
}

/// The drives of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    pub suite: String,
    /// In the order in which the suite runs its tests.
    pub columns: Vec<Column>,
    /// The drive that is slowest for its model first.
    pub rows: Vec<Row>,
}

impl Map {
    /// A map of each suite, the one with the most drives first, from the newest run of each drive.
    pub fn all(figures: &Figures) -> Vec<Map> {
        let mut suites: BTreeMap<&str, Vec<&RunFigures>> = BTreeMap::new();
        for run in &figures.runs {
            suites.entry(&run.suite).or_default().push(run);
        }
        let mut maps: Vec<Map> =
            suites.into_iter().map(|(suite, runs)| Map::of(suite, &runs, &figures.names)).collect();
        maps.sort_by_key(|map| std::cmp::Reverse(map.rows.len()));
        maps
    }

    fn of(suite: &str, runs: &[&RunFigures], names: &[String]) -> Map {
        let mut tests: Vec<usize> = Vec::new();
        // Drives of unknown models have nothing in common.
        let mut by_model: HashMap<(&str, usize), Vec<f64>> = HashMap::new();
        for run in runs {
            for &(test, p50_us) in &run.tests {
                if !tests.contains(&test) {
                    tests.push(test);
                }
                if let Some(model) = model(run) {
                    by_model.entry((model, test)).or_default().push(p50_us);
                }
            }
        }
        let middle: HashMap<(&str, usize), f64> =
            by_model.into_iter().filter_map(|(key, p50_us)| Some((key, median(p50_us)?))).collect();
        let columns = tests.iter().filter_map(|&test| {
            let of_test = |run: &&RunFigures| {
                run.tests.iter().find(|(own, _)| *own == test).map(|(_, p50_us)| *p50_us)
            };
            let p50_us: Vec<f64> = runs.iter().filter_map(of_test).collect();
            let lowest = p50_us.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = p50_us.iter().copied().fold(0.0, f64::max);
            Some(Column {
                test: names[test].clone(),
                drives: p50_us.len(),
                p50_us: [lowest, median(p50_us)?, highest],
            })
        });
        let mut rows: Vec<Row> = runs
            .iter()
            .map(|run| {
                let cell = |&test: &usize| {
                    let &(_, p50_us) = run.tests.iter().find(|(own, _)| *own == test)?;
                    let usual = model(run).and_then(|model| middle.get(&(model, test)));
                    let ratio = usual.filter(|usual| **usual > 0.0).map(|usual| p50_us / usual);
                    Some(Cell { p50_us, ratio })
                };
                Row {
                    run: run.id,
                    at: run.at,
                    host: run.host.clone(),
                    drive: name(run).to_owned(),
                    model: model(run).map(str::to_owned),
                    firmware: run.drive.as_ref().and_then(|drive| drive.firmware.clone()),
                    cells: tests.iter().map(cell).collect(),
                }
            })
            .collect();
        rows.sort_by(|one, other| other.worst().total_cmp(&one.worst()));
        Map { suite: suite.to_owned(), columns: columns.collect(), rows }
    }
}

fn model(run: &RunFigures) -> Option<&str> {
    run.drive.as_ref()?.model.as_deref()
}

#[cfg(test)]
mod tests {
    use store::DriveName;

    use super::*;

    fn run(number: u32, suite: &str, model: &str, tests: &[(usize, f64)]) -> RunFigures {
        RunFigures {
            id: number.to_string().parse().unwrap(),
            at: Timestamp::UNIX_EPOCH,
            host: format!("db{number}"),
            suite: suite.to_owned(),
            target: "/srv".to_owned(),
            drive: Some(DriveName {
                model: Some(model.to_owned()),
                serial: None,
                firmware: Some("1.0".to_owned()),
            }),
            tests: tests.to_vec(),
        }
    }

    #[test]
    fn drives_are_compared_with_the_middle_of_their_model() {
        let figures = Figures {
            names: vec!["write".to_owned(), "read".to_owned()],
            runs: vec![
                run(1, "check", "slow", &[(0, 900.0)]),
                run(2, "check", "slow", &[(0, 1000.0)]),
                run(3, "check", "slow", &[(0, 2000.0), (1, 80.0)]),
                run(4, "check", "fast", &[(0, 20.0)]),
                run(5, "wal", "fast", &[(0, 20.0)]),
            ],
        };
        let maps = Map::all(&figures);
        let sizes: Vec<(&str, usize)> =
            maps.iter().map(|map| (map.suite.as_str(), map.rows.len())).collect();
        assert_eq!(sizes, [("check", 4), ("wal", 1)]);
        let map = &maps[0];
        assert_eq!(map.columns[0].p50_us.map(|us| us as u32), [20, 950, 2000]);
        assert_eq!((map.columns[1].test.as_str(), map.columns[1].drives), ("read", 1));
        let worst: Vec<(&str, f64)> =
            map.rows.iter().map(|row| (row.host.as_str(), row.worst())).collect();
        assert_eq!(worst, [("db3", 2.0), ("db2", 1.0), ("db4", 1.0), ("db1", 0.9)]);
        assert_eq!(map.rows[0].cells[1], Some(Cell { p50_us: 80.0, ratio: Some(1.0) }));
        assert_eq!(map.rows[1].cells[1], None);
        let unnamed = |number, p50_us| {
            let mut run = run(number, "check", "", &[(0, p50_us)]);
            run.drive = None;
            run
        };
        let figures =
            Figures { runs: vec![unnamed(1, 20.0), unnamed(2, 2000.0)], names: figures.names };
        let rows = &Map::all(&figures)[0].rows;
        let ratios: Vec<_> = rows.iter().map(|row| row.cells[0].unwrap().ratio).collect();
        assert_eq!(ratios, [None; 2], "drives of unknown models are not compared");
        assert_eq!(Map::all(&Figures::default()), []);
    }
}
