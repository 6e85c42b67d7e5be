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
