//! Each way to commit, on real filesystems and devices.

use serde_json::Value;

use crate::common::{LoopDevice, Mount, needs_mkfs, plan, run, system};
use crate::tracing::{
    COMMITS, assert_explained, assert_flushes, commits_by, count, each, near, on_demand, share,
    share_of_median, trace_of, traced, tracer,
};

#[test]
fn commits_on_ext4_wait_for_the_journal() {
    let test = "commits_on_ext4_wait_for_the_journal";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "ext4") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 64 << 20, &[]) else { return };
    system("mkfs.ext4", &["-q", "-F", &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    let (trace, result) = traced(mount.text(), "fdatasync");
    let anatomy = commits_by(&trace, "fdatasync", device.name());
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
    let trace = trace_of(&["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"]);
    let anatomy = commits_by(&trace, "write with O_DSYNC", device.name());
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
    let trace = trace_of(&["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"]);
    let anatomy = commits_by(&trace, "write with O_DSYNC", device.name());
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
    let trace = trace_of(&["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"]);
    let anatomy = commits_by(&trace, "write with O_DSYNC", device.name());
    assert_explained(&trace, anatomy);
    assert_eq!(anatomy["filesystem"], "xfs");
    assert_eq!(anatomy["devices"], serde_json::json!([device.name()]));
    assert!(near(each(anatomy, "journal_writes"), 1.0), "{anatomy:#}");
    assert!(share(anatomy, "flush") > 0.2);
}

#[test]
fn commits_on_btrfs_write_log_trees_and_a_superblock() {
    let test = "commits_on_btrfs_write_log_trees_and_a_superblock";
    let Some(_tracer) = tracer(test) else { return };
    if !needs_mkfs(test, "btrfs") {
        return;
    }
    let Some(device) = LoopDevice::new(test, 256 << 20, &[]) else { return };
    system("mkfs.btrfs", &["--quiet", &device.path]).unwrap();
    let Some(mount) = Mount::new(test, &["-o", "commit=300", &device.path]) else { return };
    let output = format!("of={}", mount.path.join("grows").display());
    let trace = trace_of(&["dd", "if=/dev/zero", &output, "bs=4k", "count=100", "oflag=dsync"]);
    let anatomy = commits_by(&trace, "write with O_DSYNC", device.name());
    assert_explained(&trace, anatomy);
    assert_eq!(anatomy["filesystem"], "btrfs");
    assert_eq!(anatomy["devices"], serde_json::json!([device.name()]));
    assert_eq!(count(anatomy), 100);
    assert!(near(each(anatomy, "bare_flushes"), 1.0), "{anatomy:#}");
    assert!(near(each(anatomy, "flushes_after"), 1.0), "{anatomy:#}");
    // Two log trees, each of them twice, and the superblock.
    assert!(each(anatomy, "journal_writes") >= 4.9, "{anatomy:#}");
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
        let anatomy = commits_by(&trace, call, device.name());
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
    let anatomy = commits_by(&trace, "io_uring fsync", device.name());
    assert_explained(&trace, anatomy);
    assert!(count(anatomy) >= COMMITS && near(each(anatomy, "bare_flushes"), 1.0));
    system("mkfs.ext4", &["-q", "-F", &device.path]).unwrap();
    let Some(mount) = on_demand(test, &device) else { return };
    let (trace, result) = traced(mount.text(), "linked_fsync");
    let anatomy = commits_by(&trace, "io_uring fsync", device.name());
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
