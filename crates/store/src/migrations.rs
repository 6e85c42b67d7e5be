//! The schema, version by version. Published versions are never edited: a change is a new file.

use crate::engine::{Dialect, Engine, finish};
use crate::error::Problem;

/// One step from a schema to the next.
pub(crate) struct Migration {
    sqlite: &'static str,
    postgres: &'static str,
}

/// All migrations; the first creates version 1.
pub(crate) const MIGRATIONS: &[Migration] = &[Migration {
    sqlite: include_str!("../migrations/sqlite/0001.sql"),
    postgres: include_str!("../migrations/postgres/0001.sql"),
}];

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
        }
        engine.execute("DELETE FROM schema_version", &[])?;
        engine.execute("INSERT INTO schema_version (version) VALUES ($1)", &[known.into()])?;
        debug_assert_eq!(version(engine, known)?, known, "the migrations end at the latest schema");
        Ok(())
    })
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
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// SHA-256 of each version's two texts, SQLite first. Existing stores were created by them: a
    /// change needs a new version, with a new line here and a store of the previous version in
    /// `tests/stores`.
    const SHIPPED: [[&str; 2]; 1] = [[
        "bad2122ba0c72feceb3bcb6c58428c25f08f4f424d463298f9e06be35975f810",
        "586e17d6e1f9da3d0bc9c1a9b24455309b6d8176c1756a80cd2c6f7c65978f7f",
    ]];

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
}
