//! Random numbers from a seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A named algorithm, so a seed gives the same numbers in future versions.
#[derive(Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// A generator for a seed and a purpose: two data sets of the same seed are independent.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a over the purpose, starting from the seed.
        let mixed = purpose.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`. The bias of the multiplication is below limit / 2^64, which no sort
    /// can notice.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.word()) * limit as u128) >> 64) as usize
    }

    /// A number in the range, including both ends.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

/// Ranks by Zipf's law: the share of rank k is proportional to 1/(k+1).
#[derive(Debug)]
pub struct Zipf {
    /// Cumulative shares up to each rank.
    sums: Vec<f64>,
}

impl Zipf {
    pub fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=ranks).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self { sums: sums.collect() }
    }

    pub fn rank(&self, random: &mut Random) -> usize {
        let all = self.sums.last().copied().unwrap_or(0.0);
        // 53 bits are the precision of an f64.
        let drawn = (random.word() >> 11) as f64 / (1u64 << 53) as f64 * all;
        self.sums.partition_point(|&sum| sum <= drawn)
    }
}
