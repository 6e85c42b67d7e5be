//! The loop for depth 1: one operation at a time on the submitting thread.
//!
//! Each operation draws an offset, stamps a buffer, makes the call, reads the clock, and counts the
//! latency in one cell. The loop is compiled once per block order and direction, so unused features
//! cost nothing.

use crate::buffers::{Buffers, PIECE};
use crate::checkpoints::Checkpoints;
use crate::clock::Clock;
use crate::disk::{Block, BlockDisk, Placing};
use crate::flow::FlowShare;
use crate::job::{Failure, Forgiven, JobEnd, Stop, Tally};
use crate::pace::Pace;
use workload::access::{Access, Direction, Loop, Operations};
use workload::{Bounds, Commits};

/// One phase (warm-up or measurement) of a job at depth 1.
pub struct Blocking<'a, D> {
    pub disk: &'a mut D,
    pub clock: Clock,
    pub operations: Operations<'a>,
    /// The end of the phase, in ticks.
    pub bounds: Bounds,
    pub buffers: &'a mut Buffers,
    /// Receives the latencies.
    pub tally: &'a Tally,
    /// Checked after each operation.
    pub stop: &'a Stop,
    /// The job's share of a flow, if it is limited.
    pub flow: Option<&'a mut FlowShare>,
}

impl<T: BlockDisk> Loop for Blocking<'_, T> {
    type End = JobEnd;

    /// Runs until the bounds, a stop, or an error.
    fn run<A: Access, D: Direction>(mut self, access: A, direction: D) -> JobEnd {
        let mut end = JobEnd::new();
        end.failure = self.repeat(access, direction, &mut end).err();
        end
    }
}

impl<T: BlockDisk> Blocking<'_, T> {
    #[expect(clippy::too_many_lines, reason = "the parts of the loop share all of its state")]
    fn repeat(
        &mut self,
        mut access: impl Access,
        mut direction: impl Direction,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        let clock = self.clock;
        let workload = self.operations.workload();
        let (sync, sync_every) = (workload.sync.call(), workload.sync_every);
        let syncs_commit = self.operations.commits() == Commits::EachSync;
        let usual_bytes = workload.block_bytes.get() as usize;
        let mut sizes = self.operations.sizes();
        let mut pace = self.operations.gaps().map(|gaps| Pace::new(gaps, clock, clock.ticks()));
        let renew_every = self.operations.renew_every().unwrap_or(u64::MAX);
        let mut until_renewal = renew_every;
        let mut unsynced = 0;
        let mut commit_start = 0;
        // The end of one operation is the start of the next, so the clock is read once per
        // operation: the work in between (an offset, a stamp) takes less time than a reading. Only
        // if a block needs many stamps is the clock read again after them.
        let restamp = workload.largest_bytes() as usize > PIECE;
        let mut now = clock.ticks();
        let mut checkpoints =
            Checkpoints::new(&self.operations, self.bounds, clock, now, self.flow.take());
        loop {
            let mut reads = direction.next_reads();
            let (mut offset, mut block_bytes) = match &mut sizes {
                None => (access.next(), usual_bytes),
                Some(sizes) => {
                    let (offset, bytes) = sizes.next_block(reads, &mut access);
                    (offset, bytes as usize)
                }
            };
            if let Some(pace) = &mut pace {
                while clock.ticks() < pace.due() {
                    pace.wait(self.bounds.deadline());
                    if self.stop.is_requested()
                        || self.bounds.reached(clock.ticks(), end.reads + end.writes)
                    {
                        return Ok(());
                    }
                }
            }
            if T::PLACES {
                let drawn = Block { reads, offset, bytes: block_bytes as u32 };
                let Some(placed) = self.place(drawn, end)? else { return Ok(()) };
                (reads, offset) = (placed.reads, placed.offset);
                block_bytes = placed.bytes as usize;
                now = clock.ticks();
            }
            let begin;
            if reads {
                let block = &mut self.buffers.slot_mut(0)[..block_bytes];
                begin = take_due(&mut pace).unwrap_or(now);
                let moved = self.disk.read(block, offset);
                now = clock.ticks();
                if T::PLACES {
                    let placed = Block { reads, offset, bytes: block_bytes as u32 };
                    self.disk.performed(placed, moved == Ok(block_bytes));
                }
                let done = Failure::check(self.disk.read_name(), offset, block_bytes, moved);
                if let Err(failure) = done {
                    let resumed = self.ignore(failure, &mut checkpoints, now, end)?;
                    let Some(resumed) = resumed else { return Ok(()) };
                    now = resumed;
                    continue;
                }
                self.tally.read.record(clock.ns(now.saturating_sub(begin)));
                end.reads += 1;
                end.read_bytes += block_bytes as u64;
                if T::VERIFIES {
                    let block = &self.buffers.slot_mut(0)[..block_bytes];
                    let checked = self.disk.has_read(block, offset);
                    checked.or_else(|failure| end.forgive(workload, failure).map(drop))?;
                    now = clock.ticks();
                }
            } else {
                let block = &mut self.buffers.next_stamped(offset)[..block_bytes];
                begin = take_due(&mut pace)
                    .unwrap_or_else(|| if restamp { clock.ticks() } else { now });
                let moved = self.disk.write(block, offset);
                now = clock.ticks();
                if T::PLACES {
                    let placed = Block { reads, offset, bytes: block_bytes as u32 };
                    self.disk.performed(placed, moved == Ok(block_bytes));
                }
                let done = Failure::check(self.disk.write_name(), offset, block_bytes, moved);
                if let Err(failure) = done {
                    let resumed = self.ignore(failure, &mut checkpoints, now, end)?;
                    let Some(resumed) = resumed else { return Ok(()) };
                    now = resumed;
                    continue;
                }
                self.tally.write.record(clock.ns(now.saturating_sub(begin)));
                end.writes += 1;
                end.written_bytes += block_bytes as u64;
                if T::VERIFIES {
                    self.disk.has_written(block, offset);
                }
                if let Some(call) = sync {
                    if unsynced == 0 {
                        commit_start = begin;
                    }
                    unsynced += 1;
                    if unsynced == sync_every {
                        unsynced = 0;
                        let synced = self.disk.sync(call, access.synced(offset));
                        let durable = clock.ticks();
                        synced.map_err(|errno| Failure::of(call.name(), errno))?;
                        self.tally.sync.record(clock.ns(durable.saturating_sub(now)));
                        if syncs_commit {
                            self.tally
                                .commit
                                .record(clock.ns(durable.saturating_sub(commit_start)));
                        }
                        end.syncs += 1;
                        now = durable;
                    }
                }
                if T::VERIFIES && self.disk.check_is_due() {
                    let on_mismatch = &mut |failure| end.forgive(workload, failure).map(drop);
                    self.disk.check_written(self.stop, on_mismatch)?;
                    now = clock.ticks();
                }
                until_renewal -= 1;
                if until_renewal == 0 {
                    until_renewal = renew_every;
                    self.disk.renew().map_err(|errno| Failure::of("emptying the file", errno))?;
                    now = clock.ticks();
                }
            }
            if checkpoints.reached(now, end.reads + end.writes) || self.stop.is_requested() {
                match checkpoints.pass(now, end, self.stop)? {
                    Some(resumed) => now = resumed,
                    None => return Ok(()),
                }
            }
        }
    }
}

impl<T: BlockDisk> Blocking<'_, T> {
    /// Waits for the place of a block; `None` if the job ends.
    fn place(&mut self, drawn: Block, end: &JobEnd) -> Result<Option<Block>, Failure> {
        loop {
            match self.disk.place(drawn)? {
                Placing::At(block) => return Ok(Some(block)),
                Placing::Nowhere => return Ok(None),
                Placing::Later => self.disk.await_place(),
            }
            let ops = end.reads + end.writes;
            if self.stop.is_requested() || self.bounds.reached(self.clock.ticks(), ops) {
                return Ok(None);
            }
        }
    }

    /// Continues after a failed operation, if the workload ignores such failures. Returns the time
    /// at which the job continues; `None` if it ends.
    #[cold]
    fn ignore(
        &mut self,
        failure: Failure,
        checkpoints: &mut Checkpoints<'_>,
        now: u64,
        end: &mut JobEnd,
    ) -> Result<Option<u64>, Failure> {
        if end.forgive(self.operations.workload(), failure)? == Forgiven::Full {
            return Ok(None);
        }
        self.bounds = self.bounds.without_one();
        checkpoints.leave_one_out();
        if checkpoints.reached(now, end.reads + end.writes) || self.stop.is_requested() {
            return checkpoints.pass(now, end, self.stop);
        }
        Ok(Some(now))
    }
}

/// The time from which a paced operation's latency is measured.
#[inline]
fn take_due(pace: &mut Option<Pace>) -> Option<u64> {
    pace.as_mut().map(|pace| {
        let due = pace.due();
        pace.advance();
        due
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::io::Errno;
    use workload::{
        Arrivals, BlockBytes, BlockSizes, Content, JobPart, Layout, Limit, Pattern, Rate,
        SizeShare, SyncCall, SyncMethod, Tolerance, Workload,
    };

    use super::*;
    use crate::disk::failing::FailingDisk;
    use crate::disk::{Disk, NullDisk};
    use workload::random::generator;

    fn writes() -> Workload {
        Workload::new(Pattern::RandWrite, BlockBytes::new(4096).unwrap())
    }

    fn run(disk: &mut impl BlockDisk, workload: &Workload, limit: Limit) -> (JobEnd, Tally) {
        let tally = Tally::new();
        let mut buffers = Buffers::new(4, 4096, Content::Random, &mut generator(1, 0)).unwrap();
        let clock = Clock::calibrated();
        let operations = Operations::new(workload, JobPart::within_one_file(0, 100 * 4096), 0);
        let bounds = clock.bounds(limit, clock.ticks());
        let (buffers, stop) = (&mut buffers, Stop::new());
        let job = Blocking {
            disk,
            clock,
            operations,
            bounds,
            buffers,
            tally: &tally,
            stop: &stop,
            flow: None,
        };
        (operations.run(job), tally)
    }

    #[test]
    fn each_write_gets_its_sync_and_each_commit_is_counted_once() {
        let mut workload = writes();
        workload.sync = SyncMethod::Fsync;
        workload.sync_every = 4;
        let (end, tally) = run(&mut NullDisk, &workload, Limit::Count(42));
        assert_eq!((end.writes, end.syncs, end.written_bytes), (42, 10, 42 * 4096));
        assert_eq!((tally.write.count(), tally.sync.count(), tally.commit.count()), (42, 10, 10));
    }

    #[test]
    fn an_error_in_the_middle_keeps_what_was_measured() {
        let mut disk = FailingDisk { requests: 7, error: Errno::IO };
        let mut workload = writes();
        workload.sync = SyncMethod::Fdatasync;
        let (end, tally) = run(&mut disk, &workload, Limit::Count(100));
        assert_eq!((end.writes, end.syncs), (4, 3));
        assert_eq!(tally.commit.count(), 3);
        assert_eq!(end.failure, Some(Failure::of("fdatasync", Errno::IO)));
    }

    /// Every third request fails.
    struct EveryThird(u64);

    impl BlockDisk for EveryThird {}

    impl Disk for EveryThird {
        fn read(&mut self, block: &mut [u8], _: u64) -> Result<usize, Errno> {
            Ok(block.len())
        }

        fn write(&mut self, block: &[u8], _: u64) -> Result<usize, Errno> {
            self.0 += 1;
            if self.0.is_multiple_of(3) { Err(Errno::NOSPC) } else { Ok(block.len()) }
        }

        fn sync(&mut self, _: SyncCall, _: u64) -> Result<(), Errno> {
            Ok(())
        }

        fn renew(&mut self) -> Result<(), Errno> {
            Ok(())
        }
    }

    #[test]
    fn ignored_errors_are_counted_and_are_part_of_the_count() {
        let mut workload = writes();
        workload.tolerance = Tolerance { writes: vec![28], ..Tolerance::default() };
        let mut disk = EveryThird(0);
        let (end, tally) = run(&mut disk, &workload, Limit::Count(30));
        assert_eq!((end.writes, tally.write.count(), disk.0, end.failure), (20, 20, 30, None));
        let notes: Vec<String> = end.ignored.notes().collect();
        assert!(notes[0].starts_with("write errors that were counted and ignored: 10;"));
    }

    #[test]
    fn a_full_disk_is_the_end_of_a_job_that_fills_it() {
        let mut workload = writes();
        workload.fills = true;
        let (end, _) = run(&mut EveryThird(0), &workload, Limit::Count(30));
        assert_eq!((end.writes, end.filled, end.failure), (2, true, None));
        workload.fills = false;
        let (end, _) = run(&mut EveryThird(0), &workload, Limit::Count(30));
        assert!(end.failure.is_some());
    }

    #[test]
    fn a_mix_comes_near_its_ratio() {
        let mut workload = writes();
        workload.pattern = Pattern::RandRw;
        workload.read_percent = 70;
        let (end, _) = run(&mut NullDisk, &workload, Limit::Count(10_000));
        assert_eq!(end.reads + end.writes, 10_000);
        assert!((6_800..7_200).contains(&end.reads), "{}", end.reads);
    }

    #[test]
    fn sizes_that_vary_are_moved_and_counted() {
        let mut workload = writes();
        let share = |bytes, weight| SizeShare { bytes, weight };
        let writes = vec![share(512, 50), share(4096, 50)];
        workload.sizes =
            Some(BlockSizes { align_bytes: 512, coarse: None, reads: writes.clone(), writes });
        let (end, _) = run(&mut NullDisk, &workload, Limit::Count(1000));
        assert_eq!(end.writes, 1000);
        // Half of the writes are 4 KiB.
        assert!((2_100_000..2_500_000).contains(&end.written_bytes), "{}", end.written_bytes);
    }

    #[test]
    fn a_used_up_layout_is_renewed() {
        let mut workload = writes();
        workload.pattern = Pattern::Write;
        workload.layout = Layout::Append;
        // 100 writes, a renewal, 100 writes, then the second renewal fails.
        let mut disk = FailingDisk { requests: 201, error: Errno::NOSPC };
        let (end, _) = run(&mut disk, &workload, Limit::Count(1000));
        assert_eq!(end.writes, 200);
        assert!(matches!(end.failure, Some(Failure::Errno { operation: "emptying the file", .. })));
    }

    #[test]
    fn an_offered_load_is_kept_and_a_stall_is_charged_to_what_it_delayed() {
        struct Stalling(u32);
        impl BlockDisk for Stalling {}
        impl Disk for Stalling {
            fn read(&mut self, block: &mut [u8], _: u64) -> Result<usize, Errno> {
                Ok(block.len())
            }
            fn write(&mut self, block: &[u8], _: u64) -> Result<usize, Errno> {
                self.0 += 1;
                if self.0 == 50 {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Ok(block.len())
            }
            fn sync(&mut self, _: SyncCall, _: u64) -> Result<(), Errno> {
                Ok(())
            }
            fn renew(&mut self) -> Result<(), Errno> {
                Ok(())
            }
        }
        let mut workload = writes();
        workload.rate =
            Some(Rate { per_second: 1000.0, reads_per_second: None, arrivals: Arrivals::Constant });
        let begun = std::time::Instant::now();
        let (end, tally) = run(&mut Stalling(0), &workload, Limit::Count(200));
        assert_eq!(end.writes, 200);
        assert!(begun.elapsed() >= Duration::from_millis(199));
        // The stall of 50 ms delays the 50 operations that were due during it, by 25 ms on average.
        let mut cells = vec![0; crate::recorder::CELLS];
        tally.write.add_to(&mut cells);
        let late = crate::recorder::histogram_of(&cells);
        let delayed =
            late.count() - (late.share_at_or_below(2_000_000) * late.count() as f64).round() as u64;
        assert!(delayed >= 45, "{delayed} operations were charged");
    }
}
