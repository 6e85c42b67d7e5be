//! External sorts with faults: spaces that fail, damage what they store, or are slow.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prefixsort::{ExternalOptions, ExternalSorter, RunFile, SpillError, SpillSpace};

/// The fault of a space.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// The first run cannot be created.
    FailsOnce,
    /// Runs are cut off at this byte when read.
    CutAt(usize),
    /// A bit of this byte is flipped when a run is read.
    FlippedAt(usize),
    /// Each write takes long.
    Slow,
}

/// Runs in memory.
#[derive(Debug)]
struct Space {
    fault: Fault,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    made: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    writes: AtomicUsize,
}

#[derive(Debug)]
struct Run {
    bytes: Cursor<Vec<u8>>,
    fault: Fault,
    counts: Arc<Counts>,
}

impl Space {
    fn with(fault: Fault) -> Arc<Self> {
        Arc::new(Self { fault, counts: Arc::default() })
    }
}

impl SpillSpace for Space {
    fn path(&self) -> &Path {
        Path::new("a space")
    }

    fn create(&self) -> io::Result<Box<dyn RunFile>> {
        let (counts, fault) = (self.counts.clone(), self.fault);
        if counts.made.fetch_add(1, Ordering::Relaxed) == 0 && matches!(fault, Fault::FailsOnce) {
            return Err(io::Error::other("not this time"));
        }
        let open = counts.open.fetch_add(1, Ordering::Relaxed) + 1;
        counts.most_open.fetch_max(open, Ordering::Relaxed);
        Ok(Box::new(Run { bytes: Cursor::default(), fault, counts }))
    }
}

impl Read for Run {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(bytes)
    }
}

impl Write for Run {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.fault, Fault::Slow) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RunFile for Run {
    fn rewind(&mut self) -> io::Result<()> {
        self.bytes.set_position(0);
        let bytes = self.bytes.get_mut();
        match self.fault {
            Fault::CutAt(place) => bytes.truncate(place),
            Fault::FlippedAt(place) => bytes[place] ^= 0x10,
            _ => {}
        }
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn options(threads: usize) -> ExternalOptions {
    ExternalOptions { memory: 4 << 20, directories: vec![], threads, ..ExternalOptions::default() }
}

fn sorter(threads: usize, space: &Arc<Space>) -> ExternalSorter {
    ExternalSorter::spilling_to(&options(threads), vec![space.clone()]).unwrap()
}

/// A different key for each number, in no order.
fn key(number: u32) -> [u8; 4] {
    number.wrapping_mul(0x9e37_79b9).to_be_bytes()
}

/// Pushes `records` records of 4 KiB; a thousand of them fill the memory.
fn push(sorter: &mut ExternalSorter, records: u32) -> Result<(), SpillError> {
    (0..records).try_for_each(|number| sorter.push(&key(number), &[number as u8; 4 << 10]))
}

#[test]
fn a_sorter_that_has_failed_gives_no_incomplete_result() {
    for threads in [0, 1] {
        let mut sorter = sorter(threads, &Space::with(Fault::FailsOnce));
        // The space works again after it has failed once.
        let error = (0..20).find_map(|_| push(&mut sorter, 1000).err()).unwrap();
        assert!(matches!(error, SpillError::Create { .. }), "{error}");
        let again = sorter.push(b"key", b"payload").unwrap_err();
        assert!(matches!(again, SpillError::Failed), "{again}");
        let error = sorter.finish().unwrap_err();
        assert!(matches!(error, SpillError::Failed), "{error}");
        let message = "the sort has failed before and records are missing; start a new one";
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_record_that_is_too_long_is_refused_and_the_others_are_sorted() {
    // Memory that is never touched is never allocated.
    let half = vec![0; 2050 << 20];
    let mut sorter = ExternalSorter::new(options(0)).unwrap();
    sorter.push(b"b", b"").unwrap();
    let error = sorter.push(&half, &half).unwrap_err().to_string();
    assert_eq!(error, "a record of 4299161600 bytes is too long: expected at most 4293918720");
    sorter.push(b"a", b"").unwrap();
    let mut result = sorter.finish().unwrap();
    assert_eq!(result.next().unwrap().unwrap().key, b"a");
    assert_eq!(result.next().unwrap().unwrap().key, b"b");
    assert!(result.next().unwrap().is_none());
}

#[test]
fn a_damaged_run_is_reported_and_no_wrong_record_comes_before() {
    let mut keys: Vec<_> = (0..3000).map(key).collect();
    keys.sort_unstable();
    let (first_block, later) = (100, 2 << 20);
    for (fault, message) in [
        (Fault::FlippedAt(3), "the length of block 0 is greater than that of any block written"),
        (Fault::FlippedAt(first_block), "the checksum of block 0 is wrong"),
        (Fault::CutAt(first_block), "it is cut short in or after block 0"),
        (Fault::FlippedAt(later), "the checksum of block 7 is wrong"),
        (Fault::CutAt(later), "it is cut short in or after block 7"),
    ] {
        let mut sorter = sorter(0, &Space::with(fault));
        push(&mut sorter, 3000).unwrap();
        let mut given = 0;
        // The first blocks are read before the first record is returned.
        let error = match sorter.finish() {
            Err(error) => error,
            Ok(mut result) => loop {
                match result.next() {
                    Ok(record) => assert_eq!(record.unwrap().key, keys[given]),
                    Err(error) => break error,
                }
                given += 1;
            },
        };
        assert!(matches!(error, SpillError::Damaged { .. }), "{fault:?}: {error}");
        assert!(
            error.to_string().starts_with(&format!("a run in a space is damaged: {message}. ")),
            "{error}"
        );
        let in_the_first =
            !matches!(fault, Fault::FlippedAt(place) | Fault::CutAt(place) if place == later);
        assert_eq!(given == 0, in_the_first, "{fault:?}: {given} records");
    }
}

#[test]
fn a_directory_that_disappears_between_two_runs_is_reported() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("runs");
    std::fs::create_dir(&directory).unwrap();
    let options = ExternalOptions { directories: vec![directory.clone()], ..options(1) };
    let mut sorter = ExternalSorter::new(options).unwrap();
    while sorter.figures().runs == 0 {
        push(&mut sorter, 100).unwrap();
    }
    // Runs have no names, so nothing prevents the removal.
    std::fs::remove_dir(&directory).unwrap();
    let error = (0..100).find_map(|_| push(&mut sorter, 1000).err()).unwrap();
    assert!(
        matches!(&error, SpillError::Create { directory: gone, .. } if *gone == directory),
        "{error}"
    );
}

#[test]
fn writing_runs_can_be_watched_and_cancelled() {
    for threads in [0, 2] {
        // While records are pushed.
        let asked = Arc::new(AtomicU64::new(0));
        let seen = asked.clone();
        let space = Space::with(Fault::None);
        let mut cancelled = sorter(threads, &space).with_progress(move |written| {
            assert!(written > seen.swap(written, Ordering::Relaxed), "no progress");
            written < 5 << 20
        });
        let error = (0..100).find_map(|_| push(&mut cancelled, 1000).err()).unwrap();
        assert_eq!(error.to_string(), "the sort was cancelled while a run was being written");
        assert!(asked.load(Ordering::Relaxed) >= 5 << 20);
        assert!(matches!(cancelled.finish(), Err(SpillError::Failed)));
        assert_eq!(space.counts.open.load(Ordering::Relaxed), 0, "a cancelled run was not dropped");

        // While runs are merged into longer ones at the end.
        let finishing = Arc::new(AtomicBool::new(false));
        let unwanted = finishing.clone();
        let mut sorter = sorter(threads, &Space::with(Fault::None))
            .with_progress(move |_| !unwanted.load(Ordering::Relaxed));
        push(&mut sorter, 11_000).unwrap();
        finishing.store(true, Ordering::Relaxed);
        let error = sorter.finish().unwrap_err();
        assert!(matches!(error, SpillError::Cancelled), "{error}");
    }
}

#[test]
fn nothing_is_written_for_a_sorter_that_is_gone() {
    let space = Space::with(Fault::Slow);
    let counts = space.counts.clone();
    // Input that is known not to fit into memory is spilled at half of the limit, so the other half
    // can be filled in the meantime: here when three buffers of 2.7 MiB are full.
    let options = ExternalOptions { memory: 16 << 20, expected: Some(1 << 30), ..options(1) };
    let mut sorter = ExternalSorter::spilling_to(&options, vec![space.clone()]).unwrap();
    push(&mut sorter, 2500).unwrap();
    let begun = Instant::now();
    while counts.open.load(Ordering::Relaxed) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "no run was started");
        std::thread::yield_now();
    }
    drop(sorter);
    assert_eq!(counts.open.load(Ordering::Relaxed), 0);
    // The whole run has about thirty blocks.
    let writes = counts.writes.load(Ordering::Relaxed);
    assert!(writes < 15, "{writes} blocks were still written");
    assert_eq!(Arc::strong_count(&space), 1);
}

#[test]
fn many_runs_are_never_all_open() {
    let space = Space::with(Fault::None);
    let mut sorter = sorter(0, &space);
    push(&mut sorter, 30_000).unwrap();
    let mut result = sorter.finish().unwrap();
    let mut last: Option<Vec<u8>> = None;
    let mut count = 0;
    while let Some(record) = result.next().unwrap() {
        assert!(last.as_deref() < Some(record.key));
        last = Some(record.key.to_vec());
        count += 1;
    }
    assert_eq!(count, 30_000);
    // 30 runs were spilled; half of the 4 MiB is for merging, six blocks to read from and one to
    // write.
    let (made, most_open) =
        (space.counts.made.load(Ordering::Relaxed), space.counts.most_open.load(Ordering::Relaxed));
    assert!(made > 30, "{made}");
    assert!(most_open < 20, "{most_open} runs were open");
}
