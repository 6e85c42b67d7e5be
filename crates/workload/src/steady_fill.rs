//! Random preconditioning of a flash drive in a single pass: the figures behind the order of its
//! writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pass of random writes after which a flash drive is in the state that a long random load would
/// reach (fio's `sprandom`).
///
/// A drive has more flash than it exports; the surplus, relative to the exported capacity, is its
/// over-provisioning. Each overwritten block leaves a stale page behind, which garbage collection
/// removes together with its erase block, after copying the pages that are still valid. How much it
/// copies depends on how the stale pages are spread over the erase blocks, and a drive that was
/// filled once has none at all: its random writes are fast until the surplus is used up. Random
/// overwrites reach the steady state only after several times the capacity, which takes hours. The
/// distribution is known, though, so it can be written down directly.
///
/// A random write hits an erase block with a probability in proportion to its valid pages. In the
/// steady state, as many blocks leave each degree of validity `v` as enter it, so the number of
/// blocks with that validity is in proportion to `1/v` (Desnoyers, "Analytic Models of SSD Write
/// Performance", ACM Transactions on Storage 8(2), 2012). The scale begins at the validity of the
/// block that is collected next. At a write amplification `W`, collecting it yields a share `1/W`
/// of free pages, so its validity is `1 - 1/W`; for uniformly random writes,
/// `W` is about `0.5 / over_provisioning + 0.7`. It ends at 1, the block written last. Integrating
/// `1/v` from the validity `g` of the first up to `v`, and solving for `v`, gives the validity at a
/// position `x` from 0 to 1 in the flash, the oldest first: `g^(1 - x)`.
///
/// The pass therefore writes the whole flash once, region by region. Each region ends up as one
/// part of the flash, because a drive appends what it writes. The blocks of the oldest region are
/// overwritten most: each region begins by writing again as many blocks of the region before as
/// that one is to have stale ones, chosen at random, and continues with blocks that have not been
/// written before, in random order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyFill {
    /// Flash that is not exported, relative to the exported capacity; above 0 and below 1.
    pub over_provisioning: f64,
    /// Number of regions. The block numbers that are kept in memory are at most those of one region.
    pub regions: u32,
}

impl SteadyFill {
    /// fio's defaults.
    pub const DEFAULT: SteadyFill = SteadyFill { over_provisioning: 0.15, regions: 100 };

    /// Limit on the number of regions.
    pub const REGIONS_MAX: u32 = 1_000_000;

    /// The number of regions of a part of this many blocks: each has at least one write.
    pub fn regions_of(&self, blocks: u64) -> u64 {
        u64::from(self.regions).clamp(1, blocks.max(1))
    }

    /// The number of writes in each region of a part of this many blocks.
    pub fn writes_per_region(&self, blocks: u64) -> u64 {
        let surplus = (blocks as f64 * self.over_provisioning).ceil() as u64;
        blocks.saturating_add(surplus) / self.regions_of(blocks)
    }

    /// The share of valid blocks in a region, counted from the oldest, of `regions`.
    pub fn validity(&self, region: u64, regions: u64) -> f64 {
        let amplification = 0.5 / self.over_provisioning + 0.7;
        let collected = 1.0 - 1.0 / amplification;
        let younger = regions.saturating_sub(region + 1) as f64;
        collected.powf(younger / regions.saturating_sub(1).max(1) as f64)
    }

    /// The number of writes in a region that the next one repeats.
    pub fn stale(&self, region: u64, blocks: u64) -> u64 {
        let (regions, writes) = (self.regions_of(blocks), self.writes_per_region(blocks));
        ((1.0 - self.validity(region, regions)) * writes as f64).round() as u64
    }

    /// The number of writes in a pass over this many blocks. It ends when each of them has been
    /// written: at about `1 + over_provisioning` times their number.
    pub fn writes(&self, blocks: u64) -> u64 {
        let per_region = self.writes_per_region(blocks);
        let (mut new, mut repeated) = (0, 0);
        for region in 0..self.regions_of(blocks) {
            let left = blocks - new;
            let repeats = if region == 0 { 0 } else { self.stale(region - 1, blocks) };
            repeated += repeats;
            if per_region - repeats >= left {
                break;
            }
            new += per_region - repeats;
        }
        blocks.saturating_add(repeated)
    }

    /// Memory for the block numbers that a pass keeps, in bytes: those to be repeated from the
    /// previous region and from the current one.
    pub fn memory_bytes(&self, blocks: u64) -> u64 {
        self.stale(0, blocks).saturating_mul(2 * size_of::<u64>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The invalid share of each region as fio 3.42 reports it with `--debug=sprandom` for
    /// `spr_op=0.15` and `spr_num_regions=10`. It computes the curve point by point.
    const FIO_INVALID: [f64; 10] =
        [0.2479, 0.2237, 0.1988, 0.1730, 0.1464, 0.1190, 0.0906, 0.0614, 0.0312, 0.0];

    #[test]
    fn validity_follows_the_published_distribution() {
        let fill = SteadyFill { over_provisioning: 0.15, regions: 10 };
        let validity: Vec<f64> = (0..10).map(|region| fill.validity(region, 10)).collect();
        for (own, fio) in validity.iter().zip(FIO_INVALID) {
            assert!((1.0 - own - fio).abs() < 0.0002, "{validity:?}");
        }
        // The valid share in the end is the exported capacity: 1 of 1.15.
        let fine = SteadyFill { over_provisioning: 0.15, regions: 1000 };
        let mean = (0..1000).map(|region| fine.validity(region, 1000)).sum::<f64>() / 1000.0;
        assert!((mean - 1.0 / 1.15).abs() < 0.002, "{mean}");
        // A drive with more surplus collects blocks that are emptier.
        let spacious = SteadyFill { over_provisioning: 0.5, ..fine };
        assert!(spacious.validity(0, 1000) < fine.validity(0, 1000) - 0.2);
    }

    #[test]
    fn a_pass_writes_the_whole_flash_about_once() {
        for (over_provisioning, regions) in [(0.07, 100), (0.15, 100), (0.28, 400), (0.5, 30)] {
            let fill = SteadyFill { over_provisioning, regions };
            let blocks = 1_000_000;
            let relative = fill.writes(blocks) as f64 / (blocks as f64 * (1.0 + over_provisioning));
            assert!((relative - 1.0).abs() < 0.02, "{over_provisioning}: {relative}");
        }
        // Two lists of a quarter of a region.
        let bytes = SteadyFill::DEFAULT.memory_bytes(1 << 28);
        assert!((11 << 20..13 << 20).contains(&bytes), "{bytes}");
    }
}
