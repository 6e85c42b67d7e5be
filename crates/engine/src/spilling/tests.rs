//! Sorts on disks that work, fail, lose data and are stopped.

use proptest::prelude::*;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use workload::{BlockBytes, Jobs, SortKeys, SyncCall};

use super::*;
use crate::disk::failing::FailingDisk;

fn work(keys: SortKeys) -> SortWork {
    SortWork {
        keys,
        size_bytes: 24 << 20,
        memory_bytes: 4 << 20,
        block_bytes: BlockBytes::new(64 << 10).unwrap(),
        jobs: Jobs::new(1).unwrap(),
        direct: false,
        sync: None,
        rest: std::time::Duration::ZERO,
        seed: 1,
    }
}

/// Sorts all records, with the runs on this disk.
fn measured(sort: &SortWork, disk: Box<dyn Disk + Send>, stop: Stop) -> (JobEnd, Arc<Tally>) {
    measured_on(sort, disk, true, stop)
}

/// The same, with a disk that is not treated as a drive.
fn measured_on(
    sort: &SortWork,
    disk: Box<dyn Disk + Send>,
    drive: bool,
    stop: Stop,
) -> (JobEnd, Arc<Tally>) {
    let target = Target::open(
        &drive::SystemRoot::default(),
        "null:",
        crate::Intent { writes: true, destroy_data: false },
    );
    let part = Part {
        name: String::new(),
        start: 1 << 30,
        size_bytes: room_bytes(sort, sort.size_per_job_bytes()),
        direct: false,
        alignment_bytes: 1,
    };
    let target = target.unwrap();
    let bytes = sort.size_per_job_bytes();
    let job =
        SortJob { target: &target, sort, part: &part, bytes, clock: Clock::calibrated(), job: 0 };
    let tally = Arc::new(Tally::new());
    (job.measured(disk, drive, &tally, &Arc::new(stop)), tally)
}

#[test]
fn every_block_is_counted_and_timed_and_the_times_add_up() {
    for keys in SortKeys::ALL {
        let sort = SortWork { sync: Some(SyncCall::Fdatasync), ..work(keys) };
        let begun = std::time::Instant::now();
        let (end, tally) = measured(&sort, Box::<MemoryDisk>::default(), Stop::new());
        let wall_s = begun.elapsed().as_secs_f64();
        assert_eq!(end.failure, None);
        let figures = end.sort.unwrap();
        assert!(
            figures.bytes >= sort.size_bytes && figures.bytes < sort.size_bytes + (1 << 20),
            "{figures:?}"
        );
        assert!(figures.runs >= 6, "{figures:?}");
        assert_eq!((end.syncs, end.writes), (figures.runs, tally.write.count()));
        assert_eq!((end.reads, tally.sync.count()), (tally.read.count(), figures.runs));
        assert_eq!(
            (figures.written_bytes, figures.read_bytes),
            (end.writes * (64 << 10), end.reads * (64 << 10))
        );
        assert!(
            figures.read_bytes <= figures.written_bytes,
            "each block is read once: {figures:?}"
        );
        let parts = [
            figures.input_s, figures.sorting_s, figures.coding_s, figures.merging_s,
            figures.writing_s,
        ];
        assert!(parts.iter().all(|&part| part > 0.0) && figures.reading_s > 0.0, "{figures:?}");
        assert!(
            figures.total_s() <= wall_s && figures.total_s() > wall_s * 0.5,
            "{wall_s} {figures:?}"
        );
        assert!(
            figures.write_wait_s() >= 0.0
                && figures.read_wait_s() >= 0.0
                && figures.waiting_s >= 0.0,
            "{figures:?}"
        );
        assert!(figures.first_row_s.unwrap() < figures.total_s(), "{figures:?}");
    }
}

/// A slow disk that uses no CPU time.
#[derive(Default)]
struct Slow(MemoryDisk);

const SLOW: std::time::Duration = std::time::Duration::from_millis(2);

impl Disk for Slow {
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        std::thread::sleep(SLOW);
        self.0.read(block, offset)
    }

    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        std::thread::sleep(SLOW);
        self.0.write(block, offset)
    }

    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno> {
        self.0.sync(call, offset)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        self.0.renew()
    }
}

#[test]
fn a_wait_for_the_drive_is_no_work_of_the_kernel_s() {
    let (end, _) = measured(&work(SortKeys::Urls), Box::<Slow>::default(), Stop::new());
    let figures = end.sort.unwrap();
    let slept_s = |calls: u64| calls as f64 * SLOW.as_secs_f64();
    assert!(figures.write_wait_s() >= slept_s(end.writes) * 0.9, "{figures:?}");
    assert!(figures.read_wait_s() >= slept_s(end.reads) * 0.9, "{figures:?}");
    assert!(figures.kernel_s() > 0.0 && figures.kernel_s() < figures.drive_s(), "{figures:?}");
}

#[test]
fn sorts_that_wait_for_a_processor_blame_neither_the_sort_nor_the_drive() {
    // All sorts on one processor, even if there are more.
    let allowed = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap());
    let begun = std::time::Instant::now();
    let sort = || {
        sched_setaffinity(None, &one).unwrap();
        let (end, _) =
            measured_on(&work(SortKeys::Urls), Box::<MemoryDisk>::default(), false, Stop::new());
        *end.sort.unwrap()
    };
    let sorts: Vec<SortFigures> = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(sort));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let wall_s = begun.elapsed().as_secs_f64();
    let sum = SortFigures::sum(sorts).unwrap();
    let worked_s = sum.input_s + sum.own_s() + sum.kernel_s();
    assert!(worked_s < wall_s * 1.02, "no more than the processor can do in {wall_s} s: {sum:?}");
    assert!(sum.waiting_s > sum.total_s() * 0.4, "{sum:?}");
    assert!(sum.drive_s() <= 0.0, "there is none: {sum:?}");
}

#[test]
fn a_disk_that_fails_ends_the_sort_with_its_own_words() {
    for (error, words) in [
        (Errno::NOSPC, "the disk is full (ENOSPC)"),
        (Errno::IO, "the device reported an I/O error (EIO)"),
        // An error after which callers retry.
        (Errno::INTR, "interrupted system call"),
    ] {
        let (end, _) = measured(
            &work(SortKeys::Urls),
            Box::new(FailingDisk { requests: 70, error }),
            Stop::new(),
        );
        let said = end.failure.unwrap().to_string();
        assert!(said.starts_with("write at offset ") && said.ends_with(words), "{said}");
        assert_eq!(end.writes, 70, "what was done before counts");
        let figures = end.sort.unwrap();
        assert!(
            figures.records > 0 && figures.sorting_s > 0.0 && figures.first_row_s.is_none(),
            "{figures:?}"
        );
    }
}

/// A disk that returns different bytes than were written.
struct Forgetful;

impl Disk for Forgetful {
    fn read(&mut self, block: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        block.fill(7);
        Ok(block.len())
    }

    fn write(&mut self, block: &[u8], _offset: u64) -> Result<usize, Errno> {
        Ok(block.len())
    }

    fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

#[test]
fn what_comes_back_damaged_is_no_result() {
    let (end, _) = measured(&work(SortKeys::Composite), Box::new(Forgetful), Stop::new());
    let said = end.failure.unwrap().to_string();
    assert!(said.starts_with("a run in null: is damaged: "), "{said}");
}

/// A disk that flips one bit, in the block that is read this many blocks after the first.
struct Flipping {
    disk: MemoryDisk,
    reads_before: u64,
}

impl Disk for Flipping {
    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let moved = self.disk.read(block, offset)?;
        if self.reads_before == 0 {
            block[7] ^= 0x10;
        }
        self.reads_before = self.reads_before.wrapping_sub(1);
        Ok(moved)
    }

    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        self.disk.write(block, offset)
    }

    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno> {
        self.disk.sync(call, offset)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        self.disk.renew()
    }
}

#[test]
fn a_single_bit_that_flipped_is_no_result() {
    for reads_before in [0, 40] {
        let disk = Flipping { disk: MemoryDisk::default(), reads_before };
        let (end, _) = measured(&work(SortKeys::Urls), Box::new(disk), Stop::new());
        assert!(end.reads > reads_before, "the bit was read: {}", end.reads);
        let said = end.failure.unwrap().to_string();
        assert!(said.starts_with("a run in null: is damaged: "), "{said}");
    }
}

#[test]
fn a_stop_is_no_failure() {
    let stop = Stop::new();
    stop.request();
    let (end, _) = measured(&work(SortKeys::Urls), Box::<MemoryDisk>::default(), stop);
    assert_eq!((end.failure, end.writes), (None, 0));
}

#[test]
fn runs_that_are_merged_into_others_fit_into_their_room() {
    // 4 MiB of memory merge four runs at a time, so most are merged twice and their extents are
    // reused.
    let sort = SortWork { size_bytes: 96 << 20, ..work(SortKeys::Composite) };
    let (end, _) = measured(&sort, Box::<MemoryDisk>::default(), Stop::new());
    assert_eq!(end.failure, None);
    let figures = end.sort.unwrap();
    assert!(figures.written_bytes > figures.bytes, "{figures:?}");
}

/// Regardless of memory, at most 128 runs are merged at a time: with more, some exist twice.
#[test]
fn runs_that_are_too_many_for_any_memory_have_room_to_be_merged() {
    let sort = SortWork { size_bytes: 64 << 30, memory_bytes: 512 << 20, ..work(SortKeys::Urls) };
    assert!(room_bytes(&sort, sort.size_bytes) > 2 * sort.size_bytes);
    let few = 32 << 30;
    assert!(room_bytes(&sort, few) < 2 * few);
}

proptest! {
    #[test]
    fn what_has_room_for_its_runs_has_it(size in 8u64..1 << 16, memory in 4u64..1 << 10, block in 9u32..26, share in 0.0..1.5f64) {
        let sort = SortWork {
            size_bytes: size << 20,
            memory_bytes: memory << 20,
            block_bytes: BlockBytes::new(1 << block).unwrap(),
            ..work(SortKeys::Urls)
        };
        let extent_bytes = extent_bytes(&sort);
        prop_assert_eq!(extent_bytes % (1 << block), 0);
        let needed = room_bytes(&sort, sort.size_bytes);
        prop_assert_eq!(needed % extent_bytes, 0);
        let room = (needed as f64 * share) as u64;
        let bytes = records_bytes(&sort, room);
        prop_assert!(bytes <= sort.size_bytes);
        prop_assert!(bytes == 0 || room_bytes(&sort, bytes) <= room.max(extent_bytes), "{bytes} of \
            {room}");
    }
}
