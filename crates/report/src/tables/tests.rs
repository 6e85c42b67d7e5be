//! The general table, one row per test.

use measurement::TestResult;
use workload::number::{number, throughput};

use super::{flushes_each, max, p50, p99, p99_9, per_second};
use crate::columns::{Column, Columns};
use crate::look::Look;

/// Name, engine, rates, latencies, steady state, flushes per commit.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    Columns::<TestResult>::new()
        .with(Column::prose("test"), |result| result.test.clone())
        .with(Column::left("engine").may_drop(6), |result| result.engine.clone())
        .with(Column::right("per second"), |result| number(per_second(result)))
        .with(Column::right("MiB/s").may_drop(4), |result| throughput(result.mib_per_s))
        .with(Column::right("p50"), p50)
        .with(Column::right("p99"), p99)
        .with(Column::right("p99.9").may_drop(5), p99_9)
        .with(Column::right("max").may_drop(2), max)
        .with(Column::left("steady").may_drop(3).optional(), |result| {
            result.steady_state.map(|steady| if steady.reached { "yes" } else { "not reached" })
        })
        .with(Column::right("flushes each").may_drop(1).optional(), flushes_each)
        .of(results, look)
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn the_check_suite() {
        insta::assert_snapshot!(table(&samples::check(), &Look::plain()), @"
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
