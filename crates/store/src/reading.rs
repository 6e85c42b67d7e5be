//! Reads the rows of a run.

use measurement::RunDocument;

use crate::engine::Engine;
use crate::error::Problem;
use crate::list;
use crate::packing::unpack;
use crate::run::{RunId, StoredRun};

pub(crate) fn expect(engine: &mut dyn Engine, run: RunId) -> Result<(), Problem> {
    let row = engine.one("SELECT id FROM runs WHERE id = $1", &[run.0.into()])?;
    row.map(drop).ok_or(Problem::NoRun(run))
}

/// Number of stored tests of a run.
pub(crate) fn kept_tests(engine: &mut dyn Engine, run: RunId) -> Result<usize, Problem> {
    expect(engine, run)?;
    let row = engine.one("SELECT count(*) FROM tests WHERE run = $1", &[run.0.into()])?;
    Ok(row.map_or(Ok(0), |row| row.integer(0))? as usize)
}

pub(crate) fn get(engine: &mut dyn Engine, run: RunId) -> Result<StoredRun, Problem> {
    let summary = list::summaries(engine, &[run.0])?.pop().ok_or(Problem::NoRun(run))?;
    assert_eq!(summary.id, run, "a summary is of the run that was asked for");
    let of_run = |problem| match problem {
        Problem::Damaged(cause) => Problem::Damaged(format!("run {run}: {cause}")),
        other => other,
    };
    let header = engine.one("SELECT document FROM headers WHERE run = $1", &[run.0.into()])?;
    let header =
        header.ok_or_else(|| of_run(Problem::Damaged("its document is missing".to_owned())))?;
    let mut document: RunDocument = header.blob(0).and_then(unpack).map_err(of_run)?;
    let results = engine
        .query("SELECT document FROM results WHERE run = $1 ORDER BY position", &[run.0.into()])?;
    document.results = results
        .iter()
        .map(|row| row.blob(0).and_then(unpack))
        .collect::<Result<_, _>>()
        .map_err(of_run)?;
    if document.results.len() != summary.tests as usize {
        return Err(of_run(Problem::Damaged(format!(
            "only {} of {} tests are stored",
            document.results.len(),
            summary.tests
        ))));
    }
    Ok(StoredRun { summary, document })
}

/// The documents without their tests.
pub(crate) fn headers(
    engine: &mut dyn Engine,
    runs: &[RunId],
) -> Result<Vec<(RunId, RunDocument)>, Problem> {
    let mut headers = Vec::with_capacity(runs.len());
    for runs in runs.chunks(list::CHUNK) {
        let list = runs.iter().map(RunId::to_string).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT run, document FROM headers WHERE run IN ({list})");
        for row in engine.query(&sql, &[])? {
            headers.push((RunId(row.integer(0)?), unpack(row.blob(1)?)?));
        }
    }
    Ok(headers)
}
