//! Times of syncs, drawn so that few draws have the mean of all.

use measurement::Histogram;
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Latencies of commits of the storage: slices of equal weight, each with its mean.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncTimes {
    /// In nanoseconds, shortest first.
    slices: Vec<u64>,
}

impl SyncTimes {
    /// The number of draws after which their mean is that of the distribution.
    pub const SLICES: usize = 128;

    /// `None` if the histogram is empty.
    pub fn of(histogram: &Histogram) -> Option<SyncTimes> {
        let total = histogram.count();
        if total == 0 {
            return None;
        }
        let weight = total as f64 / SyncTimes::SLICES as f64;
        let mut slices = Vec::with_capacity(SyncTimes::SLICES);
        let (mut filled, mut sum_ns) = (0.0, 0.0);
        for (ns, count) in histogram.buckets() {
            let mut left = count as f64;
            while left > 0.0 {
                let part = left.min(weight - filled);
                filled += part;
                left -= part;
                sum_ns += part * ns as f64;
                if weight - filled < weight * 1e-9 {
                    slices.push((sum_ns / filled) as u64);
                    (filled, sum_ns) = (0.0, 0.0);
                }
            }
        }
        // Rounding may leave the last slice a little short.
        if slices.len() < SyncTimes::SLICES {
            slices.push((sum_ns / filled.max(f64::MIN_POSITIVE)) as u64);
        }
        Some(SyncTimes { slices })
    }

    pub fn mean_us(&self) -> f64 {
        let sum: u64 = self.slices.iter().sum();
        sum as f64 / self.slices.len() as f64 / 1e3
    }

    /// All of them longer or shorter by this time.
    #[must_use]
    pub fn shifted(&self, us: f64) -> SyncTimes {
        let shift = |ns: &u64| (*ns as f64 + us * 1e3).max(0.0) as u64;
        SyncTimes { slices: self.slices.iter().map(shift).collect() }
    }

    /// All of them multiplied by this factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> SyncTimes {
        let scale = |ns: &u64| (*ns as f64 * factor) as u64;
        SyncTimes { slices: self.slices.iter().map(scale).collect() }
    }

    pub(crate) fn draws(&self) -> Draws {
        Draws { slices: self.slices.clone(), next: self.slices.len() }
    }
}

/// Draws without replacement, over and over.
pub(crate) struct Draws {
    slices: Vec<u64>,
    next: usize,
}

impl Draws {
    pub(crate) fn next_ns(&mut self, chance: &mut Xoshiro256PlusPlus) -> u64 {
        if self.next == self.slices.len() {
            for last in (1..self.slices.len()).rev() {
                let other = (chance.next_u64() % (last as u64 + 1)) as usize;
                self.slices.swap(last, other);
            }
            self.next = 0;
        }
        self.next += 1;
        self.slices[self.next - 1]
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    #[test]
    fn few_draws_have_the_mean_of_all() {
        let mut histogram = Histogram::new();
        histogram.record_n(100_000, 985);
        histogram.record_n(20_000_000, 15);
        let times = SyncTimes::of(&histogram).unwrap();
        let mean_us = histogram.mean_ns() / 1e3;
        assert!((times.mean_us() / mean_us - 1.0).abs() < 0.01, "{} {mean_us}", times.mean_us());
        let (mut draws, mut chance) = (times.draws(), Xoshiro256PlusPlus::seed_from_u64(1));
        for _ in 0..3 {
            let sum: u64 = (0..SyncTimes::SLICES).map(|_| draws.next_ns(&mut chance)).sum();
            let drawn_us = sum as f64 / SyncTimes::SLICES as f64 / 1e3;
            assert!((drawn_us - times.mean_us()).abs() < 1e-6, "{drawn_us}");
        }
        assert_eq!(SyncTimes::of(&Histogram::new()), None);
    }

    #[test]
    fn one_latency_fills_all_slices() {
        let mut histogram = Histogram::new();
        histogram.record(50_000);
        let times = SyncTimes::of(&histogram).unwrap();
        assert!((times.mean_us() - 50.0).abs() < 0.5, "{}", times.mean_us());
        assert!(times.shifted(-100.0).mean_us() < 0.01 && times.scaled(2.0).mean_us() > 99.0);
    }
}
