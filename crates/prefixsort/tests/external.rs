//! External sorts with real files on real filesystems.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use prefixsort::{
    ExternalOptions, ExternalSorter, Figures, NextRecord, RunFile, SortedInput, SpillError,
    SpillSpace,
};
use proptest::collection::vec;
use proptest::prelude::*;

type Pair = (Vec<u8>, Vec<u8>);

fn sorted(records: &[Pair], options: ExternalOptions) -> Result<(Vec<Pair>, Figures), SpillError> {
    sorted_by(ExternalSorter::new(options)?, records)
}

fn sorted_by(
    mut sorter: ExternalSorter,
    records: &[Pair],
) -> Result<(Vec<Pair>, Figures), SpillError> {
    for (key, payload) in records {
        sorter.push(key, payload)?;
    }
    assert_eq!(sorter.figures().records, records.len() as u64);
    let mut result = sorter.finish()?;
    let mut out: Vec<Pair> = vec![];
    while let Some(record) = result.next()? {
        let last = out.last().map_or(&[][..], |last| &last.0);
        let alike = last.iter().zip(record.key).take_while(|(a, b)| a == b).count();
        assert_eq!(record.shared, alike, "{last:?} {:?}", record.key);
        out.push((record.key.to_vec(), record.payload.to_vec()));
    }
    assert!(result.next()?.is_none(), "a record after the end");
    Ok((out, result.figures()))
}

fn expected(records: &[Pair], descending: bool) -> Vec<Pair> {
    let mut expected = records.to_vec();
    if descending {
        expected.sort_by(|a, b| b.0.cmp(&a.0));
    } else {
        expected.sort_by(|a, b| a.0.cmp(&b.0));
    }
    expected
}

/// Records with keys like URLs, some of them equal; each payload identifies its record.
fn urls(count: u32) -> Vec<Pair> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count)
        .map(|number| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key = format!(
                "https://host{}.example/{:03}/{}",
                state >> 61,
                state >> 50 & 0x3ff,
                state >> 44 & 0xffff
            );
            (key.into_bytes(), number.to_le_bytes().to_vec())
        })
        .collect()
}

fn options(directory: &Path, memory: usize, threads: usize) -> ExternalOptions {
    ExternalOptions {
        memory,
        directories: vec![directory.into()],
        threads,
        ..ExternalOptions::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_fits_into_memory_is_sorted_without_a_file(
        records in vec((vec(prop_oneof![Just(0), Just(255), Just(b'a')], 0..6), vec(any::<u8>(), 0..3)), 0..300),
        descending: bool,
        threads in 0usize..3,
    ) {
        let options = ExternalOptions { descending, threads, directories: vec![], ..ExternalOptions::default() };
        let (out, figures) = sorted(&records, options).unwrap();
        prop_assert_eq!(out, expected(&records, descending));
        prop_assert_eq!((figures.runs, figures.written), (0, 0));
        prop_assert_eq!(figures.records, records.len() as u64);
    }
}

#[test]
fn more_than_memory_goes_through_runs_and_through_runs_of_runs() {
    let directory = tempfile::tempdir().unwrap();
    let records = urls(500_000);
    for (threads, descending, expected_bytes) in
        [(0, false, None), (2, false, Some(1 << 30)), (1, true, None)]
    {
        let options = ExternalOptions {
            descending,
            expected: expected_bytes,
            ..options(directory.path(), 4 << 20, threads)
        };
        let (out, figures) = sorted(&records, options).unwrap();
        assert!(out == expected(&records, descending), "{threads} threads");
        // 4 MiB merge four runs at a time.
        assert!(figures.runs > 5, "{figures:?}");
        assert!(figures.written > 0 && figures.read >= figures.written, "{figures:?}");
        assert_eq!(
            figures.bytes,
            records.iter().map(|(key, payload)| (key.len() + payload.len()) as u64).sum::<u64>()
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a file was left behind");
}

#[test]
fn records_longer_than_a_buffer_are_sorted_too() {
    let directory = tempfile::tempdir().unwrap();
    let records: Vec<Pair> =
        (0..6).rev().map(|n| ([vec![b'x'; 3 << 20], vec![n]].concat(), vec![n; 1 << 20])).collect();
    let (out, figures) = sorted(&records, options(directory.path(), 4 << 20, 1)).unwrap();
    assert!(out == expected(&records, false));
    assert!(figures.runs > 0);
}

#[test]
fn used_up_memory_without_a_directory_is_an_error() {
    let error = sorted(
        &urls(300_000),
        ExternalOptions { directories: vec![], ..options(Path::new("/"), 4 << 20, 1) },
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "4194304 bytes of memory are used up, and there is no directory for temporary files"
    );
}

#[test]
fn a_missing_directory_is_reported_and_the_next_one_used() {
    let directory = tempfile::tempdir().unwrap();
    let vanished = directory.path().join("vanished");
    let records = urls(300_000);
    let error = sorted(&records, options(&vanished, 4 << 20, 1)).unwrap_err();
    assert!(
        matches!(&error, SpillError::Create { directory, .. } if *directory == vanished),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "cannot create a temporary file in {}: No such file or directory (os error 2)",
            vanished.display()
        )
    );
    let both = ExternalOptions {
        directories: vec![vanished, directory.path().into()],
        ..options(Path::new("/"), 4 << 20, 1)
    };
    assert!(sorted(&records, both).unwrap().0 == expected(&records, false));
}

/// A small filesystem, which only root can create.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "flushmark-small"])
            .arg(directory.path())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            eprintln!(
                "skipped: a_full_disk_is_reported_and_the_next_directory_used: a small filesystem \
                 could not be mounted (it takes root)"
            );
        }
        mounted.then_some(Self(directory))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_reported_and_the_next_directory_used() {
    let Some(small) = Small::mount() else { return };
    let records = urls(300_000);
    let error = sorted(&records, options(small.0.path(), 4 << 20, 1)).unwrap_err().to_string();
    assert!(error.starts_with("cannot write a run to "), "{error}");
    let advice = "No space left on device (os error 28). Use a directory with more space, or allow \
                  more memory";
    assert!(error.ends_with(advice), "{error}");
    let roomy = tempfile::tempdir().unwrap();
    let directories = vec![small.0.path().to_owned(), roomy.path().to_owned()];
    let both = ExternalOptions { directories, ..options(Path::new("/"), 4 << 20, 1) };
    assert!(sorted(&records, both).unwrap().0 == expected(&records, false));
}

/// Runs in memory, as the caller's own device would store them.
#[derive(Debug, Default)]
struct Memory {
    room: Option<usize>,
    open: Arc<AtomicUsize>,
    made: AtomicUsize,
    threads: Arc<Mutex<Vec<ThreadId>>>,
}

#[derive(Debug)]
struct MemoryRun {
    bytes: Cursor<Vec<u8>>,
    room: usize,
    open: Arc<AtomicUsize>,
    threads: Arc<Mutex<Vec<ThreadId>>>,
}

impl SpillSpace for Memory {
    fn path(&self) -> &Path {
        Path::new("the caller's memory")
    }

    fn create(&self) -> io::Result<Box<dyn RunFile>> {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(MemoryRun {
            bytes: Cursor::default(),
            room: self.room.unwrap_or(usize::MAX),
            open: self.open.clone(),
            threads: self.threads.clone(),
        }))
    }
}

impl MemoryRun {
    fn seen(&self) {
        self.threads.lock().unwrap().push(thread::current().id());
    }
}

impl Read for MemoryRun {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.seen();
        self.bytes.read(bytes)
    }
}

impl Write for MemoryRun {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.seen();
        if self.bytes.get_ref().len() + bytes.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RunFile for MemoryRun {
    fn rewind(&mut self) -> io::Result<()> {
        self.bytes.set_position(0);
        Ok(())
    }
}

impl Drop for MemoryRun {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn runs_go_where_the_caller_keeps_them() {
    let records = urls(500_000);
    for threads in [0, 2] {
        let space = Arc::new(Memory::default());
        let options =
            ExternalOptions { directories: vec![], ..options(Path::new("/"), 4 << 20, threads) };
        let sorter = ExternalSorter::spilling_to(&options, vec![space.clone()]).unwrap();
        let (out, figures) = sorted_by(sorter, &records).unwrap();
        assert!(out == expected(&records, false));
        assert!(figures.runs > 5, "{figures:?}");
        assert_eq!(space.made.load(Ordering::Relaxed) as u64, figures.runs);
        assert_eq!(space.open.load(Ordering::Relaxed), 0, "a run was not dropped");
        let mine = |id: &ThreadId| *id == thread::current().id();
        assert_eq!(
            space.threads.lock().unwrap().iter().all(mine),
            threads == 0,
            "without threads, the caller's thread does everything"
        );
    }
}

#[test]
fn a_space_that_is_full_is_named_and_the_next_one_used() {
    let records = urls(300_000);
    let full = || Arc::new(Memory { room: Some(300 << 10), ..Memory::default() });
    let options = || options(Path::new("/"), 4 << 20, 0);
    let error = sorted_by(ExternalSorter::spilling_to(&options(), vec![full()]).unwrap(), &records)
        .unwrap_err();
    let error = error.to_string();
    assert!(error.contains("cannot write a run to the caller's memory after "), "{error}");
    let both =
        ExternalSorter::spilling_to(&options(), vec![full(), Arc::new(Memory::default())]).unwrap();
    assert!(sorted_by(both, &records).unwrap().0 == expected(&records, false));
}

/// A sorted input of these records, which counts how many of its kind are open.
fn input(records: Vec<Pair>, open: &Arc<AtomicUsize>) -> SortedInput {
    struct Open(Arc<AtomicUsize>);

    impl Drop for Open {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    let (bytes, open) = (records.len() as u64 * 30, open.clone());
    let open = move || {
        open.fetch_add(1, Ordering::Relaxed);
        let (opened, mut left) = (Open(open.clone()), records.clone().into_iter());
        let next: NextRecord = Box::new(move |key, payload| {
            let _opened = &opened;
            let Some(record) = left.next() else { return Ok(false) };
            key.extend(record.0);
            payload.extend(record.1);
            Ok(true)
        });
        Ok(next)
    };
    SortedInput { open: Box::new(open), memory: 256 << 10, bytes }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn sorted_inputs_are_merged_and_equal_keys_keep_their_order(
        sizes in vec(0_usize..30, 0..60),
        descending: bool,
        threads in 0_usize..3,
        pushed in 0_u32..50,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut left = &urls(60 * 30)[..];
        let open = Arc::default();
        let mut all = vec![];
        let inputs = sizes.iter().map(|&size| {
            let (some, rest) = left.split_at(size);
            left = rest;
            let sorted = expected(some, descending);
            all.extend(sorted.clone());
            input(sorted, &open)
        });
        let inputs = inputs.collect();
        // Room for seven of the inputs.
        let options = ExternalOptions { descending, ..options(directory.path(), 4 << 20, threads) };
        let mut sorter = ExternalSorter::merging(options, inputs).unwrap();
        for (key, payload) in urls(pushed) {
            sorter.push(&key, &payload).unwrap();
            all.push((key, payload));
        }
        let mut merged = sorter.finish().unwrap();
        let mut out = vec![];
        while let Some(record) = merged.next().unwrap() {
            out.push((record.key.to_vec(), record.payload.to_vec()));
        }
        let figures = merged.figures();
        prop_assert_eq!(figures.records, all.len() as u64);
        // With eight, it depends on what the threads' buffers take.
        if sizes.len() != 8 {
            prop_assert_eq!(figures.runs > 0, sizes.len() > 8, "{:?}", figures);
        }
        prop_assert!(out == expected(&all, descending));
        drop(merged);
        prop_assert_eq!(open.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn few_of_many_inputs_are_open_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let inputs = (0..1000_u32).map(|number| {
        let mut input = input(vec![(number.to_be_bytes().to_vec(), vec![])], &open);
        let (open, most) = (open.clone(), most.clone());
        let mut inner = input.open;
        input.open = Box::new(move || {
            let next = inner()?;
            most.fetch_max(open.load(Ordering::Relaxed), Ordering::Relaxed);
            Ok(next)
        });
        input
    });
    let options = options(directory.path(), 256 << 20, 0);
    let merged = ExternalSorter::merging(options, inputs.collect()).unwrap().finish().unwrap();
    // As few as necessary are merged into runs: 7 of 128 and one of 112 leave 128.
    assert_eq!((merged.figures().runs, most.load(Ordering::Relaxed)), (7, 128));
}

#[test]
fn inputs_that_cannot_be_merged_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let open = Arc::default();
    let pair = |key: &str| (key.as_bytes().to_vec(), vec![]);
    let sorted = || input(vec![pair("a"), pair("b")], &open);
    let merge = |second: SortedInput, descending: bool| {
        let options = ExternalOptions { descending, ..options(directory.path(), 4 << 20, 0) };
        let mut merged =
            ExternalSorter::merging(options, vec![input(vec![], &open), second])?.finish()?;
        while merged.next()?.is_some() {}
        Ok::<_, SpillError>(())
    };
    assert!(merge(sorted(), false).is_ok());
    let said = |merged: Result<(), SpillError>| merged.unwrap_err().to_string();
    assert_eq!(said(merge(sorted(), true)), "record 2 of input 2 is out of order");
    let prefix = input(vec![pair("b"), pair("ab"), pair("a")], &open);
    assert_eq!(said(merge(prefix, false)), "record 2 of input 2 is out of order");
    let fails = || io::Error::from(io::ErrorKind::NotFound);
    let unopened = SortedInput { open: Box::new(move || Err(fails())), memory: 0, bytes: 0 };
    assert_eq!(said(merge(unopened, false)), "input 2 cannot be read: entity not found");
    let broken = move || {
        let next: NextRecord = Box::new(move |_, _| Err(fails()));
        Ok(next)
    };
    let unread = SortedInput { open: Box::new(broken), memory: 0, bytes: 0 };
    assert_eq!(said(merge(unread, false)), "input 2 cannot be read: entity not found");
    // More inputs than can be merged at a time need a directory.
    let options = ExternalOptions { directories: vec![], ..options(directory.path(), 4 << 20, 0) };
    let many = (0..20).map(|_| sorted()).collect();
    let error = ExternalSorter::merging(options, many).unwrap().finish().unwrap_err();
    assert!(matches!(error, SpillError::NoDirectory { limit: 4_194_304 }), "{error}");
}

/// The merge is restarted in the next space, from the beginning of each input.
#[test]
fn a_space_that_fails_restarts_the_inputs() {
    let directory = tempfile::tempdir().unwrap();
    let open = Arc::default();
    let inputs = urls(300).chunks(10).map(|some| input(expected(some, false), &open)).collect();
    let directories = vec![directory.path().join("missing"), directory.path().to_owned()];
    let options = ExternalOptions { directories, ..options(directory.path(), 4 << 20, 0) };
    let mut merged = ExternalSorter::merging(options, inputs).unwrap().finish().unwrap();
    let mut out = vec![];
    while let Some(record) = merged.next().unwrap() {
        out.push((record.key.to_vec(), record.payload.to_vec()));
    }
    assert!(out == expected(&urls(300), false));
    assert_eq!(merged.figures().records, 300);
}
