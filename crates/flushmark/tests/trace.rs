//! Traces of real commits on real filesystems and devices, with the kernel's own tracer.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{
    LoopDevice, Mount, Run, flushmark, interrupt, kill, needs_mkfs, needs_root, nobody, plan, run,
    system,
};
use serde_json::Value;

const COMMITS: u64 = 200;
const PROGRAM: &str = env!("CARGO_BIN_EXE_flushmark");

/// The kernel's tracer; `None`, with a message, where it may not be used.
fn tracer(test: &str) -> Option<Mount> {
    if !needs_root(test) {
        return None;
    }
    let mount = Mount::new(test, &["-t", "tracefs", "tracefs"])?;
    if !mount.path.join("events/block/block_rq_issue/format").exists() {
        eprintln!("skipped: {test}: the kernel does not trace its block layer");
        return None;
    }
    Some(mount)
}

/// Mounts an ext4 whose journal commits only if a call asks for it: its own commits, every five
/// seconds, would belong to no call.
fn on_demand(test: &str, device: &LoopDevice) -> Option<Mount> {
    Mount::new(test, &["-o", "commit=300", &device.path])
}

/// Instances of processes of this number.
fn instances(tracer: &Mount, process: u32) -> usize {
    let instances = common::entries(&tracer.path.join("instances"));
    instances.iter().filter(|name| name.starts_with(&format!("flushmark-{process}-"))).count()
}

/// The trace of flushmark's own commits by this sync method, and the result of that run.
fn traced(target: &str, sync: &str) -> (Value, Value) {
    let directory = tempfile::tempdir().unwrap();
    let text = format!(
        "[[test]]\npattern = \"randwrite\"\nsync = \"{sync}\"\nsize = \"1MiB\"\ncount = {COMMITS}\n\
         warm_up = \"0s\"\n"
    );
    let plan = plan(directory.path(), &text);
    let result = directory.path().join("result.json");
    let trace = run(&[
        "trace",
        "--format",
        "json",
        "--output",
        directory.path().join("trace.json").to_str().unwrap(),
        "--",
        PROGRAM,
        "run",
        &plan,
        "--quiet",
        "--target",
        target,
        "--destroy-data",
        "--format",
        "json",
        "--output",
        result.to_str().unwrap(),
    ]);
    assert_eq!(trace.code, Some(0), "{}", trace.stderr);
    let read = |path: &Path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    (read(&directory.path().join("trace.json")), read(&result))
}

/// The commits by this call on this device; there must be one kind of them.
fn commits_by<'a>(trace: &'a Value, call: &str, device: &LoopDevice) -> &'a Value {
    let is_there = |anatomy: &&Value| {
        anatomy["call"] == call
            && anatomy["devices"].as_array().unwrap().contains(&device.name().into())
    };
    let mut found = trace["anatomies"].as_array().unwrap().iter().filter(is_there);
    let one = found.next().unwrap_or_else(|| panic!("no {call} in {trace:#}"));
    let other = found.next();
    assert!(other.is_none(), "two kinds: {one:#} and {other:#?}");
    one
}

fn count(anatomy: &Value) -> u64 {
    let histogram = anatomy["commits"].as_str().unwrap();
    measurement::Histogram::from_text(histogram).unwrap().count()
}

fn total_ns(anatomy: &Value, stage: &str) -> f64 {
    anatomy["stages"][stage]["total_ns"].as_f64().unwrap_or(0.0)
}

/// Checks what holds for every kind of commit, and returns its stages' shares.
fn share(anatomy: &Value, stage: &str) -> f64 {
    let stages = anatomy["stages"].as_object().unwrap();
    let all: f64 = stages.values().map(|stage| stage["total_ns"].as_f64().unwrap()).sum();
    total_ns(anatomy, stage) / all
}

/// The share of a stage in the median commit, which the few that wait for the journal do not change.
fn share_of_median(anatomy: &Value, stage: &str) -> f64 {
    let median = &anatomy["median"];
    let stages = median["stages"].as_array().unwrap().iter();
    let ns = |one: &Value, edge: &str| one[edge].as_f64().unwrap();
    let of_stage = stages.filter(|one| one["stage"] == stage);
    of_stage.map(|one| ns(one, "to_ns") - ns(one, "from_ns")).sum::<f64>() / ns(median, "ns")
}

fn each(anatomy: &Value, what: &str) -> f64 {
    anatomy["reached"][what].as_f64().unwrap() / count(anatomy) as f64
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 0.1
}

fn assert_explained(trace: &Value, anatomy: &Value) {
    assert_eq!(trace["lost"], 0);
    assert!(share(anatomy, "unexplained") <= 0.05, "{anatomy:#}");
    let median = &anatomy["median"];
    let stages = median["stages"].as_array().unwrap();
    assert_eq!(stages.first().unwrap()["from_ns"], 0);
    assert_eq!(stages.last().unwrap()["to_ns"], median["ns"]);
    assert!(stages.windows(2).all(|two| two[0]["to_ns"] == two[1]["from_ns"]));
}

/// Every flush that the device counted during the run was seen. Preparation is traced too, so there
/// may be more.
fn assert_flushes(trace: &Value, result: &Value) {
    let counted = result["results"][0]["proof"]["device"]["flushes"].as_f64();
    let counted = counted.unwrap_or_else(|| panic!("{:#}", result["results"][0]["proof"]));
    let kinds = ["bare_flushes", "flushes_before", "flushes_after"];
    let all = trace["anatomies"].as_array().unwrap().iter();
    let seen: f64 = all
        .map(|one| kinds.iter().map(|kind| one["reached"][kind].as_f64().unwrap()).sum::<f64>())
        .sum();
    assert!(seen >= counted && seen <= counted + 20.0, "{seen} seen, {counted} counted");
}

#[test]
fn commits_on_ext4_wait_for_the_journal() {
    let test = "commits_on_ext4_wait_for_the_journal";
    let Some(tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "ext4") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    system("mkfs.ext4", &["-q", "-F", &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    let (trace, result) = traced(mount.text(), "fdatasync");
    let anatomy = commits_by(&trace, "fdatasync", &device);
    assert_explained(&trace, anatomy);
    assert_flushes(&trace, &result);
    assert_eq!(
        (&anatomy["filesystem"], &anatomy["devices"][0]),
        (&"ext4".into(), &device.name().into())
    );
    assert!(count(anatomy) >= COMMITS);
    // The data was written before, past the page cache, and its blocks are allocated: what is left
    // is a flush.
    assert!(near(each(anatomy, "data_writes"), 0.0) && near(each(anatomy, "bare_flushes"), 1.0));
    let of_median = |stage: &str| share_of_median(anatomy, stage);
    assert!(of_median("flush") > 0.2 && of_median("journal") < 0.2, "{anatomy:#}");

    // A file that grows needs the journal: two flushes, one of them in place of FUA.
    let file = mount.path.join("grows");
    let output = format!("of={}", file.display());
    let grown = run(&[
        "trace", "--format", "json", "--", "dd", "if=/dev/zero", &output, "bs=4k", "count=100",
        "oflag=dsync",
    ]);
    let trace = grown.document();
    let anatomy = commits_by(&trace, "write with O_DSYNC", &device);
    assert_explained(&trace, anatomy);
    assert!(count(anatomy) == 100 && each(anatomy, "journal_writes") >= 1.0, "{anatomy:#}");
    assert!(near(each(anatomy, "flushes_before"), 1.0), "{anatomy:#}");
    assert!(near(each(anatomy, "flushes_after"), 1.0), "{anatomy:#}");
    assert!(share(anatomy, "journal") > 0.0 && share(anatomy, "log-write") > 0.0);
    let found = trace["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
    let found: Vec<&str> = found.collect();
    assert!(
        found.contains(&"fua-emulated") && found.contains(&"traced-flushes-twice"),
        "{found:?}"
    );
    drop(tracer);
}

#[test]
fn commits_on_ext4_with_a_journal_elsewhere() {
    let test = "commits_on_ext4_with_a_journal_elsewhere";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "ext4") {
        return;
    }
    let Some(log) = LoopDevice::new(test, 32 << 20, &[]) else { return };
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    system("mkfs.ext4", &["-q", "-F", "-O", "journal_dev", "-b", "4096", &log.path]).unwrap();
    let journal = format!("device={}", log.path);
    system("mkfs.ext4", &["-q", "-F", "-b", "4096", "-J", &journal, &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    let output = format!("of={}", mount.path.join("grows").display());
    let command = ["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"];
    let trace = run(&[&["trace", "--format", "json", "--"], &command[..]].concat()).document();
    let anatomy = commits_by(&trace, "write with O_DSYNC", &device);
    assert_explained(&trace, anatomy);
    let mut drives: Vec<&str> = vec![device.name(), log.name()];
    drives.sort_unstable();
    let mut seen: Vec<&str> =
        anatomy["devices"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, drives);
    assert!(each(anatomy, "journal_writes") >= 1.0);
}

#[test]
fn commits_on_xfs_force_its_log() {
    let test = "commits_on_xfs_force_its_log";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "xfs") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 320 << 20, &[]) else { return };
    system("mkfs.xfs", &["-q", &device.path]).unwrap();
    let Some(mount) = Mount::new(test, &[&device.path]) else { return };
    let output = format!("of={}", mount.path.join("grows").display());
    let command = ["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"];
    let trace = run(&[&["trace", "--format", "json", "--"], &command[..]].concat()).document();
    let anatomy = commits_by(&trace, "write with O_DSYNC", &device);
    assert_explained(&trace, anatomy);
    assert_eq!(anatomy["filesystem"], "xfs");
    assert_eq!(anatomy["devices"], serde_json::json!([device.name()]));
    assert!(near(each(anatomy, "journal_writes"), 1.0), "{anatomy:#}");
    assert!(share(anatomy, "flush") > 0.2);
}

#[test]
fn each_way_to_commit_on_a_raw_device() {
    let test = "each_way_to_commit_on_a_raw_device";
    let Some(_tracer) = tracer(test) else { return };
    let Some(device) = LoopDevice::new(test, 32 << 20, &[]) else { return };
    for (sync, call) in [
        ("fsync", "fsync"),
        ("fdatasync", "fdatasync"),
        ("o_sync", "pwrite64 with O_SYNC"),
        ("o_dsync", "pwrite64 with O_DSYNC"),
        ("rwf_dsync", "pwritev2 with RWF_DSYNC"),
    ] {
        let (trace, result) = traced(&device.path, sync);
        let anatomy = commits_by(&trace, call, &device);
        assert_explained(&trace, anatomy);
        assert_flushes(&trace, &result);
        assert!(count(anatomy) >= COMMITS, "{sync}: {}", count(anatomy));
        assert_eq!(anatomy["devices"], serde_json::json!([device.name()]));
    }
    let page = run(&["trace", "--", "true"]);
    assert!(page.stdout.contains("No commit was seen"), "{}", page.stdout);
}

#[test]
fn io_uring_lets_workers_commit() {
    let test = "io_uring_lets_workers_commit";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "ext4") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    // On the device itself no filesystem announces a sync, and the kernel makes the write FUA.
    let (trace, _) = traced(&device.path, "linked_fsync");
    let anatomy = commits_by(&trace, "io_uring fsync", &device);
    assert_explained(&trace, anatomy);
    assert!(count(anatomy) >= COMMITS && near(each(anatomy, "bare_flushes"), 1.0));
    system("mkfs.ext4", &["-q", "-F", &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    let (trace, result) = traced(mount.text(), "linked_fsync");
    let anatomy = commits_by(&trace, "io_uring fsync", &device);
    assert_explained(&trace, anatomy);
    assert_flushes(&trace, &result);
    assert!(count(anatomy) >= COMMITS && near(each(anatomy, "data_writes"), 1.0), "{anatomy:#}");
}

/// The plan of a test that commits, a single commit, and one that does not commit.
const PLAN: &str = "
[[test]]
name = \"commits\"
pattern = \"randwrite\"
sync = \"fdatasync\"
size = \"1MiB\"
time = \"1s\"
[[test]]
name = \"one commit\"
pattern = \"randwrite\"
sync = \"fdatasync\"
size = \"1MiB\"
count = 1
[[test]]
name = \"writes\"
pattern = \"randwrite\"
size = \"1MiB\"
time = \"1s\"
";

#[test]
fn a_run_traces_its_commits_apart_from_their_figures() {
    let test = "a_run_traces_its_commits_apart_from_their_figures";
    let Some(_tracer) = tracer(test) else { return };
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), PLAN);
    let arguments = ["run", &plan, "--target", &device.path, "--destroy-data", "--trace"];
    let printed = run(&arguments);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(printed.stdout.contains("Commits of commits\n"), "{}", printed.stdout);
    assert!(!printed.stdout.contains("Commits of writes"), "{}", printed.stdout);
    let json = run(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(json.code, Some(0), "{}", json.stderr);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    let [commits, one, writes] = &document["results"].as_array().unwrap()[..] else { panic!() };
    let anatomy = &commits["trace"]["anatomies"][0];
    assert_eq!(anatomy["call"], "fdatasync");
    assert_explained(&commits["trace"], anatomy);
    assert_eq!(commits["trace"]["anatomies"].as_array().unwrap().len(), 1);
    // The commits that were traced are not those that were measured.
    let elapsed_s = commits["elapsed_s"].as_f64().unwrap();
    assert!((0.9..1.5).contains(&elapsed_s), "{elapsed_s}");
    // The tracer starts before the test, so it misses nothing.
    assert_eq!(count(&one["trace"]["anatomies"][0]), 1);
    assert!(writes["trace"].is_null(), "{writes:#}");
}

#[test]
fn nothing_is_left_however_it_ends() {
    let test = "nothing_is_left_however_it_ends";
    let Some(tracer) = tracer(test) else { return };
    let sleeping = || {
        let mut command = flushmark();
        command.args(["trace", "--", "sleep", "60"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = command.spawn().unwrap();
        let begun = Instant::now();
        while instances(&tracer, running.id()) < 2 {
            assert!(begun.elapsed() < Duration::from_secs(30), "no instances");
            std::thread::sleep(Duration::from_millis(10));
        }
        running
    };
    let running = sleeping();
    let process = running.id();
    let ended = interrupt(running, "-INT", Duration::from_secs(20));
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(instances(&tracer, process), 0, "{}", ended.stdout);

    let mut killed = sleeping();
    let process = killed.id();
    kill(&["-KILL", &process.to_string()]).unwrap();
    killed.wait().unwrap();
    // Traces of other tests may have removed them already.
    assert_eq!(run(&["trace", "--", "true"]).code, Some(0));
    assert_eq!(instances(&tracer, process), 0);
}

#[test]
fn refusals() {
    let said = |args: &[&str]| run(&[&["trace"], args].concat()).said("", "");
    let first = |run: &str| run.lines().next().unwrap_or_default().to_owned();
    insta::assert_snapshot!(first(&said(&[])), @"error: the following required arguments were not provided:");
    insta::assert_snapshot!(first(&said(&["--pid", "0"])), @"error: invalid value '0' for '--pid <PID>': 0 is not in 1..=4294967295");
    insta::assert_snapshot!(first(&said(&["--pid", "1", "--", "true"])), @"error: the argument '--pid <PID>' cannot be used with '[COMMAND]...'");
    let check = |target: &str| run(&["check", target, "--trace"]).said("", "");
    insta::assert_snapshot!(check("sim:consumer-nvme"), @"flushmark: --trace has no effect on sim:consumer-nvme, which is not reached through the kernel's block layer; leave it out");
    insta::assert_snapshot!(check("null:"), @"flushmark: --trace has no effect on null:, which is not reached through the kernel's block layer; leave it out");
    insta::assert_snapshot!(check("/dev/shm"), @"flushmark: /dev/shm is not on a block device, so the kernel's block layer does not see its writes");
    let test = "refusals";
    let Some(_tracer) = tracer(test) else { return };
    insta::assert_snapshot!(said(&["--", "no-such-command"]), @"flushmark: cannot run `no-such-command`: there is no such command");
    insta::assert_snapshot!(said(&["--pid", "4194303"]), @"flushmark: no process 4194303 is running");
    insta::assert_snapshot!(said(&["--path", "/proc/version"]), @"flushmark: /proc/version is not on a block device, so the kernel's block layer does not see its writes");
    insta::assert_snapshot!(said(&["--path", "/no/such/path"]), @"flushmark: /no/such/path does not exist: name an existing directory, regular file or block device");
    insta::assert_snapshot!(said(&["--device", "/dev/null"]), @"flushmark: /dev/null is not a block device");
    insta::assert_snapshot!(said(&["--output", "/no/such/directory/file", "--", "true"]), @"flushmark: /no/such/directory is not a directory, so --output cannot create a file there");
    insta::assert_snapshot!(said(&["--", "false"]), @"flushmark: the command failed (exit status: 1)");
    let Some(nobody) = nobody(test) else { return };
    let Run { code, stderr, .. } = nobody.run(&["trace", "--", "true"]);
    insta::assert_snapshot!(stderr.trim_end(), @"flushmark: the kernel's tracer may be used by root only; run it with sudo");
    assert_eq!(code, Some(2));
}
