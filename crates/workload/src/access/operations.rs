//! The operations of one job, and loops over them that are compiled once per kind.

use super::{Access, DrawnMix, Gaps, Mix, OfferedMix, Order, Region, Sizes};
use crate::blocks::Workload;
use crate::commits::Commits;
use crate::pacing::RateMin;
use crate::parts::JobPart;
use crate::priority::PriorityDraws;

/// The warm-up draws from a separate stream, so the measurement starts with the seed's own offsets.
const WARM_UP_STREAM: u64 = 0x7761_726d;

/// The operations of one job in one phase. They follow from the seed.
#[derive(Debug, Clone, Copy)]
pub struct Operations<'a> {
    workload: &'a Workload,
    part: JobPart,
    measured: bool,
    seed: u64,
    job: u32,
}

impl<'a> Operations<'a> {
    pub const fn new(workload: &'a Workload, part: JobPart, job: u32) -> Operations<'a> {
        Operations { workload, part, measured: true, seed: workload.seed, job }
    }

    /// The operations of the warm-up: different draws on the same region.
    #[must_use]
    pub const fn warm_up(self) -> Operations<'a> {
        Operations { seed: self.seed ^ WARM_UP_STREAM, measured: false, ..self }
    }

    /// The workload that these operations belong to.
    pub const fn workload(&self) -> &'a Workload {
        self.workload
    }

    /// The bytes that the job works on.
    pub fn region(&self) -> Region {
        let block_bytes = self.workload.unit_bytes();
        let blocks = self.part.bytes / block_bytes * u64::from(self.part.files);
        Region { start: self.part.start, blocks, block_bytes }
    }

    /// The rate below which the job fails; a warm-up has none.
    pub fn rate_min(&self) -> Option<RateMin> {
        self.workload.rate_min.filter(|_| self.measured)
    }

    /// The operations that count as a commit of the job.
    pub fn commits(&self) -> Commits {
        self.workload.commits_in(self.part.files)
    }

    /// The offset at which each of the job's files begins, for a sync of that file.
    pub fn files(&self) -> impl Iterator<Item = u64> + use<> {
        let JobPart { start, bytes, files, .. } = self.part;
        (0..u64::from(files)).map(move |file| start + file * bytes)
    }

    /// Number of writes after which the files start over, if their layout is consumed by writing.
    pub fn renew_every(&self) -> Option<u64> {
        self.workload.layout.starts_over().then(|| self.region().blocks)
    }

    pub fn order(&self) -> Order {
        Order::new(self.workload, self.region(), self.part.files, self.seed, self.job)
    }

    /// The sizes of the operations, if they vary.
    pub fn sizes(&self) -> Option<Sizes> {
        let sizes = self.workload.sizes.clone()?;
        Some(Sizes::new(sizes, self.region(), self.seed, self.job))
    }

    /// The mix of reads and writes.
    pub fn mix(&self) -> Mix {
        let offered = self.workload.rate.filter(|_| self.workload.pattern.is_mixed());
        match offered.and_then(|rate| OfferedMix::new(self.seed, self.job, rate)) {
            Some(mix) => Mix::Offered(mix),
            None => Mix::Drawn(DrawnMix::new(self.seed, self.job, self.workload.reads_percent())),
        }
    }

    /// The priorities of the operations, if some have a separate one.
    pub fn priorities(&self) -> Option<PriorityDraws> {
        PriorityDraws::new(&self.workload.priorities, self.seed, self.job)
    }

    /// The gaps between offered operations, if the workload offers a load.
    pub fn gaps(&self) -> Option<Gaps> {
        self.workload.rate.map(|rate| Gaps::new(self.seed, self.job, rate))
    }

    /// Runs a loop that is compiled for this block order and direction, so unused features cost
    /// nothing. The rare orders share one loop that dispatches on each operation.
    pub fn run<L: Loop>(&self, body: L) -> L::End {
        match (self.order(), self.workload.reads_percent()) {
            (Order::Sequential(access), 100) => body.run(access, Reads),
            (Order::Sequential(access), 0) => body.run(access, Writes),
            (Order::Random(access), 100) => body.run(access, Reads),
            (Order::Random(access), 0) => body.run(access, Writes),
            (order, 100) => body.run(order, Reads),
            (order, 0) => body.run(order, Writes),
            (order, _) => match (order, self.mix()) {
                (Order::Sequential(access), Mix::Drawn(mix)) => body.run(access, mix),
                (Order::Random(access), Mix::Drawn(mix)) => body.run(access, mix),
                (order, Mix::Drawn(mix)) => body.run(order, mix),
                (order, Mix::Offered(mix)) => body.run(order, mix),
            },
        }
    }

    /// Runs the loop that dispatches on each operation, whatever the order and the direction.
    pub fn run_any<L: Loop>(&self, body: L) -> L::End {
        body.run(self.order(), self.mix())
    }
}

/// A loop over operations, which [`Operations::run`] specialises.
pub trait Loop {
    type End;

    fn run<A: Access, D: Direction>(self, access: A, direction: D) -> Self::End;
}

/// Chooses between reading and writing.
pub trait Direction {
    /// `false` if every operation is a read.
    const WRITES: bool;

    /// Returns `true` if the next operation is a read.
    fn next_reads(&mut self) -> bool;
}

/// Every operation reads.
struct Reads;

impl Direction for Reads {
    const WRITES: bool = false;

    #[inline]
    fn next_reads(&mut self) -> bool {
        true
    }
}

/// Every operation writes.
struct Writes;

impl Direction for Writes {
    const WRITES: bool = true;

    #[inline]
    fn next_reads(&mut self) -> bool {
        false
    }
}

impl Direction for DrawnMix {
    const WRITES: bool = true;

    #[inline]
    fn next_reads(&mut self) -> bool {
        DrawnMix::next_reads(self)
    }
}

impl Direction for Mix {
    const WRITES: bool = true;

    fn next_reads(&mut self) -> bool {
        Mix::next_reads(self)
    }
}

impl Direction for OfferedMix {
    const WRITES: bool = true;

    fn next_reads(&mut self) -> bool {
        self.next_arrival().reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockBytes, Pattern};

    fn workload(pattern: Pattern) -> Workload {
        let mut workload = Workload::new(pattern, BlockBytes::new(4096).unwrap());
        workload.read_percent = 70;
        workload
    }

    struct First;

    impl Loop for First {
        type End = Vec<(u64, bool)>;

        fn run<A: Access, D: Direction>(self, mut access: A, mut direction: D) -> Vec<(u64, bool)> {
            (0..100).map(|_| (access.next(), direction.next_reads())).collect()
        }
    }

    #[test]
    fn a_specialised_loop_does_what_its_parts_draw() {
        for pattern in Pattern::ALL {
            let workload = workload(pattern);
            let operations = Operations::new(&workload, JobPart::within_one_file(4096, 1 << 20), 3);
            let (mut order, mut mix) = (operations.order(), operations.mix());
            let drawn: Vec<_> = (0..100).map(|_| (order.next(), mix.next_reads())).collect();
            assert_eq!(operations.run(First), drawn, "{pattern:?}");
            assert_eq!(drawn.iter().any(|(_, reads)| *reads), pattern.reads());
            assert_eq!(drawn.iter().any(|(_, reads)| !reads), pattern.writes());
        }
    }

    #[test]
    fn a_warm_up_works_on_the_same_region_and_draws_other_blocks() {
        let workload = workload(Pattern::RandWrite);
        let measured = Operations::new(&workload, JobPart::within_one_file(0, 1 << 30), 0);
        let warm_up = measured.warm_up();
        assert_eq!(measured.region(), warm_up.region());
        assert_ne!(measured.run(First), warm_up.run(First));
    }
}
