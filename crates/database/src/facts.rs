//! Facts that a server reports about itself.

use std::path::{Path, PathBuf};

use measurement::{DatabaseProduct, DatabaseRecord, ServerSetting};

use crate::error::{DatabaseError, Problem};
use crate::server_url::Product;
use crate::session::Session;

/// The settings of PostgreSQL that decide about commits.
const POSTGRES_SETTINGS: [&str; 10] = [
    "fsync",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_sync_method",
    "full_page_writes",
    "commit_delay",
    "commit_siblings",
    "wal_compression",
    "track_wal_io_timing",
    "track_io_timing",
];
/// Those of MariaDB and MySQL; some exist in one of them only.
const MYSQL_SETTINGS: [&str; 15] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_log_file_buffering",
    "innodb_log_file_write_through",
    "innodb_data_file_buffering",
    "innodb_data_file_write_through",
    "innodb_use_fdatasync",
    "innodb_doublewrite",
    "innodb_log_write_ahead_size",
    "log_bin",
    "sync_binlog",
    "binlog_group_commit_sync_delay",
    "binlog_commit_wait_count",
    "binlog_commit_wait_usec",
    "performance_schema",
];

/// The oldest releases whose settings are known here.
const OLDEST_POSTGRES: (u32, &str) = (120_000, "PostgreSQL 12");
const OLDEST_MARIADB: ((u32, u32), &str) = ((10, 5), "MariaDB 10.5");
const OLDEST_MYSQL: ((u32, u32), &str) = ((8, 0), "MySQL 8.0");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub record: DatabaseRecord,
    /// Connections that all clients together may have, as far as it says.
    pub connections_max: Option<u32>,
    /// Why it accepts no writes, if it does not.
    pub read_only: Option<&'static str>,
    /// Its log on its host, or why that is unknown.
    pub log: Result<LogPlace, String>,
}

/// The directory of a server's log and its process file, as paths on the server's host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    /// The directory of the log's files.
    pub directory: PathBuf,
    /// The directory of the tables.
    pub data: PathBuf,
    /// The file in which a running server leaves its process ID.
    pub pid_file: PathBuf,
    /// The time at which the server started, in seconds since 1970; `None` if it does not say.
    pub started_s: Option<u64>,
    /// The name of its host; `None` if it does not say.
    pub host: Option<String>,
}

impl Facts {
    /// Asks the server.
    ///
    /// # Errors
    /// If the server is too old, or does not answer.
    pub fn read(session: &mut Session) -> Result<Facts, DatabaseError> {
        let facts = match session.url().product() {
            Product::Postgres => of_postgres(session),
            Product::Mysql => of_mysql(session),
        };
        facts.map_err(|problem| session.error(problem))
    }
}

fn of_postgres(session: &mut Session) -> Result<Facts, Problem> {
    let number = one(session, "SHOW server_version_num", "server_version_num")?;
    let version = one(session, "SHOW server_version", "server_version")?;
    if number.parse().is_ok_and(|number: u32| number < OLDEST_POSTGRES.0) {
        let found = format!("PostgreSQL {version}");
        return Err(Problem::TooOld { found, oldest: OLDEST_POSTGRES.1 });
    }
    let names = quoted(&POSTGRES_SETTINGS);
    let rows = session.try_rows(&format!(
        "SELECT name, setting, unit, source FROM pg_catalog.pg_settings WHERE name IN ({names})"
    ))?;
    let settings = rows.into_iter().filter_map(|row| {
        let [name, value, unit, source] = <[_; 4]>::try_from(row).ok()?;
        let value = value? + &unit.unwrap_or_default();
        Some(ServerSetting { name: name?, value, source })
    });
    let settings = in_order(settings.collect(), &POSTGRES_SETTINGS);
    let connections_max = one(session, "SHOW max_connections", "max_connections")?.parse().ok();
    let in_recovery =
        one(session, "SELECT pg_catalog.pg_is_in_recovery()::text", "pg_is_in_recovery()")?;
    let is_read_only = one(session, "SHOW transaction_read_only", "transaction_read_only")?;
    let read_only = if in_recovery == "true" {
        Some("it is a standby in recovery")
    } else {
        (is_read_only == "on").then_some("default_transaction_read_only is on")
    };
    let started = "SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())::bigint::text";
    let started_s = one(session, started, "pg_postmaster_start_time()")?.parse().ok();
    let log = match session.try_rows("SHOW data_directory") {
        Ok(rows) => {
            let data = only(rows, "data_directory")?;
            let data = Path::new(&data);
            let (directory, pid_file) = (data.join("pg_wal"), data.join("postmaster.pid"));
            Ok(LogPlace { directory, data: data.to_owned(), pid_file, started_s, host: None })
        }
        Err(Problem::LacksPrivilege(_)) => Err("the server does not show its data directory to \
                                               this user, who needs pg_read_all_settings"
            .to_owned()),
        Err(problem) => return Err(problem),
    };
    let product = DatabaseProduct::Postgresql;
    let record = DatabaseRecord { product, version, settings };
    Ok(Facts { record, connections_max, read_only, log })
}

fn of_mysql(session: &mut Session) -> Result<Facts, Problem> {
    let version = one(session, "SELECT VERSION()", "VERSION()")?;
    let product = if version.to_ascii_lowercase().contains("mariadb") {
        DatabaseProduct::Mariadb
    } else {
        DatabaseProduct::Mysql
    };
    let (oldest, words) = match product {
        DatabaseProduct::Mariadb => OLDEST_MARIADB,
        _ => OLDEST_MYSQL,
    };
    if release(&version).is_some_and(|release| release < oldest) {
        let found = format!("{} {version}", product.label());
        return Err(Problem::TooOld { found, oldest: words });
    }
    let sources = match product {
        DatabaseProduct::Mariadb => {
            "SELECT VARIABLE_NAME, GLOBAL_VALUE_ORIGIN FROM information_schema.SYSTEM_VARIABLES \
             WHERE VARIABLE_NAME IN"
        }
        _ => {
            "SELECT VARIABLE_NAME, VARIABLE_SOURCE FROM performance_schema.variables_info WHERE \
             VARIABLE_NAME IN"
        }
    };
    let names = quoted(&MYSQL_SETTINGS);
    // Without performance_schema, or access to it, MySQL does not say.
    let sources = session.try_rows(&format!("{sources} ({names})")).or_else(unsaid)?;
    let source_of = |name: &str| {
        let is_it = |row: &&Vec<Option<String>>| {
            row.first().and_then(Option::as_deref).is_some_and(|of| of.eq_ignore_ascii_case(name))
        };
        Some(sources.iter().find(is_it)?.get(1)?.as_deref()?.to_ascii_lowercase())
    };
    let rows =
        session.try_rows(&format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"))?;
    let settings = rows.into_iter().filter_map(|row| {
        let [name, value] = <[_; 2]>::try_from(row).ok()?;
        let name = name?;
        let source = source_of(&name);
        Some(ServerSetting { name, value: value?, source })
    });
    let settings = in_order(settings.collect(), &MYSQL_SETTINGS);
    let connections_max =
        one(session, "SELECT @@GLOBAL.max_connections", "max_connections")?.parse().ok();
    // MariaDB 12 has words instead of 0 and 1.
    let is_off = |value: &str| matches!(value, "0" | "OFF");
    let is_read_only = one(session, "SELECT @@GLOBAL.read_only", "read_only")?;
    let no_writes = one(session, "SELECT @@GLOBAL.innodb_read_only", "innodb_read_only")?;
    let read_only = match (is_off(&is_read_only), is_off(&no_writes)) {
        (false, _) => Some("read_only is on, as on a replica"),
        (_, false) => Some("innodb_read_only is on"),
        (true, true) => None,
    };
    let data = one(session, "SELECT @@GLOBAL.datadir", "datadir")?;
    let group = one(session, "SELECT @@GLOBAL.innodb_log_group_home_dir", "log directory")?;
    let pid_file = one(session, "SELECT @@GLOBAL.pid_file", "pid_file")?;
    let host = Some(one(session, "SELECT @@GLOBAL.hostname", "hostname")?);
    let data = Path::new(&data);
    let log = LogPlace {
        // Both may be relative to the data directory.
        directory: data.join(group),
        pid_file: data.join(pid_file),
        data: data.to_owned(),
        started_s: None,
        host,
    };
    let record = DatabaseRecord { product, version, settings };
    Ok(Facts { record, connections_max, read_only, log: Ok(log) })
}

/// An answer that the server refuses counts as empty.
fn unsaid(problem: Problem) -> Result<Vec<Vec<Option<String>>>, Problem> {
    match problem {
        Problem::Refused(_) | Problem::LacksPrivilege(_) => Ok(Vec::new()),
        problem => Err(problem),
    }
}

fn one(session: &mut Session, sql: &str, what: &'static str) -> Result<String, Problem> {
    only(session.try_rows(sql)?, what)
}

fn only(rows: Vec<Vec<Option<String>>>, what: &'static str) -> Result<String, Problem> {
    let first = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
    first.ok_or(Problem::Incomplete(what))
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

fn in_order(mut settings: Vec<ServerSetting>, names: &[&str]) -> Vec<ServerSetting> {
    settings.sort_by_key(|setting| names.iter().position(|name| *name == setting.name));
    settings
}

/// `10.11.19-MariaDB-0+deb12u1` is release 10.11. Old replicas see `5.5.5-` in front of MariaDB's.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches("5.5.5-").split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(release("10.11.19-MariaDB-0+deb12u1"), Some((10, 11)));
        assert_eq!(release("5.5.5-10.3.39-MariaDB"), Some((10, 3)));
        assert_eq!(release("8.0.44"), Some((8, 0)));
        assert_eq!(release("nonsense"), None);
        assert!(release("10.3.39-MariaDB") < Some(OLDEST_MARIADB.0));
        assert!(release("5.7.44-log") < Some(OLDEST_MYSQL.0));
    }
}
