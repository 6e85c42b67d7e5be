//! Peak memory of sorts, measured with a counting allocator.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use prefixsort::{ExternalOptions, ExternalSorter, par_sort, par_sort_indices};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: everything is passed on to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    /// The system moves pages, while an allocation and a copy would need both at once.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        count(size);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const MIB: usize = 1 << 20;

/// One test at a time, because the allocator counts for all threads.
static ALONE: Mutex<()> = Mutex::new(());

/// Sorts `bytes` bytes of records of these lengths; returns the peak memory.
fn peak(memory: usize, threads: usize, bytes: usize, length: impl Fn(u32) -> usize) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let options = ExternalOptions {
        memory,
        directories: vec![directory.path().into()],
        threads,
        ..ExternalOptions::default()
    };
    let mut payload = vec![0; (0..1000).map(&length).max().unwrap()];
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut sorter = ExternalSorter::new(options).unwrap();
    let mut numbers = 0..;
    while sorter.figures().bytes < bytes as u64 {
        let number: u32 = numbers.next().unwrap();
        let key = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
        let payload = &mut payload[..length(number)];
        payload[..4].copy_from_slice(&key);
        sorter.push(&key, payload).unwrap();
    }
    let mut result = sorter.finish().unwrap();
    let mut count = 0;
    while let Some(record) = result.next().unwrap() {
        assert_eq!(record.key, &record.payload[..4]);
        count += 1;
    }
    assert_eq!(count, numbers.start);
    assert!(result.figures().runs > 2);
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn the_memory_limit_is_kept() {
    let _alone = ALONE.lock();
    for threads in [0, 2] {
        for (kind, limit, bytes, length) in [
            ("short", 8 * MIB, 24 * MIB, (|_| 30) as fn(u32) -> usize),
            ("blocks", 8 * MIB, 80 * MIB, |number| 100_000 + number as usize % 1000),
            ("long", 16 * MIB, 160 * MIB, |_| MIB),
            (
                "one long",
                16 * MIB,
                100 * MIB,
                |number| if number % 100 == 50 { 3 * MIB } else { 4000 },
            ),
        ] {
            let peak = peak(limit, threads, bytes, length);
            println!("{kind}, {threads} threads: {:.2} of the limit", peak as f64 / limit as f64);
            // A buffer grows by a quarter, and one that is being written needs an additional block.
            assert!(
                peak <= limit + limit / 4,
                "{kind}, {threads} threads: {} MiB of {}",
                peak / MIB,
                limit / MIB
            );
        }
    }
}

#[test]
fn a_parallel_sort_takes_32_bytes_per_row() {
    let _alone = ALONE.lock();
    let count = 400_000;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let different = |number: u32| number.wrapping_mul(0x9e37_79b9);
    // All but one of the latter are in the same part.
    for (kind, key) in [
        ("different", different as fn(u32) -> u32),
        ("equal", |number| u32::from(number != 300_000)),
    ] {
        let mut rows: Vec<[u8; 4]> = (0..count).map(|number| key(number).to_be_bytes()).collect();
        let (_, indices) = threads.install(|| peak_of(|| par_sort_indices(&rows)));
        let ((), sort) = threads.install(|| peak_of(|| par_sort(&mut rows)));
        assert!(rows.is_sorted());
        for peak in [sort, indices] {
            println!("{kind}: {:.1} bytes per row", peak as f64 / f64::from(count));
            assert!(peak < 32 * count as usize + MIB, "{kind}: {peak} bytes");
        }
    }
}

/// The result, and the peak memory.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed) - before)
}
