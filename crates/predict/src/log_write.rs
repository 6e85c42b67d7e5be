//! The write and sync with which a server makes its log durable, by its settings.

use measurement::{DatabaseProduct, DatabaseRecord};
use workload::SyncMethod;

/// Bytes that the kernel writes for a small change to a file.
const PAGE_OF_CACHE: u64 = 4096;

/// A write to the log that makes commits durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogWrite {
    /// The smallest write to the log.
    pub page_bytes: u64,
    pub sync: SyncMethod,
    /// The page cache is bypassed.
    pub direct: bool,
    /// Syncs that a commit waits for, one after the other; 0 if it is not durable.
    pub serial_syncs: u32,
}

impl LogWrite {
    /// PostgreSQL writes pages of 8 KiB. InnoDB syncs its log with fdatasync (MariaDB) or fsync
    /// (MySQL, unless innodb_use_fdatasync is on). MariaDB bypasses the page cache where it knows
    /// the size of the drive's blocks, and writes whole blocks.
    pub fn of(server: &DatabaseRecord) -> LogWrite {
        let is = |name: &str, value: &str| {
            server.setting(name).is_some_and(|other| other.eq_ignore_ascii_case(value))
        };
        if server.product == DatabaseProduct::Postgresql {
            let (sync, direct) = match server.setting("wal_sync_method") {
                Some("fsync" | "fsync_writethrough") => (SyncMethod::Fsync, false),
                Some("open_datasync") => (SyncMethod::ODsync, false),
                Some("open_sync") => (SyncMethod::OSync, false),
                _ => (SyncMethod::Fdatasync, false),
            };
            let is_durable = !is("fsync", "off") && !is("synchronous_commit", "off");
            return LogWrite {
                page_bytes: 8192,
                sync,
                direct,
                serial_syncs: u32::from(is_durable),
            };
        }
        let sync = match server.product {
            _ if is("innodb_flush_method", "O_DSYNC") => SyncMethod::ODsync,
            DatabaseProduct::Mysql if !is("innodb_use_fdatasync", "ON") => SyncMethod::Fsync,
            _ => SyncMethod::Fdatasync,
        };
        let of_log = server.syncs_redo_log();
        let of_binary_log = server.has_binary_log() && is("sync_binlog", "1");
        let direct = is("innodb_log_file_buffering", "OFF");
        let block = server.setting("innodb_log_write_ahead_size").filter(|_| direct);
        LogWrite {
            page_bytes: block.and_then(|size| size.parse().ok()).unwrap_or(PAGE_OF_CACHE),
            sync,
            direct,
            serial_syncs: u32::from(of_log) + u32::from(of_binary_log),
        }
    }
}

#[cfg(test)]
mod tests {
    use measurement::ServerSetting;

    use super::*;

    fn log_write(product: DatabaseProduct, settings: &[(&str, &str)]) -> LogWrite {
        let setting = |(name, value): &(&str, &str)| ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            source: None,
        };
        let settings = settings.iter().map(setting).collect();
        LogWrite::of(&DatabaseRecord { product, version: String::new(), settings })
    }

    #[test]
    fn the_log_is_written_as_the_server_writes_it() {
        let of_postgres =
            |method| log_write(DatabaseProduct::Postgresql, &[("wal_sync_method", method)]).sync;
        assert_eq!(of_postgres("fdatasync"), SyncMethod::Fdatasync);
        assert_eq!(of_postgres("fsync"), SyncMethod::Fsync);
        assert_eq!(of_postgres("open_datasync"), SyncMethod::ODsync);
        assert_eq!(of_postgres("open_sync"), SyncMethod::OSync);
        let of_mariadb = |settings: &[_]| log_write(DatabaseProduct::Mariadb, settings);
        assert_eq!(of_mariadb(&[]).sync, SyncMethod::Fdatasync);
        assert_eq!(of_mariadb(&[("innodb_flush_method", "O_DSYNC")]).sync, SyncMethod::ODsync);
        let direct = [("innodb_log_file_buffering", "OFF"), ("innodb_log_write_ahead_size", "512")];
        let direct = of_mariadb(&direct);
        assert_eq!(
            (direct.direct, direct.page_bytes, of_mariadb(&[]).page_bytes),
            (true, 512, 4096)
        );
        let of_mysql = |settings: &[_]| log_write(DatabaseProduct::Mysql, settings).sync;
        assert_eq!(of_mysql(&[]), SyncMethod::Fsync);
        assert_eq!(of_mysql(&[("innodb_use_fdatasync", "ON")]), SyncMethod::Fdatasync);
    }

    #[test]
    fn syncs_that_a_commit_waits_for() {
        let of_postgres =
            |settings: &[_]| log_write(DatabaseProduct::Postgresql, settings).serial_syncs;
        assert_eq!(of_postgres(&[]), 1);
        assert_eq!(of_postgres(&[("synchronous_commit", "off")]), 0);
        assert_eq!(of_postgres(&[("fsync", "off")]), 0);
        let of_mariadb =
            |settings: &[_]| log_write(DatabaseProduct::Mariadb, settings).serial_syncs;
        let with_binary_log = [("log_bin", "ON"), ("sync_binlog", "1")];
        assert_eq!((of_mariadb(&[]), of_mariadb(&with_binary_log)), (1, 2));
        assert_eq!(of_mariadb(&[("innodb_flush_log_at_trx_commit", "2")]), 0);
    }
}
