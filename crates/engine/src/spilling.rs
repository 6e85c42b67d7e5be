//! A sort of more records than memory holds, its runs on the target, its own time and the drive's told apart.
//!
//! Each job is one sort in one thread, as a database's connection is: it makes records, or sorts, or waits for the drive, and
//! never does two of these at once. So the parts add up to the whole, and a second within a read or a write in which the thread
//! is on no processor is one that a faster drive would save. A sort that reads ahead or writes behind hides a part of that; how
//! much would depend on both, and neither could be told from the sum.
//!
//! The sort's own time is its thread's processor time: where more sorts run than processors, each would else be charged for
//! the others.
//!
//! | module | its one job |
//! | --- | --- |
//! | `records` | what is sorted, out of a seed |
//! | `region` | where runs go: pieces of one file or device, read and written in whole blocks that are timed |
//! | `span` | how long something took, and how much of that on a processor |

mod records;
mod region;
mod span;

use std::sync::Arc;

use measurement::SortFigures;
use prefixsort::{ExternalOptions, ExternalSorter, Figures, SpillError};
use rustix::fs::OFlags;
use rustix::io::ReadWriteFlags;
use workload::SortWork;

use crate::clock::Clock;
use crate::crew::{Report, Stage};
use crate::disk::{Disk, FileDisk, MemoryDisk, Renewal};
use crate::job::{Failure, JobEnd, Stop, Tally};
use crate::prepare::{Part, open_part};
use crate::target::{Opened, Target};

use records::{Batch, Records};
use region::{Done, Region, Shape};
use span::Span;

/// A stop is noticed after this many rows, besides at every block.
const ROWS_BETWEEN_LOOKS: u64 = 4096;
/// Every so many rows are compared with the last: enough to notice a sort that does not, and too few to be measured.
const ROWS_BETWEEN_CHECKS: u64 = 64;
/// Runs take room in pieces of at most this.
const EXTENT_BYTES_MOST: u64 = 4 << 20;
/// Memory for each byte of records, at the most: 28 bytes beside the shortest of 62, and a sixteenth more, since a buffer is made for a few more records than the last
/// one held.
const MEMORY_PER_BYTE: f64 = 1.6;
/// What a record takes in a run besides its own bytes, at the most: 3 bytes beside the shortest of 62. Most take less, since
/// what a key shares with the one before it is left out.
const RUN_PER_BYTE: f64 = 1.05;

/// Bytes of the pieces in which runs take their room: a sixteenth of a run, so that what each leaves unused is little.
pub fn extent_bytes(sort: &SortWork) -> u64 {
    let block_bytes = u64::from(sort.block_bytes.get());
    (sort.memory_bytes / 16).clamp(block_bytes, EXTENT_BYTES_MOST.max(block_bytes)).next_multiple_of(block_bytes)
}

/// Runs that the crate merges at a time, at the most.
const RUNS_MERGED_MOST: u64 = 128;

/// Room that the runs of `bytes` of records take at the most, in whole extents.
pub fn room_bytes(sort: &SortWork, bytes: u64) -> u64 {
    let extent_bytes = extent_bytes(sort);
    let runs = (bytes as f64 * MEMORY_PER_BYTE / sort.memory_bytes as f64) as u64 + 2;
    let once = (bytes as f64 * RUN_PER_BYTE) as u64;
    // What is merged into longer runs first is there twice until it is done. The crate merges a run for each MiB at a time, and
    // no more than so many.
    let times = if runs > (sort.memory_bytes >> 20).min(RUNS_MERGED_MOST) { 2 } else { 1 };
    (once * times + (runs + 2) * extent_bytes).next_multiple_of(extent_bytes)
}

/// How many bytes of records have room for their runs in so much.
pub fn records_bytes(sort: &SortWork, room: u64) -> u64 {
    let (asked, needed) = (sort.size_per_job_bytes(), room_bytes(sort, sort.size_per_job_bytes()));
    if room >= needed {
        return asked;
    }
    // What does not shrink with the records is left out on both sides.
    let fixed = 6 * extent_bytes(sort);
    (u128::from(asked) * u128::from(room.saturating_sub(fixed)) / u128::from(needed.max(1))) as u64
}

/// One sort.
pub struct SortJob<'a> {
    /// Where.
    pub target: &'a Target,
    /// What.
    pub sort: &'a SortWork,
    /// Where its runs go.
    pub part: &'a Part,
    /// How many bytes of records.
    pub bytes: u64,
    /// Reads ticks.
    pub clock: Clock,
    /// Which of the sorts.
    pub job: u32,
}

/// What the clocks said.
#[derive(Debug, Default)]
struct Times {
    input: Span,
    /// When all records had been taken, and what calls to the drive and the sort in memory had taken by then.
    taken: Option<Taken>,
    first_row_ns: Option<u64>,
}

#[derive(Debug)]
struct Taken {
    at: Span,
    calls: Span,
    sorting_ns: u64,
}

/// What went in has to come out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rows {
    count: u64,
    numbers: u64,
}

impl SortJob<'_> {
    /// Sorts, and reports.
    pub fn run(self, stage: Stage<'_>) -> Report {
        match self.disk() {
            Err(failure) => Report::failed(failure),
            Ok(disk) => {
                let mut disk = Some(disk);
                let drive = !matches!(self.target.opened(), Opened::Null);
                stage.act(Vec::new(), |_, _, tally, stop| match disk.take() {
                    Some(disk) => self.measured(disk, drive, tally, stop),
                    None => JobEnd::new(),
                })
            }
        }
    }

    fn disk(&self) -> Result<Box<dyn Disk + Send>, Failure> {
        if matches!(self.target.opened(), Opened::Null) {
            return Ok(Box::<MemoryDisk>::default());
        }
        let (file, _) = open_part(self.target, &self.part.name, self.part.direct, OFlags::empty())
            .map_err(|errno| Failure::Errno { operation: "opening the file for runs", offset: None, errno })?;
        Ok(Box::new(FileDisk::new(file, ReadWriteFlags::empty(), Renewal::Unneeded)))
    }

    /// `drive` is whether the disk has one behind it to wait for.
    fn measured(&self, disk: Box<dyn Disk + Send>, drive: bool, tally: &Arc<Tally>, stop: &Arc<Stop>) -> JobEnd {
        let shape = Shape {
            path: self.target.path().to_owned(),
            start: self.part.start,
            end: self.part.start + self.part.size_bytes,
            block_bytes: u64::from(self.sort.block_bytes.get()),
            extent_bytes: extent_bytes(self.sort),
            sync: self.sort.sync,
            drive,
        };
        let region = Region::new(shape, disk, self.clock, Arc::clone(tally), Arc::clone(stop));
        let (mut times, mut figures) = (Times::default(), Figures::default());
        let begun = Span::now(self.clock);
        let sorted = self.sorted(&region, stop, begun, &mut times, &mut figures);
        let ended = Span::now(self.clock);
        let done = region.done();
        let block_bytes = u64::from(self.sort.block_bytes.get());
        let failure = match sorted {
            // What the drive said is plainer than what the sort makes of it; and a stop is no failure.
            Err(error) => done.failure.clone().or_else(|| (!stop.is_requested()).then_some(error)),
            Ok(()) => None,
        };
        JobEnd {
            reads: done.reads,
            writes: done.writes,
            syncs: done.syncs,
            read_bytes: done.reads * block_bytes,
            written_bytes: done.writes * block_bytes,
            sort: Some(Box::new(self.figures(begun, ended, &times, &figures, &done))),
            failure,
            ..JobEnd::new()
        }
    }

    /// The sort from its first record to its last row.
    fn sorted(
        &self,
        region: &Region,
        stop: &Stop,
        begun: Span,
        times: &mut Times,
        figures: &mut Figures,
    ) -> Result<(), Failure> {
        let failed = |error: SpillError| Failure::Sort(error.to_string());
        let options = ExternalOptions {
            memory: usize::try_from(self.sort.memory_bytes).unwrap_or(usize::MAX),
            directories: Vec::new(),
            threads: 0,
            descending: false,
            expected: Some(self.bytes),
        };
        let mut external = ExternalSorter::spilling_to(&options, vec![Arc::new(region.clone())]).map_err(failed)?;
        let mut records = Records::new(self.sort.keys, self.sort.seed, self.job);
        let (mut batch, mut given, mut bytes) = (Batch::default(), Rows::default(), 0);
        while bytes < self.bytes && !stop.is_requested() {
            let before = Span::now(self.clock);
            records.fill(&mut batch);
            times.input += Span::now(self.clock) - before;
            for (key, payload) in batch.records() {
                let pushed = external.push(key, payload);
                if pushed.is_err() {
                    *figures = external.figures();
                }
                pushed.map_err(failed)?;
                given.add(payload);
                bytes += (key.len() + payload.len()) as u64;
            }
        }
        *figures = external.figures();
        if stop.is_requested() {
            return Ok(());
        }
        times.taken = Some(Taken {
            at: Span::now(self.clock),
            calls: region.done().calls(),
            sorting_ns: figures.sorting.as_nanos() as u64,
        });
        let mut merge = external.finish().map_err(failed)?;
        *figures = merge.figures();
        let (mut came, mut last) = (Rows::default(), Vec::new());
        while let Some(record) = merge.next().map_err(failed)? {
            if came.count == 0 {
                times.first_row_ns = Some((Span::now(self.clock) - begun).wall_ns);
            }
            if came.count % ROWS_BETWEEN_CHECKS == 0 {
                if record.key < last.as_slice() {
                    return Err(Failure::Sort(WRONG.to_owned()));
                }
                last.clear();
                last.extend_from_slice(record.key);
            }
            came.add(record.payload);
            if came.count % ROWS_BETWEEN_LOOKS == 0 && stop.is_requested() {
                return Ok(());
            }
        }
        if came == given { Ok(()) } else { Err(Failure::Sort(WRONG.to_owned())) }
    }

    fn figures(&self, begun: Span, ended: Span, times: &Times, figures: &Figures, done: &Done) -> SortFigures {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (calls, sorting_ns) = (done.calls(), figures.sorting.as_nanos() as u64);
        let last = Taken { at: ended, calls, sorting_ns };
        let taken = times.taken.as_ref().unwrap_or(&last);
        // What is left in memory at the end is sorted after the last record was taken.
        let taking = taken.at - begun - times.input - taken.calls;
        let (first_sorting_ns, coding_ns) = taking.split(taken.sorting_ns);
        let giving = ended - taken.at - (calls - taken.calls);
        let (last_sorting_ns, merging_ns) = giving.split(sorting_ns.saturating_sub(taken.sorting_ns));
        let block_bytes = u64::from(self.sort.block_bytes.get());
        SortFigures {
            sorts: 1,
            records: figures.records,
            bytes: figures.bytes,
            runs: done.runs,
            written_bytes: done.writes * block_bytes,
            read_bytes: done.reads * block_bytes,
            input_s: seconds(times.input.cpu_ns),
            sorting_s: seconds(first_sorting_ns + last_sorting_ns),
            coding_s: seconds(coding_ns),
            merging_s: seconds(merging_ns),
            waiting_s: seconds(times.input.off_cpu_ns() + taking.off_cpu_ns() + giving.off_cpu_ns()),
            writing_s: seconds(done.writing.wall_ns),
            writing_cpu_s: seconds(done.writing.cpu_ns),
            reading_s: seconds(done.reading.wall_ns),
            reading_cpu_s: seconds(done.reading.cpu_ns),
            first_row_s: times.first_row_ns.map(seconds),
        }
    }
}

const WRONG: &str =
    "the sort gave back other rows than it was given, or in another order; this is a defect of flushmark";

impl Rows {
    fn add(&mut self, payload: &[u8]) {
        self.count += 1;
        self.numbers = self.numbers.wrapping_add(records::number(payload));
    }
}

#[cfg(test)]
mod tests;
