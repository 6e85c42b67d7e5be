//! The outcome of a run of a program.

use std::path::Path;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kill;

/// The outcome of a run of a program.
pub struct Run {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    /// Everything that it printed.
    pub stdout: String,
    /// All of its messages.
    pub stderr: String,
}

impl Run {
    /// From the output of a program that prints text.
    pub fn of(output: Output) -> Run {
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The JSON on stdout.
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// stderr without flushmark's messages about drives that other tests have killed and not
    /// removed yet.
    pub fn words(&self) -> String {
        let of_others =
            |line: &&str| line.contains("was left by an emulated drive whose process was killed");
        self.stderr.lines().filter(|line| !of_others(line)).collect::<Vec<_>>().join("\n")
    }

    /// stderr with a path replaced, for snapshots.
    pub fn said(&self, path: impl AsRef<Path>, name: &str) -> String {
        self.words().replace(&*path.as_ref().to_string_lossy(), name).trim_end().to_owned()
    }
}

/// Sends a process the signal and waits for its end, which has to come within this time.
pub fn interrupt(child: Child, signal: &str, most: Duration) -> Run {
    kill(&[signal, &child.id().to_string()]).unwrap();
    let begun = Instant::now();
    let run = Run::of(child.wait_with_output().unwrap());
    assert!(begun.elapsed() < most, "{signal} took {:?}", begun.elapsed());
    run
}
