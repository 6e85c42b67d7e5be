//! `flushmark run sort-spill`, and sorts in user plans: on a directory, a device, a file and null:;
//! interrupted, short of space, on a failing drive.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{LoopDevice, Mount, Run, entries, flushmark, interrupt, needs_root, plan, run};
use serde_json::Value;

/// A sort with a few runs that are merged twice.
const SMALL: &str = "[[test]]\nname = \"small\"\nsort = \"urls\"\nsize = \"24MiB\"\nmemory \
                     = \"4MiB\"\nblock = \"64KiB\"\n";

fn validator() -> jsonschema::Validator {
    let schema = include_str!("../../../schemas/run-1.json");
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

fn run_plan(text: &str, target: &str, more: &[&str]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), text);
    run(&[&["run", &plan, "--quiet", "--format", "json", "--target", target], more].concat())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Checks what must hold for every completed sort, on any target.
fn check(result: &Value) {
    let (sort, name) = (&result["sort"], &result["test"]);
    assert_eq!(result["ended"]["why"], "limit", "{name}: {}", result["ended"]);
    assert_eq!(sort["sorts"], result["workload"]["jobs"], "{name}");
    let size_bytes = number(&result["workload"]["size_bytes"]);
    assert!(number(&sort["bytes"]) >= size_bytes, "{name}: {sort}");
    assert!(number(&sort["runs"]) >= 3.0, "{name}: {sort}");
    let block_bytes = number(&result["workload"]["block_bytes"]);
    for (count, bytes, histogram) in
        [("writes", "written_bytes", "write_us"), ("reads", "read_bytes", "read_us")]
    {
        let count = number(&result["proof"][count]);
        assert!(count > 0.0, "{name}");
        assert_eq!(
            (count * block_bytes, count),
            (number(&sort[bytes]), number(&result[histogram]["count"])),
            "{name}"
        );
    }
    let parts =
        ["input_s", "sorting_s", "coding_s", "merging_s", "waiting_s", "writing_s", "reading_s"];
    let total_s: f64 = parts.iter().map(|part| number(&sort[part])).sum();
    let (elapsed_s, jobs) = (number(&result["elapsed_s"]), number(&result["workload"]["jobs"]));
    assert!(total_s <= elapsed_s * jobs * 1.001, "{name}: {total_s} s of {elapsed_s} s: {sort}");
    assert!(
        jobs > 1.0 || total_s > elapsed_s * 0.9,
        "{name}: {total_s} s of {elapsed_s} s: {sort}"
    );
    assert!((0.0..=elapsed_s).contains(&number(&sort["first_row_s"])), "{name}: {sort}");
}

#[test]
fn the_suite_runs_on_a_directory_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let measured =
        run(&["run", "sort-spill", "--target", target, "--smoke", "--quiet", "--format", "json"]);
    assert_eq!((measured.code, measured.stderr.as_str()), (Some(0), ""));
    let document = measured.document();
    let errors: Vec<String> =
        validator().iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    results.iter().for_each(check);
    assert!(entries(directory.path()).is_empty());

    let text = run(&["run", "sort-spill", "--target", target, "--smoke", "--quiet"]);
    assert!(
        text.stdout.contains("sort's own") && text.stdout.contains("urls, 4 sorts at once"),
        "{}",
        text.stdout
    );
    // The limit is reported somewhere in wrapped lines.
    let words: Vec<&str> = text.stdout.split_whitespace().collect();
    assert_eq!(
        words.iter().filter(|word| ["limit:", "limits:", "limits,"].contains(word)).count(),
        4,
        "{}",
        text.stdout
    );
    let plans = tempfile::tempdir().unwrap();
    let markdown = run(&[
        "run",
        &plan(plans.path(), SMALL),
        "--quiet",
        "--format",
        "markdown",
        "--target",
        target,
    ]);
    assert!(markdown.stdout.contains("\nsmall: of "), "{}", markdown.stdout);
}

#[test]
fn a_device_and_a_file_take_runs_and_no_byte_beside_them() {
    const TEST: &str = "a_device_and_a_file_take_runs_and_no_byte_beside_them";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, vec![7_u8; 128 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let refused = run_plan(SMALL, path, &[]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let done = run_plan(SMALL, path, &["--destroy-data"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    check(&done.document()["results"][0]);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 128 << 20, "neither grown nor cut");
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 128 << 20, &[]) else { return };
    let done = run_plan(SMALL, &device.path, &["--destroy-data"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let result = &done.document()["results"][0];
    check(result);
    assert_eq!(result["workload"]["direct"], true);
    // Only this test uses the loop device, so every byte went there.
    assert_eq!(result["proof"]["device"]["bytes_written"], result["sort"]["written_bytes"]);
}

#[test]
fn null_shows_the_sort_alone() {
    let done = run_plan(SMALL, "null:", &[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let result = &done.document()["results"][0];
    check(result);
    assert_eq!(result["engine"], "null");
    let sort = &result["sort"];
    for (call, cpu) in [("writing_s", "writing_cpu_s"), ("reading_s", "reading_cpu_s")] {
        assert!(number(&sort[call]) > 0.0, "{sort}");
        assert_eq!(sort[call], sort[cpu], "there is no drive to wait for: {sort}");
    }
    let plans = tempfile::tempdir().unwrap();
    let crowd = plan(plans.path(), &format!("{}jobs = 8\n", SMALL.replace("24MiB", "64MiB")));
    let crowd = run(&["run", &crowd, "--quiet", "--target", "null:"]);
    assert_eq!(crowd.code, Some(0), "{}", crowd.stderr);
    let said = crowd.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("there is no drive to wait for") && !said.contains("drive limits"),
        "{}",
        crowd.stdout
    );
}

#[test]
fn runs_are_made_durable_where_that_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().to_str().unwrap();
    let done = run_plan(&format!("{SMALL}sync = \"fdatasync\"\n"), target, &[]);
    let result = &done.document()["results"][0];
    check(result);
    assert_eq!(
        (&result["proof"]["syncs"], &result["workload"]["sort"]["runs_sync"]),
        (&result["sort"]["runs"], &"fdatasync".into())
    );
    assert_eq!(result["commit_us"], Value::Null, "a run is no commit");
}

#[test]
fn the_same_seed_sorts_the_same_records() {
    let figures = || {
        let done = run_plan(&format!("{SMALL}seed = 7\n"), "null:", &[]);
        let sort = done.document()["results"][0]["sort"].clone();
        ["records", "bytes", "runs", "written_bytes", "read_bytes"].map(|field| sort[field].clone())
    };
    assert_eq!(figures(), figures());
}

#[test]
fn a_model_has_no_clock_for_a_sort() {
    let skipped = run(&["run", "sort-spill", "--quiet", "--target", "sim:consumer-nvme"]);
    assert_eq!(skipped.code, Some(2));
    insta::assert_snapshot!(skipped.stderr.lines().next().unwrap(), @"flushmark: urls and 3 more: a sort depends on the CPU speed of this machine, but a model's results must be the same on every machine; run it on a directory or a device");
}

fn start(text: &str, plans: &Path, target: &str) -> std::process::Child {
    let plan = plan(plans, text);
    flushmark()
        .args(["run", &plan, "--quiet", "--format", "json", "--target", target])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_for_runs(directory: &Path) {
    let begun = Instant::now();
    loop {
        let files = entries(directory).iter().any(|name| {
            name.starts_with(".flushmark-")
                && entries(&directory.join(name)).iter().any(|file| file.starts_with("runs-"))
        });
        if files {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "the run made no files");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_sort_shows_what_it_did_and_leaves_no_file() {
    let text = "[[test]]\nsort = \"composite\"\nsize = \"2GiB\"\nmemory = \"4MiB\"\njobs = 2\n";
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (plans, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let child = start(text, plans.path(), directory.path().to_str().unwrap());
        wait_for_runs(directory.path());
        std::thread::sleep(Duration::from_secs(1));
        let run = interrupt(child, signal, Duration::from_secs(20));
        assert_eq!(run.code, Some(code), "{}", run.stderr);
        let result = &run.document()["results"][0];
        assert_eq!(result["ended"]["why"], "interrupted");
        assert!(
            number(&result["sort"]["runs"]) > 0.0 && result["sort"]["first_row_s"].is_null(),
            "{}",
            result["sort"]
        );
        assert!(entries(directory.path()).is_empty());
    }
}

#[test]
fn a_killed_sort_leaves_no_file() {
    let text = "[[test]]\nsort = \"composite\"\nsize = \"2GiB\"\nmemory = \"4MiB\"\n";
    let (plans, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut child = start(text, plans.path(), directory.path().to_str().unwrap());
    wait_for_runs(directory.path());
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    while !entries(directory.path()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", entries(directory.path()));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_small_filesystem_gets_a_small_sort_or_none() {
    const TEST: &str = "a_small_filesystem_gets_a_small_sort_or_none";
    if !needs_root(TEST) {
        return;
    }
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=96m", "tmpfs"]) else { return };
    let text = "[[test]]\nname = \"small\"\nsort = \"urls\"\nsize = \"64MiB\"\nmemory = \"4MiB\"\n";
    let done = run_plan(text, small.text(), &[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let result = &done.document()["results"][0];
    check(result);
    assert!(number(&result["workload"]["size_bytes"]) < 48.0 * 1048576.0, "{}", result["workload"]);
    assert!(
        result["notes"].to_string().contains("flushmark uses at most half of the free space"),
        "{}",
        result["notes"]
    );

    let larger =
        "[[test]]\nname = \"large\"\nsort = \"urls\"\nsize = \"1GiB\"\nmemory = \"64MiB\"\n";
    let skipped = run_plan(larger, small.text(), &[]);
    assert_eq!(skipped.code, Some(2));
    insta::assert_snapshot!(skipped.said(&small.path, "DIR"), @"flushmark: large: DIR has room for the runs of 20 MiB of records, but a sort in 64 MiB of memory needs twice that; use less memory or a larger target");
    assert!(entries(&small.path).is_empty());
}

#[test]
fn a_disk_that_others_have_filled_ends_the_sort() {
    const TEST: &str = "a_disk_that_others_have_filled_ends_the_sort";
    if !needs_root(TEST) {
        return;
    }
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=128m", "tmpfs"]) else {
        return;
    };
    let plans = tempfile::tempdir().unwrap();
    let child = start(&format!("{SMALL}rest = \"1s\"\n"), plans.path(), small.text());
    wait_for_runs(&small.path);
    std::fs::write(small.path.join("filler"), vec![1_u8; 118 << 20]).unwrap();
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(
        run.stderr.contains("the disk is full") && run.stderr.ends_with("; the run ends here\n"),
        "{}",
        run.stderr
    );
    let result = &run.document()["results"][0];
    assert_eq!(result["ended"]["why"], "failed");
    assert!(
        number(&result["proof"]["writes"]) > 0.0 && number(&result["sort"]["runs"]) > 0.0,
        "{result}"
    );
    assert_eq!(entries(&small.path), ["filler"]);
}

#[test]
fn a_device_that_fails_ends_the_sort() {
    const TEST: &str = "a_device_that_fails_ends_the_sort";
    if !needs_root(TEST) {
        return;
    }
    // A sparse image larger than its memory filesystem: after some megabytes the loop device cannot
    // store more.
    let Some(small) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=8m", "tmpfs"]) else { return };
    let Some(device) = LoopDevice::within(TEST, &small.path, 128 << 20, &[]) else { return };
    let run = run_plan(SMALL, &device.path, &["--destroy-data"]);
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(
        run.stderr.contains("(EIO); the run ends here") || run.stderr.contains("ENOSPC"),
        "{}",
        run.stderr
    );
    let result = &run.document()["results"][0];
    assert_eq!(result["ended"]["why"], "failed");
    assert!(
        number(&result["proof"]["writes"]) > 10.0,
        "what was measured is kept: {}",
        result["proof"]
    );
}
