//! Commits of the storage alone, where the server's log is, if the server runs on this host.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use database::{Facts, LogPlace, Problem};
use drive::{Place, SystemRoot};
use engine::{EngineError, Intent, Options, Target};
use measurement::{DatabaseProduct, DatabaseRecord, Outcome, TestResult};
use workload::number::about_bytes;
use workload::{Plan, SyncMethod};

use crate::keeping::host_name;
use crate::signals::STOP;

/// Seconds between the start that a server reports and the one in its file.
const STARTED_DIFFERENCE_MAX_S: u64 = 2;
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
    /// Finds it, for a test that is not longer than those of the clients.
    ///
    /// # Errors
    /// Why commits of the storage cannot be measured.
    pub fn of(facts: &Facts, time: Duration) -> Result<Storage, String> {
        let log = facts.log.as_ref().map_err(Clone::clone)?;
        is_here(log)?;
        let directory = fs::canonicalize(&log.directory)
            .map_err(|error| format!("{}: {error}", log.directory.display()))?;
        Ok(Storage { directory, plan: plan(&facts.record, time) })
    }

    /// The problem with its free space for commits that take this long, if there is one.
    pub fn would_fill(&self, time: Duration) -> Option<Problem> {
        let place = Place::of(&SystemRoot::default(), &self.directory).ok()?;
        let free = place.space?.available_bytes;
        let needed = BYTES_MIN + time.as_secs().saturating_mul(BYTES_PER_S_MAX);
        (free < needed).then(|| Problem::WouldFill {
            directory: self.directory.display().to_string(),
            free: about_bytes(free),
            needed: about_bytes(needed),
        })
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

/// Checks that the log in this place is that of the server: another host, or a container, may have
/// a directory of the same name.
fn is_here(log: &LogPlace) -> Result<(), String> {
    if let (Some(host), Some(own)) = (&log.host, host_name())
        && *host != own
    {
        return Err(format!("the server runs on the host {}", unseen::escaped(host)));
    }
    let shown = log.pid_file.display();
    let text = fs::read_to_string(&log.pid_file).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("this user may not read {shown}; run flushmark as root or as the server's user")
        }
        ErrorKind::NotFound => format!(
            "{shown} does not exist here: the server runs on another host or in a container"
        ),
        _ => format!("{shown}: {error}"),
    })?;
    is_running(&text, log.started_s)
        .then_some(())
        .ok_or_else(|| format!("{shown} is not that of the server, which runs somewhere else"))
}

/// The file has the server's process ID in its first line; PostgreSQL's has the time of its start in
/// the third.
fn is_running(pid_file: &str, started_s: Option<u64>) -> bool {
    let mut lines = pid_file.lines();
    let pid = lines.next().and_then(|line| line.trim().parse::<u32>().ok());
    let is_alive = pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists());
    let started_here = lines.nth(1).and_then(|line| line.trim().parse::<u64>().ok());
    let is_same = started_s.is_none_or(|started| {
        started_here.is_some_and(|here| here.abs_diff(started) <= STARTED_DIFFERENCE_MAX_S)
    });
    is_alive && is_same
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

    #[test]
    fn another_servers_file() {
        let own = std::process::id();
        let file = format!("{own}\n/data\n1764190000\n5432\n");
        assert!(is_running(&file, Some(1_764_190_001)) && is_running(&format!("{own}\n"), None));
        assert!(!is_running(&file, Some(1_764_190_900)), "started at another time");
        assert!(!is_running("0\n/data\n1764190000\n", Some(1_764_190_000)), "no such process");
        assert!(!is_running("", None) && !is_running(&format!("{own}\n"), Some(1)));
    }
}
