//! The schema (PostgreSQL) or database (MariaDB, MySQL) that a run creates, and drops at its end.

use crate::error::{DatabaseError, Problem};
use crate::server_url::Product;
use crate::session::Session;

const PREFIX: &str = "flushmark_";
/// Hexadecimal digits after the prefix.
const DIGITS: usize = 12;

/// A schema of this run. It exists until [`Workspace::drop_from`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    name: String,
    product: Product,
}

impl Workspace {
    /// Creates it. `id` makes its name unique. The session holds a lock with its name, by which
    /// [`leftovers`] know that its run is alive.
    pub fn create(session: &mut Session, id: u64) -> Result<Workspace, DatabaseError> {
        let product = session.url().product();
        let name = format!("{PREFIX}{:012x}", id & 0xffff_ffff_ffff);
        let (lock, create) = match product {
            Product::Postgres => (
                format!("SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtext('{name}'))"),
                format!("CREATE SCHEMA {name}"),
            ),
            Product::Mysql => {
                (format!("SELECT GET_LOCK('{name}', 1)"), format!("CREATE DATABASE {name}"))
            }
        };
        session.rows(&lock)?;
        session.rows(&create)?;
        Ok(Workspace { name, product })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The statement that removes it.
    pub fn removal(&self) -> String {
        removal(self.product, &self.name)
    }

    pub fn drop_from(&self, session: &mut Session) -> Result<(), DatabaseError> {
        session.rows(&self.removal()).map(drop)
    }

    /// Creates an empty table for commits, in place of an earlier one. The statement inserts one
    /// row, whose parameters are two integers.
    pub fn make_table(&self, session: &mut Session) -> Result<String, DatabaseError> {
        let table = format!("{}.commits", self.name);
        session.rows(&format!("DROP TABLE IF EXISTS {table}"))?;
        let filler = "x".repeat(FILLER);
        match self.product {
            Product::Postgres => {
                session.rows(&format!(
                    "CREATE TABLE {table} (client bigint NOT NULL, turn bigint NOT NULL, filler \
                     text NOT NULL, PRIMARY KEY (client, turn))"
                ))?;
                Ok(format!(
                    "INSERT INTO {table} (client, turn, filler) VALUES ($1, $2, '{filler}')"
                ))
            }
            Product::Mysql => {
                session.rows(&format!(
                    "CREATE TABLE {table} (client BIGINT NOT NULL, turn BIGINT NOT NULL, filler \
                     VARCHAR(100) NOT NULL, PRIMARY KEY (client, turn)) ENGINE=InnoDB"
                ))?;
                Ok(format!("INSERT INTO {table} (client, turn, filler) VALUES (?, ?, '{filler}')"))
            }
        }
    }
}

/// Bytes of text in each row.
pub(crate) const FILLER: usize = 84;

fn removal(product: Product, name: &str) -> String {
    match product {
        Product::Postgres => format!("DROP SCHEMA {name} CASCADE"),
        Product::Mysql => format!("DROP DATABASE {name}"),
    }
}

fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|id| {
        id.len() == DIGITS && id.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
    })
}

/// The schemas that killed runs left on the server, each with the statement that removes it.
pub fn leftovers(session: &mut Session) -> Result<Vec<(String, String)>, DatabaseError> {
    let product = session.url().product();
    // A run that is alive holds the lock of its schema.
    let sql = match product {
        Product::Postgres => {
            "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname LIKE 'flushmark\\_%' AND \
             NOT EXISTS (SELECT 1 FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND \
             ((classid::bigint << 32) | objid::bigint) = \
             pg_catalog.hashtext(nspname::text)::bigint) ORDER BY nspname"
        }
        Product::Mysql => {
            "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE \
             'flushmark\\_%' AND IS_USED_LOCK(SCHEMA_NAME) IS NULL ORDER BY SCHEMA_NAME"
        }
    };
    let rows = session.try_rows(sql).map_err(|problem: Problem| session.error(problem))?;
    let names = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
    Ok(names
        .filter(|name| is_ours(name))
        .map(|name| {
            let statement = removal(product, &name);
            (name, statement)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_ours("flushmark_0123456789ab"));
        for other in ["flushmark", "flushmark_", "flushmark_0123456789aB", "flushmark_app"] {
            assert!(!is_ours(other), "{other}");
        }
        assert_eq!(removal(Product::Mysql, "flushmark_x"), "DROP DATABASE flushmark_x");
    }
}
