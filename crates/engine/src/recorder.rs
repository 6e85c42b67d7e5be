//! Counts the latencies of a job while another thread reads them.
//!
//! The layout is that of HdrHistogram with 3 significant digits (2048 linear buckets, then 1024 per
//! doubling), so it converts to a [`Histogram`] without loss. Recording is a leading-zero count, a
//! shift and an increment of one cell. Each cell is written by one thread and read by any: relaxed
//! atomic loads and stores compile to plain moves, and the observer never delays the job.

use std::sync::atomic::{AtomicU64, Ordering};

use measurement::{HIGHEST_NS, Histogram};

/// Linear buckets at the bottom: twice the resolution of 3 digits, rounded up to a power of two.
const LINEAR_BITS: u32 = 11;
/// Buckets per doubling above the linear ones.
const HALF: usize = 1 << (LINEAR_BITS - 1);
/// Doublings from the linear part up to an hour in nanoseconds (42 bits).
const DOUBLINGS: usize = (u64::BITS - HIGHEST_NS.leading_zeros() - LINEAR_BITS) as usize;
/// Cells of a recorder: 33 Ki, of which a measurement touches only a few pages.
pub const CELLS: usize = (DOUBLINGS + 2) * HALF;

/// Latency counts, written by a single thread.
#[derive(Debug)]
pub struct Recorder {
    cells: Box<[AtomicU64]>,
}

impl Recorder {
    /// Creates an empty recorder. Its pages are untouched and use no memory until latencies fall
    /// into them.
    #[expect(unsafe_code, reason = "no safe way to allocate zeroed pages of atomics")]
    pub fn new() -> Recorder {
        let cells = Box::new_zeroed_slice(CELLS);
        // SAFETY: an AtomicU64 has the bit validity of a u64, for which all zeros is the value 0.
        Recorder { cells: unsafe { cells.assume_init() } }
    }

    /// Counts one latency. Must be called only by the owning thread: calls from another thread
    /// would lose counts.
    #[inline]
    pub fn record(&self, latency_ns: u64) {
        let cell = &self.cells[index_of(latency_ns)];
        cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }

    /// Adds the current counts to `sums`, which has [`CELLS`] entries.
    pub fn add_to(&self, sums: &mut [u64]) {
        for (sum, cell) in sums.iter_mut().zip(&self.cells) {
            let count = cell.load(Ordering::Relaxed);
            // Untouched pages stay untouched.
            if count > 0 {
                *sum += count;
            }
        }
    }
}

#[inline]
fn index_of(latency_ns: u64) -> usize {
    let latency_ns = latency_ns.min(HIGHEST_NS);
    let doubling =
        (u64::BITS - LINEAR_BITS) - (latency_ns | ((1 << LINEAR_BITS) - 1)).leading_zeros();
    (doubling as usize) * HALF + (latency_ns >> doubling) as usize
}

/// The smallest latency of a cell.
fn latency_of(index: usize) -> u64 {
    let doubling = (index / HALF).saturating_sub(1);
    ((index - doubling * HALF) as u64) << doubling
}

/// Converts a recorder's cells to a histogram.
pub fn histogram_of(cells: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    counts_of(cells).for_each(|(latency_ns, count)| histogram.record_n(latency_ns, count));
    // A document keeps those of all tests.
    histogram.compact();
    histogram
}

/// The non-empty cells, lowest first: the smallest latency and the count of each.
pub fn counts_of(cells: &[u64]) -> impl Iterator<Item = (u64, u64)> + '_ {
    cells
        .iter()
        .enumerate()
        .filter(|&(_, &count)| count > 0)
        .map(|(index, &count)| (latency_of(index), count))
}

/// The latency at or below which this share of the counts lies, or `None` if there are none.
pub fn quantile_ns(cells: &[u64], quantile: f64) -> Option<u64> {
    let total: u64 = cells.iter().sum();
    let rank = (total as f64 * quantile).ceil().max(1.0) as u64;
    let mut seen = 0;
    cells
        .iter()
        .position(|&count| {
            seen += count;
            total > 0 && seen >= rank
        })
        .map(latency_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(recorder: &Recorder) -> Vec<u64> {
        let mut cells = vec![0; CELLS];
        recorder.add_to(&mut cells);
        cells
    }

    proptest! {
        #[test]
        fn counts_as_hdrhistogram_does(latencies in prop::collection::vec(0u64..2 * HIGHEST_NS, 0..100)) {
            let recorder = Recorder::new();
            let mut expected = Histogram::new();
            for &latency in &latencies {
                recorder.record(latency);
                expected.record(latency.min(HIGHEST_NS));
            }
            prop_assert_eq!(recorder.count(), latencies.len() as u64);
            prop_assert_eq!(histogram_of(&cells(&recorder)), expected);
        }

        #[test]
        fn each_cell_begins_with_its_latency(latency in 0u64..=HIGHEST_NS) {
            let index = index_of(latency);
            prop_assert!(index < CELLS);
            prop_assert_eq!(index_of(latency_of(index)), index);
            prop_assert!(latency_of(index) <= latency);
            prop_assert!((latency - latency_of(index)) as f64 <= latency as f64 / 1000.0);
        }
    }

    #[test]
    fn quantiles_of_cells() {
        let recorder = Recorder::new();
        (1..=100).for_each(|latency| recorder.record(latency));
        assert_eq!(quantile_ns(&cells(&recorder), 0.5), Some(50));
        assert_eq!(quantile_ns(&cells(&recorder), 0.99), Some(99));
        assert_eq!(quantile_ns(&vec![0; CELLS], 0.5), None);
    }
}
