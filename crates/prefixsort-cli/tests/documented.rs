//! Runs the commands that the documentation shows for `prefixsort`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::Run;
use testbed::examples::{examples, simple_commands};

/// The files that the examples read.
fn prepare(directory: &Path) {
    fs::write(directory.join("urls.txt"), "b\na\nc\n").unwrap();
    fs::write(directory.join("table.csv"), "1,x,9\n2,y,8\n1,x,9\n").unwrap();
    fs::write(directory.join("records.bin"), [b'7'; 300]).unwrap();
    fs::write(directory.join("a.sorted"), "a\nc\n").unwrap();
    fs::write(directory.join("b.sorted"), "b\n").unwrap();
    fs::create_dir(directory.join("scratch")).unwrap();
    let gzip = Command::new("gzip").arg("-k").arg("urls.txt").current_dir(directory).status();
    if gzip.is_ok_and(|status| status.success()) {
        fs::rename(directory.join("urls.txt.gz"), directory.join("log.gz")).unwrap();
    }
}

#[test]
fn the_commands_of_the_documentation_run() {
    let directory = tempfile::tempdir().unwrap();
    prepare(directory.path());
    let program = Path::new(env!("CARGO_BIN_EXE_prefixsort")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [program.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).unwrap();
    let is_installed =
        |name: &str| std::env::split_paths(&path).any(|directory| directory.join(name).exists());
    let mut ran = 0;
    for example in examples() {
        let commands = simple_commands(&example.command);
        if !commands.iter().any(|words| words[0] == "prefixsort") {
            continue;
        }
        if let Some(missing) =
            commands.iter().map(|words| &words[0]).find(|name| !is_installed(name))
        {
            eprintln!("{}: not run: {missing} is not installed", example.place());
            continue;
        }
        let command = example.command.replace("/mnt/scratch", "scratch");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(&directory).env("PATH", &path);
        let run = Run::of(shell.output().unwrap());
        assert_eq!(run.code, Some(0), "{}: {command}\n{}", example.place(), run.stderr);
        ran += 1;
    }
    assert!(ran >= 4, "only {ran} commands ran");
    assert_eq!(fs::read(directory.path().join("sorted.txt")).unwrap(), b"a\nb\nc\n");
    assert_eq!(fs::read(directory.path().join("all.sorted")).unwrap(), b"a\nb\nc\n");
}
