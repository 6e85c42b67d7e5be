//! Merging sorted files, and lists of files.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{Mount, Run, entries, needs_root};

const PROGRAM: &str = env!("CARGO_BIN_EXE_prefixsort");

fn shell(script: &str, directory: &Path) -> Run {
    let script = script.replace("prefixsort ", &format!("{PROGRAM} "));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("LC_ALL", "C").current_dir(directory).stdin(Stdio::null());
    Run::of(command.output().unwrap())
}

/// Writes sorted files of lines `NUMBER FILE`, in which each number is in two files.
fn write_sorted(files: u32, lines: u32, directory: &Path) {
    for file in 0..files {
        let mut text = String::new();
        for line in 0..lines {
            writeln!(text, "{:08} {file:05}", u32::midpoint(line * files, file)).unwrap();
        }
        fs::write(directory.join(format!("{file:05}.sorted")), text).unwrap();
    }
}

#[test]
fn sorted_files_are_merged_as_gnu_sort_merges_them() {
    let directory = tempfile::tempdir().unwrap();
    write_sorted(5, 1000, directory.path());
    for options in ["", "-k1,1 -s", "-k1,1 -u", "-u", "-k2,2", "-z"] {
        // Each file is sorted by the options first.
        let script = |program: &str| {
            format!(
                "for file in *.sorted; do sort {options} -o $file $file || exit; done; \
                 {program} -m {options} - *.sorted < 00000.sorted"
            )
        };
        let [gnu, ours] =
            ["sort", "prefixsort"].map(|program| shell(&script(program), directory.path()));
        assert_eq!((gnu.code, ours.code, ours.stderr.as_str()), (Some(0), Some(0), ""));
        assert!(gnu.stdout == ours.stdout, "{options}");
    }
    let reversed =
        shell("sort -r -o a 00000.sorted; prefixsort -mr a a | sort -rC", directory.path());
    assert_eq!((reversed.code, reversed.stderr.as_str()), (Some(0), ""));
}

/// More files than are merged at a time, and than the process may have open: neighbouring ones are
/// merged into runs first.
#[test]
fn thousands_of_files_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    write_sorted(3000, 20, directory.path());
    let merged = shell(
        "ulimit -n 200 && prefixsort -m -k1,1 -s --figures -T . -o out *.sorted && \
         sort -m -k1,1 -s *.sorted | cmp - out",
        directory.path(),
    );
    assert_eq!((merged.code, merged.stdout.as_str()), (Some(0), ""), "{}", merged.stderr);
    let figures = &merged.stderr;
    assert!(
        figures.starts_with("prefixsort: 60000 records of 1 MiB, 60000 written, in "),
        "{figures}"
    );
    // As few as possible: 128 are merged at the end.
    assert!(figures.contains(" s: merged; 23 runs of "), "{figures}");
}

#[test]
fn nothing_is_sorted_by_a_merge() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("sorted"), "a\nc\n").unwrap();
    fs::write(directory.path().join("unsorted"), "b\nd\nc\n").unwrap();
    fs::write(directory.path().join("out"), "old").unwrap();
    let refused = shell("prefixsort -m -o out sorted unsorted", directory.path());
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.stderr, @"prefixsort: unsorted:3: out of order; --merge expects files that were sorted with the same options");
    // The same if the file is merged into a run first.
    let many = "sorted ".repeat(200);
    let refused = shell(&format!("prefixsort -m -o out {many} unsorted"), directory.path());
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("unsorted:3: out of order"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(directory.path().join("out")).unwrap(), "old");
}

#[test]
fn a_merge_replaces_one_of_its_inputs() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one"), "a\nc\n").unwrap();
    fs::write(directory.path().join("two"), "b\nno end").unwrap();
    let merged = shell("prefixsort -m one two -o one", directory.path());
    assert_eq!((merged.code, merged.stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(directory.path().join("one")).unwrap(), "a\nb\nc\nno end\n");
}

#[test]
fn inputs_of_a_merge_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("records"), "aabbc").unwrap();
    let said = |script: &str| {
        let run = shell(script, directory.path());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{script}");
        run.stderr
    };
    insta::assert_snapshot!(said("prefixsort -m --record-size 2 records"), @"prefixsort: records: ends after 1 of the 2 bytes of a record; check the record size 2");
    insta::assert_snapshot!(said("prefixsort -m missing records"), @"prefixsort: cannot open missing: No such file or directory (os error 2)");
    insta::assert_snapshot!(said("prefixsort -m - records - < records"), @"prefixsort: stdin is given twice, but can be merged only once");
    insta::assert_snapshot!(said("prefixsort -m records -T gone"), @"prefixsort: gone is not a directory, so --temporary-directory cannot use it");
    insta::assert_snapshot!(said("prefixsort -mc records"), @"
    error: the argument '--merge' cannot be used with '--check[=<HOW>]'

    Usage: prefixsort --merge <FILE>...

    For more information, try '--help'.
    ");
}

/// The merge is restarted in the other directory. A file is read again, a pipe cannot be.
#[test]
fn a_full_directory_restarts_a_merge() {
    const TEST: &str = "a_full_directory_restarts_a_merge";
    if !needs_root(TEST) {
        return;
    }
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    write_sorted(200, 4000, directory.path());
    let script = |first: &str| {
        format!(
            "prefixsort -m -k1,1 -s -S 4M -T {} -T . {first} *.sorted > out && \
             sort -m -k1,1 -s {first} *.sorted | cmp - out",
            small.text()
        )
    };
    let merged = shell(&script(""), directory.path());
    assert_eq!((merged.code, merged.stdout.as_str(), merged.stderr.as_str()), (Some(0), "", ""));
    let piped = shell(&format!("cat 00000.sorted | {}", script("-")), directory.path());
    assert_eq!(piped.code, Some(2));
    insta::assert_snapshot!(piped.stderr, @"prefixsort: stdin: cannot be read: it is not a file, so the merge cannot be restarted after a directory for temporary files has failed");
    assert!(entries(&small.path).is_empty());
}

#[test]
fn the_files_of_a_list_are_sorted_or_merged() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one"), "b\nd\n").unwrap();
    fs::write(directory.path().join("the other\n"), "a\nc\n").unwrap();
    for options in ["", "-m"] {
        for list in ["one\\0the other\\n\\0", "one\\0the other\\n"] {
            let script = format!(
                "printf '{list}' > list; printf '{list}' | prefixsort {options} --files0-from=- && \
                 prefixsort {options} --files0-from list"
            );
            let sorted = shell(&script, directory.path());
            assert_eq!((sorted.code, sorted.stderr.as_str()), (Some(0), ""), "{script}");
            assert_eq!(sorted.stdout, "a\nb\nc\nd\n".repeat(2), "{script}");
        }
    }
    // Stdin can be one of the files if the list is a file.
    let script = "printf 'one\\0-' > list; echo x | prefixsort --files0-from=list";
    assert_eq!(shell(script, directory.path()).stdout, "b\nd\nx\n");
}

#[test]
fn a_list_that_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one"), "b\n").unwrap();
    let said = |list: &str| {
        let run = shell(&format!("printf '{list}' | prefixsort --files0-from=-"), directory.path());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{list:?}");
        run.stderr
    };
    insta::assert_snapshot!(said(""), @"prefixsort: stdin contains no file name");
    insta::assert_snapshot!(said("one\\0\\0one\\0"), @"prefixsort: stdin:2: the file name is empty");
    insta::assert_snapshot!(said("one\\0-\\0"), @"prefixsort: stdin:2: stdin cannot be both the list of files and one of them; write ./- for a file of this name");
    insta::assert_snapshot!(said("one\\0two\\0"), @"prefixsort: cannot open two: No such file or directory (os error 2)");
    insta::assert_snapshot!(shell("prefixsort --files0-from=gone", directory.path()).stderr, @"prefixsort: cannot open gone: No such file or directory (os error 2)");
    insta::assert_snapshot!(shell("prefixsort --files0-from=/dev/null", directory.path()).stderr, @"prefixsort: /dev/null contains no file name");
}
