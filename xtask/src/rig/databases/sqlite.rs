//! SQLite: the shell is the database.

use std::path::Path;

use testbed::Certificate;

use super::encrypted::Verification;
use super::machine::Account;
use super::patterns::LogPattern;
use super::session::{Client, expect};
use super::{Database, Durability, LogSize, LogSync, Place, Server, words};

/// SQLite, with a write-ahead log.
pub struct Sqlite;

impl Database for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn account(&self) -> Account {
        Account { user: "nobody", group: "nogroup" }
    }

    fn without_durability(&self) -> &'static str {
        "synchronous=OFF"
    }

    fn lay_out(&self, _directory: &Path, _log: LogSize) -> anyhow::Result<()> {
        // The shell creates the file.
        Ok(())
    }

    fn server(&self, _place: &Place, _durability: Durability) -> Option<Server> {
        None
    }

    fn shell(&self, place: &Place) -> Vec<String> {
        words![
            "sqlite3",
            "-batch",
            "-bail",
            "-separator",
            "\t",
            place.data.join("rig.db").display()
        ]
        .to_vec()
    }

    // It serves one client at a time, and has no transactions that could share a sync.
    fn log_sync(&self) -> Option<LogSync> {
        None
    }

    // With a rollback journal, FULL leaves an intact database after a power cut that may lack its
    // last transaction: only EXTRA syncs the directory from which the journal was removed. With a
    // write-ahead log FULL is enough.
    fn greeting(&self, durability: Durability) -> &'static str {
        match durability {
            Durability::On => "pragma journal_mode = wal; pragma synchronous = FULL;",
            Durability::Off => "pragma journal_mode = wal; pragma synchronous = OFF;",
        }
    }

    fn table(&self) -> &'static str {
        "record"
    }

    fn make_table(&self) -> &'static str {
        "create table record (number integer primary key, content text not null);"
    }

    fn say(&self, word: &str) -> String {
        format!(".print {word}")
    }

    fn url(&self, _place: &Place) -> Option<String> {
        None
    }

    fn encrypting(&self, _certificate: &Certificate) -> Vec<String> {
        Vec::new()
    }

    fn url_over_tls(
        &self,
        _place: &Place,
        _host: &str,
        _verification: Verification,
        _authority: &Path,
    ) -> Option<String> {
        None
    }

    fn schemas(&self) -> &'static str {
        ""
    }

    fn drop_schema(&self, _name: &str) -> String {
        String::new()
    }

    fn more_statistics(&self) -> &'static [&'static str] {
        &[]
    }

    fn make_watcher(&self) -> &'static str {
        ""
    }

    fn grant_watcher(&self) -> &'static str {
        ""
    }

    fn give_password(&self, _place: &Place, _password: &str) -> anyhow::Result<String> {
        Ok(String::new())
    }

    fn as_primary(&self) -> &'static [&'static str] {
        &[]
    }

    fn as_old_release(&self) -> &'static [&'static str] {
        &[]
    }

    fn make_replica(&self, _place: &Place) -> anyhow::Result<&'static [&'static str]> {
        Ok(&[])
    }

    fn log_pattern(&self) -> Option<LogPattern> {
        None
    }

    fn page_flushing(&self) -> &'static [(&'static str, bool)] {
        &[]
    }

    fn reset_statistics(&self) -> &'static str {
        ""
    }

    fn check(&self, _place: &Place, client: &mut Client) -> anyhow::Result<()> {
        expect("pragma integrity_check", &client.ask("pragma integrity_check;")?, |line| {
            line == "ok"
        })
    }
}
