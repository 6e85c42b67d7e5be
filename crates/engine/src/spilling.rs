//! Sorts of more records than fit in memory, with their runs on the target. Separates the sort's
//! own time from the drive's.
//!
//! Each job is one sort in one thread, like a database connection. At any moment it generates
//! records, sorts, or waits for the drive, so these times add up to the total. Time inside a read
//! or write while the thread is off the processor is time that a faster drive would save. A sort
//! that reads ahead or writes behind would hide a part of it; how much depends on both sort and
//! drive and could not be derived from the sum.
//!
//! The sort's own time is the CPU time of its thread. Otherwise, with more sorts than processors,
//! each would be charged for the others.
//!
//! | module | content |
//! | --- | --- |
//! | `records` | the records to sort, generated from a seed |
//! | `region` | storage of runs: extents of one file or device, read and written in whole, timed blocks |
//! | `span` | wall time and CPU time of a section |

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
use crate::open_files::OpenFiles;
use crate::part::Part;
use crate::prepare::open_part;
use crate::target::{Opened, Target};

use records::{Batch, Records};
use region::{Done, Region, Shape};
use span::Span;

/// Number of rows between two checks for a stop request, which is also checked at every block.
const ROWS_BETWEEN_LOOKS: u64 = 4096;
/// One in this many rows is compared with the previous one: often enough to detect a broken sort,
/// and too rarely to affect the measurement.
const ROWS_BETWEEN_CHECKS: u64 = 64;
/// Upper bound on the extents that runs allocate.
const EXTENT_BYTES_MAX: u64 = 4 << 20;
/// Maximum memory per byte of records: 28 bytes in addition to the shortest record of 62, plus a
/// sixteenth, since a buffer is allocated for a few more records than the previous one contained.
const MEMORY_PER_BYTE: f64 = 1.6;
/// Maximum bytes in a run per byte of records: 3 bytes in addition to the shortest record of 62.
/// Most records take less, since the prefix that a key shares with its predecessor is omitted.
const RUN_PER_BYTE: f64 = 1.05;

/// Size of the extents that runs allocate: a sixteenth of a run, so little of the last extent is
/// wasted.
pub fn extent_bytes(sort: &SortWork) -> u64 {
    let block_bytes = u64::from(sort.block_bytes.get());
    (sort.memory_bytes / 16)
        .clamp(block_bytes, EXTENT_BYTES_MAX.max(block_bytes))
        .next_multiple_of(block_bytes)
}

/// Maximum number of runs that `prefixsort` merges at a time.
const RUNS_MERGED_MAX: u64 = 128;

/// Maximum space that the runs of `bytes` of records need, in whole extents.
pub fn room_bytes(sort: &SortWork, bytes: u64) -> u64 {
    let extent_bytes = extent_bytes(sort);
    let runs = (bytes as f64 * MEMORY_PER_BYTE / sort.memory_bytes as f64) as u64 + 2;
    let once = (bytes as f64 * RUN_PER_BYTE) as u64;
    // Runs that are first merged into longer ones exist twice until that merge is done.
    // `prefixsort` merges one run per MiB of memory at a time, up to the limit above.
    let times = if runs > (sort.memory_bytes >> 20).min(RUNS_MERGED_MAX) { 2 } else { 1 };
    (once * times + (runs + 2) * extent_bytes).next_multiple_of(extent_bytes)
}

/// Bytes of records whose runs fit in `room` bytes.
pub fn records_bytes(sort: &SortWork, room: u64) -> u64 {
    let (asked, needed) = (sort.size_per_job_bytes(), room_bytes(sort, sort.size_per_job_bytes()));
    if room >= needed {
        return asked;
    }
    // Space that does not shrink with the records is excluded on both sides.
    let fixed = 6 * extent_bytes(sort);
    (u128::from(asked) * u128::from(room.saturating_sub(fixed)) / u128::from(needed.max(1))) as u64
}

pub struct SortJob<'a> {
    pub target: &'a Target,
    pub sort: &'a SortWork,
    /// The part of the target for its runs.
    pub part: &'a Part,
    pub bytes: u64,
    pub clock: Clock,
    /// Index of the sort.
    pub job: u32,
}

/// The clock readings of a sort.
#[derive(Debug, Default)]
struct Times {
    input: Span,
    /// The state when all records had been taken: the time, and the time spent until then in calls
    /// to the drive and sorting in memory.
    taken: Option<Taken>,
    first_row_ns: Option<u64>,
}

#[derive(Debug)]
struct Taken {
    at: Span,
    calls: Span,
    sorting_ns: u64,
}

/// Checksums of the rows, which must be equal for input and output.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rows {
    count: u64,
    numbers: u64,
}

impl SortJob<'_> {
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
            .map_err(|errno| Failure::Errno {
                operation: "opening the file for runs",
                offset: None,
                errno,
            })?;
        Ok(Box::new(FileDisk::new(
            OpenFiles::single(file),
            ReadWriteFlags::empty(),
            Renewal::Unneeded,
        )))
    }

    /// `drive` is set if there is a drive to wait for.
    fn measured(
        &self,
        disk: Box<dyn Disk + Send>,
        drive: bool,
        tally: &Arc<Tally>,
        stop: &Arc<Stop>,
    ) -> JobEnd {
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
            // A failed drive operation explains more than the resulting sort error, and a stop is
            // not a failure.
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

    /// Sorts, from the first record to the last row.
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
        let mut external = ExternalSorter::spilling_to(&options, vec![Arc::new(region.clone())])
            .map_err(failed)?;
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

    fn figures(
        &self,
        begun: Span,
        ended: Span,
        times: &Times,
        figures: &Figures,
        done: &Done,
    ) -> SortFigures {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (calls, sorting_ns) = (done.calls(), figures.sorting.as_nanos() as u64);
        let last = Taken { at: ended, calls, sorting_ns };
        let taken = times.taken.as_ref().unwrap_or(&last);
        // The records that are still in memory at the end are sorted after the last record was
        // taken.
        let taking = taken.at - begun - times.input - taken.calls;
        let (first_sorting_ns, coding_ns) = taking.split(taken.sorting_ns);
        let giving = ended - taken.at - (calls - taken.calls);
        let (last_sorting_ns, merging_ns) =
            giving.split(sorting_ns.saturating_sub(taken.sorting_ns));
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
            waiting_s: seconds(
                times.input.off_cpu_ns() + taking.off_cpu_ns() + giving.off_cpu_ns(),
            ),
            writing_s: seconds(done.writing.wall_ns),
            writing_cpu_s: seconds(done.writing.cpu_ns),
            reading_s: seconds(done.reading.wall_ns),
            reading_cpu_s: seconds(done.reading.cpu_ns),
            first_row_s: times.first_row_ns.map(seconds),
        }
    }
}

const WRONG: &str =
    "the sort returned different rows, or rows in the wrong order; this is a bug in flushmark";

impl Rows {
    fn add(&mut self, payload: &[u8]) {
        self.count += 1;
        self.numbers = self.numbers.wrapping_add(records::number(payload));
    }
}

#[cfg(test)]
mod tests;
