//! SQLite: which calls a transaction makes.
//!
//! "Atomic Commit In SQLite" (sqlite.org/atomiccommit.html), sections 3.7 and 3.10: with a rollback
//! journal and `synchronous=FULL`, the journal's content is flushed, then its header, then the
//! database. The journal is a new file for each transaction, so its directory is flushed with it.
//! `PRAGMA synchronous` (sqlite.org/pragma.html): with a write-ahead log, FULL flushes the log after
//! each transaction.

use crate::common::{LoopDevice, needs_mkfs, needs_program, system};
use crate::tracing::{
    assert_explained, commits_by, count, on_demand, trace_of, tracer, write_back,
};

const TRANSACTIONS: u64 = 100;

#[test]
fn transactions_of_sqlite() {
    let test = "transactions_of_sqlite";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "ext4") || !needs_program(test, "sqlite3", "sqlite3") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    system("mkfs.ext4", &["-q", "-F", &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    for (mode, flushes) in [("delete", 4), ("wal", 1)] {
        let path = |name: &str| mount.path.join(format!("{mode}.{name}"));
        let (database, script) = (path("db"), path("sql"));
        let database = database.to_str().unwrap();
        let prepare =
            format!("pragma journal_mode = {mode}; create table record (number integer);");
        system("sqlite3", &["-batch", database, &prepare]).unwrap();
        let insert = |number| format!("insert into record values ({number});\n");
        let inserts: String = (0..TRANSACTIONS).map(insert).collect();
        std::fs::write(&script, format!("pragma synchronous = full;\n{inserts}")).unwrap();
        write_back(&mount);
        let read = format!(".read {}", script.display());
        let trace = trace_of(&["sqlite3", "-batch", "-bail", database, &read]);
        assert_eq!(trace["anatomies"].as_array().unwrap().len(), 1, "{trace:#}");
        let anatomy = commits_by(&trace, "fdatasync", device.name());
        assert_explained(&trace, anatomy);
        // The log is created, and at the end copied to the database and removed.
        let once = 0..=if mode == "wal" { 8 } else { 0 };
        let extra = count(anatomy).checked_sub(flushes * TRANSACTIONS);
        assert!(extra.is_some_and(|extra| once.contains(&extra)), "{mode}: {trace:#}");
    }
}
