//! The summary tables of "SSDs, power loss protection and fsync latency" (Small Datum).

use measurement::TestResult;
use workload::SyncMethod;
use workload::number::{latency, number, throughput};

use super::size;
use crate::columns::{Column, Columns};
use crate::look::{Detail, Look};

/// First the sync latency of one job by size and method, then each test with writes per second,
/// throughput and sync latency.
pub(super) fn tables(results: &[TestResult], look: &Look) -> String {
    let sync_of = |result: &&TestResult| result.workload.sync.unwrap_or(SyncMethod::None);
    let mut sizes: Vec<u64> = results.iter().map(|result| result.workload.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();

    let mean = |bytes: u64, sync: SyncMethod| {
        let of_size = |result: &&TestResult| {
            result.workload.block_bytes == bytes
                && result.workload.jobs == 1
                && sync_of(result) == sync
        };
        let means: Vec<f64> = results
            .iter()
            .filter(of_size)
            .filter_map(|result| Some(result.sync_us?.mean))
            .collect();
        (!means.is_empty()).then(|| latency(means.iter().sum::<f64>() / means.len() as f64))
    };
    let summary = Columns::<u64>::new()
        .with(Column::left("one job"), |&bytes| workload::format_bytes(bytes))
        .with(Column::right("fsync"), |&bytes| mean(bytes, SyncMethod::Fsync))
        .with(Column::right("fdatasync"), |&bytes| mean(bytes, SyncMethod::Fdatasync))
        .of(&sizes, look);
    let mut text = look.heading("Mean sync latency") + &summary;

    let mut each = Columns::<TestResult>::new()
        .with(Column::left("size"), size)
        .with(Column::left("sync"), |result| sync_of(&result).name())
        .with(Column::right("jobs"), |result| result.workload.jobs.to_string())
        .with(Column::right("w/s"), |result| number(result.iops))
        .with(Column::right("MiB/s").may_drop(1), |result| throughput(result.mib_per_s))
        .with(Column::right("sync mean"), |result| result.sync_us.map(|us| latency(us.mean)))
        .with(Column::right("sync p99"), |result| result.sync_us.map(|us| latency(us.p99)));
    let mut group = None;
    for result in shown(results, look.detail) {
        let sync = sync_of(&result);
        if group.is_some() && group != Some((result.workload.block_bytes, sync)) {
            each.group("");
        }
        group = Some((result.workload.block_bytes, sync));
        each.row(result);
    }
    text += "\n";
    text += &look.heading(match look.detail {
        Detail::Full => "All tests, including repetitions",
        Detail::Brief => "All tests, the middle one of repetitions",
    });
    text + &each.render(look)
}

/// Every test, or in brief of neighbours with the same workload the one with the middle rate.
fn shown(results: &[TestResult], detail: Detail) -> Vec<&TestResult> {
    if detail == Detail::Full {
        return results.iter().collect();
    }
    let repeats = |one: &TestResult, other: &TestResult| {
        let [one, other] = [one, other].map(|result| &result.workload);
        (one.block_bytes, one.sync, one.jobs) == (other.block_bytes, other.sync, other.jobs)
    };
    let middle = |repeated: &[TestResult]| {
        let mut order: Vec<usize> = (0..repeated.len()).collect();
        order.sort_by(|&one, &other| repeated[one].iops.total_cmp(&repeated[other].iops));
        order[order.len() / 2]
    };
    results.chunk_by(repeats).map(|repeated| &repeated[middle(repeated)]).collect()
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn in_brief_repetitions_share_a_row() {
        let results = samples::suite("fsync-study", 15.0, 890.0);
        let brief = shown(&results, Detail::Brief);
        assert_eq!(brief.len() * 2, results.len());
        let next = brief.windows(2).all(|pair| pair[0].workload != pair[1].workload);
        assert!(next);
        let look = Look { detail: Detail::Brief, ..Look::plain() };
        insta::assert_snapshot!(tables(&results, &look), @"
        Mean sync latency
          one job    fsync  fdatasync
          16 KiB   1.07 ms     892 µs
          2 MiB    1.07 ms     892 µs

        All tests, the middle one of repetitions
          size    sync       jobs      w/s  MiB/s  sync mean  sync p99
          16 KiB  none          1   26,667    417          -         -
          16 KiB  none          2   46,429    725          -         -
          16 KiB  none          4   80,838  1,263          -         -
          16 KiB  none          8  140,748  2,199          -         -
          16 KiB  none         16  245,056  3,829          -         -
          16 KiB  none         32  426,667  6,667          -         -

          16 KiB  fsync         1      905   14.1    1.07 ms   1.11 ms
          16 KiB  fsync         2    1,575   24.6    1.07 ms   1.11 ms
          16 KiB  fsync         4    2,742   42.8    1.07 ms   1.11 ms
          16 KiB  fsync         8    4,774   74.6    1.07 ms   1.11 ms
          16 KiB  fsync        16    8,313    130    1.07 ms   1.11 ms
          16 KiB  fsync        32   14,473    226    1.07 ms   1.11 ms

          16 KiB  fdatasync     1    1,078   16.8     892 µs    926 µs
          16 KiB  fdatasync     2    1,877   29.3     892 µs    926 µs
          16 KiB  fdatasync     4    3,268   51.1     892 µs    926 µs
          16 KiB  fdatasync     8    5,691   88.9     892 µs    926 µs
          16 KiB  fdatasync    16    9,908    155     892 µs    926 µs
          16 KiB  fdatasync    32   17,251    270     892 µs    926 µs

          2 MiB   none          1      260    520          -         -
          2 MiB   none          2      453    905          -         -
          2 MiB   none          4      788  1,576          -         -
          2 MiB   none          8    1,372  2,744          -         -
          2 MiB   none         16    2,388  4,777          -         -
          2 MiB   none         32    4,159  8,317          -         -

          2 MiB   fsync         1      203    407    1.07 ms   1.11 ms
          2 MiB   fsync         2      354    708    1.07 ms   1.11 ms
          2 MiB   fsync         4      617  1,233    1.07 ms   1.11 ms
          2 MiB   fsync         8    1,074  2,148    1.07 ms   1.11 ms
          2 MiB   fsync        16    1,870  3,739    1.07 ms   1.11 ms
          2 MiB   fsync        32    3,255  6,510    1.07 ms   1.11 ms

          2 MiB   fdatasync     1      211    422     892 µs    926 µs
          2 MiB   fdatasync     2      368    735     892 µs    926 µs
          2 MiB   fdatasync     4      640  1,280     892 µs    926 µs
          2 MiB   fdatasync     8    1,114  2,228     892 µs    926 µs
          2 MiB   fdatasync    16    1,940  3,880     892 µs    926 µs
          2 MiB   fdatasync    32    3,377  6,755     892 µs    926 µs
        ");
    }

    #[test]
    fn the_study() {
        let results: Vec<TestResult> = samples::suite("fsync-study", 15.0, 890.0)
            .into_iter()
            .filter(|result| result.workload.jobs <= 2)
            .collect();
        insta::assert_snapshot!(tables(&results, &Look::plain()), @"
        Mean sync latency
          one job    fsync  fdatasync
          16 KiB   1.07 ms     892 µs
          2 MiB    1.07 ms     892 µs

        All tests, including repetitions
          size    sync       jobs     w/s  MiB/s  sync mean  sync p99
          16 KiB  none          1  26,667    417          -         -
          16 KiB  none          1  26,667    417          -         -
          16 KiB  none          2  46,429    725          -         -
          16 KiB  none          2  46,429    725          -         -

          16 KiB  fsync         1     905   14.1    1.07 ms   1.11 ms
          16 KiB  fsync         1     905   14.1    1.07 ms   1.11 ms
          16 KiB  fsync         2   1,575   24.6    1.07 ms   1.11 ms
          16 KiB  fsync         2   1,575   24.6    1.07 ms   1.11 ms

          16 KiB  fdatasync     1   1,078   16.8     892 µs    926 µs
          16 KiB  fdatasync     1   1,078   16.8     892 µs    926 µs
          16 KiB  fdatasync     2   1,877   29.3     892 µs    926 µs
          16 KiB  fdatasync     2   1,877   29.3     892 µs    926 µs

          2 MiB   none          1     260    520          -         -
          2 MiB   none          1     260    520          -         -
          2 MiB   none          2     453    905          -         -
          2 MiB   none          2     453    905          -         -

          2 MiB   fsync         1     203    407    1.07 ms   1.11 ms
          2 MiB   fsync         1     203    407    1.07 ms   1.11 ms
          2 MiB   fsync         2     354    708    1.07 ms   1.11 ms
          2 MiB   fsync         2     354    708    1.07 ms   1.11 ms

          2 MiB   fdatasync     1     211    422     892 µs    926 µs
          2 MiB   fdatasync     1     211    422     892 µs    926 µs
          2 MiB   fdatasync     2     368    735     892 µs    926 µs
          2 MiB   fdatasync     2     368    735     892 µs    926 µs
        ");
    }
}
