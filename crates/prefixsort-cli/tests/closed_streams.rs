//! Standard streams that are closed, or cannot take what is written to them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::process::{Command, Stdio};

use testbed::Run;

const PROGRAM: &str = env!("CARGO_BIN_EXE_prefixsort");

/// The exit code, and what was printed on stderr.
fn shell(script: &str) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("lines"), "b\na\n").unwrap();
    let script = script.replace("prefixsort", PROGRAM);
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(directory.path()).stdin(Stdio::null());
    let run = Run::of(command.output().unwrap());
    assert_eq!(run.stdout, "");
    (run.code, run.stderr)
}

#[test]
fn a_closed_stdout_is_an_error() {
    const SAID: &str = "prefixsort: cannot write to stdout: Bad file descriptor (os error 9)\n";
    for arguments in ["lines", "-m lines", "--help", "--version"] {
        let script = format!("prefixsort {arguments} >&-");
        assert_eq!(shell(&script), (Some(2), SAID.to_owned()), "{script}");
    }
    // A sort to a file and a check write nothing to stdout.
    for script in ["prefixsort lines -o out >&- && grep -qz a.b out", "prefixsort -c /dev/null >&-"]
    {
        assert_eq!(shell(script), (Some(0), String::new()), "{script}");
    }
    assert_eq!(shell("prefixsort -C lines >&-"), (Some(1), String::new()));
    // An error is still one if it cannot be printed.
    assert_eq!(shell("prefixsort lines >&- 2>&-"), (Some(2), String::new()));
}

/// An empty input in its place would replace the output by nothing.
#[test]
fn a_closed_stdin_is_an_error() {
    const SAID: &str = "prefixsort: cannot read stdin: Bad file descriptor (os error 9)\n";
    for arguments in ["-o lines", "-m - lines", "-c", "--files0-from=-"] {
        let script = format!("prefixsort {arguments} <&-");
        assert_eq!(shell(&script), (Some(2), SAID.to_owned()), "{script}");
    }
    assert_eq!(shell("prefixsort lines -o lines <&-"), (Some(0), String::new()));
}

#[test]
fn a_stdout_without_space_is_an_error() {
    assert_eq!(
        shell("prefixsort lines > /dev/full"),
        (
            Some(2),
            "prefixsort: the output cannot be written: No space left on device (os error 28)\n"
                .to_owned()
        )
    );
    for arguments in ["--help", "--version"] {
        let said = "prefixsort: cannot write to stdout: No space left on device (os error 28)\n";
        let script = format!("prefixsort {arguments} > /dev/full");
        assert_eq!(shell(&script), (Some(2), said.to_owned()), "{script}");
    }
}

/// `/dev/null`, which std opens in place of a closed stream, is a valid output.
#[test]
fn the_null_device_is_not_a_closed_stream() {
    assert_eq!(shell("prefixsort lines 1<>/dev/null"), (Some(0), String::new()));
    assert_eq!(shell("prefixsort 0<>/dev/null"), (Some(0), String::new()));
}

#[test]
fn a_reader_of_help_that_goes_away_is_a_success() {
    let script = "(sleep 0.2; prefixsort --help; echo $? >&2) | true";
    assert_eq!(shell(script), (Some(0), "0\n".to_owned()));
}
