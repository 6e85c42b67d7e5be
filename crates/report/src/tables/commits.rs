//! The commits per second of each program.

use measurement::TestResult;
use workload::number::{latency, number};

use super::{flushes_each, per_second};
use crate::columns::{Column, Columns};
use crate::look::Look;

/// etcd's own limit for the 99th percentile of a sync of its log (etcd FAQ,
/// `wal_fsync_duration_seconds`).
const ETCD_SYNC_P99_US: f64 = 10_000.0;

/// Program, commits per second, latency of a commit and of its syncs, flushes per commit.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let table = Columns::<TestResult>::new()
        .with(Column::prose("program"), |result| result.test.clone())
        .with(Column::right("commits/s"), |result| number(per_second(result)))
        .with(Column::right("p50"), |result| result.commit_us.map(|us| latency(us.p50)))
        .with(Column::right("p99"), |result| result.commit_us.map(|us| latency(us.p99)))
        .with(Column::right("sync p99").may_drop(2).optional(), |result| {
            result.sync_us.map(|us| latency(us.p99))
        })
        .with(Column::right("flushes each").may_drop(1).optional(), flushes_each)
        .of(results, look);
    let mut verdicts = String::new();
    for result in results {
        if let (true, Some(sync)) = (result.test.starts_with("etcd"), result.sync_us) {
            let verdict = if sync.p99 < ETCD_SYNC_P99_US { "within" } else { "above" };
            verdicts += &format!(
                "  etcd requires a sync p99 below 10 ms: {} is {verdict} that.\n",
                latency(sync.p99)
            );
        }
    }
    table + &verdicts
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn programs() {
        insta::assert_snapshot!(table(&samples::suite("commits", 15.0, 1700.0), &Look::plain()), @"
        program                    commits/s      p50      p99  sync p99  flushes each
        postgres-wal                     581  1.72 ms  1.79 ms   1.77 ms          1.00
        innodb, O_DIRECT                 106   9.4 ms  9.77 ms   1.77 ms          1.00
        innodb, O_DIRECT_NO_FSYNC        106   9.4 ms  9.77 ms   1.77 ms          1.00
        sqlite-wal                       583  1.72 ms  1.78 ms   1.77 ms          1.00
        sqlite-delete                    575  1.74 ms  1.81 ms   1.77 ms          1.00
        rocksdb-wal                      586  1.71 ms  1.78 ms   1.77 ms          1.00
        etcd                             584  1.71 ms  1.78 ms   1.77 ms          1.00
        ceph-bluestore                   578  1.73 ms   1.8 ms   1.77 ms          1.00
        zfs-zil, 4 KiB                   583  1.72 ms  1.78 ms   1.77 ms          1.00
        zfs-zil, 12 KiB                  578  1.73 ms   1.8 ms   1.77 ms          1.00
        zfs-zil, 36 KiB                  563  1.78 ms  1.85 ms   1.77 ms          1.00
        zfs-zil, 68 KiB                  545  1.84 ms  1.91 ms   1.77 ms          1.00
        zfs-zil, 128 KiB                 513  1.95 ms  2.03 ms   1.77 ms          1.00
        etcd requires a sync p99 below 10 ms: 1.77 ms is within that.
        ");
    }
}
