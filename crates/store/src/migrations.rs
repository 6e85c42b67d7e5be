//! The schema, version by version. What was published is never edited: a change is a new file.

use crate::engine::{Engine, finish};
use crate::error::Problem;

/// One step from a schema to the next.
pub(crate) struct Migration {
    /// In SQLite's words.
    pub(crate) sqlite: &'static str,
    /// In PostgreSQL's.
    pub(crate) postgres: &'static str,
}

/// All of them; the first makes version 1.
pub(crate) const MIGRATIONS: &[Migration] = &[Migration {
    sqlite: include_str!("../migrations/sqlite/0001.sql"),
    postgres: include_str!("../migrations/postgres/0001.sql"),
}];

/// Brings the database to the latest schema; one without any gets it only if `create` says so. Of several processes that open a new store at once, one
/// makes it.
pub(crate) fn migrate(engine: &mut dyn Engine, migrations: &[Migration], create: bool) -> Result<(), Problem> {
    let known = migrations.len() as i64;
    match version(engine, known)? {
        0 if !create => return Err(Problem::Absent),
        found if found == known => return Ok(()),
        _ => {}
    }
    engine.begin_migration()?;
    finish(engine, |engine| {
        // Asked again, because another process may have been faster.
        let found = version(engine, known)?;
        for migration in migrations.iter().skip(found as usize) {
            let sql = engine.dialect(migration);
            engine.batch(sql)?;
        }
        engine.execute("DELETE FROM schema_version", &[])?;
        engine.execute("INSERT INTO schema_version (version) VALUES ($1)", &[known.into()]).map(drop)
    })
}

/// The schema's version; 0 where there is none yet.
fn version(engine: &mut dyn Engine, known: i64) -> Result<i64, Problem> {
    if !engine.has_table("schema_version")? {
        return Ok(0);
    }
    let row = engine.one("SELECT version FROM schema_version", &[])?;
    let found = row.ok_or_else(|| Problem::Damaged("it has lost its schema's version".to_owned()))?.integer(0)?;
    match found {
        1.. if found <= known => Ok(found),
        1.. => Err(Problem::Newer { found, known }),
        _ => Err(Problem::Damaged(format!("its schema's version is {found}"))),
    }
}
