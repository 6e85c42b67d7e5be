//! `flushmark verify write` end to end: what may be overwritten, and runs that are killed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod verification;

use std::fs;

use common::{LoopDevice, Mount, Run, needs_root, run};
use verification::*;

#[test]
fn a_directory_gets_a_file_that_stays_until_it_is_removed() {
    let (directory, path) = directory();
    let written = write(&path, "300ms", &[]);
    assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""));
    assert!(written.stdout.contains(" commits in "), "{}", written.stdout);
    assert!(
        written.stdout.ends_with(&format!("To check: flushmark verify check {path}\n")),
        "{}",
        written.stdout
    );
    let checked = check(&path, &[]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("KEPT: all acknowledged data is present."),
        "{}",
        checked.stdout
    );
    assert!(checked.stdout.contains("below 95 % at 95 % confidence"), "{}", checked.stdout);
    // A second run overwrites the file of the first one, even with another size.
    let again = run(&[
        "verify", "write", &path, "--size", "6MiB", "--protected", "--quiet", "--time", "100ms",
    ]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(check(&path, &["--remove"]).code, Some(0));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let gone = check(&path, &[]);
    assert_eq!(gone.code, Some(3));
    insta::assert_snapshot!(gone.said(&path, "DIR"), @"flushmark: no run of flushmark verify found on DIR; write one with `flushmark verify write`, then check the same target");
}

#[test]
fn a_file_is_overwritten_only_when_that_is_asked_for() {
    let (directory, _) = directory();
    let path = directory.path().join("disk");
    fs::write(&path, vec![7; 4 << 20]).unwrap();
    let given = path.to_str().unwrap();
    let refused = write(given, "100ms", &[]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("to allow this, add --destroy-data"), "{}", refused.stderr);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 7));
    assert_eq!(write(given, "100ms", &["--destroy-data"]).code, Some(0));
    let checked = check(given, &["--remove"]);
    assert_eq!((checked.code, path.exists()), (Some(0), true));
    assert!(
        checked.stderr.contains("was kept because flushmark did not create it"),
        "{}",
        checked.stderr
    );
}

#[test]
fn somebody_elses_file_of_that_name_stays() {
    let (directory, path) = directory();
    fs::write(file_in(directory.path()), "a letter").unwrap();
    let refused = write(&path, "100ms", &[]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.said(&path, "DIR"), @"flushmark: DIR/flushmark-verify.dat exists and was not created by flushmark verify; move it away, or name another directory");
    assert_eq!(fs::read_to_string(file_in(directory.path())).unwrap(), "a letter");
    fs::remove_file(file_in(directory.path())).unwrap();
    let elsewhere = directory.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, file_in(directory.path())).unwrap();
    assert_eq!(write(&path, "100ms", &[]).code, Some(4), "a link is not followed");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "");
}

#[test]
fn wrong_use_is_said() {
    for given in ["null:", "sim:consumer-nvme", "nbd://localhost/x"] {
        let refused = write(given, "100ms", &[]);
        assert_eq!(refused.code, Some(2));
        assert!(
            refused.stderr.contains("is not storage of this machine that can lose power"),
            "{}",
            refused.stderr
        );
    }
    let (_directory, path) = directory();
    let said = |more: &[&str]| {
        let refused = write(&path, "100ms", more);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        // The sector size is the machine's.
        refused.stderr.trim_end().replace("(512 B)", "(SECTOR)").replace("(4 KiB)", "(SECTOR)")
    };
    insta::assert_snapshot!(
        [said(&["--lanes", "0", "--fua-lanes", "0"]), said(&["--record", "12KiB"]), said(&["--record", "2MiB"]), said(&["--lanes", "300"])].join("\n"),
        @"
    flushmark: without a lane that flushes or writes with FUA, nothing is acknowledged; use at least one
    flushmark: record size 12 KiB is not supported; expected a power of two from one sector (SECTOR) to 1 MiB
    flushmark: record size 2 MiB is not supported; expected a power of two from one sector (SECTOR) to 1 MiB
    flushmark: 302 lanes are too many; the maximum is 256
    "
    );
    assert_eq!(write(&path, "100ms", &["--sync", "sync"]).code, Some(2));
    assert_eq!(write(&path, "100ms", &["--recorder", "a:1", "--journal", "b"]).code, Some(2));
    assert_eq!(write("/no/such/directory", "100ms", &[]).code, Some(2));
    assert_eq!(check("/no/such/directory", &[]).code, Some(2));
}

#[test]
fn two_runs_on_one_target_are_refused() {
    let (_directory, path) = directory();
    let mut first = endless(&path, &[]);
    until_it_writes(&mut first);
    let second = write(&path, "100ms", &[]);
    assert_eq!(second.code, Some(3));
    assert_eq!(
        check(&path, &[]).code,
        Some(3),
        "of a run that is being written nothing can be said"
    );
    insta::assert_snapshot!(second.said(&path, "DIR"), @"flushmark: another flushmark verify is using DIR/flushmark-verify.dat; wait until it has ended");
    signal(&first, "-INT");
    let ended = Run::of(first.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130));
    assert!(
        ended.stdout.contains(" commits in "),
        "Ctrl-C still reports what was done: {}",
        ended.stdout
    );
    assert_eq!(check(&path, &[]).code, Some(0));
}

#[test]
fn a_killed_run_can_be_checked() {
    let (_directory, path) = directory();
    for more in [
        &["--sync", "fsync"][..],
        &["--sync", "rwf_dsync"],
        &["--sync", "o_dsync", "--record", "64KiB"],
    ] {
        let mut run = endless(&path, more);
        until_it_writes(&mut run);
        run.kill().unwrap();
        run.wait().unwrap();
        let checked = check(&path, &["--format", "json"]);
        assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
        let promises = checked.document()["promises"].clone();
        assert!(promises[0]["obligations"].as_u64().unwrap() > 0, "{promises}");
    }
}

#[test]
fn a_small_disk_is_not_filled() {
    if !needs_root("a_small_disk_is_not_filled") {
        return;
    }
    let Some(mount) =
        Mount::new("a_small_disk_is_not_filled", &["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
    else {
        return;
    };
    let refused =
        run(&["verify", "write", mount.text(), "--size", "64MiB", "--quiet", "--time", "1s"]);
    assert_eq!(refused.code, Some(4));
    insta::assert_snapshot!(refused.said(&mount.path, "DIR"), @"flushmark: DIR has 8.0 MiB free, of which flushmark uses at most half, but this test needs 64 MiB; free some space or use a smaller size");
    assert!(!file_in(&mount.path).exists(), "nothing is left behind");
    // By default, half of the free space.
    let written =
        run(&["verify", "write", mount.text(), "--protected", "--quiet", "--time", "300ms"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(fs::metadata(file_in(&mount.path)).unwrap().len() >> 20, 4);
    assert_eq!(check(mount.text(), &[]).code, Some(0));
}

#[test]
fn a_raw_device_is_written_through_io_uring_and_only_when_asked() {
    let test = "a_raw_device_is_written_through_io_uring_and_only_when_asked";
    if !needs_root(test) {
        return;
    }
    let Some(device) = LoopDevice::new(test, 16 << 20, &["--direct-io=on"]) else { return };
    let refused = write(&device.path, "100ms", &[]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let written = write(&device.path, "300ms", &["--destroy-data", "--fua-lanes", "2"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let document = check(&device.path, &["--format", "json"]).document();
    assert_eq!(
        (&document["result"], &document["run"]["fua_path"]),
        (&"kept".into(), &"io_uring".into())
    );
    assert_eq!(document["promises"][1]["kind"], "fua");
    // Another flushmark verify holds it.
    let mut running = endless(&device.path, &["--destroy-data"]);
    until_it_writes(&mut running);
    assert_eq!(write(&device.path, "100ms", &["--destroy-data"]).code, Some(3));
    signal(&running, "-INT");
    assert_eq!(running.wait().unwrap().code(), Some(130));
}
