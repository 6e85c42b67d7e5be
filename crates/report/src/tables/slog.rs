//! The format of FreeBSD's `diskinfo -S`, so that lines compare directly with published ones.

use measurement::{Skipped, TestResult};

use crate::look::Look;

/// One line per size: kbytes, microseconds for one write with its flush, and Mbytes (of 2^20) per
/// second.
pub(super) fn table(results: &[TestResult], skipped: &[Skipped], look: &Look) -> String {
    let mut text = "Synchronous random writes:\n".to_owned();
    for result in results {
        let kbytes = result.workload.block_bytes as f64 / 1024.0;
        let usec = if result.ops == 0 { 0.0 } else { result.elapsed_s * 1e6 / result.ops as f64 };
        text += &format!(
            "\t{:>4} kbytes: {usec:8.1} usec/IO = {:8.1} Mbytes/s\n",
            four_digits(kbytes),
            result.mib_per_s
        );
    }
    for skipped in skipped {
        text +=
            &look.hanging("        ", &format!("{}: skipped, {}", skipped.test, skipped.because));
    }
    text
}

/// C's `%.4g` for the sizes that occur: `0.5`, `4`, `8192`.
fn four_digits(kbytes: f64) -> String {
    if kbytes.fract() == 0.0 { format!("{kbytes:.0}") } else { format!("{kbytes}") }
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn reads_like_diskinfo() {
        let mut results = samples::suite("slog", 15.0, 1700.0);
        results.truncate(5);
        let first = results.remove(0);
        let skipped = [Skipped {
            test: first.test,
            because: "512 B is not a multiple of the logical block size".to_owned(),
        }];
        insta::assert_snapshot!(table(&results, &skipped, &Look::plain()), @"
        Synchronous random writes:
        	   1 kbytes:   2049.4 usec/IO =      0.5 Mbytes/s
        	   2 kbytes:   2051.2 usec/IO =      1.0 Mbytes/s
        	   4 kbytes:   2055.0 usec/IO =      1.9 Mbytes/s
        	   8 kbytes:   2062.5 usec/IO =      3.8 Mbytes/s
                randwrite 512 B, fsync=1, depth 1, jobs 1: skipped, 512 B is not a multiple of the logical
                block size
        ");
        assert_eq!(four_digits(0.5), "0.5");
    }
}
