//! Writes the rows of a run. Each function is part of a transaction of [`crate::store`].

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use measurement::{RunDocument, TargetKind, TestResult, Use};
use uuid::Uuid;

use crate::engine::{Engine, Value};
use crate::error::Problem;
use crate::packing::{digest, pack_header, pack_result};
use crate::run::{DriveName, Headline, RunId, State, Tag};

/// The content of a run's row besides its document.
pub(crate) struct Entry<'a> {
    pub(crate) uuid: Uuid,
    pub(crate) digest: Option<String>,
    pub(crate) at: Timestamp,
    pub(crate) host: Option<&'a str>,
    pub(crate) state: State,
    pub(crate) writer: Option<&'a str>,
    pub(crate) note: &'a str,
    pub(crate) tags: &'a [Tag],
}

/// Time of the measurement; if unknown, the current time, to the second like in documents.
pub(crate) fn at(document: &RunDocument) -> Timestamp {
    document
        .began()
        .unwrap_or_else(|| Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default())
}

/// The tool that measured: `flushmark 0.1.0`, `fio 3.33`.
fn tool(document: &RunDocument) -> String {
    match &document.source {
        None => format!("flushmark {}", document.flushmark),
        Some(source) => match &source.version {
            Some(version) => format!("{} {version}", source.tool),
            None => source.tool.clone(),
        },
    }
}

/// The target, with absolute paths of directories and files, independent of the user's working
/// directory.
fn target(document: &RunDocument) -> String {
    match &document.drive {
        Some(place) if matches!(document.target.kind, TargetKind::Directory | TargetKind::File) => {
            place.path.display().to_string()
        }
        _ => document.target.given.clone(),
    }
}

/// Inserts rows of as many columns each as `into` names, in a few statements.
pub(crate) fn insert(
    engine: &mut dyn Engine,
    into: &str,
    rows: &[Vec<Value>],
) -> Result<(), Problem> {
    /// SQLite takes fewer than 32,768 parameters.
    const ROWS: usize = 2048;
    for rows in rows.chunks(ROWS) {
        let mut number = 0;
        let mut place = |_: &Value| {
            number += 1;
            format!("${number}")
        };
        let places = rows
            .iter()
            .map(|row| format!("({})", row.iter().map(&mut place).collect::<Vec<_>>().join(", ")))
            .collect::<Vec<_>>()
            .join(", ");
        engine.execute(&format!("INSERT INTO {into} VALUES {places}"), &rows.concat())?;
    }
    Ok(())
}

/// Inserts the run without its tests; `None` if a run with this identity is stored.
pub(crate) fn run(
    engine: &mut dyn Engine,
    document: &RunDocument,
    entry: &Entry<'_>,
) -> Result<Option<RunId>, Problem> {
    assert_eq!(
        entry.writer.is_none(),
        entry.digest.is_some(),
        "a run with a writer has no digest yet"
    );
    let row = engine.one(
        "INSERT INTO runs (uuid, digest, at_us, suite, target, host, tool, state, writer, note, \
         group_id, label, log_grade, headline) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
         $11, $12, $13, $14) ON CONFLICT (uuid) DO NOTHING RETURNING id",
        &[
            entry.uuid.to_string().as_str().into(),
            entry.digest.as_deref().into(),
            entry.at.as_microsecond().into(),
            document.suite.as_str().into(),
            target(document).as_str().into(),
            entry.host.into(),
            tool(document).as_str().into(),
            entry.state.name().into(),
            entry.writer.into(),
            entry.note.into(),
            group(document).into(),
            document.label.as_deref().into(),
            log_grade(document).into(),
            headline(&document.results).into(),
        ],
    )?;
    let Some(row) = row else { return Ok(None) };
    let id = RunId(row.integer(0)?);
    engine.execute(
        "INSERT INTO headers (run, document) VALUES ($1, $2)",
        &[id.0.into(), pack_header(document)?.into()],
    )?;
    let drives = DriveName::of(document).into_iter().enumerate().map(|(position, drive)| {
        vec![
            id.0.into(),
            (position as i64).into(),
            drive.model.as_deref().into(),
            drive.serial.as_deref().into(),
            drive.firmware.as_deref().into(),
        ]
    });
    let drives: Vec<Vec<Value>> = drives.collect();
    insert(engine, "drives (run, position, model, serial, firmware)", &drives)?;
    for tag in entry.tags {
        self::tag(engine, id, tag)?;
    }
    Ok(Some(id))
}

fn group(document: &RunDocument) -> Option<&str> {
    document.group.as_ref().map(|group| group.id.as_str())
}

fn log_grade(document: &RunDocument) -> Option<&'static str> {
    document.fitness.get(&Use::DatabaseLog).map(|fitness| fitness.grade.name())
}

fn headline(results: &[TestResult]) -> Option<i64> {
    TestResult::leading(results).map(|position| position as i64)
}

/// Fills the columns that lists show of a run that was stored before they existed.
pub(crate) fn grade_and_headline(
    engine: &mut dyn Engine,
    id: RunId,
    header: &RunDocument,
    results: &[TestResult],
) -> Result<(), Problem> {
    let sql = "UPDATE runs SET log_grade = $1, headline = $2 WHERE id = $3";
    engine
        .execute(sql, &[log_grade(header).into(), headline(results).into(), id.0.into()])
        .map(drop)
}

/// Completes the rows of a run that was stored before these columns existed.
pub(crate) fn group_and_firmware(
    engine: &mut dyn Engine,
    id: RunId,
    header: &RunDocument,
) -> Result<(), Problem> {
    if let Some(group) = group(header) {
        let sql = "UPDATE runs SET group_id = $1 WHERE id = $2";
        engine.execute(sql, &[group.into(), id.0.into()])?;
    }
    for (position, drive) in DriveName::of(header).iter().enumerate() {
        let sql = "UPDATE drives SET firmware = $1 WHERE run = $2 AND position = $3";
        let values = [drive.firmware.as_deref().into(), id.0.into(), (position as i64).into()];
        engine.execute(sql, &values)?;
    }
    Ok(())
}

/// Inserts tests, the first of them at position `first`.
pub(crate) fn tests(
    engine: &mut dyn Engine,
    id: RunId,
    first: usize,
    results: &[TestResult],
) -> Result<(), Problem> {
    let names = names(engine, results)?;
    let (mut tests, mut documents, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
    for (position, result) in results.iter().enumerate() {
        let position = (first + position) as i64;
        let name = names[result.test.as_str()];
        let headline = Headline::of(result);
        tests.push(vec![
            id.0.into(),
            name.into(),
            position.into(),
            i64::from(headline.as_ref().is_some_and(|headline| headline.is_commit)).into(),
            headline.as_ref().map(|headline| headline.p50_us).into(),
            headline.as_ref().map(|headline| headline.p99_us).into(),
        ]);
        documents.push(vec![id.0.into(), position.into(), pack_result(result)?.into()]);
        latencies.extend(latency(id, position, name, result));
    }
    insert(engine, "tests (run, name, position, is_commit, p50_us, p99_us)", &tests)?;
    insert(engine, "results (run, position, document)", &documents)?;
    insert(engine, LATENCIES, &latencies)
}

/// The columns of a row that [`latency`] returns.
pub(crate) const LATENCIES: &str = "latencies (run, position, name, histogram)";

/// The row with the distribution of a test's headline latency; `None` if the test has none.
pub(crate) fn latency(
    id: RunId,
    position: i64,
    name: i64,
    result: &TestResult,
) -> Option<Vec<Value>> {
    let histogram = result.headline_histogram()?;
    Some(vec![id.0.into(), position.into(), name.into(), histogram.to_bytes().into()])
}

/// Ends a run: its findings, what was skipped, and tests after the first `kept`.
pub(crate) fn end(
    engine: &mut dyn Engine,
    id: RunId,
    kept: usize,
    document: &RunDocument,
    state: State,
) -> Result<(), Problem> {
    let measured = document.results.len();
    let Some(new) = document.results.get(kept..) else {
        return Err(Problem::MoreTests { run: id, stored: kept, measured });
    };
    tests(engine, id, kept, new)?;
    engine.execute(
        "UPDATE headers SET document = $1 WHERE run = $2",
        &[pack_header(document)?.into(), id.0.into()],
    )?;
    // The group is known only when its runs have met.
    engine.execute(
        "UPDATE runs SET state = $1, digest = $2, group_id = $3, log_grade = $4, headline = $5, \
         writer = NULL WHERE id = $6",
        &[
            state.name().into(),
            digest(document)?.as_str().into(),
            group(document).into(),
            log_grade(document).into(),
            headline(&document.results).into(),
            id.0.into(),
        ],
    )?;
    Ok(())
}

/// The numbers of tests' names. New names are inserted in sorted order, so two processes cannot
/// deadlock.
fn names<'a>(
    engine: &mut dyn Engine,
    results: &'a [TestResult],
) -> Result<HashMap<&'a str, i64>, Problem> {
    let names: BTreeSet<&str> = results.iter().map(|result| result.test.as_str()).collect();
    let mut numbers = numbers(engine, &names)?;
    let new: Vec<&str> = names.iter().copied().filter(|name| !numbers.contains_key(name)).collect();
    if !new.is_empty() {
        for name in &new {
            let sql = "INSERT INTO names (name) VALUES ($1) ON CONFLICT (name) DO NOTHING";
            engine.execute(sql, &[(*name).into()])?;
        }
        numbers = self::numbers(engine, &names)?;
    }
    if names.iter().all(|name| numbers.contains_key(name)) {
        Ok(numbers)
    } else {
        Err(Problem::Damaged("a test's name got no number".to_owned()))
    }
}

/// The numbers of those names that have one.
fn numbers<'a>(
    engine: &mut dyn Engine,
    names: &BTreeSet<&'a str>,
) -> Result<HashMap<&'a str, i64>, Problem> {
    /// Names per statement.
    const NAMES: usize = 500;
    let values: Vec<(&str, Value)> = names.iter().map(|&name| (name, name.into())).collect();
    let mut numbers = HashMap::with_capacity(names.len());
    for part in values.chunks(NAMES) {
        let places: Vec<String> = (1..=part.len()).map(|place| format!("${place}")).collect();
        let sql = format!("SELECT name, id FROM names WHERE name IN ({})", places.join(", "));
        let wanted: Vec<Value> = part.iter().map(|(_, value)| value.clone()).collect();
        for row in engine.query(&sql, &wanted)? {
            // Two names may be the same text to the database, which has no NUL.
            let kept = Value::Text(row.text(0)?.to_owned());
            for (name, _) in part.iter().filter(|(_, value)| *value == kept) {
                numbers.insert(*name, row.integer(1)?);
            }
        }
    }
    Ok(numbers)
}

pub(crate) fn tag(engine: &mut dyn Engine, id: RunId, tag: &Tag) -> Result<(), Problem> {
    let sql = "INSERT INTO tags (run, tag) VALUES ($1, $2) ON CONFLICT (run, tag) DO NOTHING";
    engine.execute(sql, &[id.0.into(), tag.as_str().into()]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::document::checked;

    #[test]
    fn a_run_of_unknown_time_is_stored_with_the_current_time() {
        let before = Timestamp::now().as_second();
        let kept =
            at(&RunDocument { started_at: measurement::started_at::write(None), ..checked() });
        assert!((before..=Timestamp::now().as_second()).contains(&kept.as_second()), "{kept}");
        assert_eq!(kept.subsec_nanosecond(), 0);
    }

    #[test]
    fn the_tool_is_named_with_its_version_if_known() {
        let by = |version: Option<&str>| {
            let version = version.map(str::to_owned);
            let tool_name = "fio".to_owned();
            let source =
                measurement::Source { tool: tool_name, version, ..measurement::Source::default() };
            tool(&RunDocument { source: Some(source), ..checked() })
        };
        assert_eq!([by(Some("3.33")), by(None)], ["fio 3.33", "fio"]);
        let own = RunDocument { source: None, flushmark: "0.1.0".to_owned(), ..checked() };
        assert_eq!(tool(&own), "flushmark 0.1.0");
    }

    #[test]
    fn directories_and_files_have_absolute_paths() {
        let of = |kind: TargetKind| {
            let mut document = checked();
            document.target = measurement::TargetRecord::new("here", kind);
            document.drive.as_mut().unwrap().path = "/srv/here".into();
            target(&document)
        };
        assert_eq!(
            [TargetKind::Directory, TargetKind::File, TargetKind::BlockDevice].map(of),
            ["/srv/here", "/srv/here", "here"]
        );
        let nowhere = RunDocument { drive: None, ..checked() };
        assert_eq!(target(&nowhere), nowhere.target.given);
    }
}
