//! The claims of a run, compared with what the kernel saw: system calls by strace, flushes by the
//! device's own counter. With `cargo xtask test --rigs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{LoopDevice, Mount, Run, flushmark, needs_rigs, plan, system};
use serde_json::Value;

/// Calls that affect data or names.
const CALLS: &str =
    "trace=pread64,pwrite64,pwritev2,fsync,fdatasync,ftruncate,openat,unlinkat,renameat,renameat2";

/// The system calls of a run, in order, of its job's thread after preparation; each as `name
/// fd-path`.
struct Trace {
    calls: Vec<(String, String)>,
    document: Value,
}

/// Runs a plan under strace and keeps the calls of the thread that made the last ones: the only
/// job.
fn trace(plan: &str, target: &str, more: &[&str]) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let log_text = log.to_string_lossy();
    let output = std::process::Command::new("strace")
        .args(["-f", "-y", "-e", CALLS, "-o", &log_text, env!("CARGO_BIN_EXE_flushmark")])
        .args(["run", plan, "--quiet", "--format", "json", "--target", target])
        .args(more)
        .output()
        .unwrap();
    let run = Run::of(output);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = std::fs::read_to_string(log).unwrap();
    let lines: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.split_once(char::is_whitespace)).collect();
    // The job's thread is neither the first (preparation, clean-up) nor the janitor, but the one
    // with the most calls.
    let main = lines.first().map_or("", |(pid, _)| pid);
    let mut threads: Vec<&str> =
        lines.iter().map(|(pid, _)| *pid).filter(|pid| *pid != main).collect();
    threads.sort_unstable();
    threads.dedup();
    let count = |pid: &str| lines.iter().filter(|(other, _)| *other == pid).count();
    let job = threads.into_iter().max_by_key(|pid| count(pid)).unwrap_or(main);
    let call = |line: &str| {
        let (name, arguments) = line.trim().split_once('(')?;
        let path = arguments
            .split_once('<')
            .and_then(|(_, rest)| rest.split_once('>'))
            .map_or("", |(path, _)| path);
        let file = if matches!(name, "openat" | "unlinkat") {
            arguments.split('"').nth(1).unwrap_or("")
        } else {
            path
        };
        Some((name.to_owned(), file.to_owned()))
    };
    let calls = lines.iter().filter(|(pid, _)| *pid == job).filter_map(|(_, line)| call(line));
    // The files are opened once before the first turn.
    let calls = calls.skip_while(|(name, _)| name == "openat").collect();
    Trace { calls, document: run.document() }
}

#[test]
fn n_writes_with_fsync_make_n_syncs_and_n_flushes() {
    const TEST: &str = "n_writes_with_fsync_make_n_syncs_and_n_flushes";
    if !needs_rigs(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    for (sync, every, syncs) in [("fsync", 1, 100), ("fdatasync", 1, 100), ("fsync", 4, 25)] {
        let text = format!(
            "[[test]]\npattern = \"randwrite\"\nsync = \"{sync}\"\nsync_every = {every}\ncount = \
             100\nwarm_up = \"0s\"\nsize = \"16MiB\"\n"
        );
        let Trace { calls, document } =
            trace(&plan(directory.path(), &text), &device.path, &["--destroy-data"]);
        let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
        let mut turn = vec!["pwrite64"; every];
        turn.push(sync);
        assert_eq!(names, turn.repeat(syncs), "{sync} every {every}");
        let proof = &document["results"][0]["proof"];
        assert_eq!(
            (&proof["writes"], &proof["syncs"], &proof["commits"]),
            (&100.into(), &syncs.into(), &syncs.into())
        );
        assert_eq!(proof["device"]["flushes"], syncs, "the device's own counter");
        assert_eq!(proof["device"]["bytes_per_byte"], 1.0);
    }
}

#[test]
fn a_durable_write_by_flag_reaches_the_device_as_more_than_a_write() {
    const TEST: &str = "a_durable_write_by_flag_reaches_the_device_as_more_than_a_write";
    if !needs_rigs(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let flushes = |sync: &str, engine: &str| {
        let text = format!(
            "[[test]]\npattern = \"randwrite\"\nsync = \"{sync}\"\nengine = \"{engine}\"\ncount = \
             100\nwarm_up = \"0s\"\nsize = \"16MiB\"\n"
        );
        let document =
            trace(&plan(directory.path(), &text), &device.path, &["--destroy-data"]).document;
        document["results"][0]["proof"]["device"]["flushes"].as_u64().unwrap()
    };
    assert_eq!(flushes("none", "psync"), 0);
    // A synchronous write with O_DSYNC on a raw device is a FUA write and then a FLUSH
    // (block/fops.c). The loop driver has no FUA, so the FUA is a separate flush. Through io_uring
    // only the first of the two is left.
    assert_eq!(flushes("o_dsync", "psync"), 200);
    assert_eq!(flushes("rwf_dsync", "psync"), 200);
    assert_eq!(flushes("rwf_dsync", "io_uring"), 100);
    assert_eq!(flushes("linked_fsync", "io_uring"), 100);
}

/// The calls that a test claims per turn, each with its file.
fn claimed(steps: &Value) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for step in steps.as_array().unwrap() {
        let words: Vec<&str> = step.as_str().unwrap().split(' ').collect();
        match words.as_slice() {
            ["write", file, _, _, rest @ ..] => {
                let times = rest.first().map_or(1, |times| times[1..].parse().unwrap());
                calls.extend((0..times).map(|_| ("pwrite64".to_owned(), (*file).to_owned())));
            }
            ["sync", file, call] => calls.push(((*call).to_owned(), (*file).to_owned())),
            ["unlink", file] => calls.push(("unlinkat".to_owned(), (*file).to_owned())),
            ["sync-dir"] => calls.push(("fsync".to_owned(), String::new())),
            ["reopen", file] => calls.push(("openat".to_owned(), (*file).to_owned())),
            other => panic!("no such step in the suites: {other:?}"),
        }
    }
    calls
}

/// The same calls, with the creation of each file that was removed, which is part of the cost of
/// the next turn.
fn with_creations<'a>(calls: impl Iterator<Item = &'a (String, String)>) -> Vec<(String, String)> {
    let mut removed = Vec::new();
    let mut all = Vec::new();
    for call in calls {
        if let Some(index) = removed.iter().position(|file| *file == call.1) {
            removed.swap_remove(index);
            all.push(("openat".to_owned(), call.1.clone()));
        }
        if call.0 == "unlinkat" {
            removed.push(call.1.clone());
        }
        all.push(call.clone());
    }
    all
}

#[test]
fn programs_make_the_calls_that_they_claim_in_that_order() {
    const TEST: &str = "programs_make_the_calls_that_they_claim_in_that_order";
    if !needs_rigs(TEST) {
        return;
    }
    for suite in ["wal", "commits"] {
        let text = Run::of(flushmark().args(["suites", suite]).output().unwrap()).stdout;
        // One test at a time, three turns each: the suite's text with a count, and small files to
        // shorten the preparation.
        let (head, tests) = text.split_once("[[test]]").unwrap();
        let head = head.replace("[defaults]", "").replace("time = \"5s\"", "");
        for whole in tests.split("[[test]]") {
            let small = whole.replace("256MiB", "16MiB").replace("96MiB", "16MiB");
            let directory = tempfile::tempdir().unwrap();
            let target = tempfile::tempdir().unwrap();
            let text = format!("{head}\n[defaults]\ncount = 3\nwarm_up = \"0s\"\n[[test]]{small}");
            let Trace { calls, document } =
                trace(&plan(directory.path(), &text), target.path().to_str().unwrap(), &[]);
            let Some(result) = document["results"].get(0) else {
                eprintln!("skipped: {TEST}: {}", document["skipped"]);
                continue;
            };
            let turn = claimed(&result["workload"]["steps"]);
            let expected = with_creations(turn.iter().cycle().take(3 * turn.len()));
            let made: Vec<(String, String)> = calls
                .into_iter()
                .map(|(name, path)| {
                    // Test files are called LAYOUT-JOB-NAME; their directory begins with a dot.
                    let file =
                        Path::new(&path).file_name().map_or("", |name| name.to_str().unwrap());
                    let file = if file.starts_with('.') {
                        ""
                    } else {
                        file.splitn(3, '-').nth(2).unwrap_or(file)
                    };
                    (name, file.trim_end_matches(" (deleted)").to_owned())
                })
                .collect();
            assert_eq!(made, expected, "{}", result["test"]);
        }
    }
}

#[test]
fn a_drive_whose_flushes_vanish_is_found_out() {
    const TEST: &str = "a_drive_whose_flushes_vanish_is_found_out";
    if !needs_rigs(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 256 << 20, &[]) else { return };
    system("mkfs.ext4", &["-q", &device.path]).unwrap();
    let text = "[defaults]\npattern = \"randwrite\"\nsize = \"16MiB\"\ncount = 300\nwarm_up \
                = \"0s\"\n[[test]]\nsync = \"none\"\n[[test]]\nsync = \"fsync\"\n[[test]]\nsync \
                = \"fdatasync\"\n";
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), text);
    let findings = |options: &str| {
        let mount = Mount::new(TEST, &["-o", options, &device.path]).unwrap();
        let run = Run::of(
            flushmark()
                .args(["run", &plan, "--quiet", "--format", "json", "--target", mount.text()])
                .output()
                .unwrap(),
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let document = run.document();
        let ids: Vec<String> = document["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["id"].as_str().unwrap().to_owned())
            .collect();
        (
            ids,
            document["fitness"]["database-log"]["grade"].clone(),
            document["results"][1]["proof"]["device"]["flushes"].clone(),
        )
    };
    let told = |ids: &[String]| {
        ids.iter().any(|id| id == "flushes-switched-off" || id == "flush-vanished")
    };
    let (ids, grade, flushes) = findings("nobarrier");
    assert!(told(&ids), "{ids:?}");
    assert_eq!((grade, flushes), ("unfit".into(), 0.into()));
    let (ids, grade, flushes) = findings("barrier");
    assert!(!told(&ids), "{ids:?}");
    assert_ne!(grade, "unfit");
    assert!(flushes.as_u64().unwrap() >= 300, "{flushes}");
}

#[test]
fn check_begins_at_once_ends_within_a_minute_and_stays_small() {
    const TEST: &str = "check_begins_at_once_ends_within_a_minute_and_stays_small";
    if !needs_rigs(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outputs = tempfile::tempdir().unwrap();
    let output = outputs.path().join("check.json");
    let begun = Instant::now();
    let mut child = flushmark()
        .args(["check", "--quiet", "--fail-on", "zfs-slog=excellent", "--output"])
        .args([&output, directory.path()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let first = begun.elapsed();
    std::thread::sleep(Duration::from_secs(12));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let document: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    let is_excellent = document["fitness"]["zfs-slog"]["grade"] == "excellent";
    assert_eq!(
        child.wait().unwrap().code(),
        Some(i32::from(!is_excellent)),
        "{}",
        document["fitness"]
    );
    assert!(first < Duration::from_millis(200), "the first byte took {first:?}");
    assert!(begun.elapsed() < Duration::from_mins(1), "the whole took {:?}", begun.elapsed());
    assert!(peak_kib < 64 << 10, "{peak_kib} KiB at depth 1");
    assert!(rest.contains("Fit for"), "{rest}");
    // A directory in memory resembles no drive.
    let in_memory = rest.contains("Nothing written to this target is durable");
    assert!(!(in_memory && rest.contains("Similar published drives")), "{rest}");
}
