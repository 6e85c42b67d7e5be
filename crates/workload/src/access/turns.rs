//! Blocks in several files that take turns.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Access, Order, Region, scrambled};
use crate::blocks::Workload;
use crate::files::{FileOrder, SyncedFile};
use crate::random::{below, generator};

/// A separate random stream of a job, so that the choice of a file does not affect the offsets
/// within it.
const FILE_STREAM: u64 = 0x6669_6c65;

/// Several files, each with a separate block order. Their blocks are numbered through, file by
/// file.
#[derive(Debug)]
pub struct FileTurns {
    files: Vec<FileBlocks>,
    blocks: u64,
    block_bytes: u64,
    choice: Choice,
    /// Operations per turn.
    turn: u32,
    synced: SyncedFile,
    /// The file whose turn it is, and the number of its further operations.
    current: Option<(usize, u32)>,
    /// Number of files of which all blocks have been accessed.
    done: usize,
}

#[derive(Debug)]
struct FileBlocks {
    order: Order,
    start: u64,
    /// Number of blocks that remain until the file is done.
    left: u64,
    done: bool,
}

/// The choice of the next file.
#[derive(Debug)]
enum Choice {
    RoundRobin { next: usize },
    Sequential { next: usize },
    Random { generator: Xoshiro256PlusPlus, remaining: Vec<usize> },
}

impl FileTurns {
    /// The files of one job, each of which has an equal share of the blocks of `region`.
    pub(super) fn new(
        workload: &Workload,
        region: Region,
        files: u32,
        seed: u64,
        job: u32,
    ) -> FileTurns {
        let blocks = region.blocks / u64::from(files);
        let file = |file: u64| {
            let part = Region {
                start: region.start + file * blocks * region.block_bytes,
                blocks,
                ..region
            };
            // The first file has the draws of a job with a single file. Jumping ahead for each of
            // the others, as between jobs, would take a second for thousands of files.
            let draws = || match file {
                0 => generator(seed, job),
                _ => generator(seed ^ scrambled(file << 32 | u64::from(job)), 0),
            };
            FileBlocks {
                order: Order::within(workload, part, draws),
                start: part.start,
                left: blocks,
                done: false,
            }
        };
        let choice = match workload.files.order {
            FileOrder::RoundRobin => Choice::RoundRobin { next: 0 },
            FileOrder::Sequential => Choice::Sequential { next: 0 },
            FileOrder::Random => Choice::Random {
                generator: generator(seed ^ FILE_STREAM, job),
                remaining: (0..files as usize).collect(),
            },
        };
        FileTurns {
            files: (0..u64::from(files)).map(file).collect(),
            blocks,
            block_bytes: region.block_bytes,
            choice,
            turn: workload.files.turn,
            synced: workload.files.synced,
            current: None,
            done: 0,
        }
    }

    /// Selects the file of the next operation.
    fn take_turn(&mut self) -> usize {
        let keeps = matches!(self.choice, Choice::Sequential { .. });
        if let Some((file, left)) = &mut self.current
            && !self.files[*file].done
            && (keeps || *left > 0)
        {
            *left = left.saturating_sub(1);
            return *file;
        }
        let file = match &mut self.choice {
            Choice::RoundRobin { next } | Choice::Sequential { next } => loop {
                let file = *next;
                *next = if file + 1 == self.files.len() { 0 } else { file + 1 };
                if !self.files[file].done {
                    break file;
                }
            },
            Choice::Random { generator, remaining } => {
                remaining[below(generator, remaining.len() as u64) as usize]
            }
        };
        self.current = Some((file, self.turn - 1));
        file
    }

    /// Takes a file out of the turns until all are done. As in fio, this is only noticed when the
    /// file would be read or written again, so a sync can still cover it.
    fn finish(&mut self, file: usize) {
        self.files[file].done = true;
        self.done += 1;
        if let Choice::Random { remaining, .. } = &mut self.choice {
            remaining.retain(|open| *open != file);
        }
        if self.done < self.files.len() {
            return;
        }
        (self.done, self.current) = (0, None);
        for file in &mut self.files {
            file.left = self.blocks;
            file.done = false;
        }
        if let Choice::Random { remaining, .. } = &mut self.choice {
            remaining.extend(0..self.files.len());
        }
    }

    /// The file of the next read or write.
    fn next_file(&mut self, blocks: u64) -> &mut Order {
        let mut file = self.take_turn();
        while self.files[file].left == 0 {
            self.finish(file);
            file = self.take_turn();
        }
        let file = &mut self.files[file];
        file.left = file.left.saturating_sub(blocks);
        &mut file.order
    }
}

impl Access for FileTurns {
    fn next(&mut self) -> u64 {
        self.next_file(1).next()
    }

    fn next_of(&mut self, bytes: u64) -> u64 {
        let blocks = bytes.div_ceil(self.block_bytes);
        self.next_file(blocks).next_of(bytes)
    }

    fn synced(&mut self, written: u64) -> u64 {
        match self.synced {
            SyncedFile::Written => written,
            SyncedFile::Next => {
                let file = self.take_turn();
                self.files[file].start
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Operations;
    use crate::{BlockBytes, JobFiles, JobPart, Pattern, Workload};

    const BLOCK: u64 = 4096;

    fn workload(pattern: Pattern, files: JobFiles) -> Workload {
        let mut workload = Workload::new(pattern, BlockBytes::new(BLOCK).unwrap());
        workload.files = files;
        workload
    }

    /// The files and blocks of the first operations on files of `blocks` blocks.
    fn drawn(workload: &Workload, blocks: u64, count: usize) -> Vec<(u32, u64)> {
        let part = JobPart {
            file: 0,
            files: workload.files.per_job,
            start: 2 * BLOCK,
            bytes: blocks * BLOCK,
        };
        let mut order = Operations::new(workload, part, 0).order();
        let mut next = || {
            let (file, offset) = part.locate(order.next());
            (file, offset / BLOCK - 2)
        };
        (0..count).map(|_| next()).collect()
    }

    fn sequential(files: JobFiles, blocks: u64, count: usize) -> Vec<(u32, u64)> {
        drawn(&workload(Pattern::Write, files), blocks, count)
    }

    #[test]
    fn files_take_turns_and_each_is_a_sequence() {
        let three = JobFiles { per_job: 3, ..JobFiles::ONE };
        assert_eq!(
            sequential(three, 2, 8),
            [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 0), (1, 0)]
        );
        let twice = JobFiles { turn: 2, ..three };
        assert_eq!(
            sequential(twice, 3, 7),
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (0, 2)]
        );
        let whole = JobFiles { order: FileOrder::Sequential, ..three };
        assert_eq!(
            sequential(whole, 2, 7),
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (0, 0)]
        );
    }

    #[test]
    fn a_sync_of_the_next_file_takes_a_turn_as_in_fio() {
        // Observed with fio 3.42, rw=write nrfiles=3 fsync=1: write 0, sync 1, write 2, sync 0, …
        let files = JobFiles { per_job: 3, synced: SyncedFile::Next, ..JobFiles::ONE };
        let workload = workload(Pattern::Write, files);
        let part = JobPart { file: 0, files: 3, start: 0, bytes: 8 * BLOCK };
        let mut order = Operations::new(&workload, part, 0).order();
        let mut turns = Vec::new();
        for _ in 0..4 {
            let written = order.next();
            turns.push((part.locate(written).0, part.locate(order.synced(written)).0));
        }
        assert_eq!(turns, [(0, 1), (2, 0), (1, 2), (0, 1)]);
    }

    #[test]
    fn a_sync_usually_covers_the_file_of_the_last_write() {
        let files = JobFiles { per_job: 3, ..JobFiles::ONE };
        let workload = workload(Pattern::RandWrite, files);
        let part = JobPart { file: 0, files: 3, start: 0, bytes: 8 * BLOCK };
        let mut order = Operations::new(&workload, part, 0).order();
        for turn in 0..9 {
            let written = order.next();
            assert_eq!((part.locate(written).0, order.synced(written)), (turn % 3, written));
        }
    }

    #[test]
    fn the_first_file_has_the_draws_of_a_single_one_and_the_others_have_other_draws() {
        let random = |per_job, job| {
            let workload = workload(Pattern::RandWrite, JobFiles { per_job, ..JobFiles::ONE });
            let part = JobPart { file: 0, files: per_job, start: 0, bytes: BLOCK << 20 };
            let mut order = Operations::new(&workload, part, job).order();
            (0..64).map(|_| part.locate(order.next())).collect::<Vec<_>>()
        };
        let of = |file: u32, drawn: &[(u32, u64)]| -> Vec<u64> {
            drawn.iter().filter(|(of, _)| *of == file).map(|(_, offset)| *offset).collect()
        };
        let (one, two, of_other_job) = (random(1, 0), random(2, 0), random(2, 1));
        assert_eq!(of(0, &two), of(0, &one)[..32]);
        assert_ne!(of(0, &two), of(1, &two));
        assert_ne!(of(1, &two), of(1, &of_other_job));
    }

    proptest! {
        #[test]
        fn each_pass_touches_each_block_of_each_file_once(
            files in 2u32..9, blocks in 1u64..20, turn in 1u32..5, which in 0usize..3, seed: u64,
        ) {
            let order = FileOrder::ALL[which];
            let files = JobFiles { per_job: files, order, turn, ..JobFiles::ONE };
            let mut workload = workload(Pattern::Write, files);
            workload.seed = seed;
            let pass = usize::try_from(u64::from(files.per_job) * blocks).unwrap();
            for pass in drawn(&workload, blocks, 3 * pass).chunks(pass) {
                let mut touched = pass.to_vec();
                touched.sort_unstable();
                touched.dedup();
                prop_assert_eq!(touched.len(), pass.len());
            }
        }

        #[test]
        fn every_operation_lies_within_one_file(
            files in 2u32..9, units in 1u64..17, turn in 1u32..5, which in 0usize..3, random: bool, seed: u64,
        ) {
            let files = JobFiles { per_job: files, order: FileOrder::ALL[which], turn, ..JobFiles::ONE };
            let mut workload = workload(if random { Pattern::RandWrite } else { Pattern::Write }, files);
            workload.seed = seed;
            let part = JobPart { file: 0, files: files.per_job, start: 3 * BLOCK, bytes: 17 * BLOCK };
            let mut order = Operations::new(&workload, part, 0).order();
            let bytes = units * BLOCK - 512 * (seed % 8);
            for _ in 0..200 {
                let first = order.next_of(bytes);
                let last = first + bytes - 1;
                let (file, offset) = part.locate(first);
                prop_assert!(file < files.per_job && offset >= part.start);
                prop_assert!(offset + bytes <= part.start + part.bytes);
                prop_assert_eq!(part.locate(last), (file, offset + bytes - 1));
            }
        }

        #[test]
        fn random_blocks_fall_on_each_file_equally_often(files in 2u32..9, turn in 1u32..5, which in 0usize..3, seed: u64) {
            let files = JobFiles { per_job: files, order: FileOrder::ALL[which], turn, ..JobFiles::ONE };
            let mut workload = workload(Pattern::RandRead, files);
            workload.seed = seed;
            let mut counts = vec![0; files.per_job as usize];
            drawn(&workload, 16, 3 * 16 * counts.len()).iter().for_each(|(file, _)| counts[*file as usize] += 1);
            prop_assert!(counts.iter().all(|count| *count == 3 * 16), "{:?}", counts);
        }
    }
}
