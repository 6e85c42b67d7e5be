//! Reads by depth.

use measurement::TestResult;
use workload::Pattern;
use workload::number::{number, throughput};

use super::{p50, p99, size};
use crate::columns::{Column, Columns};
use crate::look::Look;

/// Depth, rate, throughput, latency, and the factor over depth 1.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let of_depth_1 = |result: &TestResult| {
        let alone = results.iter().find(|other| {
            other.workload.depth == 1
                && other.workload.pattern == result.workload.pattern
                && other.workload.block_bytes == result.workload.block_bytes
        });
        let alone = alone.filter(|alone| alone.iops > 0.0)?;
        Some(format!("{} x", number(result.iops / alone.iops)))
    };
    Columns::<TestResult>::new()
        .with(Column::left("pattern").may_drop(2), |result| {
            result.workload.pattern.map(Pattern::name)
        })
        .with(Column::right("size"), size)
        .with(Column::right("depth"), |result| result.workload.depth.to_string())
        .with(Column::right("IOPS"), |result| number(result.iops))
        .with(Column::right("MiB/s").may_drop(1), |result| throughput(result.mib_per_s))
        .with(Column::right("p50"), p50)
        .with(Column::right("p99"), p99)
        .with(Column::right("of depth 1"), of_depth_1)
        .of(results, look)
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn depths() {
        insta::assert_snapshot!(table(&samples::suite("read-scaling", 90.0, 0.0), &Look::plain()), @"
        pattern    size  depth     IOPS  MiB/s      p50      p99  of depth 1
        randread  4 KiB      1   11,111   43.4    90 µs  93.6 µs         1 x
        randread  4 KiB      4   33,683    132   119 µs   124 µs      3.03 x
        randread  4 KiB      8   58,645    229   136 µs   142 µs      5.28 x
        randread  4 KiB     16  102,107    399   157 µs   163 µs      9.19 x
        randread  4 KiB     32  177,778    694   180 µs   187 µs        16 x
        read      4 MiB      1     21.7   86.7  46.1 ms    48 ms         1 x
        read      4 MiB     16      199    797  80.3 ms  83.6 ms      9.19 x
        ");
    }
}
