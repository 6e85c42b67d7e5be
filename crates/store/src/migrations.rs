//! The schema, version by version. Published versions are never edited: a change is a new file.

use measurement::{RunDocument, TestResult};

use crate::engine::{Dialect, Engine, finish};
use crate::error::Problem;
use crate::list;
use crate::packing::unpack;
use crate::run::RunId;
use crate::writing;

/// One step from a schema to the next.
pub(crate) struct Migration {
    sqlite: &'static str,
    postgres: &'static str,
    /// Fills what is new from the documents of runs that are already stored.
    fill: fn(&mut dyn Engine) -> Result<(), Problem>,
}

/// All migrations; the first creates version 1.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        sqlite: include_str!("../migrations/sqlite/0001.sql"),
        postgres: include_str!("../migrations/postgres/0001.sql"),
        fill: |_| Ok(()),
    },
    Migration {
        sqlite: include_str!("../migrations/sqlite/0002.sql"),
        postgres: include_str!("../migrations/postgres/0002.sql"),
        fill: fill_latencies,
    },
    Migration {
        sqlite: include_str!("../migrations/sqlite/0003.sql"),
        postgres: include_str!("../migrations/postgres/0003.sql"),
        fill: fill_grades_and_headlines,
    },
];

/// Migrates the database to the latest schema. A database without a schema gets one only if
/// `create` is set. If several processes open a new store at once, one of them creates it.
pub(crate) fn migrate(
    engine: &mut dyn Engine,
    migrations: &[Migration],
    create: bool,
) -> Result<(), Problem> {
    let known = migrations.len() as i64;
    match version(engine, known)? {
        0 if !create => return Err(Problem::Absent),
        found if found == known => return Ok(()),
        _ => {}
    }
    engine.begin_migration()?;
    finish(engine, |engine| {
        // Checked again, because another process may have been faster.
        let found = version(engine, known)?;
        for migration in migrations.iter().skip(found as usize) {
            engine.batch(match engine.dialect() {
                Dialect::Sqlite => migration.sqlite,
                Dialect::Postgres => migration.postgres,
            })?;
            (migration.fill)(engine)?;
        }
        engine.execute("DELETE FROM schema_version", &[])?;
        engine.execute("INSERT INTO schema_version (version) VALUES ($1)", &[known.into()])?;
        debug_assert_eq!(version(engine, known)?, known, "the migrations end at the latest schema");
        Ok(())
    })
}

fn fill_latencies(engine: &mut dyn Engine) -> Result<(), Problem> {
    let runs = engine.query("SELECT id FROM runs ORDER BY id", &[])?;
    let runs: Vec<i64> = runs.iter().map(|row| row.integer(0)).collect::<Result<_, _>>()?;
    for runs in runs.chunks(list::CHUNK) {
        let list = runs.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT run, document FROM headers WHERE run IN ({list})");
        for row in engine.query(&sql, &[])? {
            let header: RunDocument = unpack(row.blob(1)?)?;
            writing::group_and_firmware(engine, RunId(row.integer(0)?), &header)?;
        }
        let sql = format!(
            "SELECT results.run, results.position, tests.name, results.document FROM results JOIN \
             tests ON tests.run = results.run AND tests.position = results.position WHERE \
             results.run IN ({list})"
        );
        let mut rows = Vec::new();
        for row in engine.query(&sql, &[])? {
            let result = unpack(row.blob(3)?)?;
            let [run, position, name] = [0, 1, 2].map(|column| row.integer(column));
            rows.extend(writing::latency(RunId(run?), position?, name?, &result));
        }
        writing::insert(engine, writing::LATENCIES, &rows)?;
    }
    Ok(())
}

fn fill_grades_and_headlines(engine: &mut dyn Engine) -> Result<(), Problem> {
    for row in engine.query("SELECT run, document FROM headers ORDER BY run", &[])? {
        let (run, header) = (row.integer(0)?, unpack::<RunDocument>(row.blob(1)?)?);
        let sql = "SELECT document FROM results WHERE run = $1 ORDER BY position";
        let results = engine.query(sql, &[run.into()])?;
        let results: Vec<TestResult> =
            results.iter().map(|row| unpack(row.blob(0)?)).collect::<Result<_, _>>()?;
        writing::grade_and_headline(engine, RunId(run), &header, &results)?;
    }
    Ok(())
}

/// The version of the schema; 0 if there is none yet.
fn version(engine: &mut dyn Engine, known: i64) -> Result<i64, Problem> {
    if !engine.has_table("schema_version")? {
        return Ok(0);
    }
    let row = engine.one("SELECT version FROM schema_version", &[])?;
    let found = row
        .ok_or_else(|| Problem::Damaged("the version of its schema is missing".to_owned()))?
        .integer(0)?;
    match found {
        1.. if found <= known => Ok(found),
        1.. => Err(Problem::Newer { found, known }),
        _ => Err(Problem::Damaged(format!("its schema has version {found}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use postgresql::Server;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::engine::Value;
    use crate::postgres::Postgres;
    use crate::sqlite::Sqlite;

    /// SHA-256 of each version's two texts, SQLite first. Existing stores were created by them: a
    /// change needs a new version, with a new line here and a store of the previous version in
    /// `tests/stores`.
    const SHIPPED: [[&str; 2]; 3] = [
        [
            "bad2122ba0c72feceb3bcb6c58428c25f08f4f424d463298f9e06be35975f810",
            "586e17d6e1f9da3d0bc9c1a9b24455309b6d8176c1756a80cd2c6f7c65978f7f",
        ],
        [
            "4a125082084f910fba8c349b122f32f5dedca666a0e708df71b9505d3c6a68cb",
            "a6c3f11df9f9a4c63eafe5ae9728356d2590bf738f1cacfdb5e3c9bfd9b9d2db",
        ],
        [
            "bbb999cb867ebf3299e50203a79cff1424bf6df9f33d34a06c4d9b14c0c2e58c",
            "9bd73951b705ef39f9bc352c67b2bf4bff71a70e5116af8e8d6cf3a800de45e5",
        ],
    ];

    #[test]
    fn what_was_shipped_is_not_edited() {
        let digest = |text: &str| {
            Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let current: Vec<[String; 2]> =
            MIGRATIONS.iter().map(|step| [digest(step.sqlite), digest(step.postgres)]).collect();
        assert_eq!(current, SHIPPED, "a change of the schema needs a new migration");
        let stores =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores")).unwrap();
        assert_eq!(stores.count(), SHIPPED.len(), "tests/stores needs a store of every version");
    }

    /// On SQLite, `tests/stores` has a store of each version.
    #[test]
    fn an_older_schema_is_filled_on_postgresql() {
        let Some(server) = Server::start("an_older_schema_is_filled_on_postgresql") else { return };
        let wait = Duration::from_secs(3);
        let mut engine = Postgres::open(&server.database("old"), wait)
            .unwrap_or_else(|problem| panic!("{problem}"));
        migrate(&mut engine, &MIGRATIONS[..1], true).unwrap();
        let place = tempfile::tempdir().unwrap();
        let copy = place.path().join("old.db");
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores/schema-1.db");
        std::fs::copy(kept, &copy).unwrap();
        let mut old = Sqlite::open(&copy, false, wait).unwrap();
        for (table, columns) in [
            ("runs", "id, uuid, digest, at_us, suite, target, host, tool, state, writer, note"),
            ("headers", "run, document"),
            ("drives", "run, position, model, serial"),
            ("names", "id, name"),
            ("tests", "run, name, position, is_commit, p50_us, p99_us"),
            ("results", "run, position, document"),
        ] {
            let rows = old.query(&format!("SELECT {columns} FROM {table}"), &[]).unwrap();
            assert!(!rows.is_empty(), "{table}");
            let rows: Vec<Vec<Value>> = rows.into_iter().map(|row| row.0).collect();
            let into = format!("{table} ({columns}) OVERRIDING SYSTEM VALUE");
            writing::insert(&mut engine, &into, &rows).unwrap();
        }
        migrate(&mut engine, MIGRATIONS, false).unwrap();
        let mut count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            engine.one(&sql, &[]).unwrap().unwrap().integer(0).unwrap()
        };
        assert_eq!(count("latencies"), count("tests WHERE p50_us IS NOT NULL"));
        assert!(count("latencies") > 0);
    }
}
