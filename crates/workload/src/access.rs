//! What a seed stands for: which block of its own part a job touches next, whether it is read or written, and how long the gaps between offered operations are.
//!
//! Whoever carries out a plan draws from here, so that the same plan with the same seed issues the same operations on every target.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::blocks::{Arrivals, Rate};

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

/// Sequences by turns: the region is cut into equal pieces, and each block goes to the next piece, where it lies behind that piece's last one.
#[derive(Debug)]
pub struct Streams {
    region: Region,
    pieces: u64,
    /// Blocks of a piece.
    length: u64,
    piece: u64,
    /// The block within each piece.
    within: u64,
}

impl Streams {
    /// Starts at the first block of the first piece. Blocks that are left over when the region is cut are not touched.
    pub fn new(region: Region, streams: u32) -> Streams {
        let pieces = u64::from(streams).clamp(1, region.blocks);
        Streams { region, pieces, length: region.blocks / pieces, piece: 0, within: 0 }
    }
}

impl Access for Streams {
    #[inline]
    fn next(&mut self) -> u64 {
        let block = self.piece * self.length + self.within;
        self.piece += 1;
        if self.piece == self.pieces {
            self.piece = 0;
            self.within += 1;
            if self.within == self.length {
                self.within = 0;
            }
        }
        self.region.start + block * self.region.block_bytes
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
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Streams of draws that belong to one job but not to its offsets, so that the mix and the gaps do not disturb them.
const MIX_STREAM: u64 = 0x6d69_7800;
const GAP_STREAM: u64 = 0x6761_7000;

/// Draws whether the next operation of a mix reads.
#[derive(Debug)]
pub struct Mix {
    generator: Xoshiro256PlusPlus,
    read_percent: u64,
}

impl Mix {
    /// Of one job of a workload, with this share of reads.
    pub fn new(seed: u64, job: u32, read_percent: u8) -> Mix {
        Mix { generator: generator(seed ^ MIX_STREAM, job), read_percent: u64::from(read_percent) }
    }

    /// Whether the next operation reads.
    #[inline]
    pub fn next_reads(&mut self) -> bool {
        below(&mut self.generator, 100) < self.read_percent
    }
}

/// The gaps between a job's offered operations.
#[derive(Debug)]
pub struct Gaps {
    generator: Xoshiro256PlusPlus,
    arrivals: Arrivals,
    mean_s: f64,
}

impl Gaps {
    /// Of one job of a workload.
    pub fn new(seed: u64, job: u32, rate: Rate) -> Gaps {
        let mean_s = 1.0 / rate.per_second;
        Gaps { generator: generator(seed ^ GAP_STREAM, job), arrivals: rate.arrivals, mean_s }
    }

    /// The next gap in seconds.
    pub fn next_s(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => self.mean_s,
            Arrivals::Poisson => {
                // Inverse of the exponential distribution; 53 random bits shifted off zero, so that the logarithm is finite.
                let uniform = ((self.generator.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                -uniform.ln() * self.mean_s
            }
        }
    }
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
            let mut streams = Streams::new(region, 5);
            for turn in 0..2 * blocks {
                for offset in [random.next(), sequential.next(), streams.next()] {
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
    fn streams_take_turns_and_each_is_a_sequence() {
        let mut streams = Streams::new(Region { start: 4096, blocks: 7, block_bytes: 4096 }, 3);
        let blocks = [0; 8].map(|_| streams.next() / 4096 - 1);
        assert_eq!(blocks, [0, 2, 4, 1, 3, 5, 0, 2]);
    }

    #[test]
    fn jobs_draw_different_offsets() {
        let region = Region { start: 0, blocks: 1 << 40, block_bytes: 512 };
        let first = |job| Random::new(region, generator(7, job)).next();
        assert_ne!(first(0), first(1));
    }

    fn gaps(arrivals: Arrivals) -> Vec<f64> {
        let mut gaps = Gaps::new(3, 0, Rate { per_second: 1e6, arrivals });
        (0..100_000).map(|_| gaps.next_s()).collect()
    }

    #[test]
    fn both_kinds_offer_the_rate_asked() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let total: f64 = gaps(arrivals).iter().sum();
            assert!((total / 0.1 - 1.0).abs() < 0.02, "{arrivals:?}: {total}");
        }
    }

    #[test]
    fn poisson_gaps_vary_as_an_exponential_does() {
        let gaps = gaps(Arrivals::Poisson);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!(
            (deviation / mean - 1.0).abs() < 0.05,
            "an exponential's deviation is its mean, not {}",
            deviation / mean
        );
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        let mut mix = Mix::new(1, 0, 30);
        let reads = (0..100_000).filter(|_| mix.next_reads()).count();
        assert!((29_000..31_000).contains(&reads), "{reads}");
    }
}
