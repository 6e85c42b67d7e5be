//! Which block of its own part a job touches next.

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The part of the target that one job works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where it begins, in bytes.
    pub start: u64,
    /// Whole blocks in it; at least 1.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

/// The generator of one job. xoshiro256++ is named because a stored seed needs an algorithm that never changes; jobs are 2^128 draws
/// apart, so that they never repeat each other.
pub fn generator(seed: u64, job: u32) -> Xoshiro256PlusPlus {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    for _ in 0..job {
        generator.jump();
    }
    generator
}

/// A rule for the next block.
pub trait Access {
    /// The next block's offset in bytes.
    fn next(&mut self) -> u64;
}

/// One block after the other; wraps around.
#[derive(Debug)]
pub struct Sequential {
    region: Region,
    next: u64,
}

impl Sequential {
    /// Starts at the region's first block.
    pub fn new(region: Region) -> Sequential {
        Sequential { region, next: region.start }
    }
}

impl Access for Sequential {
    #[inline]
    fn next(&mut self) -> u64 {
        let offset = self.next;
        self.next += self.region.block_bytes;
        if self.next == self.region.start + self.region.blocks * self.region.block_bytes {
            self.next = self.region.start;
        }
        offset
    }
}

/// Uniformly random blocks, with repetition.
#[derive(Debug)]
pub struct Random {
    region: Region,
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// Draws from the job's generator.
    pub fn new(region: Region, generator: Xoshiro256PlusPlus) -> Random {
        Random { region, generator }
    }
}

impl Access for Random {
    #[inline]
    fn next(&mut self) -> u64 {
        self.region.start + below(&mut self.generator, self.region.blocks) * self.region.block_bytes
    }
}

/// A number below `bound`, by taking the high half of a product (Lemire 2019). Its bias is below `bound` / 2^64, nothing at a block count.
#[inline]
pub fn below(generator: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    use rand_core::Rng as _;
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stays_within_its_region_on_block_boundaries(start in 0u64..1 << 40, blocks in 1u64..1000, shift in 9u32..20, seed: u64) {
            let region = Region { start: start << shift, blocks, block_bytes: 1 << shift };
            let mut random = Random::new(region, generator(seed, 0));
            let mut sequential = Sequential::new(region);
            for turn in 0..2 * blocks {
                for offset in [random.next(), sequential.next()] {
                    prop_assert!(offset >= region.start && offset < region.start + blocks * region.block_bytes);
                    prop_assert_eq!(offset % region.block_bytes, 0);
                }
                let _ = turn;
            }
        }

        #[test]
        fn the_same_seed_issues_the_same_offsets(seed: u64, job in 0u32..4) {
            let region = Region { start: 0, blocks: 1 << 30, block_bytes: 4096 };
            let (mut one, mut other) = (Random::new(region, generator(seed, job)), Random::new(region, generator(seed, job)));
            for _ in 0..20 {
                prop_assert_eq!(one.next(), other.next());
            }
        }
    }

    #[test]
    fn a_sequence_visits_every_block_and_starts_over() {
        let mut sequential = Sequential::new(Region { start: 8192, blocks: 3, block_bytes: 4096 });
        assert_eq!([0; 4].map(|_| sequential.next()), [8192, 12288, 16384, 8192]);
    }

    #[test]
    fn jobs_draw_different_offsets() {
        let region = Region { start: 0, blocks: 1 << 40, block_bytes: 512 };
        let first = |job| Random::new(region, generator(7, job)).next();
        assert_ne!(first(0), first(1));
    }
}
