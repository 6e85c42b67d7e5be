//! `prefixsort` when its temporary files are damaged or missing, or the disk is full.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Mount, Run, entries, needs_root};

const PROGRAM: &str = env!("CARGO_BIN_EXE_prefixsort");

/// A sort with little memory that waits for more input, and has runs in `spill`.
struct Spilling {
    stdin: ChildStdin,
    child: Child,
    spill: PathBuf,
    out: tempfile::TempDir,
}

impl Spilling {
    fn begin(spill: &Path) -> Spilling {
        let out = tempfile::tempdir().unwrap();
        fs::write(out.path().join("out"), "old").unwrap();
        let spill = spill.canonicalize().unwrap();
        let mut child = Command::new(PROGRAM)
            .args(["-S", "1M", "--parallel", "1", "-o", "out", "-T"])
            .arg(&spill)
            .current_dir(out.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Spilling { stdin: child.stdin.take().unwrap(), child, spill, out }
    }

    fn give(&mut self, lines: u32) {
        let mut text = Vec::new();
        for line in 0..lines {
            writeln!(text, "line {:010}", line.wrapping_mul(2654435761)).unwrap();
        }
        // It may have ended before it read everything.
        let _ = self.stdin.write_all(&text);
    }

    /// One of its runs, once all of the input given so far was read.
    fn run(&self) -> File {
        let begun = Instant::now();
        while !self.waits_for_input() {
            assert!(begun.elapsed() < Duration::from_mins(1), "it does not come back to its input");
            std::thread::sleep(Duration::from_millis(5));
        }
        let runs = self.runs();
        assert!(runs.len() > 1, "{runs:?}");
        File::options().read(true).write(true).open(&runs[0]).unwrap()
    }

    fn waits_for_input(&self) -> bool {
        let process = format!("/proc/{}", self.child.id());
        // While a thread sleeps in a system call, this file has its number and arguments.
        let call = fs::read_to_string(format!("{process}/syscall")).unwrap();
        let Some(read) = call.strip_prefix(&format!("{} 0x", libc::SYS_read)) else { return false };
        let (descriptor, _) = read.split_once(' ').unwrap();
        let descriptor = u32::from_str_radix(descriptor, 16).unwrap();
        let file = |descriptor: u32| fs::read_link(format!("{process}/fd/{descriptor}"));
        file(descriptor).ok() == file(0).ok()
    }

    /// Its open files in the directory for runs. They have no names there, but the kernel shows
    /// them.
    fn runs(&self) -> Vec<PathBuf> {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        open.filter(|file| {
            fs::read_link(file).is_ok_and(|leads_to| leads_to.starts_with(&self.spill))
        })
        .collect()
    }

    /// Ends its input. However the sort ends, the output is unchanged.
    fn fails(self) -> String {
        let Spilling { stdin, child, spill, out } = self;
        drop(stdin);
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert_eq!(fs::read_to_string(out.path().join("out")).unwrap(), "old");
        assert_eq!(entries(out.path()), ["out"]);
        run.said(&spill, "SPILL")
    }
}

#[test]
fn a_run_with_a_flipped_bit_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut sort = Spilling::begin(directory.path());
    sort.give(300_000);
    let run = sort.run();
    let at = run.metadata().unwrap().len() / 2;
    let mut byte = [0];
    run.read_exact_at(&mut byte, at).unwrap();
    run.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    insta::assert_snapshot!(sort.fails(), @"prefixsort: a run in SPILL is damaged: the checksum of block 1 is wrong. The sort was stopped; check the drive and its cabling, or use another directory");
}

#[test]
fn a_run_that_was_cut_short_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut sort = Spilling::begin(directory.path());
    sort.give(300_000);
    let run = sort.run();
    run.set_len(run.metadata().unwrap().len() / 2).unwrap();
    insta::assert_snapshot!(sort.fails(), @"prefixsort: a run in SPILL is damaged: it is cut short in or after block 1. The sort was stopped; check the drive and its cabling, or use another directory");
}

#[test]
fn a_directory_that_vanishes_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut sort = Spilling::begin(directory.path());
    sort.give(300_000);
    sort.run();
    directory.close().unwrap();
    sort.give(300_000);
    insta::assert_snapshot!(sort.fails(), @"prefixsort: cannot create a temporary file in SPILL: No such file or directory (os error 2)");
}

#[test]
fn a_full_disk_ends_it() {
    const TEST: &str = "a_full_disk_ends_it";
    if !needs_root(TEST) {
        return;
    }
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=3m", "tmpfs"]) else { return };
    let mut sort = Spilling::begin(&small.path);
    sort.give(600_000);
    let said = sort.fails();
    let (begin, end) = said.split_once(" KiB: ").unwrap();
    // The number of bytes that fit depends on the space that the filesystem itself needs.
    assert!(begin.starts_with("prefixsort: cannot write a run to "), "{said}");
    insta::assert_snapshot!(end, @"No space left on device (os error 28). Use a directory with more space, or allow more memory");
    assert!(entries(&small.path).is_empty());
}

/// The other directory takes what does not fit in the full one.
#[test]
fn a_full_disk_beside_another_is_no_fault() {
    const TEST: &str = "a_full_disk_beside_another_is_no_fault";
    if !needs_root(TEST) {
        return;
    }
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=3m", "tmpfs"]) else { return };
    let large = tempfile::tempdir().unwrap();
    let lines: String = (0..600_000_u32)
        .map(|line| format!("line {:010}\n", line.wrapping_mul(2654435761)))
        .collect();
    fs::write(large.path().join("lines"), &lines).unwrap();
    let (file, out) = (large.path().join("lines"), large.path().join("out"));
    let run = Run::of(
        Command::new(PROGRAM)
            .args(["-S", "1M", "--parallel", "1", "--figures", "-T", small.text(), "-T"])
            .args([large.path(), &file, Path::new("-o"), &out])
            .output()
            .unwrap(),
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(" runs of "), "{}", run.stderr);
    let mut expected: Vec<&str> = lines.split_inclusive('\n').collect();
    expected.sort_unstable();
    assert!(fs::read_to_string(&out).unwrap() == expected.concat());
    assert!(entries(&small.path).is_empty());
}
