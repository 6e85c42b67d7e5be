//! Which run is the last, and which of the same kind were before it.
//!
//! Both are asked for in one statement and not page by page: in a large store, what is looked for may lie behind a hundred thousand other runs.

use crate::engine::{Engine, Value};
use crate::error::Problem;
use crate::list;
use crate::run::{RunId, Summary};

/// Whose runs a person means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Those of the machine of this name, and those of no known machine: of models, and what was imported.
    Own(String),
    /// Those of the machine of this name alone.
    Host(String),
    /// Those of every machine.
    All,
}

impl Whose {
    /// The condition, and what is filled in for `$1`. Letter case does not matter.
    fn condition(&self) -> (&'static str, Vec<Value>) {
        match self {
            Whose::Own(host) => ("WHERE (host IS NULL OR lower(host) = lower($1))", vec![host.as_str().into()]),
            Whose::Host(host) => ("WHERE lower(host) = lower($1)", vec![host.as_str().into()]),
            Whose::All => ("", Vec::new()),
        }
    }
}

/// The run so many before the newest that is not being measured; `None` where there are not so many.
pub(crate) fn newest(engine: &mut dyn Engine, whose: &Whose, before: u32) -> Result<Option<i64>, Problem> {
    let (condition, values) = whose.condition();
    let wanted = before as usize;
    let mut limit = wanted + 1;
    loop {
        let sql = format!("SELECT id, state, writer FROM runs {condition} ORDER BY at_us DESC, id DESC LIMIT {limit}");
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
        // As many more as are being measured, at least one.
        limit += rows.len() - ended.len();
    }
}

/// At most `count` runs before this one that came to their end and measured the same: suite, target, host and drives. The newest first.
pub(crate) fn earlier(engine: &mut dyn Engine, now: &Summary, count: u32) -> Result<Vec<RunId>, Problem> {
    let mut values: Vec<Value> =
        vec![now.suite.as_str().into(), now.target.as_str().into(), now.at.as_microsecond().into(), now.id.0.into()];
    let host = match &now.host {
        Some(host) => {
            values.push(host.as_str().into());
            "host = $5"
        }
        None => "host IS NULL",
    };
    // EXCEPT takes two absent names for the same.
    let of = |run| format!("SELECT model, serial FROM drives WHERE run = {run}");
    let (here, there) = (of("$4"), of("runs.id"));
    let sql = format!(
        "SELECT id FROM runs WHERE suite = $1 AND target = $2 AND {host} AND state = 'complete' AND (at_us, id) < ($3, $4)
         AND NOT EXISTS ({here} EXCEPT {there}) AND NOT EXISTS ({there} EXCEPT {here})
         ORDER BY at_us DESC, id DESC LIMIT {count}"
    );
    engine.query(&sql, &values)?.iter().map(|row| row.integer(0).map(RunId)).collect()
}
