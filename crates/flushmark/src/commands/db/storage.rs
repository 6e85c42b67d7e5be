//! Commits of the storage alone, where the server's log is, if the server runs on this host.

use std::path::PathBuf;
use std::time::Duration;

use database::Problem;
use drive::{Place, SystemRoot};
use engine::{EngineError, Intent, Options, Target};
use measurement::{DatabaseProduct, DatabaseRecord, Outcome, TestResult};
use workload::{Plan, SyncMethod};

use super::here::Here;
use super::refusals::too_small;
use crate::signals::STOP;

/// What commits can write at most: some 20,000 per second, each with its row and its log.
const BYTES_PER_S_MAX: u64 = 16 << 20;
/// For the log's new segments, and whatever else the server writes.
const BYTES_MIN: u64 = 256 << 20;
const TIME_MAX: Duration = Duration::from_secs(3);

/// The directory of the log, as seen from here.
pub struct Storage {
    directory: PathBuf,
    plan: Plan,
}

impl Storage {
    /// The log of a server on this host, for a test that is not longer than those of the clients.
    pub fn of(here: &Here, record: &DatabaseRecord, time: Duration) -> Storage {
        Storage { directory: here.log.clone(), plan: plan(record, time) }
    }

    /// The problem with its free space for commits that take this long, if there is one.
    pub fn would_fill(&self, time: Duration) -> Option<Problem> {
        let needed = BYTES_MIN + time.as_secs().saturating_mul(BYTES_PER_S_MAX);
        too_small(&self.directory, needed, "measure for a shorter --time")
    }

    /// Measures; without a result if the user interrupted it.
    ///
    /// # Errors
    /// Why it cannot be measured.
    pub fn measure(&self) -> Result<(Option<Place>, Option<TestResult>), String> {
        let given = self.directory.display().to_string();
        let intent = Intent::of(&self.plan, false);
        let target = Target::open(&SystemRoot::default(), &given, intent)
            .map_err(|error| error.to_string())?;
        let place = target.place().cloned();
        let tests = &self.plan.tests;
        let outcomes = match engine::run(tests, &target, &Options::default(), &STOP, &mut |_| {}) {
            Err(EngineError::Interrupted) => return Ok((place, None)),
            outcomes => outcomes.map_err(|error| error.to_string())?,
        };
        match outcomes.into_iter().next() {
            Some(Outcome::Measured(result)) => Ok((place, Some(*result))),
            Some(Outcome::Skipped(skipped)) => Err(skipped.because),
            None => Ok((place, None)),
        }
    }
}

/// A write of one page of the log, made durable as the server does it.
fn plan(record: &DatabaseRecord, time: Duration) -> Plan {
    let (kib, sync) = log_write(record);
    let (sync, ms) = (sync.name(), time.min(TIME_MAX).as_millis().max(1));
    let text = format!(
        "[[test]]\nname = \"storage: {kib} KiB write + {sync}\"\npattern = \"write\"\nblock = \
         \"{kib}KiB\"\nsync = \"{sync}\"\ndirect = false\nsize = \"16MiB\"\ntime = \
         \"{ms}ms\"\nwarm_up = \"300ms\"\n"
    );
    // The text is made here, and a test reads each form of it.
    Plan::from_toml("db commits", &text).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The size of a page of the log in KiB, and how it is synced. PostgreSQL writes pages of 8 KiB.
/// InnoDB writes whole blocks of the drive, and syncs its log with fdatasync (MariaDB) or fsync
/// (MySQL, unless innodb_use_fdatasync is on).
fn log_write(record: &DatabaseRecord) -> (u32, SyncMethod) {
    match record.product {
        DatabaseProduct::Postgresql => {
            let sync = match record.setting("wal_sync_method") {
                Some("fsync" | "fsync_writethrough") => SyncMethod::Fsync,
                Some("open_datasync") => SyncMethod::ODsync,
                Some("open_sync") => SyncMethod::OSync,
                _ => SyncMethod::Fdatasync,
            };
            (8, sync)
        }
        _ if record.setting("innodb_flush_method") == Some("O_DSYNC") => (4, SyncMethod::ODsync),
        DatabaseProduct::Mariadb => (4, SyncMethod::Fdatasync),
        DatabaseProduct::Mysql => match record.setting("innodb_use_fdatasync") {
            Some("ON") => (4, SyncMethod::Fdatasync),
            _ => (4, SyncMethod::Fsync),
        },
    }
}

#[cfg(test)]
mod tests {
    use measurement::ServerSetting;

    use super::*;

    fn name(product: DatabaseProduct, settings: &[(&str, &str)]) -> String {
        let setting = |(name, value): &(&str, &str)| ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            source: None,
        };
        let settings = settings.iter().map(setting).collect();
        let record = DatabaseRecord { product, version: String::new(), settings };
        let plan = plan(&record, Duration::from_micros(1));
        plan.tests[0].name.clone()
    }

    #[test]
    fn the_log_is_written_as_the_server_writes_it() {
        let of_postgres =
            |method| name(DatabaseProduct::Postgresql, &[("wal_sync_method", method)]);
        assert_eq!(of_postgres("fdatasync"), "storage: 8 KiB write + fdatasync");
        assert_eq!(of_postgres("fsync"), "storage: 8 KiB write + fsync");
        assert_eq!(of_postgres("open_datasync"), "storage: 8 KiB write + o_dsync");
        assert_eq!(of_postgres("open_sync"), "storage: 8 KiB write + o_sync");
        assert_eq!(name(DatabaseProduct::Mariadb, &[]), "storage: 4 KiB write + fdatasync");
        let o_dsync = [("innodb_flush_method", "O_DSYNC")];
        assert_eq!(name(DatabaseProduct::Mariadb, &o_dsync), "storage: 4 KiB write + o_dsync");
        assert_eq!(name(DatabaseProduct::Mysql, &[]), "storage: 4 KiB write + fsync");
        let fdatasync = [("innodb_use_fdatasync", "ON")];
        assert_eq!(name(DatabaseProduct::Mysql, &fdatasync), "storage: 4 KiB write + fdatasync");
    }
}
