//! A database server under `flushmark db commits`.

use measurement::{
    CpuUse, DatabaseProduct, DatabaseRecord, RunDocument, ServerActivity, ServerCpu, TargetKind,
    TargetRecord, TestResult, WorkloadRecord,
};
use workload::SyncMethod;

use crate::watched::activity;
use crate::{document, machine};

/// A PostgreSQL on two processors: 1, 4 and 16 clients, and commits of its storage of 500 µs for a
/// page and 600 µs for 128 KiB.
pub fn server_commits() -> RunDocument {
    let storage = |bytes: u64, us: f64| {
        let mut result = machine::write(SyncMethod::Fdatasync, us, 0.0).result();
        result.workload.block_bytes = bytes;
        result.test = format!("storage: {} KiB write + fdatasync", bytes >> 10);
        result
    };
    let results = vec![
        clients(1, 1600.0, 1.0),
        clients(4, 3700.0, 0.5),
        clients(16, 14_000.0, 0.125),
        storage(8192, 500.0),
        storage(131_072, 600.0),
    ];
    let server = DatabaseRecord {
        product: DatabaseProduct::Postgresql,
        version: "15.18".to_owned(),
        settings: Vec::new(),
    };
    let target =
        TargetRecord::new("postgres://bench@db1/shop", TargetKind::Database).with_database(server);
    RunDocument { suite: "db-commits".to_owned(), target, ..document(results) }
}

/// This many clients in ten seconds. Each commit takes 40 µs of the server's processor time and
/// 12 µs of the clients'.
fn clients(clients: u32, commits_per_s: f64, syncs_per_commit: f64) -> TestResult {
    let commits = commits_per_s * 10.0;
    let commit_us = f64::from(clients) * 1e6 / commits_per_s;
    let mut result = machine::write(SyncMethod::Fdatasync, commit_us, 0.0).result();
    result.test = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    result.commits_per_s = Some(commits_per_s);
    result.workload =
        WorkloadRecord { jobs: clients, depth: 1, block_bytes: 100, ..WorkloadRecord::unknown() };
    result.cpu = CpuUse { user_s: commits * 12e-6, system_s: 0.0 };
    result.server = Some(ServerActivity {
        cpu: Some(ServerCpu { seconds: commits * 40e-6, processors: 2 }),
        ..activity(commits, commits * syncs_per_commit, None)
    });
    result
}
