//! Filters, and the list of runs, newest first.

use std::collections::HashMap;

use jiff::Timestamp;
use measurement::Grade;
use uuid::Uuid;

use crate::engine::{Engine, Row, Value};
use crate::error::Problem;
use crate::run::{DriveName, Headline, RunId, State, Summary, Tag};

/// Criteria for a list, all of which must match; by default every run does. Case is ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The full name of the host that measured.
    pub host: Option<String>,
    /// A substring of a drive's model or serial number.
    pub drive: Option<String>,
    /// The full name of the plan or suite.
    pub suite: Option<String>,
    /// A substring of a test's name.
    pub test: Option<String>,
    /// Earliest time, inclusive.
    pub since: Option<Timestamp>,
    /// Latest time, exclusive.
    pub until: Option<Timestamp>,
    /// A tag that the run must have.
    pub tag: Option<Tag>,
    /// A substring of the note.
    pub note: Option<String>,
    /// A substring of the label.
    pub label: Option<String>,
    /// A substring of the target; directories and files are stored with absolute paths.
    pub target: Option<String>,
    /// The most runs to return, from the newest.
    pub limit: Option<u32>,
    /// The number of newest runs to skip.
    pub skip: u32,
}

/// A substring as a pattern for `LIKE`, with its special characters escaped.
fn containing(part: &str) -> Value {
    let escaped = part.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    Value::from(format!("%{escaped}%").as_str())
}

/// A filter as SQL: conditions on `runs`, and the values of their parameters.
pub(crate) struct Conditions {
    pub(crate) sql: Vec<String>,
    pub(crate) values: Vec<Value>,
}

/// The conditions of a filter; `None` if no run can match.
pub(crate) fn conditions(
    engine: &mut dyn Engine,
    filter: &Filter,
) -> Result<Option<Conditions>, Problem> {
    let mut values: Vec<Value> = Vec::new();
    let mut conditions: Vec<String> = Vec::new();
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        conditions.push(condition.replace("$n", &format!("${}", values.len())));
    };
    if let Some(host) = &filter.host {
        add("lower(host) = lower($n)", host.as_str().into());
    }
    if let Some(suite) = &filter.suite {
        add("lower(suite) = lower($n)", suite.as_str().into());
    }
    if let Some(since) = filter.since {
        add("at_us >= $n", since.as_microsecond().into());
    }
    if let Some(until) = filter.until {
        add("at_us < $n", until.as_microsecond().into());
    }
    if let Some(note) = &filter.note {
        add("lower(note) LIKE $n ESCAPE '\\'", containing(note));
    }
    if let Some(label) = &filter.label {
        add("lower(label) LIKE $n ESCAPE '\\'", containing(label));
    }
    if let Some(target) = &filter.target {
        add("lower(target) LIKE $n ESCAPE '\\'", containing(target));
    }
    if let Some(tag) = &filter.tag {
        add("id IN (SELECT run FROM tags WHERE tag = $n)", tag.as_str().into());
    }
    if let Some(drive) = &filter.drive {
        add(
            "id IN (SELECT run FROM drives WHERE lower(model) LIKE $n ESCAPE '\\' OR lower(serial) \
             LIKE $n ESCAPE '\\')",
            containing(drive),
        );
    }
    if let Some(test) = &filter.test {
        let sql = "SELECT id FROM names WHERE lower(name) LIKE $1 ESCAPE '\\'";
        let names = engine.query(sql, &[containing(test)])?;
        let names = names
            .iter()
            .map(|row| row.integer(0).map(|id| id.to_string()))
            .collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() {
            return Ok(None);
        }
        // Evaluated for each run in order, so the search ends when enough are found.
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM tests WHERE tests.run = runs.id AND tests.name IN ({}))",
            names.join(", ")
        ));
    }
    Ok(Some(Conditions { sql: conditions, values }))
}

/// Numbers of the matching runs, newest first.
pub(crate) fn ids(engine: &mut dyn Engine, filter: &Filter) -> Result<Vec<i64>, Problem> {
    let Some(conditions) = conditions(engine, filter)? else { return Ok(Vec::new()) };
    let narrowed = if conditions.sql.is_empty() {
        String::new()
    } else {
        format!("WHERE {}", conditions.sql.join(" AND "))
    };
    let limit = i64::from(filter.limit.unwrap_or(u32::MAX));
    let sql = format!(
        "SELECT id FROM runs {narrowed} ORDER BY at_us DESC, id DESC LIMIT {limit} OFFSET {}",
        filter.skip
    );
    engine.query(&sql, &conditions.values)?.iter().map(|row| row.integer(0)).collect()
}

/// Runs per statement.
pub(crate) const CHUNK: usize = 500;

/// Summaries of these runs, in this order; runs deleted in the meantime are left out.
pub(crate) fn summaries(engine: &mut dyn Engine, ids: &[i64]) -> Result<Vec<Summary>, Problem> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(CHUNK) {
        let list = ids.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let mut drives: HashMap<i64, Vec<DriveName>> = HashMap::new();
        let sql = format!(
            "SELECT run, model, serial, firmware FROM drives WHERE run IN ({list}) ORDER BY run, \
             position"
        );
        for row in engine.query(&sql, &[])? {
            let drive = DriveName {
                model: row.maybe_text(1)?,
                serial: row.maybe_text(2)?,
                firmware: row.maybe_text(3)?,
            };
            drives.entry(row.integer(0)?).or_default().push(drive);
        }
        let mut tags: HashMap<i64, Vec<Tag>> = HashMap::new();
        for row in engine.query(
            &format!("SELECT run, tag FROM tags WHERE run IN ({list}) ORDER BY run, tag"),
            &[],
        )? {
            let tag = row.text(1)?.parse().map_err(|error| Problem::Damaged(format!("{error}")))?;
            tags.entry(row.integer(0)?).or_default().push(tag);
        }
        let sql = format!(
            "SELECT id, uuid, at_us, host, suite, target, tool, state, writer, note, label, \
             log_grade, headline FROM runs WHERE id IN ({list})"
        );
        let mut rows: HashMap<i64, Row> = HashMap::new();
        for row in engine.query(&sql, &[])? {
            rows.insert(row.integer(0)?, row);
        }
        let mut tests: HashMap<i64, (u32, Option<Headline>)> = HashMap::new();
        let sql = format!(
            "SELECT tests.run, names.name, tests.is_commit, tests.p50_us, tests.p99_us, \
             tests.position FROM tests JOIN names ON names.id = tests.name WHERE tests.run IN \
             ({list}) ORDER BY tests.run, tests.is_commit DESC, tests.position"
        );
        for row in engine.query(&sql, &[])? {
            let run = row.integer(0)?;
            let (count, headline) = tests.entry(run).or_default();
            *count += 1;
            // Until a run has ended, its first test with commits stands for it.
            let chosen = rows.get(&run).map_or(&Value::Null, |run| &run.0[12]);
            let stands = *chosen == Value::Null || *chosen == row.0[5];
            if stands && headline.is_none() && row.0[3] != Value::Null {
                *headline = Some(Headline {
                    test: row.text(1)?.to_owned(),
                    is_commit: row.integer(2)? != 0,
                    p50_us: row.real(3)?,
                    p99_us: row.real(4)?,
                });
            }
        }
        for &id in ids {
            let Some(row) = rows.get(&id) else { continue };
            let (count, headline) = tests.remove(&id).unwrap_or_default();
            found.push(Summary {
                id: RunId(id),
                uuid: Uuid::parse_str(row.text(1)?)
                    .map_err(|error| Problem::Damaged(format!("run {id}: {error}")))?,
                at: Timestamp::from_microsecond(row.integer(2)?)
                    .map_err(|error| Problem::Damaged(format!("run {id}: {error}")))?,
                host: row.maybe_text(3)?,
                drives: drives.remove(&id).unwrap_or_default(),
                suite: row.text(4)?.to_owned(),
                label: row.maybe_text(10)?,
                target: row.text(5)?.to_owned(),
                tool: row.text(6)?.to_owned(),
                tests: count,
                headline,
                log_grade: row.maybe_text(11)?.map(|name| grade(id, &name)).transpose()?,
                tags: tags.remove(&id).unwrap_or_default(),
                note: row.text(9)?.to_owned(),
                state: state(engine, id, row.text(7)?, row.maybe_text(8)?)?,
            });
        }
    }
    Ok(found)
}

fn grade(id: i64, name: &str) -> Result<Grade, Problem> {
    let grade = Grade::ALL.into_iter().find(|grade| grade.name() == name);
    grade.ok_or_else(|| Problem::Damaged(format!("run {id} has the grade `{name}`")))
}

/// A run whose process is gone counts as interrupted, whatever its row says.
fn state(
    engine: &mut dyn Engine,
    id: i64,
    stored: &str,
    writer: Option<String>,
) -> Result<State, Problem> {
    match stored {
        "complete" => Ok(State::Complete),
        _ if is_running(engine, id, stored, writer)? => Ok(State::Running),
        "running" | "interrupted" => Ok(State::Interrupted),
        other => Err(Problem::Damaged(format!("run {id} has the state `{other}`"))),
    }
}

/// Returns whether a run is being measured: its row says so, and its process is alive.
pub(crate) fn is_running(
    engine: &mut dyn Engine,
    id: i64,
    stored: &str,
    writer: Option<String>,
) -> Result<bool, Problem> {
    Ok(stored == State::Running.name() && engine.is_run_locked(id, &writer.unwrap_or_default())?)
}
