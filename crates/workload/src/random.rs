//! Random draws that a stored seed repeats.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of one job. A stored seed needs an algorithm that never changes, so it is named:
/// xoshiro256++. Jobs are 2^128 draws apart and never repeat each other.
pub fn generator(seed: u64, job: u32) -> Xoshiro256PlusPlus {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    for _ in 0..job {
        generator.jump();
    }
    generator
}

/// A number below `bound`: the high half of a product (Lemire 2019). Its bias is below `bound` /
/// 2^64, which is negligible for block counts.
#[inline]
pub fn below(generator: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Hashes a number (the finalizer of SplitMix64).
pub(crate) fn scrambled(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A random order of the numbers below a bound, computed number by number without a list of them.
///
/// A Feistel network of four rounds permutes the numbers of an even number of bits (Luby and
/// Rackoff 1988). A result that is not below the bound is permuted again, which takes fewer than
/// four attempts on average, because the bound is above a quarter of those numbers.
#[derive(Debug)]
pub(crate) struct Permutation {
    bound: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// Draws an order of the numbers below `bound`.
    pub fn drawn(generator: &mut Xoshiro256PlusPlus, bound: u64) -> Permutation {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        let keys = [(); 4].map(|()| generator.next_u64());
        Permutation { bound, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// The number at a position; both are below the bound.
    pub fn at(&self, position: u64) -> u64 {
        let mut number = self.permuted(position);
        while number >= self.bound {
            number = self.permuted(number);
        }
        number
    }

    fn permuted(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (scrambled(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_permutation_has_each_number_once(bound in 1u64..3000, seed: u64) {
            let order = Permutation::drawn(&mut generator(seed, 0), bound);
            let mut numbers: Vec<u64> = (0..bound).map(|position| order.at(position)).collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..bound));
        }

        #[test]
        fn a_permutation_stays_below_large_bounds(bound in 1u64.., position: u64, seed: u64) {
            let order = Permutation::drawn(&mut generator(seed, 0), bound);
            prop_assert!(order.at(position % bound) < bound);
        }
    }

    #[test]
    fn a_permutation_leaves_no_neighbours_together() {
        let order = Permutation::drawn(&mut generator(1, 0), 100_000);
        let together = |at: &u64| order.at(*at).abs_diff(order.at(at + 1)) < 100;
        // Of uniformly random numbers, 2 in 1000 are that close.
        let close = (0..99_999).filter(together).count();
        assert!((120..280).contains(&close), "{close}");
    }
}
