//! What `pg_test_fsync` prints, with percentiles beside its mean.

use measurement::TestResult;

use super::per_second;
use crate::columns::{Cell, Column, Columns};
use crate::look::Look;
use crate::number::latency;

/// Groups as the test names say them (`group: row`); the fastest durable row of each group that compares methods is marked.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let mut table = Columns::new([
        Column::left(""),
        Column::right("ops/sec"),
        Column::right("usecs/op"),
        Column::right("p50"),
        Column::right("p99"),
        Column::right("max").may_leave(1),
        Column::left(""),
    ]);
    let mut group = None;
    for result in results {
        let (title, row) = result.test.split_once(": ").unwrap_or(("", &result.test));
        if group != Some(title) {
            group = Some(title);
            table.group(title);
        }
        let fastest = is_fastest(result, title, results);
        let us = result.headline_us();
        table.row([
            Cell::from(format!("  {row}")),
            Cell::from(format!("{:.3}", per_second(result))),
            Cell::from(format!("{:.0}", if result.iops > 0.0 { 1e6 / per_second(result) } else { 0.0 })),
            Cell::maybe(us, |us| latency(us.p50)),
            Cell::maybe(us, |us| latency(us.p99)),
            Cell::maybe(us, |us| latency(us.max)),
            Cell::styled(if fastest { "fastest" } else { "" }, look.palette.good),
        ]);
    }
    table.render(look)
}

/// Groups that hold a row for each sync method.
fn compares_methods(results: &[TestResult], title: &str) -> bool {
    results.iter().any(|result| result.test.split_once(": ") == Some((title, "fdatasync")))
}

fn is_fastest(result: &TestResult, title: &str, results: &[TestResult]) -> bool {
    let peers = results.iter().filter(|peer| peer.test.split_once(": ").is_some_and(|(group, _)| group == title));
    compares_methods(results, title) && peers.map(per_second).fold(0.0, f64::max) <= per_second(result)
}

#[cfg(test)]
mod golden {
    use super::*;
    use crate::samples;

    #[test]
    fn reads_like_pg_test_fsync() {
        insta::assert_snapshot!(table(&samples::suite("wal", 15.0, 1700.0), &Look::plain()), @"
                               ops/sec  usecs/op      p50      p99      max
        one 8 KiB write
          open_datasync        580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
          fdatasync            580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
          fsync                580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
          open_sync            580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
        two 8 KiB writes
          open_datasync        575.540      1738  1.74 ms  1.81 ms  8.69 ms  fastest
          fdatasync            575.540      1738  1.74 ms  1.81 ms  8.69 ms  fastest
          fsync                575.540      1738  1.74 ms  1.81 ms  8.69 ms  fastest
          open_sync            575.540      1738  1.74 ms  1.81 ms  8.69 ms  fastest
        open_sync, 16 KiB
          1 x 16 KiB           575.540      1738  1.74 ms  1.81 ms  8.69 ms
          2 x 8 KiB            575.540      1738  1.74 ms  1.81 ms  8.69 ms
          4 x 4 KiB            575.540      1738  1.74 ms  1.81 ms  8.69 ms
          8 x 2 KiB            575.540      1738  1.74 ms  1.81 ms  8.69 ms
          16 x 1 KiB           575.540      1738  1.74 ms  1.81 ms  8.69 ms
        another handle
          write, fsync, close  580.552      1722  1.72 ms  1.79 ms  8.62 ms
          write, close, fsync  580.552      1722  1.72 ms  1.79 ms  8.62 ms
        not synced
          write                580.552      1722  1.72 ms  1.79 ms  8.62 ms
        advancing log, 8 KiB
          open_datasync        580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
          fdatasync            580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
          fsync                580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
          open_sync            580.552      1722  1.72 ms  1.79 ms  8.62 ms  fastest
        ");
    }
}
