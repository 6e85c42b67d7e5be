//! The operations that follow from a seed: which block of its part a job accesses next, whether it
//! is read or written, and the gaps between offered operations.
//!
//! The engine and the models both draw from here. The same plan with the same seed issues the same
//! operations on every target.

mod operations;
mod steady_fill;
mod turns;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::blocks::{Arrivals, Rate, Workload};
use crate::order::{BlockOrder, Zone};
use crate::random::{below, generator, scrambled};
use crate::sizes::{BlockSizes, SizeShare};

pub use operations::{Direction, Loop, Operations};
pub use steady_fill::SteadyFillOrder;
pub use turns::FileTurns;

/// The part of the target that one job works on. If it spans several files, their blocks are
/// numbered through ([`JobPart::locate`](crate::JobPart::locate)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Offset of the first block, in bytes.
    pub start: u64,
    /// Number of whole blocks; at least 1.
    pub blocks: u64,
    /// Block size in bytes; if sizes vary, the alignment of random blocks.
    pub block_bytes: u64,
}

impl Region {
    /// Number of blocks that an operation of this many bytes occupies.
    fn units(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.block_bytes).clamp(1, self.blocks)
    }

    fn end(&self) -> u64 {
        self.start + self.blocks * self.block_bytes
    }
}

/// Chooses the next block.
pub trait Access {
    /// The offset of the next block, in bytes.
    fn next(&mut self) -> u64;

    /// The offset of the next operation of this many bytes, if sizes vary. The operation ends
    /// within the region, if the region is large enough.
    fn next_of(&mut self, bytes: u64) -> u64;

    /// An offset in the file that the next sync covers, given that of the last write.
    fn synced(&mut self, written: u64) -> u64 {
        written
    }
}

/// Sequential blocks; wraps around.
#[derive(Debug)]
pub struct Sequential {
    region: Region,
    next: u64,
}

impl Sequential {
    /// Starts at the first block of the region.
    pub fn new(region: Region) -> Sequential {
        Sequential { region, next: region.start }
    }
}

impl Access for Sequential {
    #[inline]
    fn next(&mut self) -> u64 {
        let offset = self.next;
        self.next += self.region.block_bytes;
        if self.next == self.region.end() {
            self.next = self.region.start;
        }
        offset
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        let fits = self.next + bytes <= self.region.end();
        let offset = if fits { self.next } else { self.region.start };
        self.next = offset + bytes;
        offset
    }
}

/// Blocks with a gap after each, or backwards if the gap is negative; wraps around.
#[derive(Debug)]
pub struct Skipping {
    region: Region,
    skip: i64,
    /// End of the previous block.
    last: Option<u64>,
}

impl Skipping {
    /// Starts at the first block of the region, or at its end.
    pub fn new(region: Region, skip: i64) -> Skipping {
        Skipping { region, skip, last: None }
    }
}

impl Access for Skipping {
    fn next(&mut self) -> u64 {
        self.next_of(self.region.block_bytes)
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        let (start, end) = (self.region.start, self.region.end());
        let first =
            if self.skip < 0 { end.saturating_add_signed(self.skip).max(start) } else { start };
        let within = |offset: &u64| *offset >= start && offset.saturating_add(bytes) <= end;
        let following =
            self.last.and_then(|last| last.checked_add_signed(self.skip)).filter(within);
        let offset = following.unwrap_or(first);
        self.last = Some(offset + bytes);
        offset
    }
}

/// Sequential streams that take turns: the region is cut into equal pieces, and each block extends
/// the next piece.
#[derive(Debug)]
pub struct Streams {
    region: Region,
    pieces: u64,
    /// Blocks per piece.
    length: u64,
    piece: u64,
    /// Current block within each piece.
    within: u64,
}

impl Streams {
    /// Starts at the first block of the first piece. Blocks left over after dividing the region are
    /// not accessed.
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

    /// Streams have a single block size.
    fn next_of(&mut self, _bytes: u64) -> u64 {
        self.next()
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

    fn next_of(&mut self, bytes: u64) -> u64 {
        let places = self.region.blocks + 1 - self.region.units(bytes);
        self.region.start + below(&mut self.generator, places) * self.region.block_bytes
    }
}

/// Random blocks with uneven popularity.
#[derive(Debug)]
pub struct Popular {
    region: Region,
    generator: Xoshiro256PlusPlus,
    popularity: Popularity,
}

/// Draws a popularity rank; 0 is the most popular.
#[derive(Debug)]
enum Popularity {
    /// Rejection sampling from a step that covers the curve 1/x^theta (Hoermann and Derflinger
    /// 1996): exact, without a sum over all blocks.
    Zipf { theta: f64, area: f64 },
    /// A uniform number raised to the power that puts a share `1 - h` of the draws below a share
    /// `h` of the ranks.
    Pareto { power: f64 },
}

impl Popular {
    /// Ranks by Zipf's law; `theta` is above 0 and not 1.
    fn zipf(region: Region, generator: Xoshiro256PlusPlus, theta: f64) -> Popular {
        // The area is 1 below the first step, and the integral of the curve from 1 on below the
        // rest.
        let area = ((region.blocks as f64).powf(1.0 - theta) - theta) / (1.0 - theta);
        Popular { region, generator, popularity: Popularity::Zipf { theta, area } }
    }

    /// Self-similar ranks; `share` is above 0 and below 1.
    fn pareto(region: Region, generator: Xoshiro256PlusPlus, share: f64) -> Popular {
        let power = share.ln() / (1.0 - share).ln();
        Popular { region, generator, popularity: Popularity::Pareto { power } }
    }

    fn rank(&mut self) -> u64 {
        let last = self.region.blocks - 1;
        let rank = match self.popularity {
            Popularity::Zipf { theta, area } => loop {
                let under = uniform(&mut self.generator) * area;
                let x = if under <= 1.0 {
                    under
                } else {
                    (under * (1.0 - theta) + theta).powf(1.0 / (1.0 - theta))
                };
                let rank = (x + 1.0).floor();
                let step = if rank > 1.0 { (x / rank).powf(theta) } else { 1.0 };
                if uniform(&mut self.generator) < step {
                    break rank as u64 - 1;
                }
            },
            Popularity::Pareto { power } => {
                (last as f64 * uniform(&mut self.generator).powf(power)) as u64
            }
        };
        rank.min(last)
    }
}

impl Access for Popular {
    fn next(&mut self) -> u64 {
        self.next_of(self.region.block_bytes)
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        // Each rank has a fixed block, with neighbouring ranks far apart. Few blocks have several
        // ranks.
        let position = scrambled(self.rank());
        let places = self.region.blocks + 1 - self.region.units(bytes);
        let block = ((u128::from(position) * u128::from(places)) >> 64) as u64;
        self.region.start + block * self.region.block_bytes
    }
}

/// Above 0 and below 1: 53 random bits, shifted off zero.
fn uniform(generator: &mut Xoshiro256PlusPlus) -> f64 {
    ((generator.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Random blocks in zones with different shares of the draws.
#[derive(Debug)]
pub struct Zoned {
    region: Region,
    generator: Xoshiro256PlusPlus,
    zones: Vec<Zone>,
}

impl Access for Zoned {
    fn next(&mut self) -> u64 {
        self.next_of(self.region.block_bytes)
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        let mut drawn = below(&mut self.generator, 100);
        let mut before = 0;
        let places = self.region.blocks + 1 - self.region.units(bytes);
        let at = |percent: u64| (u128::from(places) * u128::from(percent) / 100) as u64;
        for zone in &self.zones {
            let (access, size) = (u64::from(zone.access_percent), u64::from(zone.size_percent));
            if drawn < access {
                let (first, last) = (at(before), at(before + size));
                // A zone smaller than a block has the block at its start.
                let block = first + below(&mut self.generator, (last - first).max(1));
                return self.region.start + block.min(places - 1) * self.region.block_bytes;
            }
            drawn -= access;
            before += size;
        }
        self.region.start
    }
}

/// Zones accessed sequentially, with a gap after each; wraps around.
#[derive(Debug)]
pub struct Strided {
    region: Region,
    zone_bytes: u64,
    skip_bytes: u64,
    zone: u64,
    next: u64,
}

impl Strided {
    /// Starts at the first block of the region.
    pub fn new(region: Region, zone_bytes: u64, skip_bytes: u64) -> Strided {
        Strided { region, zone_bytes, skip_bytes, zone: region.start, next: region.start }
    }
}

impl Access for Strided {
    fn next(&mut self) -> u64 {
        self.next_of(self.region.block_bytes)
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        if self.next + bytes > self.zone + self.zone_bytes {
            self.zone += self.zone_bytes + self.skip_bytes;
            self.next = self.zone;
        }
        if self.next + bytes > self.region.end() {
            (self.zone, self.next) = (self.region.start, self.region.start);
        }
        let offset = self.next;
        self.next += bytes;
        offset
    }
}

/// Blocks in the order of a list, repeated. Numbers beyond the region wrap around.
#[derive(Debug)]
pub struct Sequence {
    region: Region,
    blocks: Vec<u64>,
    advances: bool,
    base: u64,
    at: usize,
}

impl Access for Sequence {
    fn next(&mut self) -> u64 {
        self.next_of(self.region.block_bytes)
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        let places = self.region.blocks + 1 - self.region.units(bytes);
        let block =
            self.base.saturating_add(self.blocks.get(self.at).copied().unwrap_or(0)) % places;
        self.at += 1;
        if self.at >= self.blocks.len() {
            self.at = 0;
            if self.advances {
                self.base = (self.base + self.blocks.len() as u64) % places;
            }
        }
        self.region.start + block * self.region.block_bytes
    }
}

/// The block order of a workload.
#[derive(Debug)]
pub enum Order {
    Sequential(Sequential),
    /// Streams that take turns.
    Streams(Streams),
    /// With gaps, or backwards.
    Skipping(Skipping),
    /// Zone by zone, with gaps.
    Strided(Strided),
    /// A list of blocks.
    Sequence(Sequence),
    Random(Random),
    /// Random with uneven popularity.
    Popular(Popular),
    Zoned(Zoned),
    /// Random, to bring a drive to its steady state.
    SteadyFill(SteadyFillOrder),
    /// In several files that take turns.
    Files(FileTurns),
}

impl Order {
    /// The order for one job of a workload, whose region spans this many files.
    pub fn new(workload: &Workload, region: Region, files: u32, seed: u64, job: u32) -> Order {
        if files > 1 {
            return Order::Files(FileTurns::new(workload, region, files, seed, job));
        }
        Order::within(workload, region, || generator(seed, job))
    }

    fn within(
        workload: &Workload,
        region: Region,
        draws: impl FnOnce() -> Xoshiro256PlusPlus,
    ) -> Order {
        match (&workload.order, workload.pattern.is_random()) {
            (BlockOrder::SkipBytes(skip), false) => Order::Skipping(Skipping::new(region, *skip)),
            (BlockOrder::Strided { zone_bytes, skip_bytes }, false) => {
                Order::Strided(Strided::new(region, *zone_bytes, *skip_bytes))
            }
            (_, false) if workload.streams.get() > 1 => {
                Order::Streams(Streams::new(region, workload.streams.get()))
            }
            (_, false) => Order::Sequential(Sequential::new(region)),
            (BlockOrder::Zipf(theta), true) => {
                Order::Popular(Popular::zipf(region, draws(), *theta))
            }
            (BlockOrder::Pareto(share), true) => {
                Order::Popular(Popular::pareto(region, draws(), *share))
            }
            (BlockOrder::Zones(zones), true) => {
                Order::Zoned(Zoned { region, generator: draws(), zones: zones.clone() })
            }
            (BlockOrder::Sequence { blocks, advances }, true) => Order::Sequence(Sequence {
                region,
                blocks: blocks.clone(),
                advances: *advances,
                base: 0,
                at: 0,
            }),
            (BlockOrder::SteadyFill(fill), true) => {
                Order::SteadyFill(SteadyFillOrder::new(region, *fill, draws()))
            }
            (BlockOrder::Plain | BlockOrder::SkipBytes(_) | BlockOrder::Strided { .. }, true) => {
                Order::Random(Random::new(region, draws()))
            }
        }
    }
}

impl Access for Order {
    #[inline]
    fn next(&mut self) -> u64 {
        match self {
            Order::Sequential(access) => access.next(),
            Order::Streams(access) => access.next(),
            Order::Skipping(access) => access.next(),
            Order::Strided(access) => access.next(),
            Order::Sequence(access) => access.next(),
            Order::Random(access) => access.next(),
            Order::Popular(access) => access.next(),
            Order::Zoned(access) => access.next(),
            Order::SteadyFill(access) => access.next(),
            Order::Files(access) => access.next(),
        }
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        match self {
            Order::Sequential(access) => access.next_of(bytes),
            Order::Streams(access) => access.next_of(bytes),
            Order::Skipping(access) => access.next_of(bytes),
            Order::Strided(access) => access.next_of(bytes),
            Order::Sequence(access) => access.next_of(bytes),
            Order::Random(access) => access.next_of(bytes),
            Order::Popular(access) => access.next_of(bytes),
            Order::Zoned(access) => access.next_of(bytes),
            Order::SteadyFill(access) => access.next_of(bytes),
            Order::Files(access) => access.next_of(bytes),
        }
    }

    fn synced(&mut self, written: u64) -> u64 {
        match self {
            Order::Files(access) => access.synced(written),
            _ => written,
        }
    }
}

/// Draws the size of each operation, if sizes vary.
#[derive(Debug)]
pub struct Sizes {
    generator: Xoshiro256PlusPlus,
    drawn: BlockSizes,
    region: Region,
}

impl Sizes {
    /// The sizes for one job of a workload, which works on this region.
    pub fn new(sizes: BlockSizes, region: Region, seed: u64, job: u32) -> Sizes {
        Sizes { generator: generator(seed ^ SIZE_STREAM, job), drawn: sizes, region }
    }

    /// The offset and the bytes of the next read or write.
    pub fn next_block(&mut self, reads: bool, access: &mut impl Access) -> (u64, u32) {
        let bytes = self.next(reads);
        let Some(coarse) = self.drawn.coarse.filter(|coarse| coarse.reads == reads) else {
            return (access.next_of(u64::from(bytes)), bytes);
        };
        // Each of the coarser places has as many of the finer ones: draw among these, as many as
        // there are if the last place is divided as well.
        let align = u64::from(coarse.bytes);
        let spare = align - self.region.block_bytes;
        let drawn = access.next_of(u64::from(bytes).saturating_sub(spare)) - self.region.start;
        let mut place = drawn - drawn % align;
        while place > 0 && place + u64::from(bytes) > self.region.end() - self.region.start {
            place -= align;
        }
        (self.region.start + place, bytes)
    }

    /// Bytes of the next read or write.
    fn next(&mut self, reads: bool) -> u32 {
        let shares: &[SizeShare] = if reads { &self.drawn.reads } else { &self.drawn.writes };
        let weight: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
        let mut drawn = below(&mut self.generator, weight);
        for share in shares {
            if drawn < u64::from(share.weight) {
                return share.bytes;
            }
            drawn -= u64::from(share.weight);
        }
        shares.last().map_or(self.drawn.align_bytes, |share| share.bytes)
    }
}

/// Separate random streams of a job, so that the mix, the gaps and the sizes do not affect its
/// offsets.
const MIX_STREAM: u64 = 0x6d69_7800;
const GAP_STREAM: u64 = 0x6761_7000;
const WRITE_GAP_STREAM: u64 = 0x7767_6170;
const SIZE_STREAM: u64 = 0x7369_7a65;

/// Decides whether each operation of a mix is a read.
#[derive(Debug)]
pub enum Mix {
    /// Each operation is drawn.
    Drawn(DrawnMix),
    /// The operation that is due first, where reads and writes have one rate each.
    Offered(OfferedMix),
}

impl Mix {
    /// Returns `true` if the next operation is a read.
    pub fn next_reads(&mut self) -> bool {
        match self {
            Mix::Drawn(mix) => mix.next_reads(),
            Mix::Offered(mix) => mix.next_arrival().reads,
        }
    }
}

/// Draws whether each operation of a mix is a read.
#[derive(Debug)]
pub struct DrawnMix {
    generator: Xoshiro256PlusPlus,
    read_percent: u64,
}

impl DrawnMix {
    /// The mix for one job of a workload, with this percentage of reads.
    pub fn new(seed: u64, job: u32, read_percent: u8) -> DrawnMix {
        let generator = generator(seed ^ MIX_STREAM, job);
        DrawnMix { generator, read_percent: u64::from(read_percent) }
    }

    /// Returns `true` if the next operation is a read.
    #[inline]
    pub fn next_reads(&mut self) -> bool {
        match self.read_percent {
            0 => false,
            100 => true,
            percent => below(&mut self.generator, 100) < percent,
        }
    }
}

/// The gaps between a job's offered operations.
#[derive(Debug)]
pub enum Gaps {
    /// All operations arrive in one stream.
    Together(Stream),
    /// Reads and writes arrive independently of each other.
    Apart(OfferedMix),
}

impl Gaps {
    pub fn new(seed: u64, job: u32, rate: Rate) -> Gaps {
        match OfferedMix::new(seed, job, rate) {
            None => Gaps::Together(Stream::new(seed ^ GAP_STREAM, job, rate.per_second, rate)),
            Some(mut mix) => {
                // The first operation is due at once; this is what follows it.
                mix.next_arrival();
                Gaps::Apart(mix)
            }
        }
    }

    pub fn next_s(&mut self) -> f64 {
        match self {
            Gaps::Together(stream) => stream.next_s(),
            Gaps::Apart(mix) => mix.next_arrival().gap_s,
        }
    }
}

/// Reads and writes that arrive independently of each other, in the order in which they are due.
#[derive(Debug)]
pub struct OfferedMix {
    reads: Stream,
    writes: Stream,
    /// Seconds from the previous operation to the next read and the next write.
    read_in_s: f64,
    write_in_s: f64,
}

/// An operation of an [`OfferedMix`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Seconds since the previous one was due.
    pub gap_s: f64,
    /// It is a read.
    pub reads: bool,
}

impl OfferedMix {
    /// The operations of one job, if its reads and writes have one rate each.
    pub fn new(seed: u64, job: u32, rate: Rate) -> Option<OfferedMix> {
        let reads = rate.reads_per_second?;
        Some(OfferedMix {
            reads: Stream::new(seed ^ GAP_STREAM, job, reads, rate),
            writes: Stream::new(seed ^ WRITE_GAP_STREAM, job, rate.per_second - reads, rate),
            read_in_s: 0.0,
            write_in_s: 0.0,
        })
    }

    /// The next operation.
    pub fn next_arrival(&mut self) -> Arrival {
        let reads = self.read_in_s <= self.write_in_s;
        let gap_s = self.read_in_s.min(self.write_in_s);
        self.read_in_s -= gap_s;
        self.write_in_s -= gap_s;
        if reads {
            self.read_in_s = self.reads.next_s();
        } else {
            self.write_in_s = self.writes.next_s();
        }
        Arrival { gap_s, reads }
    }
}

/// Operations that arrive at one rate.
#[derive(Debug)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
    arrivals: Arrivals,
    mean_s: f64,
}

impl Stream {
    fn new(seed: u64, job: u32, per_second: f64, rate: Rate) -> Stream {
        Stream {
            generator: generator(seed, job),
            arrivals: rate.arrivals,
            mean_s: 1.0 / per_second,
        }
    }

    /// The next gap in seconds.
    fn next_s(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => self.mean_s,
            Arrivals::Poisson => {
                // Inverse of the exponential distribution; `uniform` is never 0, so the logarithm
                // is finite.
                -uniform(&mut self.generator).ln() * self.mean_s
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::CoarseAlignment;
    use proptest::prelude::*;

    const SMALL: Region = Region { start: 0, blocks: 1000, block_bytes: 512 };

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
    fn skipping_leaves_gaps_or_goes_backwards() {
        let region = Region { start: 4096, blocks: 5, block_bytes: 4096 };
        let blocks = |skip: i64| {
            let mut skipping = Skipping::new(region, skip);
            [0; 6].map(|_| skipping.next() / 4096 - 1)
        };
        assert_eq!(blocks(4096), [0, 2, 4, 0, 2, 4]);
        // As in fio, the gap is measured from the end of one block to the start of the next.
        assert_eq!(blocks(-8192), [3, 2, 1, 0, 3, 2]);
    }

    #[test]
    fn zones_are_gone_through_and_gaps_skipped() {
        let region = Region { start: 4096, blocks: 7, block_bytes: 4096 };
        let mut strided = Strided::new(region, 8192, 4096);
        assert_eq!([0; 6].map(|_| strided.next() / 4096 - 1), [0, 1, 3, 4, 6, 0]);
    }

    #[test]
    fn a_sequence_of_numbers_repeats_or_goes_on() {
        let blocks = |advances| {
            let mut order = order(BlockOrder::Sequence { blocks: vec![2, 0, 1], advances });
            [0; 6].map(|_| order.next() / 4096)
        };
        assert_eq!((blocks(false), blocks(true)), ([2, 0, 1, 2, 0, 1], [2, 0, 1, 5, 3, 4]));
    }

    #[test]
    fn operations_of_several_sizes_follow_each_other_up_to_the_end() {
        let region = Region { start: 4096, blocks: 4, block_bytes: 4096 };
        let mut sequential = Sequential::new(region);
        let offsets = [2, 1, 1, 3, 2, 4].map(|blocks| sequential.next_of(blocks * 4096) / 4096 - 1);
        // After four blocks, the operation of three no longer fits, nor do the next ones after it.
        assert_eq!(offsets, [0, 2, 3, 0, 0, 0]);
        let mut skipping = Skipping::new(region, 4096);
        assert_eq!(
            [1, 2, 2, 1].map(|blocks| skipping.next_of(blocks * 4096) / 4096 - 1),
            [0, 2, 0, 3]
        );
        let mut strided = Strided::new(region, 8192, 4096);
        assert_eq!(
            [1, 2, 1, 1].map(|blocks| strided.next_of(blocks * 4096) / 4096 - 1),
            [0, 0, 3, 0]
        );
    }

    #[test]
    fn every_place_that_an_operation_fits_into_is_drawn() {
        let region = Region { start: 8192, blocks: 6, block_bytes: 4096 };
        for distribution in
            ["random", "zipf:0.8", "pareto:0.5", "zoned:50/50:50/50", "sequence:0,1,2,3,4"]
        {
            let mut workload =
                Workload::new(crate::Pattern::RandRead, crate::BlockBytes::new(4096).unwrap());
            workload.order = BlockOrder::from_distribution(distribution).unwrap();
            let mut order = Order::new(&workload, region, 1, 1, 0);
            let mut drawn: Vec<u64> = (0..10_000).map(|_| order.next_of(5000) / 4096 - 2).collect();
            drawn.sort_unstable();
            drawn.dedup();
            // Two of six blocks each.
            assert!(drawn.iter().all(|place| *place < 5), "{distribution}: {drawn:?}");
            // The ranks of an uneven order are scattered over the blocks, and can miss one.
            let least = if matches!(order, Order::Popular(_)) { 3 } else { 5 };
            assert!(drawn.len() >= least && drawn.last() == Some(&4), "{distribution}: {drawn:?}");
        }
    }

    #[test]
    fn ranks_are_drawn_by_zipf_s_law_and_pareto_s() {
        const DRAWS: usize = 200_000;
        let region = Region { start: 0, blocks: 1000, block_bytes: 4096 };
        let ranks = |mut popular: Popular| {
            let mut counts = vec![0.0; 1000];
            (0..DRAWS).for_each(|_| counts[popular.rank() as usize] += 1.0 / DRAWS as f64);
            counts
        };
        for theta in [0.5, 0.8, 1.2, 2.5] {
            let counts = ranks(Popular::zipf(region, generator(1, 0), theta));
            let sum: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-theta)).sum();
            let mut before = (0.0, 0.0);
            for (rank, count) in counts.iter().enumerate() {
                before.0 += (rank as f64 + 1.0).powf(-theta) / sum;
                before.1 += count;
                // Four standard deviations of a share of so many draws are at most 0.0045.
                assert!((before.0 - before.1).abs() < 0.0045, "{theta}: up to {rank}: {before:?}");
            }
        }
        // 80 % of the draws in 20 % of the ranks, and again within these.
        let counts = ranks(Popular::pareto(region, generator(1, 0), 0.2));
        let first = |ranks: usize| counts[..ranks].iter().sum::<f64>();
        assert!(
            (first(200) - 0.8).abs() < 0.0045 && (first(40) - 0.64).abs() < 0.0045,
            "{counts:?}"
        );
    }

    #[test]
    fn ranks_are_scattered_as_splitmix64_mixes() {
        // The first numbers of the published generator (Vigna, splitmix64.c) from seed 0; its
        // states are multiples of its constant.
        let states = [0_u64, 1, 2].map(|times| times.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert_eq!(
            states.map(scrambled),
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]
        );
    }

    #[test]
    fn each_seed_and_job_has_its_own_draws() {
        let seeds = || std::iter::once(0).chain((0..64).map(|bit| 1_u64 << bit));
        let rate = Rate { per_second: 1.0, reads_per_second: None, arrivals: Arrivals::Poisson };
        let share = |bytes| SizeShare { bytes, weight: 1 };
        let sizes = BlockSizes {
            align_bytes: 1,
            coarse: None,
            reads: (0..1000).map(share).collect(),
            writes: Vec::new(),
        };
        let mut seen = std::collections::HashSet::new();
        for (seed, job) in seeds().map(|seed| (seed, 0)).chain([(0, 1), (0, 2)]) {
            let mut mix = DrawnMix::new(seed, job, 50);
            let mut drawn = Sizes::new(sizes.clone(), SMALL, seed, job);
            let mut gaps = Gaps::new(seed, job, rate);
            let mixed: Vec<u64> = (0..64).map(|_| u64::from(mix.next_reads())).collect();
            let drawn: Vec<u64> = (0..64).map(|_| u64::from(drawn.next(true))).collect();
            let gaps: Vec<u64> = (0..64).map(|_| gaps.next_s().to_bits()).collect();
            assert!(
                [mixed, drawn, gaps].into_iter().all(|draws| seen.insert(draws)),
                "{seed} {job}"
            );
        }
    }

    fn order(order: BlockOrder) -> Order {
        let block = crate::BlockBytes::new(4096).unwrap();
        let mut workload = Workload::new(crate::Pattern::RandRead, block);
        workload.order = order;
        Order::new(&workload, Region { start: 0, blocks: 1000, block_bytes: 4096 }, 1, 1, 0)
    }

    fn counts(mut order: Order) -> Vec<u32> {
        let mut counts = vec![0; 1000];
        for _ in 0..100_000 {
            counts[(order.next() / 4096) as usize] += 1;
        }
        counts
    }

    #[test]
    fn popular_blocks_are_as_popular_as_asked() {
        // The sum over 1/n^1.2 from 1 to 1000 is 4.335, so the first has 23.1 % of all draws, the
        // second 10.0 %.
        let mut zipf = counts(order(BlockOrder::Zipf(1.2)));
        zipf.sort_unstable_by(|one, other| other.cmp(one));
        assert!(
            (22_000..24_300).contains(&zipf[0]) && (9_500..11_000).contains(&zipf[1]),
            "{:?}",
            &zipf[..3]
        );
        // Some ranks share a block, so slightly more than 80 % of the draws are in 20 % of the
        // blocks.
        let mut pareto = counts(order(BlockOrder::Pareto(0.2)));
        pareto.sort_unstable_by(|one, other| other.cmp(one));
        let most: u32 = pareto[..200].iter().sum();
        assert!((78_000..92_000).contains(&most), "{most}");
    }

    #[test]
    fn zones_have_their_share_of_draws() {
        let zoned = BlockOrder::from_distribution("zoned:50/5:30/15:20/80").unwrap();
        let counts = counts(order(zoned));
        let sums = [&counts[..50], &counts[50..200], &counts[200..]]
            .map(|zone| zone.iter().sum::<u32>() / 1000);
        assert!(
            (49..=51).contains(&sums[0])
                && (29..=31).contains(&sums[1])
                && (19..=21).contains(&sums[2])
        );
    }

    proptest! {
        #[test]
        fn operations_of_any_size_stay_within_their_region(
            blocks in 16u64..200, units in 1u64..17, seed: u64, which in 0usize..7,
        ) {
            let region = Region { start: 8192, blocks, block_bytes: 4096 };
            let orders = ["random", "zipf:0.8", "zipf:2.5", "pareto:0.3", "zoned:90/1:10/99", "zoned:1/99:99/1", "sequence:0,7,900"];
            let mut workload = Workload::new(crate::Pattern::RandRead, crate::BlockBytes::new(4096).unwrap());
            workload.order = BlockOrder::from_distribution(orders[which]).unwrap();
            let bytes = units * 4096 - 512 * (seed % 8);
            let random = Order::new(&workload, region, 1, seed, 0);
            let (sequential, skipping) = (Sequential::new(region), Skipping::new(region, 4096));
            let strided = Strided::new(region, 20480, 4096 * (seed % 4));
            let orders =
                [random, Order::Sequential(sequential), Order::Skipping(skipping), Order::Strided(strided)];
            for mut order in orders {
                for _ in 0..100 {
                    let offset = order.next_of(bytes);
                    prop_assert!(offset >= region.start && offset + bytes <= region.end(), "{offset}");
                }
            }
        }
    }

    #[test]
    fn sizes_are_drawn_by_their_weight() {
        let share = |bytes, weight| SizeShare { bytes, weight };
        let (reads, writes) = (vec![share(512, 10), share(4096, 90)], vec![share(8192, 1)]);
        let mut sizes =
            Sizes::new(BlockSizes { align_bytes: 512, coarse: None, reads, writes }, SMALL, 1, 0);
        let small = (0..10_000).filter(|_| sizes.next(true) == 512).count();
        assert!((900..1100).contains(&small), "{small}");
        assert_eq!(sizes.next(false), 8192);
        let reads = [512, 1024, 2048, 4096].map(|bytes| share(bytes, 1)).to_vec();
        let mut sizes = Sizes::new(
            BlockSizes { align_bytes: 512, coarse: None, reads, writes: Vec::new() },
            SMALL,
            1,
            0,
        );
        let drawn: Vec<u32> = (0..10_000).map(|_| sizes.next(true)).collect();
        for bytes in [512, 1024, 2048, 4096] {
            let count = drawn.iter().filter(|drawn| **drawn == bytes).count();
            assert!((2300..2700).contains(&count), "{bytes}: {count}");
        }
    }

    #[test]
    fn each_direction_has_its_alignment() {
        let share = |bytes, weight| SizeShare { bytes, weight };
        let coarse = Some(CoarseAlignment { reads: false, bytes: 2048 });
        let (reads, writes) =
            (vec![share(512, 1)], vec![share(2048, 1), share(4096, 1), share(8192, 1)]);
        let sizes = BlockSizes { align_bytes: 512, coarse, reads, writes };
        // Ten places of 2048 B; a rest of up to three units is only used by the finer direction.
        for rest in 0..4 {
            let region = Region { start: 512, blocks: 40 + rest, block_bytes: 512 };
            let mut sizes = Sizes::new(sizes.clone(), region, 1, 0);
            let mut random = Random::new(region, generator(1, 0));
            let mut counts = [0; 10];
            for _ in 0..20_000 {
                let (offset, bytes) = sizes.next_block(false, &mut random);
                assert_eq!((offset - region.start) % 2048, 0);
                assert!(offset >= region.start && offset + u64::from(bytes) <= region.end());
                if bytes == 2048 {
                    counts[((offset - region.start) / 2048) as usize] += 1;
                }
            }
            // Evenly, except for the last place, which also gets what would reach beyond the end.
            assert!(counts[..9].iter().all(|count| (500..800).contains(count)), "{counts:?}");
            assert!((500..1300).contains(&counts[9]), "{counts:?}");
            let drawn: std::collections::HashSet<u64> =
                (0..2000).map(|_| sizes.next_block(true, &mut random).0).collect();
            assert_eq!(drawn.len() as u64, region.blocks);
        }
    }

    #[test]
    fn jobs_draw_different_offsets() {
        let region = Region { start: 0, blocks: 1 << 40, block_bytes: 512 };
        let first = |job| Random::new(region, generator(7, job)).next();
        assert_ne!(first(0), first(1));
    }

    fn gaps(arrivals: Arrivals) -> Vec<f64> {
        let mut gaps = Gaps::new(3, 0, Rate { per_second: 1e6, reads_per_second: None, arrivals });
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
        let deviation =
            (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!(
            (deviation / mean - 1.0).abs() < 0.05,
            "an exponential's deviation is its mean, not {}",
            deviation / mean
        );
    }

    #[test]
    fn reads_and_writes_with_one_rate_each_arrive_at_these_rates() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let rate = Rate { per_second: 400.0, reads_per_second: Some(100.0), arrivals };
            let (mut mix, mut gaps) = (OfferedMix::new(3, 0, rate).unwrap(), Gaps::new(3, 0, rate));
            let arrived: Vec<Arrival> = (0..40_000).map(|_| mix.next_arrival()).collect();
            let reads = arrived.iter().filter(|arrival| arrival.reads).count();
            assert!(reads.abs_diff(10_000) < 400, "{arrivals:?}: {reads}");
            let total: f64 = arrived.iter().map(|arrival| arrival.gap_s).sum();
            assert!((total / 100.0 - 1.0).abs() < 0.03, "{arrivals:?}: {total}");
            // The gaps are those between the same operations: the first one is due at once.
            assert_eq!(arrived[0].gap_s.to_bits(), 0.0f64.to_bits());
            let same = |arrival: &Arrival| arrival.gap_s.to_bits() == gaps.next_s().to_bits();
            assert!(arrived[1..].iter().all(same));
        }
        let rate =
            Rate { per_second: 4.0, reads_per_second: Some(1.0), arrivals: Arrivals::Constant };
        let mut mix = OfferedMix::new(1, 0, rate).unwrap();
        let reads = [0; 8].map(|_| mix.next_arrival().reads);
        assert_eq!(reads.iter().filter(|reads| **reads).count(), 2, "{reads:?}");
        let none = Rate { reads_per_second: None, ..rate };
        assert!(OfferedMix::new(1, 0, none).is_none());
    }

    #[test]
    fn a_mix_has_its_share_of_reads() {
        for percent in [1, 30, 99] {
            let mut mix = DrawnMix::new(1, 0, percent);
            let reads = (0..100_000).filter(|_| mix.next_reads()).count();
            // Four standard deviations are at most 580.
            assert!(reads.abs_diff(usize::from(percent) * 1000) < 580, "{percent}: {reads}");
        }
    }
}
