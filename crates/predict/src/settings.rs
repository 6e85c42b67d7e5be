//! Settings of a server with other values than when it was measured.

use measurement::{DatabaseProduct, DatabaseRecord, ServerSetting};

use crate::document::ChangedSetting;
use crate::log_write::LogWrite;

/// Settings whose effect on commits is known, with their values.
const POSTGRESQL: [(&str, &[&str]); 3] = [
    ("wal_sync_method", &["fdatasync", "fsync", "open_datasync", "open_sync"]),
    ("synchronous_commit", &["on", "local", "off"]),
    ("fsync", &["on", "off"]),
];
const MARIADB: [(&str, &[&str]); 3] = [
    ("innodb_flush_log_at_trx_commit", &["0", "1", "2", "3"]),
    ("sync_binlog", &["0", "1"]),
    ("innodb_flush_method", &["fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC"]),
];
const MYSQL: [(&str, &[&str]); 4] = [
    ("innodb_flush_log_at_trx_commit", &["0", "1", "2"]),
    ("sync_binlog", &["0", "1"]),
    ("innodb_flush_method", &["fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC"]),
    ("innodb_use_fdatasync", &["ON", "OFF"]),
];

/// A setting that a prediction cannot take into account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    #[error("`{0}` is not a setting with its value; expected NAME=VALUE, such as {1}")]
    Form(String, &'static str),
    #[error(
        "the effect of `{name}` on the commits of {server} is not known; expected one of {}",
        known.join(", ")
    )]
    Unknown { name: String, server: &'static str, known: Vec<&'static str> },
    #[error("`{value}` is not a value of {name} that can be predicted; expected {}", values.join(", "))]
    Value { name: &'static str, value: String, values: &'static [&'static str] },
}

/// A server's settings with some of them changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The server as it would be.
    server: DatabaseRecord,
    pub changed: Vec<ChangedSetting>,
}

impl Settings {
    /// Parses `NAME=VALUE` for each change.
    pub fn changed(measured: &DatabaseRecord, given: &[String]) -> Result<Settings, BadSetting> {
        let known: &[(&str, &[&str])] = match measured.product {
            DatabaseProduct::Postgresql => &POSTGRESQL,
            DatabaseProduct::Mariadb => &MARIADB,
            DatabaseProduct::Mysql => &MYSQL,
        };
        let mut settings = Settings { server: measured.clone(), changed: Vec::new() };
        for given in given {
            let example = match measured.product {
                DatabaseProduct::Postgresql => "wal_sync_method=open_datasync",
                _ => "sync_binlog=1",
            };
            let (name, value) =
                given.split_once('=').ok_or_else(|| BadSetting::Form(given.clone(), example))?;
            let (name, values) =
                known.iter().find(|(known, _)| *known == name).ok_or_else(|| {
                    BadSetting::Unknown {
                        name: name.to_owned(),
                        server: measured.product.label(),
                        known: known.iter().map(|(name, _)| *name).collect(),
                    }
                })?;
            let value = values
                .iter()
                .find(|known| known.eq_ignore_ascii_case(value))
                .ok_or_else(|| BadSetting::Value { name, value: value.to_owned(), values })?;
            settings.set(name, value);
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) {
        let from = self.server.setting(name).map(str::to_owned);
        self.server.settings.retain(|setting| setting.name != name);
        let (name, to) = (name.to_owned(), value.to_owned());
        let setting = ServerSetting { name: name.clone(), value: to.clone(), source: None };
        self.server.settings.push(setting);
        self.changed.push(ChangedSetting { name, from, to });
    }

    pub fn log_write(&self) -> LogWrite {
        LogWrite::of(&self.server)
    }

    pub(crate) fn are_durable(&self) -> bool {
        self.server.lossy_setting().is_none()
    }

    /// Returns whether InnoDB syncs tables and the copies of their pages.
    pub(crate) fn syncs_tables(&self) -> bool {
        syncs_tables(&self.server)
    }
}

pub(crate) fn syncs_tables(server: &DatabaseRecord) -> bool {
    server.setting("innodb_flush_method") != Some("O_DIRECT_NO_FSYNC")
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod;

    use super::*;

    fn server(product: DatabaseProduct) -> DatabaseRecord {
        DatabaseRecord { product, version: String::new(), settings: Vec::new() }
    }

    fn changed(product: DatabaseProduct, given: &[&str]) -> Result<Settings, BadSetting> {
        let given: Vec<String> = given.iter().map(|given| (*given).to_owned()).collect();
        Settings::changed(&server(product), &given)
    }

    #[test]
    fn changes_decide_how_the_log_is_written() {
        let settings =
            changed(DatabaseProduct::Postgresql, &["wal_sync_method=open_datasync"]).unwrap();
        assert_eq!(settings.log_write().sync, SyncMethod::ODsync);
        assert_eq!(settings.changed[0].to, "open_datasync");
        let twice = ["innodb_flush_log_at_trx_commit=2", "innodb_flush_method=o_direct_no_fsync"];
        let settings = changed(DatabaseProduct::Mariadb, &twice).unwrap();
        assert_eq!((settings.log_write().serial_syncs, settings.syncs_tables()), (0, false));
        assert!(changed(DatabaseProduct::Mysql, &[]).unwrap().syncs_tables());
    }

    #[test]
    fn refusals() {
        let refusal =
            |given: &str| changed(DatabaseProduct::Postgresql, &[given]).unwrap_err().to_string();
        insta::assert_snapshot!(refusal("fsync"), @"`fsync` is not a setting with its value; expected NAME=VALUE, such as wal_sync_method=open_datasync");
        insta::assert_snapshot!(refusal("shared_buffers=1GB"), @"the effect of `shared_buffers` on the commits of PostgreSQL is not known; expected one of wal_sync_method, synchronous_commit, fsync");
        insta::assert_snapshot!(refusal("wal_sync_method=fsync_writethrough"), @"`fsync_writethrough` is not a value of wal_sync_method that can be predicted; expected fdatasync, fsync, open_datasync, open_sync");
    }
}
