//! Writes the rows of a run. Each function is part of a transaction of [`crate::store`].

use std::collections::BTreeMap;

use jiff::Timestamp;
use measurement::{RunDocument, TargetKind, TestResult};
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

/// Inserts the run without its tests.
pub(crate) fn run(
    engine: &mut dyn Engine,
    document: &RunDocument,
    entry: &Entry<'_>,
) -> Result<RunId, Problem> {
    assert_eq!(
        entry.writer.is_none(),
        entry.digest.is_some(),
        "a run with a writer has no digest yet"
    );
    let row = engine.one(
        "INSERT INTO runs (uuid, digest, at_us, suite, target, host, tool, state, writer, note)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id",
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
        ],
    )?;
    let id = RunId(
        row.ok_or_else(|| Problem::Damaged("a new run got no number".to_owned()))?.integer(0)?,
    );
    engine.execute(
        "INSERT INTO headers (run, document) VALUES ($1, $2)",
        &[id.0.into(), pack_header(document)?.into()],
    )?;
    for (position, drive) in DriveName::of(document).iter().enumerate() {
        engine.execute(
            "INSERT INTO drives (run, position, model, serial) VALUES ($1, $2, $3, $4)",
            &[
                id.0.into(),
                (position as i64).into(),
                drive.model.as_deref().into(),
                drive.serial.as_deref().into(),
            ],
        )?;
    }
    for tag in entry.tags {
        self::tag(engine, id, tag)?;
    }
    Ok(id)
}

/// Inserts tests, the first of them at position `first`.
pub(crate) fn tests(
    engine: &mut dyn Engine,
    id: RunId,
    first: usize,
    results: &[TestResult],
) -> Result<(), Problem> {
    let names = names(engine, results)?;
    for (position, result) in results.iter().enumerate() {
        let position = Value::from((first + position) as i64);
        let headline = Headline::of(result);
        engine.execute(
            "INSERT INTO tests (run, name, position, is_commit, p50_us, p99_us) VALUES ($1, $2, \
             $3, $4, $5, $6)",
            &[
                id.0.into(),
                names[result.test.as_str()].into(),
                position.clone(),
                i64::from(headline.as_ref().is_some_and(|headline| headline.is_commit)).into(),
                headline.as_ref().map(|headline| headline.p50_us).into(),
                headline.as_ref().map(|headline| headline.p99_us).into(),
            ],
        )?;
        engine.execute(
            "INSERT INTO results (run, position, document) VALUES ($1, $2, $3)",
            &[id.0.into(), position, pack_result(result)?.into()],
        )?;
    }
    Ok(())
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
    engine.execute(
        "UPDATE runs SET state = $1, digest = $2, writer = NULL WHERE id = $3",
        &[state.name().into(), digest(document)?.as_str().into(), id.0.into()],
    )?;
    Ok(())
}

/// The numbers of tests' names. New names are inserted in sorted order, so two processes cannot
/// deadlock.
fn names<'a>(
    engine: &mut dyn Engine,
    results: &'a [TestResult],
) -> Result<BTreeMap<&'a str, i64>, Problem> {
    let mut names: BTreeMap<&str, i64> =
        results.iter().map(|result| (result.test.as_str(), 0)).collect();
    for (name, id) in &mut names {
        let find = |engine: &mut dyn Engine| {
            engine.one("SELECT id FROM names WHERE name = $1", &[(*name).into()])
        };
        let mut row = find(engine)?;
        if row.is_none() {
            engine.execute(
                "INSERT INTO names (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
                &[(*name).into()],
            )?;
            row = find(engine)?;
        }
        *id = row
            .ok_or_else(|| Problem::Damaged("a test's name got no number".to_owned()))?
            .integer(0)?;
    }
    Ok(names)
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
