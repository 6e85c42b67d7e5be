//! Signals at particular moments of a run: it ends at once, prints what was measured, and cleans
//! the directory.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{LoopDevice, Run, entries, flushmark, needs_root, plan};
use serde_json::Value;

/// Long enough to finish what is in flight and to clean up after any interruption, even if a busy
/// drive takes seconds to flush. An uninterrupted run would take a minute.
const END_TIME_MAX: Duration = Duration::from_secs(20);

fn start(args: &[&str]) -> Child {
    flushmark().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends the signal and waits for the end.
fn interrupt(child: Child, signal: &str) -> Run {
    common::interrupt(child, signal, END_TIME_MAX)
}

fn wait_for_files(directory: &Path) {
    let begun = Instant::now();
    while entries(directory).is_empty() {
        assert!(begun.elapsed() < END_TIME_MAX, "the run made no files");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The result of `attempt` for the shortest delay before the signal with which its last test has
/// done something. A busy drive takes seconds to fill and flush a file of a mebibyte, and an
/// earlier signal leaves nothing to check.
fn with_head_start<T>(attempt: impl Fn(Duration) -> Option<T>) -> T {
    let head_starts = [1, 5, 25].map(Duration::from_secs);
    head_starts.into_iter().find_map(attempt).expect("nothing was measured in 25 s")
}

/// The writes and reads that a result counts.
fn done(result: Option<&Value>) -> u64 {
    result.map_or(0, |result| {
        result["proof"]["writes"].as_u64().unwrap() + result["proof"]["reads"].as_u64().unwrap()
    })
}

#[test]
fn what_was_measured_before_is_whole_and_what_was_running_is_kept() {
    let plans = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let text = "[defaults]\npattern = \"randwrite\"\nsync = \"fsync\"\nsize = \"1MiB\"\nwarm_up \
                = \"0s\"\n\
                [[test]]\nname = \"short\"\ncount = 20\n[[test]]\nname = \"long\"\ntime \
                = \"60s\"\n[[test]]\nname = \"never\"\n";
    let plan = plan(plans.path(), text);
    let results = with_head_start(|head_start| {
        let mut child = start(&[
            "run",
            &plan,
            "--format",
            "json",
            "--target",
            directory.path().to_str().unwrap(),
        ]);
        let mut progress = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        progress.read_line(&mut line).unwrap();
        assert!(line.starts_with("[1/3] short: "), "{line}");
        std::thread::sleep(head_start);
        let run = interrupt(child, "-INT");
        assert_eq!(run.code, Some(130));
        let mut said = String::new();
        progress.read_to_string(&mut said).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.lines().last().unwrap(), @"flushmark: interrupted; what was measured before is printed");
        }
        assert!(entries(directory.path()).is_empty());
        let results = run.document()["results"].as_array().unwrap().clone();
        (done(results.get(1)) > 0).then_some(results)
    });
    let ends: Vec<_> =
        results.iter().map(|result| (&result["test"], &result["ended"]["why"])).collect();
    assert_eq!(ends, [(&"short".into(), &"limit".into()), (&"long".into(), &"interrupted".into())]);
    assert_eq!(results[0]["ops"], 20);
    assert!(
        results[1]["ops"].as_u64().unwrap() > 0 && results[1]["elapsed_s"].as_f64().unwrap() < 50.0
    );
}

#[test]
fn preparation_ends_at_once() {
    let plans = tempfile::tempdir().unwrap();
    let plan = plan(plans.path(), "[[test]]\npattern = \"randwrite\"\nsize = \"64GiB\"\n");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let directory = tempfile::tempdir().unwrap();
        let child =
            start(&["run", &plan, "--quiet", "--target", directory.path().to_str().unwrap()]);
        wait_for_files(directory.path());
        std::thread::sleep(Duration::from_millis(200));
        let run = interrupt(child, signal);
        assert_eq!(run.code, Some(code));
        insta::allow_duplicates! {
            insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: interrupted before anything was measured");
        }
        assert!(entries(directory.path()).is_empty());
    }
}

#[test]
fn every_kind_of_loop_ends_at_once() {
    let kinds = [
        ("depth 1", "pattern = \"randwrite\"\nsync = \"fsync\"\n"),
        ("io_uring", "pattern = \"randwrite\"\ndepth = 32\nengine = \"io_uring\"\n"),
        ("libaio", "pattern = \"randread\"\ndepth = 32\nengine = \"libaio\"\n"),
        ("linked", "pattern = \"randwrite\"\nsync = \"linked_fsync\"\n"),
        ("waiting for the next arrival", "pattern = \"randwrite\"\nrate = 1\n"),
        ("many jobs", "pattern = \"randwrite\"\nsync = \"fdatasync\"\njobs = 16\n"),
        (
            "steps",
            "files = { log = { size = \"1MiB\" } }\nsteps = [\"write log seq 4KiB x64\", \"sync \
             log fdatasync\"]\n",
        ),
    ];
    for (kind, work) in kinds {
        let plans = tempfile::tempdir().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let size = if kind == "steps" { "" } else { "size = \"1MiB\"\n" };
        let text = format!("[[test]]\n{work}{size}time = \"60s\"\nwarm_up = \"0s\"\n");
        let plan = plan(plans.path(), &text);
        let target = directory.path().to_str().unwrap();
        let result = with_head_start(|head_start| {
            let child = start(&["run", &plan, "--quiet", "--format", "json", "--target", target]);
            wait_for_files(directory.path());
            std::thread::sleep(head_start);
            let run = interrupt(child, "-TERM");
            assert_eq!(run.code, Some(143), "{kind}: {}", run.stderr);
            assert!(entries(directory.path()).is_empty(), "{kind}");
            run.document()["results"].get(0).filter(|result| done(Some(result)) > 0).cloned()
        });
        assert_eq!(result["ended"]["why"], "interrupted", "{kind}");
    }
}

#[test]
fn a_check_shows_what_it_knows() {
    let outputs = tempfile::tempdir().unwrap();
    let output = outputs.path().join("check.json");
    let directory = tempfile::tempdir().unwrap();
    let mut child =
        start(&["check", directory.path().to_str().unwrap(), "--output", output.to_str().unwrap()]);
    let mut progress = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    progress.read_line(&mut line).unwrap();
    assert!(line.starts_with("[1/8] write: "), "{line}");
    let run = interrupt(child, "-INT");
    assert_eq!(run.code, Some(130));
    assert!(run.stdout.contains("write") && run.stdout.contains("Fit for"), "{}", run.stdout);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    let schema = serde_json::from_str(include_str!("../../../schemas/run-1.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    assert!(entries(directory.path()).is_empty());
}

#[test]
fn a_device_is_let_go() {
    const TEST: &str = "a_device_is_let_go";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &[]) else { return };
    let arguments = [
        "run", "journal", "--quiet", "--format", "json", "--destroy-data", "--target", &device.path,
    ];
    let child = start(&arguments);
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(interrupt(child, "-INT").code, Some(130));
    // The next one may have it.
    let again = Run::of(flushmark().args(arguments).arg("--smoke").output().unwrap());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}
