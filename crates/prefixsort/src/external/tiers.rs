//! Groups runs by the number of merges that their records have been through, to limit both open
//! files and passes.
//!
//! Each run is an open file, and merging all at once would need a block of memory for each. So runs
//! of one *level* are merged into one of the next as soon as there are twice as many as may be
//! merged at a time. Each record is written once per level, and the number of levels is the
//! logarithm of the number of runs. The factor of two is there because most sorts end before that,
//! and then only as much is merged as the last merge requires.

use std::ops::Range;
use std::sync::Arc;

use super::buffer::Buffer;
use super::error::SpillError;
use super::figures::Meter;
use super::input::SortedInput;
use super::merge::Source;
use super::space::Space;
use super::spill::{Run, Spaces};

/// Most runs that are merged at a time. With more, the blocks of a merge no longer fit the
/// processor's caches; and twice this number at each of three levels is less than the 1,024 open
/// files that a process usually may have.
const RUNS_MAX: usize = 128;

/// All runs, in the order of their input; earlier ones have higher levels.
#[derive(Debug)]
pub(super) struct Tiers {
    spaces: Spaces,
    runs: Vec<Run>,
    /// Memory that the readers and the writer of a merge may use, in bytes.
    memory: usize,
    descending: bool,
}

impl Tiers {
    /// Starts without runs.
    pub(super) fn new(spaces: Spaces, memory: usize, descending: bool) -> Self {
        Self { spaces, runs: Vec::new(), memory, descending }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a sorted input, which counts as a run.
    pub(super) fn add_input(&mut self, input: SortedInput, meter: Arc<Meter>) {
        self.runs.push(Run::of_input(self.runs.len(), input, meter));
    }

    /// Returns whether all runs can be merged at a time.
    pub(super) fn all_fit(&self) -> bool {
        self.fitting(0) >= self.runs.len()
    }

    /// Returns whether there is a space for runs.
    pub(super) fn has_spaces(&self) -> bool {
        !self.spaces.is_empty()
    }

    /// Adds a run of what is in memory; returns the buffers, unless merging needed their memory.
    pub(super) fn spill(&mut self, sources: Vec<Source>) -> Result<Vec<Buffer>, SpillError> {
        let (run, sources) = self.spaces.write(sources, &[], self.descending)?;
        self.runs.push(run);
        let mut buffers: Vec<Buffer> =
            sources.into_iter().filter_map(Source::into_buffer).collect();
        while let Some(some) = self.too_many() {
            buffers = Vec::new();
            self.merge(some)?;
        }
        Ok(buffers)
    }

    /// The runs of a level that has twice as many as may be merged at a time.
    fn too_many(&self) -> Option<Range<usize>> {
        let mut from = 0;
        self.runs.chunk_by(|a, b| a.level == b.level).find_map(|level| {
            let some = from..from + self.fitting(from);
            from += level.len();
            (level.len() >= 2 * some.len()).then_some(some)
        })
    }

    /// Number of runs that may be merged at a time, counted from this one on; at least two.
    fn fitting(&self, from: usize) -> usize {
        let (mut readers, mut writer) = (0, 0);
        let fits = |run: &&Run| {
            readers += run.memory();
            writer = run.memory().max(writer);
            readers + writer <= self.memory
        };
        self.runs[from..].iter().take(RUNS_MAX).take_while(fits).count().max(2)
    }

    /// Merges neighbouring runs into one that takes their place, so equal keys keep the order of
    /// their runs.
    fn merge(&mut self, some: Range<usize>) -> Result<(), SpillError> {
        let at = some.start;
        let level = self.runs[at].level + 1;
        let (sources, of) = readers(self.runs.drain(some).collect(), self.descending)?;
        let (mut run, _) = self.spaces.write(sources, &of, self.descending)?;
        run.level = level;
        self.runs.insert(at, run);
        Ok(())
    }

    /// Merges until the rest can be merged at a time; returns their readers and spaces.
    pub(super) fn into_sources(mut self) -> Result<Sources, SpillError> {
        loop {
            let fitting = self.fitting(0);
            let Some(spare @ 1..) = self.runs.len().checked_sub(fitting) else {
                return readers(self.runs, self.descending);
            };
            // The runs that are cheapest to write for each run saved, and no more of them than
            // necessary.
            let some = |at: usize| at..at + self.fitting(at).min(spare + 1);
            let cost = |some: &Range<usize>| {
                let bytes: u64 = self.runs[some.clone()].iter().map(|run| run.bytes).sum();
                bytes / (some.len() as u64 - 1)
            };
            let Some(cheapest) = (0..self.runs.len() - 1).map(some).min_by_key(cost) else {
                return readers(self.runs, self.descending);
            };
            self.merge(cheapest)?;
        }
    }
}

/// Readers of runs, and the space of each; inputs have none.
pub(super) type Sources = (Vec<Source>, Vec<Option<Space>>);

fn readers(runs: Vec<Run>, descending: bool) -> Result<Sources, SpillError> {
    let spaces = runs.iter().map(|run| run.space().cloned()).collect();
    let source = |(number, run): (usize, Run)| run.source(number, descending);
    Ok((runs.into_iter().enumerate().map(source).collect::<Result<_, SpillError>>()?, spaces))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::buffer::Cursor;
    use super::super::figures::Figures;
    use super::super::merge::Merge;
    use super::super::run::BLOCK;
    use super::*;

    struct Spilled {
        tiers: Tiers,
        meter: Arc<Meter>,
        most_open: usize,
    }

    /// `runs` runs of one record each, whose payload is the run's number; every other key equals
    /// the previous one.
    fn spilled(runs: u32, memory: usize, payload: impl Fn(u32) -> usize) -> Spilled {
        let meter = Arc::new(Meter::default());
        let space: Space = Arc::new(std::env::temp_dir()) as Arc<PathBuf>;
        let mut tiers =
            Tiers::new(Spaces::new(vec![space], meter.clone(), Arc::default()), memory, false);
        let mut most_open = 0;
        for run in 0..runs {
            let mut buffer = Buffer::default();
            let mut rest = run.to_be_bytes().to_vec();
            rest.resize(payload(run).max(4), 0);
            buffer.push(&(run / 2 % 100).to_be_bytes(), &rest);
            tiers.spill(vec![Source::Memory(Cursor::new(buffer))]).unwrap();
            most_open = most_open.max(tiers.runs.len());
        }
        Spilled { tiers, meter, most_open }
    }

    fn merged(tiers: Tiers) -> Vec<(u32, u32)> {
        let mut merge = Merge::new(tiers.into_sources().unwrap().0, false).unwrap();
        let mut records = vec![];
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes[..4].try_into().unwrap());
        while let Some(record) = merge.next().unwrap() {
            records.push((number(record.key), number(record.payload)));
        }
        records
    }

    #[test]
    fn many_runs_are_few_files_and_equal_keys_keep_their_order() {
        for runs in [1, 2, 3, 31, 1500] {
            // Five readers and a writer; each needs the memory of a record.
            let Spilled { tiers, meter, most_open } = spilled(runs, 6 * 15, |_| 4);
            assert!(tiers.fitting(0) <= 5);
            let levels = runs.ilog(5) as usize + 1;
            assert!(most_open <= 10 * levels, "{most_open} files of {runs} runs");
            let written = meter.add_to(Figures::default()).written as usize;
            assert!(written <= runs as usize * 60 * (levels + 1), "{written} bytes of {runs} runs");
            let merged = merged(tiers);
            assert_eq!(merged.len(), runs as usize);
            assert!(merged.is_sorted(), "{runs} runs: by key, then by run");
        }
    }

    #[test]
    fn memory_limits_how_many_runs_are_merged_at_a_time() {
        let memory = 17 * BLOCK;
        let short = spilled(20, memory, |_| 4);
        assert_eq!((short.tiers.runs.len(), short.tiers.fitting(0)), (20, 20));
        // Readers of four blocks each: three of them and a writer.
        let long = spilled(7, memory, |_| 4 * BLOCK);
        assert_eq!(long.tiers.fitting(0), 3);
        assert!(long.tiers.runs.len() < 6);
        // A long run does not make the others long.
        let one = spilled(20, memory, |run| if run == 10 { 4 * BLOCK } else { 4 });
        assert_eq!(one.tiers.fitting(0), 20);
        let endless = spilled(5, 0, |_| 4);
        assert_eq!(endless.tiers.fitting(0), 2);
        for Spilled { tiers, .. } in [short, long, one, endless] {
            assert!(merged(tiers).is_sorted());
        }
    }

    #[test]
    fn the_last_merge_is_as_wide_as_possible_and_writes_no_more_than_necessary() {
        // Blocks of one record each: a merged run needs as much memory as any other.
        let Spilled { mut tiers, meter, .. } = spilled(9, 6 * (BLOCK + 20), |_| BLOCK);
        assert_eq!((tiers.runs.len(), tiers.fitting(0)), (9, 5));
        tiers.runs[0].bytes = 1 << 40;
        let before = meter.add_to(Figures::default()).runs;
        let sources = tiers.into_sources().unwrap().0;
        assert_eq!((sources.len(), meter.add_to(Figures::default()).runs - before), (5, 1));
    }
}
