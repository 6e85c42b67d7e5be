//! The order of the writes that bring a drive to its steady state.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Access, Region};
use crate::random::{Permutation, below};
use crate::steady_fill::SteadyFill;

/// The blocks of a [`SteadyFill`], pass after pass.
#[derive(Debug)]
pub struct SteadyFillOrder {
    region: Region,
    fill: SteadyFill,
    generator: Xoshiro256PlusPlus,
    /// The order of the blocks that are written for the first time in a pass.
    new_blocks: Permutation,
    /// Number of these that have been written.
    written: u64,
    /// Number of the fill's regions that have begun.
    regions_begun: u64,
    /// Writes left in the current one.
    writes_left: u64,
    /// The number of these that the next region repeats.
    stale_left: u64,
    /// Blocks of the region before that are to be written again; the next one last.
    repeats: Vec<u64>,
    /// Blocks of the current region that the next one repeats.
    stale: Vec<u64>,
}

impl SteadyFillOrder {
    /// Starts the first pass.
    pub fn new(
        region: Region,
        fill: SteadyFill,
        mut generator: Xoshiro256PlusPlus,
    ) -> SteadyFillOrder {
        let new_blocks = Permutation::drawn(&mut generator, region.blocks);
        SteadyFillOrder {
            region,
            fill,
            generator,
            new_blocks,
            written: 0,
            regions_begun: 0,
            writes_left: 0,
            stale_left: 0,
            repeats: Vec::new(),
            stale: Vec::new(),
        }
    }

    fn begin_pass(&mut self) {
        self.new_blocks = Permutation::drawn(&mut self.generator, self.region.blocks);
        (self.written, self.regions_begun) = (0, 0);
        (self.writes_left, self.stale_left) = (0, 0);
        self.repeats.clear();
        self.stale.clear();
    }

    fn begin_region(&mut self) {
        let blocks = self.region.blocks;
        std::mem::swap(&mut self.repeats, &mut self.stale);
        // In the order in which they were written, so as many writes as possible lie between: a
        // drive whose cache still holds a block would never write its first version to flash.
        self.repeats.reverse();
        if self.regions_begun < self.fill.regions_of(blocks) {
            self.writes_left = self.fill.writes_per_region(blocks);
            self.stale_left = self.fill.stale(self.regions_begun, blocks);
        } else {
            // The blocks that the approximation of the write amplification leaves over.
            (self.writes_left, self.stale_left) = (blocks - self.written, 0);
        }
        self.regions_begun += 1;
    }

    fn next_block(&mut self) -> u64 {
        if self.writes_left == 0 && self.written < self.region.blocks {
            self.begin_region();
        }
        let block = match self.repeats.pop() {
            Some(block) => block,
            None if self.written == self.region.blocks => {
                self.begin_pass();
                return self.next_block();
            }
            None => {
                self.written += 1;
                self.new_blocks.at(self.written - 1)
            }
        };
        // Each of the writes left is equally likely to be among the stale ones, and their number is
        // exact.
        if below(&mut self.generator, self.writes_left) < self.stale_left {
            self.stale.push(block);
            self.stale_left -= 1;
        }
        self.writes_left -= 1;
        block
    }
}

impl Access for SteadyFillOrder {
    fn next(&mut self) -> u64 {
        self.region.start + self.next_block() * self.region.block_bytes
    }

    /// A fill has a single block size.
    fn next_of(&mut self, _bytes: u64) -> u64 {
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;
    use crate::random::generator;

    fn order(blocks: u64, fill: SteadyFill, seed: u64) -> SteadyFillOrder {
        let region = Region { start: 8192, blocks, block_bytes: 4096 };
        SteadyFillOrder::new(region, fill, generator(seed, 0))
    }

    fn pass(order: &mut SteadyFillOrder) -> Vec<u64> {
        let writes = order.fill.writes(order.region.blocks);
        (0..writes).map(|_| (order.next() - 8192) / 4096).collect()
    }

    proptest! {
        #[test]
        fn a_pass_writes_every_block_and_ends_with_the_last_new_one(
            blocks in 1u64..3000, percent in 1u32..100, regions in 1u32..300, seed: u64,
        ) {
            let fill = SteadyFill { over_provisioning: f64::from(percent) / 100.0, regions };
            let mut order = order(blocks, fill, seed);
            for _ in 0..2 {
                let drawn = pass(&mut order);
                let before: HashSet<u64> = drawn[..drawn.len() - 1].iter().copied().collect();
                prop_assert!(drawn.iter().all(|block| *block < blocks));
                prop_assert_eq!(before.len() as u64, blocks - 1);
                prop_assert!(!before.contains(drawn.last().unwrap()));
            }
        }

        #[test]
        fn each_region_ends_with_its_share_of_stale_blocks(
            blocks in 2000u64..20_000, percent in 5u32..60, regions in 2u32..40, seed: u64,
        ) {
            let fill = SteadyFill { over_provisioning: f64::from(percent) / 100.0, regions };
            let drawn = pass(&mut order(blocks, fill, seed));
            let last_write: HashMap<u64, usize> =
                drawn.iter().enumerate().map(|(at, block)| (*block, at)).collect();
            let per_region = fill.writes_per_region(blocks) as usize;
            let whole = drawn.chunks_exact(per_region).enumerate().take(regions as usize);
            // The region in which a pass ends has nobody to repeat it.
            let next_is_complete = |region: &usize| (region + 2) * per_region <= drawn.len();
            for (region, writes) in whole.filter(|(region, _)| next_is_complete(region)) {
                let valid = (writes.iter().enumerate())
                    .filter(|(at, block)| last_write[block] == region * per_region + at)
                    .count();
                let stale = fill.stale(region as u64, blocks) as usize;
                prop_assert_eq!(writes.len() - valid, stale, "region {}", region);
            }
        }

        #[test]
        fn the_order_follows_from_the_seed(seed: u64) {
            let fill = SteadyFill { over_provisioning: 0.2, regions: 7 };
            let drawn = pass(&mut order(500, fill, seed));
            prop_assert_eq!(&drawn, &pass(&mut order(500, fill, seed)));
            prop_assert_ne!(&drawn, &pass(&mut order(500, fill, seed ^ 1)));
            // The next pass is another one.
            let mut twice = order(500, fill, seed);
            pass(&mut twice);
            prop_assert_ne!(&drawn, &pass(&mut twice));
        }
    }

    #[test]
    fn no_more_block_numbers_are_kept_than_stated() {
        let fill = SteadyFill { over_provisioning: 0.3, regions: 20 };
        let mut order = order(50_000, fill, 5);
        for _ in 0..fill.writes(50_000) {
            order.next();
            let kept = (order.repeats.len() + order.stale.len()) as u64 * 8;
            assert!(kept <= fill.memory_bytes(50_000));
        }
    }

    #[test]
    fn stale_blocks_are_spread_over_their_region() {
        let fill = SteadyFill { over_provisioning: 0.3, regions: 10 };
        let drawn = pass(&mut order(100_000, fill, 3));
        let per_region = fill.writes_per_region(100_000) as usize;
        let repeated: HashSet<u64> =
            drawn[per_region..][..fill.stale(0, 100_000) as usize].iter().copied().collect();
        let early = drawn[..per_region / 2].iter().filter(|block| repeated.contains(block)).count();
        let share = early as f64 / repeated.len() as f64;
        assert!((share - 0.5).abs() < 0.03, "{share}");
    }
}
