//! The general table, one row per test.

use measurement::TestResult;
use workload::number::{latency, number, throughput};

use super::per_second;
use crate::columns::{Cell, Column, Columns};
use crate::look::Look;

/// Name, engine, rates, latencies, steady state, flushes per commit.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let mut table = Columns::new([
        Column::prose("test"),
        Column::left("engine").may_drop(6),
        Column::right("per second"),
        Column::right("MiB/s").may_drop(4),
        Column::right("p50"),
        Column::right("p99"),
        Column::right("p99.9").may_drop(5),
        Column::right("max").may_drop(2),
        Column::left("steady").may_drop(3).optional(),
        Column::right("flushes each").may_drop(1).optional(),
    ]);
    for result in results {
        let us = result.headline_us();
        let steady =
            result.steady_state.map(|steady| if steady.reached { "yes" } else { "not reached" });
        table.row([
            Cell::from(result.test.clone()),
            Cell::from(result.engine.clone()),
            Cell::from(number(per_second(result))),
            Cell::from(throughput(result.mib_per_s)),
            Cell::maybe(us, |us| latency(us.p50)),
            Cell::maybe(us, |us| latency(us.p99)),
            Cell::maybe(us, |us| latency(us.p99_9)),
            Cell::maybe(us, |us| latency(us.max)),
            Cell::maybe(steady, str::to_owned),
            Cell::maybe(result.flushes_per_commit(), |flushes| format!("{flushes:.2}")),
        ]);
    }
    table.render(look)
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn the_quick_suite() {
        insta::assert_snapshot!(table(&samples::quick(), &Look::plain()), @"
        test                   engine  per second  MiB/s      p50      p99    p99.9      max  flushes each
        write                  psync       66,667    260    15 µs  15.6 µs    24 µs    75 µs             -
        write + fsync          psync          487   1.90  2.06 ms  2.14 ms  3.29 ms  10.3 ms          1.00
        write + fdatasync      psync          583   2.28  1.72 ms  1.78 ms  2.74 ms  8.58 ms          1.00
        write O_DSYNC          psync          647   2.53  1.55 ms  1.61 ms  2.47 ms  7.73 ms          0.00
        read                   psync       66,667    260    15 µs  15.6 µs    24 µs    75 µs             -
        16 KiB write + fsync   psync          481   7.52  2.08 ms  2.16 ms  3.33 ms  10.4 ms          1.00
        write + fdatasync, 4   psync        1,768   6.90  1.72 ms  1.78 ms  2.74 ms  8.58 ms          1.00
        jobs
        write, depth 32        psync    1,066,667  4,167    30 µs  31.2 µs    48 µs   150 µs             -
        ");
    }
}
