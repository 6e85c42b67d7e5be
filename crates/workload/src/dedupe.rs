//! Duplicates among the blocks that are written.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of writes that repeat the content of another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dedupe {
    /// Percentage of writes that are duplicates, 1 to 100.
    pub percent: u8,
    /// The content that they repeat.
    pub source: DedupeSource,
    /// Number of the test's first job among all jobs that write duplicates.
    pub first_job: u32,
    /// The first jobs, of all tests together, that share one working set; 0 if each job has a
    /// separate set.
    pub shared_jobs: u32,
}

/// The content that duplicates repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DedupeSource {
    /// That of the job's last write that was not a duplicate.
    Previous,
    /// That of a random block among the first ones that are not duplicates: this percentage of the
    /// job's size.
    WorkingSet(u8),
}

/// The content of a block; equal contents are equal blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockContent {
    job: u32,
    number: u64,
}

impl BlockContent {
    /// The generator of the block's bytes, the same in each test.
    pub fn bytes(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(u64::from(self.job) << 48 | self.number)
    }
}

/// Draws the contents of a job's writes.
#[derive(Debug, Clone)]
pub struct BlockContents {
    dedupe: Dedupe,
    draws: Xoshiro256PlusPlus,
    /// Number of the job among all that write duplicates.
    job: u32,
    /// Blocks of the working set; at least 1.
    set_blocks: u64,
    /// Number of writes that were not duplicates.
    unique: u64,
}

impl BlockContents {
    /// The contents of the job numbered `job` within its test, which writes to `part_blocks`
    /// blocks.
    pub fn new(
        dedupe: Dedupe,
        job: u32,
        part_blocks: u64,
        draws: Xoshiro256PlusPlus,
    ) -> BlockContents {
        let set_blocks = match dedupe.source {
            DedupeSource::Previous => 1,
            DedupeSource::WorkingSet(percent) => part_blocks * u64::from(percent) / 100,
        };
        let job = dedupe.first_job + job;
        BlockContents { dedupe, draws, job, set_blocks: set_blocks.max(1), unique: 0 }
    }

    pub fn next_content(&mut self) -> BlockContent {
        let own = |number| BlockContent { job: self.job, number };
        if self.draws.next_u64() % 100 >= u64::from(self.dedupe.percent) {
            self.unique += 1;
            return own(self.unique - 1);
        }
        let drawn = match self.dedupe.source {
            DedupeSource::Previous => return own(self.unique.saturating_sub(1)),
            DedupeSource::WorkingSet(_) => self.draws.next_u64() % self.set_blocks,
        };
        // As in fio, a shared set holds the first blocks of each job in turn.
        let jobs = u64::from(self.dedupe.shared_jobs);
        if jobs == 0 {
            return own(drawn);
        }
        let share = (self.set_blocks / jobs).max(1);
        let job = (u64::from(self.job) + drawn / share) % jobs;
        BlockContent { job: job as u32, number: drawn % share }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::random::generator;

    const WRITES: usize = 10_000;

    fn contents(dedupe: Dedupe, job: u32) -> Vec<BlockContent> {
        let mut contents = BlockContents::new(dedupe, job, WRITES as u64, generator(1, job));
        (0..WRITES).map(|_| contents.next_content()).collect()
    }

    fn distinct(contents: &[BlockContent]) -> usize {
        contents.iter().collect::<HashSet<_>>().len()
    }

    #[test]
    fn the_share_of_duplicates_is_the_one_asked_for() {
        let repeated =
            Dedupe { percent: 30, source: DedupeSource::Previous, first_job: 0, shared_jobs: 0 };
        assert!(distinct(&contents(repeated, 0)).abs_diff(7_000) < 200);
        let all = Dedupe { percent: 100, ..repeated };
        assert_eq!(distinct(&contents(all, 0)), 1);
        // Half of the writes are unique; the set is nearly covered by them.
        let source = DedupeSource::WorkingSet(20);
        let set = Dedupe { percent: 50, source, ..repeated };
        let drawn = contents(set, 0);
        assert!(distinct(&drawn).abs_diff(5_000) < 200);
        assert!(drawn.iter().all(|content| content.job == 0));
    }

    #[test]
    fn jobs_that_share_a_set_write_each_other_s_blocks() {
        let source = DedupeSource::WorkingSet(50);
        let shared = Dedupe { percent: 50, source, first_job: 0, shared_jobs: 2 };
        let separate = Dedupe { shared_jobs: 0, ..shared };
        let both = |dedupe| [contents(dedupe, 0), contents(dedupe, 1)].concat();
        let others = |dedupe| contents(dedupe, 1).iter().filter(|content| content.job == 0).count();
        assert!(others(shared).abs_diff(WRITES / 4) < 200, "{}", others(shared));
        assert_eq!(others(separate), 0);
        assert!(distinct(&both(shared)) <= distinct(&both(separate)));
        let bytes = |job, number| BlockContent { job, number }.bytes().next_u64();
        assert!(bytes(0, 1) == bytes(0, 1) && bytes(0, 1) != bytes(1, 1));
    }
}
