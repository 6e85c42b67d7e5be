//! The commits per second of each program.

use judge::ETCD_P99_US;
use measurement::TestResult;
use workload::number::{latency, number};

use super::{flushes_each, per_second};
use crate::columns::{Column, Columns};
use crate::look::Look;

/// Program, commits per second, latency of a commit and of its syncs, syncs per write, flushes per
/// commit.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let table = Columns::<TestResult>::new()
        .with(Column::prose("program"), |result| result.test.clone())
        .with(Column::right("commits/s"), |result| number(per_second(result)))
        .with(Column::right("p50"), |result| result.commit_us.map(|us| latency(us.p50)))
        .with(Column::right("p99"), |result| result.commit_us.map(|us| latency(us.p99)))
        .with(Column::right("sync p99").may_drop(2).optional(), |result| {
            result.sync_us.map(|us| latency(us.p99))
        })
        .with(Column::right("syncs/write").may_drop(3).optional(), syncs_per_write)
        .with(Column::right("flushes each").may_drop(1).optional(), flushes_each)
        .of(results, look);
    let mut verdicts = String::new();
    for result in results {
        if let Some(words) = etcd_verdict(result) {
            verdicts += &look.hanging("  ", &words);
        }
    }
    table + &verdicts
}

/// Whether etcd's limit is met, in a sentence; `None` for other programs.
pub fn etcd_verdict(result: &TestResult) -> Option<String> {
    let sync = result.sync_us.filter(|_| result.test.starts_with("etcd"))?;
    let verdict = if sync.p99 <= ETCD_P99_US { "within" } else { "above" };
    Some(format!(
        "etcd requires a sync p99 of at most {}: {} is {verdict} that.",
        latency(ETCD_P99_US),
        latency(sync.p99)
    ))
}

/// The ratio that InnoDB's counters show as `Innodb_data_fsyncs` over `Innodb_data_writes`.
fn syncs_per_write(result: &TestResult) -> Option<String> {
    let (syncs, writes) = (result.sync_us?.count, result.write_us?.count);
    let ratio = syncs as f64 / writes as f64;
    (writes > 0).then(|| if ratio < 1.0 { format!("{ratio:.4}") } else { number(ratio) })
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn programs() {
        insta::assert_snapshot!(table(&samples::suite("commits", 15.0, 1700.0), &Look::plain()), @"
        program                           commits/s      p50      p99  sync p99  syncs/write  flushes each
        postgres-wal                            580  1.72 ms  1.79 ms   1.77 ms            1          1.00
        innodb-redo                             583  1.72 ms  1.78 ms   1.77 ms            1          1.00
        innodb-redo, fsync                      486  2.06 ms  2.14 ms   2.12 ms            1          1.00
        innodb, O_DIRECT                        106   9.4 ms  9.77 ms   1.77 ms            1          1.00
        innodb, O_DIRECT, 3 files               106   9.4 ms  9.77 ms   1.77 ms            1          1.00
        innodb, O_DIRECT, 3 files, fsync        103  9.74 ms  10.1 ms   2.12 ms            1          1.00
        innodb, O_DIRECT_NO_FSYNC               106   9.4 ms  9.77 ms   1.77 ms            1          1.00
        innodb, NO_FSYNC, growing               106   9.4 ms  9.77 ms   1.77 ms            1          1.00
        sqlite-wal                              583  1.72 ms  1.78 ms   1.77 ms            1          1.00
        sqlite-delete                           575  1.74 ms  1.81 ms   1.77 ms            1          1.00
        rocksdb-wal                             586  1.71 ms  1.78 ms   1.77 ms            1          1.00
        etcd                                    584  1.71 ms  1.78 ms   1.77 ms            1          1.00
        ceph-bluestore                          578  1.73 ms   1.8 ms   1.77 ms            1          1.00
        zfs-zil, 4 KiB                          583  1.72 ms  1.78 ms   1.77 ms            1          1.00
        zfs-zil, 12 KiB                         578  1.73 ms   1.8 ms   1.77 ms            1          1.00
        zfs-zil, 36 KiB                         563  1.78 ms  1.85 ms   1.77 ms            1          1.00
        zfs-zil, 68 KiB                         545  1.84 ms  1.91 ms   1.77 ms            1          1.00
        zfs-zil, 128 KiB                        513  1.95 ms  2.03 ms   1.77 ms            1          1.00
        etcd requires a sync p99 of at most 10 ms: 1.77 ms is within that.
        ");
    }

    #[test]
    fn few_syncs_keep_their_digits() {
        let mut result = samples::suite("commits", 15.0, 1700.0).remove(0);
        let mut counts = |syncs, writes| {
            result.sync_us.as_mut().unwrap().count = syncs;
            result.write_us.as_mut().unwrap().count = writes;
            syncs_per_write(&result)
        };
        assert_eq!(counts(500, 130_000).as_deref(), Some("0.0038"));
        assert_eq!(counts(4, 2).as_deref(), Some("2"));
        assert_eq!(counts(1, 0), None);
    }
}
