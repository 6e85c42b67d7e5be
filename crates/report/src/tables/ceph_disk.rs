//! The table of the Ceph performance wiki's tests.

use measurement::TestResult;
use workload::SyncMethod;
use workload::number::{number, throughput};

use super::{p50, p99};
use crate::columns::{Cell, Column, Columns};
use crate::look::Look;

/// One row per test. Of the same test with several sync methods, the slowest counts because
/// hardware sometimes ignores one of them.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    Columns::<TestResult>::new()
        .with(Column::prose("test"), |result| result.test.clone())
        .with(Column::right("IOPS"), |result| number(result.iops))
        .with(Column::right("MiB/s"), |result| throughput(result.mib_per_s))
        .with(Column::right("p50").may_drop(2), p50)
        .with(Column::right("p99").may_drop(1), p99)
        .with(Column::left(""), |result| {
            let verdict = if is_verdict(result, results) { "slowest: counts" } else { "" };
            Cell::styled(verdict, look.palette.strong)
        })
        .of(results, look)
}

/// Returns whether this is the slowest (the first, of equals) of the tests that differ only in the
/// sync method.
fn is_verdict(result: &TestResult, results: &[TestResult]) -> bool {
    let key = |result: &TestResult| {
        let workload = &result.workload;
        (workload.pattern, workload.block_bytes, workload.depth, workload.jobs)
    };
    let durable = |result: &&TestResult| result.workload.sync.is_some_and(SyncMethod::is_durable);
    let twins: Vec<&TestResult> =
        results.iter().filter(durable).filter(|twin| key(twin) == key(result)).collect();
    let slowest = twins.iter().min_by(|one, other| one.iops.total_cmp(&other.iops));
    twins.len() > 1 && slowest.is_some_and(|slowest| std::ptr::eq(*slowest, result))
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn the_wiki_s_tests() {
        insta::assert_snapshot!(table(&samples::suite("ceph-disk", 15.0, 1700.0), &Look::plain()), @"
        test                                           IOPS   MiB/s      p50      p99
        linear read, 4 MiB, depth 32                  2,081   8,325  15.4 ms    16 ms
        linear write, 4 MiB, depth 32                 2,081   8,325  15.4 ms    16 ms
        random read, 4 KiB, depth 128             3,233,529  12,631  39.6 µs  41.2 µs
        random write, 4 KiB, depth 128            3,233,529  12,631  39.6 µs  41.2 µs
        random read, 4 KiB, depth 1                  66,667     260    15 µs  15.6 µs
        linear write, 4 KiB, fsync                      487    1.90  2.06 ms  2.14 ms
        linear write, 4 KiB, O_SYNC asynchronous        449    1.76  2.23 ms  2.31 ms  slowest: counts
        linear write, 4 KiB, O_SYNC pwrite              449    1.76  2.23 ms  2.31 ms
        random write, 4 KiB, fsync                      487    1.90  2.06 ms  2.14 ms
        random write, 4 KiB, O_SYNC asynchronous        449    1.76  2.23 ms  2.31 ms  slowest: counts
        random write, 4 KiB, O_SYNC pwrite              449    1.76  2.23 ms  2.31 ms
        ");
    }
}
