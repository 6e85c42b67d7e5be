//! Sorting beyond memory, with real files on real filesystems.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use prefixsort::{ExternalOptions, ExternalSorter, Figures, SpillError};
use proptest::collection::vec;
use proptest::prelude::*;

type Pair = (Vec<u8>, Vec<u8>);

fn sorted(records: &[Pair], options: ExternalOptions) -> Result<(Vec<Pair>, Figures), SpillError> {
    let mut sorter = ExternalSorter::new(options)?;
    for (key, payload) in records {
        sorter.push(key, payload)?;
    }
    let mut result = sorter.finish()?;
    let mut out: Vec<Pair> = vec![];
    while let Some(record) = result.next()? {
        let last = out.last().map_or(&[][..], |last| &last.0);
        let alike = last.iter().zip(record.key).take_while(|(a, b)| a == b).count();
        assert_eq!(record.shared, alike, "{last:?} {:?}", record.key);
        out.push((record.key.to_vec(), record.payload.to_vec()));
    }
    assert!(result.next()?.is_none(), "after the end comes nothing");
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

/// Records like URLs, some of them equal; each payload says which it was.
fn urls(count: u32) -> Vec<Pair> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count)
        .map(|number| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key =
                format!("https://host{}.example/{:03}/{}", state >> 61, state >> 50 & 0x3ff, state >> 44 & 0xffff);
            (key.into_bytes(), number.to_le_bytes().to_vec())
        })
        .collect()
}

fn options(directory: &Path, memory: usize, threads: usize) -> ExternalOptions {
    ExternalOptions { memory, directories: vec![directory.into()], threads, ..ExternalOptions::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_memory_holds_is_sorted_without_a_file(
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
    for (threads, descending, expected_bytes) in [(0, false, None), (2, false, Some(1 << 30)), (1, true, None)] {
        let options =
            ExternalOptions { descending, expected: expected_bytes, ..options(directory.path(), 4 << 20, threads) };
        let (out, figures) = sorted(&records, options).unwrap();
        assert!(out == expected(&records, descending), "{threads} threads");
        // 4 MiB merge four runs at a time.
        assert!(figures.runs > 5, "{figures:?}");
        assert!(figures.written > 0 && figures.read >= figures.written, "{figures:?}");
        assert_eq!(figures.bytes, records.iter().map(|(key, payload)| (key.len() + payload.len()) as u64).sum::<u64>());
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no file stays");
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
fn memory_that_is_used_up_without_a_directory_is_said() {
    let error = sorted(&urls(300_000), ExternalOptions { directories: vec![], ..options(Path::new("/"), 4 << 20, 1) });
    assert_eq!(
        error.unwrap_err().to_string(),
        "4194304 bytes of memory are used up, and no directory for temporary files was named"
    );
}

#[test]
fn a_directory_that_has_vanished_is_said_and_the_next_one_used() {
    let directory = tempfile::tempdir().unwrap();
    let vanished = directory.path().join("vanished");
    let records = urls(300_000);
    let error = sorted(&records, options(&vanished, 4 << 20, 1)).unwrap_err();
    assert!(matches!(&error, SpillError::Create { directory, .. } if *directory == vanished), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("no temporary file can be made in {}: No such file or directory (os error 2)", vanished.display())
    );
    let both =
        ExternalOptions { directories: vec![vanished, directory.path().into()], ..options(Path::new("/"), 4 << 20, 1) };
    assert!(sorted(&records, both).unwrap().0 == expected(&records, false));
}

/// A filesystem of its own that is too small, which only root can make.
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
            eprintln!("skipped: a small filesystem could not be mounted (it takes root)");
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
fn a_full_disk_is_said_and_the_next_directory_used() {
    let Some(small) = Small::mount() else { return };
    let records = urls(300_000);
    let error = sorted(&records, options(small.0.path(), 4 << 20, 1)).unwrap_err().to_string();
    assert!(error.starts_with("a run of "), "{error}");
    let advice = "No space left on device (os error 28). Name a directory with more room, or allow more memory";
    assert!(error.ends_with(advice), "{error}");
    let roomy = tempfile::tempdir().unwrap();
    let directories = vec![small.0.path().to_owned(), roomy.path().to_owned()];
    let both = ExternalOptions { directories, ..options(Path::new("/"), 4 << 20, 1) };
    assert!(sorted(&records, both).unwrap().0 == expected(&records, false));
}
