//! Database servers that were watched.

use measurement::{
    CpuUse, DeviceCounts, Ended, FileActivity, ServerActivity, ServerCount, ServerFile,
    ServerSyncs, ServerWrites, TestResult,
};

/// A server with eight active clients that made this many commits in ten seconds, with this many
/// syncs of its log.
pub fn activity(commits: f64, log_syncs: f64, total_ms: Option<f64>) -> ServerActivity {
    let number = |name: &str| ServerCount::counted(log_syncs, name);
    let syncs = ServerSyncs {
        highest_mean_us: Some(12_500.0),
        ..ServerSyncs::timed(number("wal_sync"), total_ms)
    };
    let writes = ServerWrites { number: number("wal_write"), bytes: Some(8192.0 * log_syncs) };
    ServerActivity {
        elapsed_s: 10.0,
        commits: Some(ServerCount::counted(commits, "transaction IDs")),
        groups: Some(number("wal_sync")),
        active_clients: Some(8.0),
        files: vec![FileActivity {
            file: ServerFile::Log,
            syncs: Some(syncs),
            writes: Some(writes),
        }],
        ..ServerActivity::default()
    }
}

/// The result of a watched server, whose drive counted this many flushes of 2 ms each.
pub fn watched(activity: ServerActivity, flushes: u64) -> TestResult {
    let seen = DeviceCounts {
        reads: 0,
        writes: 2 * flushes,
        writes_merged: Some(0),
        bytes_written: 8192 * flushes,
        flushes: Some(flushes),
        flush_ns: Some(flushes * 2_000_000),
        medium_bytes_written: None,
    };
    let cpu = CpuUse { user_s: 0.1, system_s: 0.1 };
    TestResult::watched("postgresql", activity, Some(&seen), cpu, Ended::Limit, Vec::new())
}
