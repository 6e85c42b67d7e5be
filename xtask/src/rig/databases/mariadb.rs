//! MariaDB, with InnoDB.

use std::path::Path;

use testbed::Certificate;

use super::encrypted::Verification;
use super::machine::Account;
use super::patterns::LogPattern;
use super::session::{Client, expect};
use super::{Database, Durability, LogSize, LogSync, Place, Server, words};

/// MariaDB 10.11, as Debian 12 has it.
pub struct Mariadb;

/// The minimum size of the redo log: recovery may have to read all of it, and the smaller it is,
/// the more cuts fall on checkpoints.
const REDO_LOG: &str = "--innodb-log-file-size=4M";
/// Large enough for comparisons.
pub const USUAL_REDO_LOG: &str = "--innodb-log-file-size=96M";

impl Database for Mariadb {
    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn account(&self) -> Account {
        Account { user: "mysql", group: "mysql" }
    }

    fn without_durability(&self) -> &'static str {
        "innodb_flush_log_at_trx_commit=0"
    }

    fn lay_out(&self, directory: &Path, log: LogSize) -> anyhow::Result<()> {
        let size = match log {
            LogSize::Smallest => REDO_LOG,
            LogSize::Usual => USUAL_REDO_LOG,
        };
        self.account().run(&words![
            "mariadb-install-db",
            "--no-defaults",
            format!("--datadir={}", directory.display()),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            size,
        ])
    }

    fn server(&self, place: &Place, durability: Durability) -> Option<Server> {
        let elsewhere = place.elsewhere.display();
        let flush = match durability {
            Durability::On => "--innodb-flush-log-at-trx-commit=1",
            Durability::Off => "--innodb-flush-log-at-trx-commit=0",
        };
        let mut words = words![
            "mariadbd",
            "--no-defaults",
            format!("--datadir={}", place.data.display()),
            format!("--socket={elsewhere}/mariadb.sock"),
            format!("--pid-file={elsewhere}/mariadb.pid"),
            format!("--tmpdir={elsewhere}"),
            // No other user can reach the socket.
            "--skip-grant-tables",
            "--performance-schema=OFF",
            "--innodb-buffer-pool-size=8M",
            "--innodb-buffer-pool-dump-at-shutdown=OFF",
            "--innodb-buffer-pool-load-at-startup=OFF",
            REDO_LOG,
            flush,
        ]
        .to_vec();
        match place.port {
            Some(port) => {
                words.extend(words!["--bind-address=127.0.0.1", format!("--port={port}")]);
            }
            None => words.push("--skip-networking".to_owned()),
        }
        Some(Server { words, ready: "ready for connections" })
    }

    fn shell(&self, place: &Place) -> Vec<String> {
        words![
            "mariadb",
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--unbuffered",
            format!("--socket={}/mariadb.sock", place.elsewhere.display()),
        ]
        .to_vec()
    }

    fn log_sync(&self) -> Option<LogSync> {
        Some(LogSync { call: "fdatasync", by: &["mariadbd"] })
    }

    fn greeting(&self, _durability: Durability) -> &'static str {
        ""
    }

    fn table(&self) -> &'static str {
        "rig.record"
    }

    fn make_table(&self) -> &'static str {
        "create database rig; create table rig.record (number bigint primary key, content \
         varchar(200) not null) engine=innodb;"
    }

    fn say(&self, word: &str) -> String {
        format!("select '{word}';")
    }

    fn url(&self, place: &Place) -> Option<String> {
        let socket = place.elsewhere.join("mariadb.sock").display().to_string();
        Some(format!("mysql://root@{}/", socket.replace('/', "%2F")))
    }

    fn encrypting(&self, Certificate { certificate, key, .. }: &Certificate) -> Vec<String> {
        words![
            format!("--ssl-cert={}", certificate.display()),
            format!("--ssl-key={}", key.display())
        ]
        .to_vec()
    }

    fn url_over_tls(
        &self,
        place: &Place,
        host: &str,
        verification: Verification,
        authority: &Path,
    ) -> Option<String> {
        let port = place.port?;
        let verified = format!("&ssl-ca={}", authority.display());
        let query = match verification {
            Verification::Nothing => "REQUIRED".to_owned(),
            Verification::Authority => format!("VERIFY_CA{verified}"),
            Verification::Name => format!("VERIFY_IDENTITY{verified}"),
        };
        Some(format!("mysql://root@{host}:{port}/?ssl-mode={query}"))
    }

    fn schemas(&self) -> &'static str {
        "select schema_name from information_schema.schemata where schema_name like \
         'flushmark\\_%' order by 1;"
    }

    fn drop_schema(&self, name: &str) -> String {
        format!("drop database {name};")
    }

    fn more_statistics(&self) -> &'static [&'static str] {
        &["--performance-schema=ON", "--performance-schema-instrument=wait/io/file/%=ON"]
    }

    fn make_watcher(&self) -> &'static str {
        // Users exist from here on, and the shell's is that of the system.
        "flush privileges; create user watcher@localhost; create user if not exists \
         mysql@localhost; grant all on *.* to mysql@localhost;"
    }

    fn grant_watcher(&self) -> &'static str {
        "grant select on performance_schema.* to watcher@localhost;"
    }

    fn give_password(&self, _place: &Place, password: &str) -> anyhow::Result<String> {
        Ok(format!("alter user watcher@localhost identified by '{password}';"))
    }

    fn as_primary(&self) -> &'static [&'static str] {
        &[]
    }

    fn as_old_release(&self) -> &'static [&'static str] {
        &["--version=10.4.34-MariaDB"]
    }

    fn make_replica(&self, _place: &Place) -> anyhow::Result<&'static [&'static str]> {
        Ok(&["--read-only"])
    }

    fn log_pattern(&self) -> Option<LogPattern> {
        let arguments =
            &["--innodb-use-native-aio=0", "--innodb-buffer-pool-size=64M", USUAL_REDO_LOG];
        Some(LogPattern { files: "/ib_logfile", test: "innodb-redo", arguments })
    }

    fn page_flushing(&self) -> &'static [(&'static str, bool)] {
        &[
            ("--innodb-flush-method=O_DIRECT", true),
            ("--innodb-flush-method=O_DIRECT_NO_FSYNC", false),
        ]
    }

    fn reset_statistics(&self) -> &'static str {
        "flush status; truncate table performance_schema.file_summary_by_event_name;"
    }

    fn check(&self, _place: &Place, client: &mut Client) -> anyhow::Result<()> {
        let printed = client.ask("check table rig.record extended;")?;
        expect("check table", &printed, |line| line.ends_with("\tOK"))
    }
}
