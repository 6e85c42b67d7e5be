//! fio's latency bins, as listed in JSON+.
//!
//! Up to 128 ns each value has a bin; above, each doubling has 64 bins (`FIO_IO_U_PLAT_BITS` is 6,
//! fio's stat.h), so a bin is at most 1.6 % wide. A bin is identified by its middle.

/// Bins per doubling.
const BINS: u64 = 64;
/// Doublings covered by fio's bins (`FIO_IO_U_PLAT_GROUP_NR`); longer latencies count in the last
/// bin.
const GROUPS: u32 = 29;

/// The middle of the bin of a latency, which is its key in JSON+.
pub fn middle_ns(latency_ns: u64) -> u64 {
    let longest = (BINS << (GROUPS - 1)) - 1;
    let latency_ns = latency_ns.min(longest);
    if latency_ns < 2 * BINS {
        return latency_ns;
    }
    let doubling = latency_ns.ilog2();
    let width = 1_u64 << (doubling - BINS.ilog2());
    latency_ns / width * width + width / 2
}

/// Counts of latencies gathered into fio's bins, lowest first.
pub fn gathered(counts: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut cells: Vec<(u64, u64)> = Vec::new();
    for (latency_ns, count) in counts {
        let cell = middle_ns(latency_ns);
        match cells.last_mut().filter(|(last, _)| *last == cell) {
            Some((_, sum)) => *sum += count,
            None => cells.push((cell, count)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use measurement::Histogram;
    use proptest::prelude::*;

    #[test]
    fn bins_have_fio_s_keys() {
        let plus = include_str!("../../tests/fixtures/fio/3.33-mix-plus.json");
        let document: serde_json::Value = serde_json::from_str(plus).unwrap();
        let mut keys = 0;
        for bins in
            document["jobs"].as_array().unwrap().iter().map(|job| &job["sync"]["lat_ns"]["bins"])
        {
            for key in bins.as_object().into_iter().flatten().map(|(key, _)| key.parse().unwrap()) {
                assert_eq!(middle_ns(key), key);
                keys += 1;
            }
        }
        assert!(keys > 50, "{keys}");
        assert_eq!(middle_ns(2650), 2640);
        assert_eq!(middle_ns(u64::MAX), middle_ns((BINS << (GROUPS - 1)) - 1));
    }

    proptest! {
        #[test]
        fn a_latency_is_near_the_middle_of_its_bin(latency in 0_u64..17_000_000_000) {
            let middle = middle_ns(latency);
            prop_assert!(middle.abs_diff(latency) as f64 <= latency as f64 / 128.0);
            prop_assert_eq!(middle_ns(middle), middle);
        }

        // Required for a lossless round trip of JSON+.
        #[test]
        fn a_histogram_separates_fio_s_bins(latency in 0_u64..17_000_000_000) {
            let mut histogram = Histogram::new();
            histogram.record(middle_ns(latency));
            let cells = gathered(histogram.buckets());
            prop_assert_eq!(cells, vec![(middle_ns(latency), 1)]);
        }
    }
}
