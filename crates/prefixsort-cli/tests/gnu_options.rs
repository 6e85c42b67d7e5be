//! Options as GNU `sort` takes them, and those that are refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use testbed::{Run, entries};

const PROGRAM: &str = env!("CARGO_BIN_EXE_prefixsort");

/// Runs a program in a directory with the file `lines`.
fn run(program: &str, arguments: &[&str], directory: &Path) -> Run {
    fs::write(directory.join("lines"), "b=1\na=2\n").unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").current_dir(directory).stdin(Stdio::null());
    Run::of(command.output().unwrap())
}

fn refusals(options: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let refused = |option: &&str| {
        let mut arguments: Vec<_> = option.split(' ').collect();
        arguments.push("lines");
        let run = run(PROGRAM, &arguments, directory.path());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{option}");
        assert_eq!(run.stderr.lines().count(), 1, "{option}: {}", run.stderr);
        run.stderr
    };
    options.iter().map(refused).collect()
}

#[test]
fn other_orders_are_refused_by_name_in_one_line() {
    insta::assert_snapshot!(
        refusals(&["-n", "-g", "-rh", "-V", "-M", "-f", "-d", "-i", "-R", "--version-sort"]),
        @r#"
        prefixsort: -n (--numeric-sort) is not supported: lines are compared byte by byte; write numbers with leading zeros, or use GNU `sort -n`
        prefixsort: -g (--general-numeric-sort) is not supported: lines are compared byte by byte; use GNU `sort -g`
        prefixsort: -h (--human-numeric-sort) is not supported: lines are compared byte by byte; write sizes in bytes with leading zeros, or use GNU `sort -h`
        prefixsort: -V (--version-sort) is not supported: lines are compared byte by byte; write version numbers with leading zeros, or use GNU `sort -V`
        prefixsort: -M (--month-sort) is not supported: lines are compared byte by byte; write months as 01 to 12, or use GNU `sort -M`
        prefixsort: -f (--ignore-case) is not supported: lines are compared byte by byte; convert the input to one case, for example with `tr a-z A-Z`, or use GNU `sort -f`
        prefixsort: -d (--dictionary-order) is not supported: lines are compared byte by byte; remove punctuation, for example with `tr -d '[:punct:]'`, or use GNU `sort -d`
        prefixsort: -i (--ignore-nonprinting) is not supported: lines are compared byte by byte; keep only printable characters, for example with `tr -cd '[:print:]\n'`, or use GNU `sort -i`
        prefixsort: -R (--random-sort) is not supported: lines are compared byte by byte; use `shuf` for a random order, or GNU `sort -R`
        prefixsort: -V (--version-sort) is not supported: lines are compared byte by byte; write version numbers with leading zeros, or use GNU `sort -V`
        "#
    );
}

#[test]
fn other_options_are_refused_by_name_in_one_line() {
    insta::assert_snapshot!(
        refusals(&[
            "--sort=human-numeric",
            "--sort none",
            "--batch-size=4",
            "--compress-program gzip",
            "--debug",
            "--random-source=lines",
        ]),
        @"
        prefixsort: --sort=human-numeric is not supported: lines are compared byte by byte; write sizes in bytes with leading zeros, or use GNU `sort -h`
        prefixsort: --sort=none is not supported: lines are compared byte by byte; leave it out
        prefixsort: --batch-size is not supported: the memory determines how many files are merged at a time; use --buffer-size
        prefixsort: --compress-program is not supported: temporary files are stored without repeated prefixes; for more, use a filesystem that compresses
        prefixsort: --debug is not supported: use GNU `sort --debug`
        prefixsort: --random-source is not supported: use `shuf` for a random order, or GNU `sort -R`
        "
    );
}

/// `du -h | prefixsort -h > list` must not replace the list by a help page.
#[test]
fn there_is_no_short_option_for_help() {
    let directory = tempfile::tempdir().unwrap();
    for option in ["-h", "-V"] {
        let run = run(PROGRAM, &[option], directory.path());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{option}");
    }
}

#[test]
fn the_order_of_a_key_is_refused_with_what_to_use_instead() {
    let directory = tempfile::tempdir().unwrap();
    let numeric = run(PROGRAM, &["-k", "1n", "lines"], directory.path());
    assert_eq!((numeric.code, numeric.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(numeric.stderr, @"
    error: invalid value '1n' for '--key <KEY>': unsupported ordering 'n': keys are compared byte by byte; write numbers with leading zeros, or use GNU `sort -n`

    For more information, try '--help'.
    ");
}

#[test]
fn options_are_read_as_gnu_sort_reads_them() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["-t=", "-k2", "-r", "-r", "lines"][..],
        // The shortest abbreviations that GNU sort accepts.
        &["--field=", "=", "--k", "2", "lines"],
        &["--fie", "=", "--k=2", "--re", "--st", "lines"],
        &["--u", "--i", "--buf=8M", "--buf=4M", "--p=1", "--p=2", "--t=.", "lines"],
        &["--ig", "lines"],
        &["--ignore-l", "--z", "--m", "lines", "--o=out"],
        &["--che", "lines"],
        &["--c=q", "lines"],
        &["--check=quiet", "lines"],
        &["--check=silent", "lines"],
        &["-C", "lines"],
        &["-cu", "lines"],
        &["--files0=list"],
        // Repeated options.
        &["-t=", "-t", "=", "-k2", "lines"],
        &["-t=", "-t:", "lines"],
        &["-o", "out", "-oout", "lines", "--output=out"],
        &["-o", "out", "-o", "./out", "lines"],
        &["-o", "out", "-o", "other", "lines"],
        // Options that exclude one another.
        &["-c", "-o", "out", "lines"],
        &["-C", "-o", "out", "lines"],
        &["-cC", "lines"],
        &["-c", "lines", "lines"],
        &["--files0-from=list", "lines"],
        // Ambiguous abbreviations, and what is not an option.
        &["--r", "lines"],
        &["--fi", "lines"],
        &["--c", "lines"],
        &["--s", "lines"],
        &["--b=1", "lines"],
        &["--unknown", "lines"],
        &["-x", "lines"],
    ] {
        let [gnu, ours] = ["sort", PROGRAM].map(|program| {
            let _ = fs::remove_file(directory.path().join("out"));
            fs::write(directory.path().join("list"), "lines\0lines\0").unwrap();
            let run = run(program, arguments, directory.path());
            let out = fs::read_to_string(directory.path().join("out")).ok();
            (run.code, run.stdout, out, run.stderr.is_empty())
        });
        assert_eq!(gnu, ours, "{arguments:?}");
    }
    assert_eq!(entries(directory.path()), ["lines", "list"], "no output of an error");
}

#[test]
fn contradictions_and_ambiguities_are_named() {
    insta::assert_snapshot!(
        refusals(&[
            "-o x -o ./x",
            "-t , -t ;",
            "--r",
            "--c",
        ]),
        @"
        prefixsort: --output is given with different values: x, ./x
        prefixsort: --field-separator is given with different values: ,, ;
        prefixsort: --r is ambiguous; expected one of --random-sort, --random-source, --record-size, --reverse
        prefixsort: --c is ambiguous; expected one of --check, --compress-program
        "
    );
}
