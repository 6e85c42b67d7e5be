//! PostgreSQL.

use std::path::Path;

use testbed::Certificate;

use super::encrypted::Verification;
use super::machine::Account;
use super::patterns::LogPattern;
use super::session::Client;
use super::{Database, Durability, LogSize, LogSync, Place, Server, words};

/// PostgreSQL 15, as Debian 12 has it.
pub struct Postgres;

/// Debian's directory of the programs of this version.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const ADMINISTRATOR: &str = "postgres";
/// The usual port, which also names the socket.
const PORT: u16 = 5432;

/// Small, so recovery has little to read, and with a checkpoint every few hundred transactions, so
/// cuts fall on those, too.
const SETTINGS: [&str; 16] = [
    "listen_addresses=",
    "autovacuum=off",
    "max_connections=8",
    "shared_buffers=1MB",
    "min_wal_size=2MB",
    "max_wal_size=4MB",
    "huge_pages=off",
    // In the PID namespace, so that it ends with it.
    "dynamic_shared_memory_type=sysv",
    // One sync of the filesystem instead of one for each of a thousand files.
    "recovery_init_sync_method=syncfs",
    // Do not retry after a failed write.
    "restart_after_crash=off",
    "logging_collector=off",
    "log_statement=none",
    "max_wal_senders=0",
    "wal_level=minimal",
    "full_page_writes=on",
    "synchronous_commit=on",
];

impl Database for Postgres {
    fn name(&self) -> &'static str {
        "postgresql"
    }

    fn account(&self) -> Account {
        Account { user: "postgres", group: "postgres" }
    }

    fn without_durability(&self) -> &'static str {
        "fsync=off"
    }

    fn lay_out(&self, directory: &Path, log: LogSize) -> anyhow::Result<()> {
        let initdb = format!("{PROGRAMS}/initdb");
        let user = format!("--username={ADMINISTRATOR}");
        let segment = match log {
            LogSize::Smallest => "--wal-segsize=1",
            LogSize::Usual => "--wal-segsize=16",
        };
        self.account().run(&words![
            initdb,
            "--pgdata",
            directory.display(),
            user,
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
            "--data-checksums",
            segment,
        ])
    }

    fn server(&self, place: &Place, durability: Durability) -> Option<Server> {
        let mut words = words![format!("{PROGRAMS}/postgres"), "-D", place.data.display()].to_vec();
        let fsync = match durability {
            Durability::On => "fsync=on",
            Durability::Off => "fsync=off",
        };
        let sockets = format!("unix_socket_directories={}", place.elsewhere.display());
        for setting in SETTINGS.into_iter().chain([fsync, &sockets]) {
            words.extend(["-c".to_owned(), setting.to_owned()]);
        }
        if let Some(port) = place.port {
            words.extend(words!["-c", "listen_addresses=127.0.0.1", "-c", format!("port={port}")]);
        }
        Some(Server { words, ready: "database system is ready to accept" })
    }

    fn shell(&self, place: &Place) -> Vec<String> {
        words![
            format!("{PROGRAMS}/psql"),
            "--no-psqlrc",
            "--quiet",
            "--no-align",
            "--tuples-only",
            "--field-separator=\t",
            "--set=ON_ERROR_STOP=1",
            "--host",
            place.elsewhere.display(),
            "--port",
            place.port.unwrap_or(PORT),
            "--username",
            ADMINISTRATOR,
            "postgres",
        ]
        .to_vec()
    }

    fn log_sync(&self) -> Option<LogSync> {
        // The process of a client, or the one that writes the log for all of them.
        Some(LogSync { call: "fdatasync", by: &["[local]", "walwriter"] })
    }

    fn greeting(&self, _durability: Durability) -> &'static str {
        ""
    }

    fn table(&self) -> &'static str {
        "record"
    }

    fn make_table(&self) -> &'static str {
        // Including what pg_amcheck needs.
        "create extension amcheck; create table record (number bigint primary key, content text \
         not null);"
    }

    fn say(&self, word: &str) -> String {
        format!("\\echo {word}")
    }

    fn url(&self, place: &Place) -> Option<String> {
        let directory = place.elsewhere.display().to_string().replace('/', "%2F");
        Some(format!("postgres://{ADMINISTRATOR}@{directory}/postgres"))
    }

    fn encrypting(&self, Certificate { certificate, key, .. }: &Certificate) -> Vec<String> {
        let settings = [
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", certificate.display()),
            format!("ssl_key_file={}", key.display()),
        ];
        settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
    }

    fn url_over_tls(
        &self,
        place: &Place,
        host: &str,
        verification: Verification,
        authority: &Path,
    ) -> Option<String> {
        let port = place.port?;
        let verified = format!("&sslrootcert={}", authority.display());
        let query = match verification {
            Verification::Nothing => "require".to_owned(),
            Verification::Authority => format!("verify-ca{verified}"),
            Verification::Name => format!("verify-full{verified}"),
        };
        Some(format!("postgres://{ADMINISTRATOR}@{host}:{port}/postgres?sslmode={query}"))
    }

    fn schemas(&self) -> &'static str {
        "select nspname from pg_namespace where nspname like 'flushmark\\_%' order by 1;"
    }

    fn drop_schema(&self, name: &str) -> String {
        format!("drop schema {name} cascade;")
    }

    fn more_statistics(&self) -> &'static [&'static str] {
        &["-c", "track_wal_io_timing=on"]
    }

    fn make_watcher(&self) -> &'static str {
        "create role watcher login;"
    }

    fn grant_watcher(&self) -> &'static str {
        "grant pg_monitor to watcher;"
    }

    fn give_password(&self, place: &Place, password: &str) -> anyhow::Result<String> {
        let rules = place.data.join("pg_hba.conf");
        let all_are_trusted = std::fs::read_to_string(&rules)?;
        std::fs::write(&rules, format!("local all watcher scram-sha-256\n{all_are_trusted}"))?;
        Ok(format!(
            "alter role watcher password '{password}'; do $$ begin perform pg_reload_conf(); end $$;"
        ))
    }

    fn as_primary(&self) -> &'static [&'static str] {
        &["-c", "wal_level=replica"]
    }

    fn as_old_release(&self) -> &'static [&'static str] {
        &[]
    }

    fn make_replica(&self, place: &Place) -> anyhow::Result<&'static [&'static str]> {
        std::fs::write(place.data.join("standby.signal"), "")?;
        Ok(&["-c", "wal_level=replica", "-c", "restore_command=false"])
    }

    fn log_pattern(&self) -> Option<LogPattern> {
        // Without the images of pages that are changed for the first time.
        let arguments = &["-c", "full_page_writes=off", "-c", "max_wal_size=1GB"];
        Some(LogPattern { files: "/pg_wal/", test: "postgres-wal", arguments })
    }

    fn page_flushing(&self) -> &'static [(&'static str, bool)] {
        &[]
    }

    fn reset_statistics(&self) -> &'static str {
        "do $$ begin perform pg_stat_reset_shared('wal'); end $$;"
    }

    fn check(&self, place: &Place, _client: &mut Client) -> anyhow::Result<()> {
        // Every table and every index, including the system's.
        self.account().run(&words![
            format!("{PROGRAMS}/pg_amcheck"),
            "--heapallindexed",
            "--host",
            place.elsewhere.display(),
            "--username",
            ADMINISTRATOR,
            "postgres",
        ])
    }
}
