//! The same checks of a store on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checks;
use checks::{CHECKS, Place};
use postgresql::Server;
use store::Location;

#[test]
fn on_sqlite() {
    for (name, check) in CHECKS {
        eprintln!("{name}");
        let directory = tempfile::tempdir().unwrap();
        let path = |store: &str| Location::Sqlite(directory.path().join(format!("{store}.db")));
        check(&Place { here: path("here"), elsewhere: path("elsewhere") });
    }
}

#[test]
fn on_postgresql() {
    let Some(server) = Server::start("on_postgresql") else { return };
    for (number, (name, check)) in CHECKS.into_iter().enumerate() {
        eprintln!("{name}");
        let database =
            |store: &str| Location::Postgres(server.database(&format!("{store}_{number}")));
        check(&Place { here: database("here"), elsewhere: database("elsewhere") });
    }
}
