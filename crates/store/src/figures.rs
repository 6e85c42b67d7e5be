//! The figures of many runs at once, without their documents.

use std::collections::HashMap;
use std::ops::Range;

use jiff::Timestamp;

use crate::engine::Engine;
use crate::error::Problem;
use crate::run::{DriveName, RunId};

/// Which of the complete runs of each host, suite and target to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The newest one.
    Newest,
    All,
}

/// A complete run of a known host, with the median latency of each of its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    pub id: RunId,
    pub at: Timestamp,
    pub host: String,
    pub suite: String,
    pub target: String,
    /// The only drive under its target; `None` if there is none, or several.
    pub drive: Option<DriveName>,
    /// The names of its tests in [`Figures::names`], each with the median of its headline latency
    /// in microseconds.
    pub tests: Vec<(usize, f64)>,
}

/// Figures of many runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// Oldest first.
    pub runs: Vec<RunFigures>,
    /// The names of tests, each once.
    pub names: Vec<String>,
}

pub(crate) fn read(
    engine: &mut dyn Engine,
    which: Which,
    time: &Range<Timestamp>,
) -> Result<Figures, Problem> {
    let between = [time.start.as_microsecond().into(), time.end.as_microsecond().into()];
    let of_time = "state = 'complete' AND host IS NOT NULL AND at_us >= $1 AND at_us < $2";
    let wanted = match which {
        Which::All => format!("SELECT id FROM runs WHERE {of_time}"),
        Which::Newest => format!(
            "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY host, suite, target ORDER \
             BY at_us DESC, id DESC) AS place FROM runs WHERE {of_time}) AS placed WHERE place = 1"
        ),
    };
    let mut names: Vec<String> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    for row in engine.query("SELECT id, name FROM names", &[])? {
        places.insert(row.integer(0)?, names.len());
        names.push(row.text(1)?.to_owned());
    }
    let sql = format!(
        "SELECT id, at_us, host, suite, target FROM runs WHERE id IN ({wanted}) ORDER BY at_us, id"
    );
    let mut runs = Vec::new();
    let mut at: HashMap<i64, usize> = HashMap::new();
    for row in engine.query(&sql, &between)? {
        let id = row.integer(0)?;
        at.insert(id, runs.len());
        runs.push(RunFigures {
            id: RunId(id),
            at: Timestamp::from_microsecond(row.integer(1)?)
                .map_err(|error| Problem::Damaged(format!("run {id}: {error}")))?,
            host: row.text(2)?.to_owned(),
            suite: row.text(3)?.to_owned(),
            target: row.text(4)?.to_owned(),
            drive: None,
            tests: Vec::new(),
        });
    }
    let sql = format!(
        "SELECT run, min(model), min(serial) FROM drives WHERE run IN ({wanted}) GROUP BY run \
         HAVING count(*) = 1"
    );
    for row in engine.query(&sql, &between)? {
        if let Some(&at) = at.get(&row.integer(0)?) {
            let drive = DriveName { model: row.maybe_text(1)?, serial: row.maybe_text(2)? };
            runs[at].drive = Some(drive);
        }
    }
    let sql = format!(
        "SELECT run, name, p50_us FROM tests WHERE run IN ({wanted}) AND p50_us IS NOT NULL ORDER \
         BY run, position"
    );
    for row in engine.query(&sql, &between)? {
        let (at, name) = (at.get(&row.integer(0)?), places.get(&row.integer(1)?));
        if let (Some(&at), Some(&name)) = (at, name) {
            runs[at].tests.push((name, row.real(2)?));
        }
    }
    Ok(Figures { runs, names })
}
