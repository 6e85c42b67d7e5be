//! The figures of many runs at once, without their documents.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use measurement::Histogram;

use crate::engine::Engine;
use crate::error::Problem;
use crate::list::{self, Filter};
use crate::run::{DriveName, RunId};

/// The choice among the complete runs of each host, suite and target.
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
    filter: &Filter,
) -> Result<Figures, Problem> {
    let Some(conditions) = list::conditions(engine, filter)? else {
        return Ok(Figures::default());
    };
    let known = ["state = 'complete'".to_owned(), "host IS NOT NULL".to_owned()];
    let matching = [&known[..], &conditions.sql].concat().join(" AND ");
    let values = conditions.values;
    let wanted = match which {
        Which::All => format!("SELECT id FROM runs WHERE {matching}"),
        Which::Newest => format!(
            "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY host, suite, target ORDER \
             BY at_us DESC, id DESC) AS place FROM runs WHERE {matching}) AS placed WHERE place = 1"
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
    for row in engine.query(&sql, &values)? {
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
    // To find the newest runs again for each query would take longer than to name them.
    let selections: Vec<String> = match which {
        Which::All => vec![wanted],
        Which::Newest => runs.chunks(list::CHUNK).map(numbers).collect(),
    };
    let values = if which == Which::All { &values[..] } else { &[] };
    for wanted in selections {
        let sql = format!(
            "SELECT run, min(model), min(serial), min(firmware) FROM drives WHERE run IN \
             ({wanted}) GROUP BY run HAVING count(*) = 1"
        );
        for row in engine.query(&sql, values)? {
            if let Some(&at) = at.get(&row.integer(0)?) {
                let drive = DriveName {
                    model: row.maybe_text(1)?,
                    serial: row.maybe_text(2)?,
                    firmware: row.maybe_text(3)?,
                };
                runs[at].drive = Some(drive);
            }
        }
        let sql = format!(
            "SELECT run, name, p50_us FROM tests WHERE run IN ({wanted}) AND p50_us IS NOT NULL \
             ORDER BY run, position"
        );
        for row in engine.query(&sql, values)? {
            let (at, name) = (at.get(&row.integer(0)?), places.get(&row.integer(1)?));
            if let (Some(&at), Some(&name)) = (at, name) {
                runs[at].tests.push((name, row.real(2)?));
            }
        }
    }
    Ok(Figures { runs, names })
}

fn numbers(runs: &[RunFigures]) -> String {
    runs.iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join(", ")
}

/// Passes on the distribution of each test's headline latency, in the order of the runs and of the
/// tests in each.
pub(crate) fn latencies(
    engine: &mut dyn Engine,
    runs: &[RunId],
    mut each: impl FnMut(RunId, &str, &Histogram),
) -> Result<(), Problem> {
    let mut names: HashMap<i64, String> = HashMap::new();
    for row in engine.query("SELECT id, name FROM names", &[])? {
        names.insert(row.integer(0)?, row.text(1)?.to_owned());
    }
    for runs in runs.chunks(list::CHUNK) {
        let list = runs.iter().map(RunId::to_string).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT run, name, histogram FROM latencies WHERE run IN ({list}) ORDER BY run, position"
        );
        let rows = engine.query(&sql, &[])?;
        let mut of_run: BTreeMap<RunId, Vec<usize>> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            of_run.entry(RunId(row.integer(0)?)).or_default().push(at);
        }
        for &run in runs {
            for &at in of_run.get(&run).into_iter().flatten() {
                let damaged = |cause| Problem::Damaged(format!("run {run}: {cause}"));
                let name = names.get(&rows[at].integer(1)?);
                let name = name.ok_or_else(|| damaged("a test has no name".to_owned()))?;
                let histogram = Histogram::from_bytes(rows[at].blob(2)?);
                each(run, name, &histogram.map_err(|error| damaged(error.to_string()))?);
            }
        }
    }
    Ok(())
}

/// The complete runs that began together, oldest group first.
pub(crate) fn groups(engine: &mut dyn Engine, filter: &Filter) -> Result<Vec<Vec<RunId>>, Problem> {
    let Some(conditions) = list::conditions(engine, filter)? else { return Ok(Vec::new()) };
    let known = ["state = 'complete'".to_owned(), "group_id IS NOT NULL".to_owned()];
    let matching = [&known[..], &conditions.sql].concat().join(" AND ");
    let sql = format!("SELECT group_id, id FROM runs WHERE {matching} ORDER BY at_us, id");
    let mut groups: Vec<Vec<RunId>> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    for row in engine.query(&sql, &conditions.values)? {
        let at = *at.entry(row.text(0)?.to_owned()).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(RunId(row.integer(1)?));
    }
    Ok(groups)
}
