//! Shared by the tests of `flushmark verify`: runs with the real binary, and recorders.

#![allow(dead_code, reason = "each test needs some of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use verify::RunHeader;
use verify::superblock;

use crate::common::{Run, flushmark, kill, run};

/// Small, quick, and on a drive whose cache does not matter.
pub const QUICK: [&str; 5] = ["--size", "4MiB", "--protected", "--quiet", "--time"];

pub fn write(target: &str, time: &str, more: &[&str]) -> Run {
    run(&[&["verify", "write", target], &QUICK[..], &[time], more].concat())
}

/// A check with the statement that the power was cut, which these tests do not do.
pub fn check(target: &str, more: &[&str]) -> Run {
    run(&[&["verify", "check", target, "--quiet", "--power-was-cut"], more].concat())
}

pub fn directory() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    (directory, path)
}

pub fn file_in(directory: &Path) -> PathBuf {
    directory.join("flushmark-verify.dat")
}

pub fn run_on(path: &Path) -> RunHeader {
    superblock::parse(&fs::read(path).unwrap()[..4096]).unwrap()
}

/// A run without end.
pub fn endless(target: &str, more: &[&str]) -> Child {
    let mut command = flushmark();
    command.args(["verify", "write", target, "--size", "4MiB", "--protected"]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a run reports that it writes, and lets it write for a while.
pub fn until_it_writes(child: &mut Child) {
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    let mut byte = [0];
    while !said.contains("Ctrl-C to stop") && stderr.read(&mut byte).unwrap() == 1 {
        said.push(char::from(byte[0]));
    }
    assert!(said.contains("Every record is written once"), "{said}");
    child.stderr = Some(stderr);
    std::thread::sleep(Duration::from_millis(400));
}

pub fn signal(child: &Child, name: &str) {
    kill(&[name, &child.id().to_string()]).unwrap();
}

/// A recorder on a free port of this machine.
pub struct Recorder {
    pub child: Child,
    pub address: String,
    pub journal: PathBuf,
    _directory: tempfile::TempDir,
}

impl Recorder {
    /// A recorder with its journal in memory, because the disk of this machine is under test.
    pub fn new(more: &[&str]) -> Recorder {
        Recorder::within(Path::new("/dev/shm"), more)
    }

    pub fn within(place: &Path, more: &[&str]) -> Recorder {
        let directory = tempfile::tempdir_in(place).unwrap();
        let journal = directory.path().join("journal");
        let mut command = flushmark();
        command
            .args(["verify", "record", "--listen", "127.0.0.1:0", "--journal"])
            .arg(&journal)
            .args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address =
            line.strip_prefix("listening on ").unwrap().split(',').next().unwrap().to_owned();
        child.stdout = Some(stdout.into_inner());
        Recorder { child, address, journal, _directory: directory }
    }

    pub fn journal(&self) -> &str {
        self.journal.to_str().unwrap()
    }

    /// Its output after the first line, once it is asked to stop.
    pub fn end(mut self) -> Run {
        signal(&self.child, "-INT");
        let said = std::mem::replace(&mut self.child, Command::new("true").spawn().unwrap());
        Run::of(said.wait_with_output().unwrap())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A recorded run, with its journal.
pub fn recorded(path: &str, more: &[&str]) -> Recorder {
    let mut recorder = Recorder::new(&[]);
    let written = write(path, "1s", &[&["--recorder", &recorder.address], more].concat());
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    wait_until("the end", || {
        let read = verify::read_journal(&recorder.journal).unwrap();
        read.ledger.cycles.last().is_some_and(|cycle| cycle.ended.is_some())
    });
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    recorder
}
