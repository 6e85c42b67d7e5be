//! The server's own count of syncs.

use measurement::DatabaseProduct;

use crate::error::{DatabaseError, Problem};
use crate::session::Session;

/// A reading of the server's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncCount {
    /// What counts them, in the server's words.
    pub counter: &'static str,
    pub syncs: u64,
    /// Writes to the same files; `None` if the server does not count all of them.
    pub writes: Option<u64>,
}

impl SyncCount {
    /// Asks the server; `None` if it does not count syncs.
    pub fn read(
        session: &mut Session,
        product: DatabaseProduct,
    ) -> Result<Option<SyncCount>, DatabaseError> {
        let count = match product {
            DatabaseProduct::Postgresql => of_postgres(session),
            DatabaseProduct::Mariadb | DatabaseProduct::Mysql => of_innodb(session, product),
        };
        count.map_err(|problem| session.error(problem))
    }
}

/// PostgreSQL 14 to 17 count the syncs of the log; 18 counts those of all files, also by what did
/// them. A log that is opened with `O_DSYNC` has no syncs.
fn of_postgres(session: &mut Session) -> Result<Option<SyncCount>, Problem> {
    const QUERIES: [(&str, &str); 2] = [
        ("pg_stat_wal.wal_sync", "SELECT wal_sync::text FROM pg_catalog.pg_stat_wal"),
        ("pg_stat_io.fsyncs", "SELECT sum(fsyncs)::bigint::text FROM pg_catalog.pg_stat_io"),
    ];
    for (counter, sql) in QUERIES {
        match session.try_rows(sql) {
            Ok(rows) => {
                let text = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
                let syncs = text.and_then(|text| text.parse().ok());
                return Ok(syncs.map(|syncs| SyncCount { counter, syncs, writes: None }));
            }
            Err(Problem::Refused(_) | Problem::LacksPrivilege(_)) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(None)
}

/// InnoDB counts the syncs of its log, its tables and its doublewrite buffer together; the binary log
/// is not among them. MySQL counts the writes likewise. MariaDB counts those of the log
/// separately: since 10.8 they bypass the functions that count.
fn of_innodb(
    session: &mut Session,
    product: DatabaseProduct,
) -> Result<Option<SyncCount>, Problem> {
    const SYNCS: &str = "Innodb_data_fsyncs";
    const WRITES: &str = "Innodb_data_writes";
    const LOG_WRITES: &str = "Innodb_log_writes";
    let rows = session.try_rows(&format!(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('{SYNCS}', '{WRITES}', '{LOG_WRITES}')"
    ))?;
    let value = |name: &str| -> Option<u64> {
        let row = rows.iter().find(|row| row.first().is_some_and(|of| of.as_deref() == Some(name)));
        row?.get(1)?.as_deref()?.parse().ok()
    };
    let log_writes = match product {
        DatabaseProduct::Mariadb => value(LOG_WRITES),
        _ => Some(0),
    };
    let writes = value(WRITES).zip(log_writes).map(|(tables, log)| tables + log);
    Ok(value(SYNCS).map(|syncs| SyncCount { counter: SYNCS, syncs, writes }))
}
