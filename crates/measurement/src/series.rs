//! Rates and latencies second by second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency bins per factor of ten: neighbours differ by 26 %, as fine as a heat map shows.
pub const BINS_PER_DECADE: u32 = 10;

/// One value for each whole interval of a measurement; a shorter last interval is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of an interval, in seconds.
    pub interval_s: f64,
    /// Operations per second.
    pub iops: Vec<f64>,
    /// Median commit latency, or operation latency in tests without syncs; `null` for an interval
    /// without any (a stall).
    pub commit_p50_us: Vec<Option<f64>>,
    /// 99th percentile of the same latencies.
    pub commit_p99_us: Vec<Option<f64>>,
    /// Histogram of the same latencies per interval: bins and their counts, lowest first. Bin `b`
    /// holds latencies from 10^(b/10) ns to below 10^((b+1)/10) ns. Empty in older documents and
    /// where another tool measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commit_bins: Vec<Vec<(u32, u64)>>,
}

impl Series {
    /// An empty series of one-second intervals.
    pub const fn new() -> Series {
        Series {
            interval_s: 1.0,
            iops: Vec::new(),
            commit_p50_us: Vec::new(),
            commit_p99_us: Vec::new(),
            commit_bins: Vec::new(),
        }
    }
}

impl Default for Series {
    fn default() -> Self {
        Series::new()
    }
}

/// The bin of [`Series::commit_bins`] for a latency.
///
/// ```
/// assert_eq!(measurement::series::bin_of(1_000), 30);
/// assert_eq!(measurement::series::bin_of(1_999), 33);
/// ```
pub fn bin_of(latency_ns: u64) -> u32 {
    (f64::from(BINS_PER_DECADE) * (latency_ns.max(1) as f64).log10()).floor() as u32
}

/// The lowest latency of a bin, in nanoseconds.
pub fn bin_from_ns(bin: u32) -> f64 {
    10_f64.powf(f64::from(bin) / f64::from(BINS_PER_DECADE))
}

/// Gathers latencies and their counts, lowest latency first, into bins.
pub fn binned(counts: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u32, u64)> {
    let mut bins: Vec<(u32, u64)> = Vec::new();
    for (latency_ns, count) in counts {
        let bin = bin_of(latency_ns);
        match bins.last_mut().filter(|(last, _)| *last == bin) {
            Some((_, sum)) => *sum += count,
            None => bins.push((bin, count)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_latency_lies_in_its_bin(latency in 1u64..crate::histogram::HIGHEST_NS) {
            let (bin, latency_ns) = (bin_of(latency), latency as f64);
            // At the exact edge of a bin, the last digit of the logarithm decides.
            prop_assert!(bin_from_ns(bin) <= latency_ns * (1.0 + 1e-12));
            prop_assert!(latency_ns < bin_from_ns(bin + 1) * (1.0 + 1e-12));
        }

        #[test]
        fn binning_loses_no_count(mut latencies in prop::collection::vec(1u64..1_000_000, 0..50)) {
            latencies.sort_unstable();
            let bins = binned(latencies.iter().map(|&latency| (latency, 2)));
            prop_assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 2 * latencies.len() as u64);
            prop_assert!(bins.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
