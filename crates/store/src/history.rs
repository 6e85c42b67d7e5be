//! The last run, and earlier runs of the same kind.
//!
//! Each is found with one statement instead of page by page: in a large store, a hundred thousand
//! other runs may come before the one wanted.

use crate::engine::{Engine, Value};
use crate::error::Problem;
use crate::list;
use crate::run::{RunId, Summary};

/// The hosts whose runs a user refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostScope {
    /// Runs of the host with this name, and runs without a host: of models, and imported ones.
    Own(String),
    /// Runs of the host with this name only.
    Host(String),
    All,
}

impl HostScope {
    /// The condition, and the value of `$1`. Case is ignored.
    fn condition(&self) -> (&'static str, Vec<Value>) {
        match self {
            HostScope::Own(host) => {
                ("WHERE (host IS NULL OR lower(host) = lower($1))", vec![host.as_str().into()])
            }
            HostScope::Host(host) => ("WHERE lower(host) = lower($1)", vec![host.as_str().into()]),
            HostScope::All => ("", Vec::new()),
        }
    }
}

/// The run `before` places before the newest, without runs that are being measured; `None` if there
/// are not that many.
pub(crate) fn newest(
    engine: &mut dyn Engine,
    whose: &HostScope,
    before: u32,
) -> Result<Option<i64>, Problem> {
    let (condition, values) = whose.condition();
    let wanted = before as usize;
    let mut limit = wanted + 1;
    loop {
        let sql = format!(
            "SELECT id, state, writer FROM runs {condition} ORDER BY at_us DESC, id DESC LIMIT \
             {limit}"
        );
        let rows = engine.query(&sql, &values)?;
        let mut ended = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = row.integer(0)?;
            if !list::is_running(engine, id, row.text(1)?, row.maybe_text(2)?)? {
                ended.push(id);
            }
        }
        if ended.len() > wanted || rows.len() < limit {
            return Ok(ended.get(wanted).copied());
        }
        // Fetch as many more as are being measured, at least one.
        limit += rows.len() - ended.len();
    }
}

/// At most `count` complete runs before this one of the same suite, target, host and drives, newest
/// first.
pub(crate) fn earlier(
    engine: &mut dyn Engine,
    now: &Summary,
    count: u32,
) -> Result<Vec<RunId>, Problem> {
    let mut values: Vec<Value> = vec![
        now.suite.as_str().into(),
        now.target.as_str().into(),
        now.at.as_microsecond().into(),
        now.id.0.into(),
    ];
    let host = match &now.host {
        Some(host) => {
            values.push(host.as_str().into());
            "host = $5"
        }
        None => "host IS NULL",
    };
    // EXCEPT treats two missing names as equal.
    let of = |run| format!("SELECT model, serial FROM drives WHERE run = {run}");
    let (here, there) = (of("$4"), of("runs.id"));
    let sql = format!(
        "SELECT id FROM runs WHERE suite = $1 AND target = $2 AND {host} AND state = 'complete' AND (at_us, id) < ($3, $4)
         AND NOT EXISTS ({here} EXCEPT {there}) AND NOT EXISTS ({there} EXCEPT {here})
         ORDER BY at_us DESC, id DESC LIMIT {count}"
    );
    let rows = engine.query(&sql, &values)?;
    let earlier: Vec<RunId> =
        rows.iter().map(|row| row.integer(0).map(RunId)).collect::<Result<_, _>>()?;
    assert!(!earlier.contains(&now.id), "a run is not earlier than itself");
    Ok(earlier)
}
