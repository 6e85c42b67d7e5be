//! The command `prefixsort`. The crate `sortfile` compares the output with GNU sort's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_prefixsort");

fn sort(arguments: &[&str], input: &[u8], directory: &Path) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may refuse before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Lines like URLs, more than 4 MiB of them.
fn many_lines() -> Vec<u8> {
    let mut state = 7_u64;
    let mut lines = Vec::new();
    for _ in 0..200_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        writeln!(
            lines,
            "https://host{}.example/{}/{}",
            state >> 61,
            state >> 54 & 0xff,
            state >> 40 & 0xffff
        )
        .unwrap();
    }
    lines
}

/// Asks for text: help, or the version.
fn shown(arguments: &[&str]) -> String {
    let output = sort(arguments, b"", Path::new("/"));
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_and_version() {
    assert_eq!(shown(&["--version"]), concat!("prefixsort ", env!("CARGO_PKG_VERSION"), "\n"));
    insta::assert_snapshot!(shown(&["--help"]), @"
    Sort lines or fixed-size records, beyond memory if needed

    Usage: prefixsort [OPTIONS] [FILE]...

    Arguments:
      [FILE]...  Files to sort together; - or no file for stdin

    Options:
      -m, --merge                      Merge files that are already sorted, without sorting them
          --files0-from <LIST>         Read the names of the files from this one, each ended by a zero
                                       byte; - for stdin
      -o, --output <FILE>              The file to write, durable before success is reported [default:
                                       stdout]
      -k, --key <KEY>                  Compare this part: FIELD[.CHARACTER] or
                                       FIELD[.CHARACTER],FIELD[.CHARACTER], counted from 1; append b to
                                       skip blanks, r to reverse
      -t, --field-separator <BYTE>     Fields end at this byte instead of before blanks
      -b, --ignore-leading-blanks      Ignore blanks at the beginning of keys
      -r, --reverse                    Sort in descending order
      -u, --unique                     Output only the first of equal lines
      -s, --stable                     Keep the input order of lines with equal keys, instead of
                                       comparing whole lines
      -z, --zero-terminated            Lines end with a zero byte, not a newline
          --record-size <BYTES>        Sort records of this many bytes instead of lines; each is one
                                       field
      -c, --check[=<HOW>]              Check whether the input is sorted; if not, report where and exit
                                       with 1 [possible values: diagnose-first, quiet]
      -C                               Like --check=quiet
      -S, --buffer-size <SIZE>         Memory to use, in KiB or with a suffix: b K M G T P E, or % of
                                       the machine's [default: half of the available memory]
      -T, --temporary-directory <DIR>  Directory for temporary files; several are used in turn [default:
                                       TMPDIR, or /tmp]
          --parallel <N>               Threads to sort with, up to 1024 [default: one per processor]
          --figures                    Report on stderr what was sorted, spilled and written, and where
                                       the time went
      -q, --quiet                      Show no progress bar
          --version                    Print version
          --help                       Print help

    Examples:
      prefixsort urls.txt -o sorted.txt
      prefixsort -t , -k 3,3 -k 1,1r -u table.csv
      prefixsort --record-size 100 -k 1.1,1.10 -S 2G -T /mnt/scratch -o sorted.bin records.bin
      zcat log.gz | prefixsort -S 25% | zstd > log.zst
      find . -name '*.sorted' -print0 | prefixsort -m --files0-from=- -o all.sorted

    Lines and keys are compared byte by byte, and the output is that of `LC_ALL=C sort` with the same
    options. Other orders, such as that of numbers (-n), are refused. An output file is written next to
    the old one and made durable before it takes its name; it may be one of the inputs.

    Exit codes:
      0  success
      1  not sorted (--check)
      2  error
    ");
}

#[test]
fn a_pipe_is_sorted() {
    let directory = tempfile::tempdir().unwrap();
    let output = sort(&["-u"], b"b\na\nb\n\0 no end", directory.path());
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(output.stdout, b"\0 no end\na\nb\n");
}

#[test]
fn a_file_may_be_its_own_output_and_files_are_sorted_together() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one"), "c 1\na 3").unwrap();
    fs::write(directory.path().join("two"), "b 2\n").unwrap();
    let output = sort(&["-k", "2,2r", "one", "two", "-", "-o", "one"], b"d 4\n", directory.path());
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(directory.path().join("one")).unwrap(), "d 4\na 3\nb 2\nc 1\n");
    assert_eq!(names(directory.path()), ["one", "two"]);
}

#[test]
fn more_than_memory_is_sorted_and_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let lines = many_lines();
    fs::write(directory.path().join("lines"), &lines).unwrap();
    let output = sort(
        &["lines", "-S", "4M", "-T", ".", "--parallel", "2", "--figures"],
        b"",
        directory.path(),
    );
    assert!(output.status.success(), "{}", said(&output));
    let mut expected: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    expected.sort_unstable();
    assert!(output.stdout == expected.concat());
    let figures = said(&output);
    assert!(figures.contains("200000 records of ") && figures.contains(" runs of "), "{figures}");
    assert_eq!(names(directory.path()), ["lines"], "no file stays");
}

#[test]
fn records_are_sorted_by_their_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let output = sort(&["--record-size", "3", "-k", "1.2,1.2"], b"a2\nc1xb3 ", directory.path());
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(output.stdout, b"c1xa2\nb3 ");
    let output = sort(&["--record-size", "3"], b"abcd", directory.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        said(&output),
        "prefixsort: stdin: ends after 1 of the 3 bytes of a record; check the record size 3\n"
    );
}

#[test]
fn disorder_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("lines"), "a\nc\nb\x1b\n").unwrap();
    let output = sort(&["-c", "lines"], b"", directory.path());
    assert_eq!(
        (output.status.code(), said(&output).as_str()),
        (Some(1), "prefixsort: lines:3: out of order: b\\u{1b}\n")
    );
    let quiet = sort(&["-C", "lines"], b"", directory.path());
    assert_eq!((quiet.status.code(), said(&quiet).as_str()), (Some(1), ""));
    assert!(sort(&["-c", "-"], b"a\na\nb\n", directory.path()).status.success());
    let twice = sort(&["-c", "-u"], b"a\na\n", directory.path());
    assert_eq!(said(&twice), "prefixsort: stdin:2: out of order or duplicate: a\n");
}

#[test]
fn what_cannot_be_done_is_said_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("lines"), many_lines()).unwrap();
    fs::write(directory.path().join("out"), "old").unwrap();
    for (arguments, sentence) in [
        (
            &["missing", "-o", "out"][..],
            "cannot open missing: No such file or directory (os error 2)",
        ),
        (&[".", "-o", "out"], ". is a directory; name files"),
        (
            &["lines", "-o", "out", "-S", "4M", "-T", "gone"],
            "gone is not a directory, so --temporary-directory cannot use it",
        ),
        (
            &["lines", "-o", "gone/out"],
            "cannot write gone/out: No such file or directory (os error 2)",
        ),
        (&["lines", "-o", "."], "cannot write .: Is a directory (os error 21)"),
        (&["-c", "lines", "out"], "--check takes exactly one file"),
    ] {
        let output = sort(arguments, b"", directory.path());
        assert_eq!(said(&output), format!("prefixsort: {sentence}\n"), "{arguments:?}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("out")).unwrap(), "old");
    assert_eq!(names(directory.path()), ["lines", "out"]);
}

#[test]
fn a_signal_ends_it_at_once_and_the_output_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("out"), "old").unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["-o", "out"])
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // It waits for more input, and has something to write.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&many_lines()).unwrap();
    let kill = format!("kill -TERM {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    drop(stdin);
    assert_eq!(fs::read_to_string(directory.path().join("out")).unwrap(), "old");
    assert_eq!(names(directory.path()), ["out"]);
}

/// A file that must not be replaced keeps its old content until the new content is complete.
#[test]
fn an_input_with_a_second_name_survives_an_output_that_does_not_fit() {
    let directory = tempfile::tempdir().unwrap();
    let lines = many_lines();
    fs::write(directory.path().join("one"), &lines).unwrap();
    fs::hard_link(directory.path().join("one"), directory.path().join("two")).unwrap();
    let short = Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; ulimit -f 100; {PROGRAM} one -o one")])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(said(&short), "prefixsort: cannot write one: File too large (os error 27)\n");
    assert_eq!(short.status.code(), Some(2));
    assert!(fs::read(directory.path().join("two")).unwrap() == lines);
    assert!(sort(&["one", "-o", "one"], b"", directory.path()).status.success());
    let sorted = fs::read(directory.path().join("two")).unwrap();
    assert!(
        sorted.len() == lines.len() && sorted.split_inclusive(|&byte| byte == b'\n').is_sorted()
    );
}

#[test]
fn a_long_line_and_a_reader_that_goes_away() {
    let directory = tempfile::tempdir().unwrap();
    let long = [vec![b'x'; 100 << 20], b"\na".to_vec()].concat();
    let output = sort(&[], &long, directory.path());
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stdout.starts_with(b"a\nxxx") && output.stdout.len() == long.len() + 1);
    fs::write(directory.path().join("lines"), many_lines()).unwrap();
    let head = Command::new("sh")
        .args(["-c", &format!("{PROGRAM} lines | head -n 1; {PROGRAM} lines > /dev/full; echo $?")])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(head.stdout.starts_with(b"https://host0"), "{}", said(&head));
    assert!(head.stdout.ends_with(b"\n2\n"), "{}", said(&head));
    assert_eq!(
        said(&head),
        "prefixsort: the output cannot be written: No space left on device (os error 28)\n"
    );
}
