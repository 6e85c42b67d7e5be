//! Faults around `flushmark crash`: processes that stay, signals, a full disk, an incomplete
//! recording. It fails or continues, and never judges a state by another's content.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Mount, Run, flushmark, kill, needs_mounts, run};

/// Long enough to clean up on a busy machine. A recorded command that is not stopped takes ten
/// times as long.
const END_TIME_MAX: Duration = Duration::from_mins(1);

fn command(directory: &Path, args: &[&str], script: &str) -> Command {
    let mut command = flushmark();
    command
        .args(["crash", "--format", "json", "--quiet", "--settle", "10ms", "--session"])
        .arg(directory.join("session"))
        .args(args)
        .args(["--", "bash", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn crash(directory: &Path, args: &[&str], script: &str) -> Run {
    Run::of(command(directory, args, script).output().unwrap())
}

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends the signal and waits for the end.
fn interrupt(child: Child, signal: &str) -> Run {
    common::interrupt(child, signal, END_TIME_MAX)
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().filter(|line| !line.is_empty()).count()
}

/// Records made durable one by one, each acknowledged.
const RIGHT: &str = "for n in 1 2 3; do echo $n >> file; sync file; echo $n; done";
/// The last acknowledged record must be there.
const KEPT: &str = "want=$(tail -n 1 \"$CRASH_PRINTED\"); test -z \"$want\" || test \"$(tail -n 1 \
                    file)\" -ge \"$want\"";

#[test]
fn a_check_that_leaves_its_filesystem_in_use_ends_the_test() {
    const TEST: &str = "a_check_that_leaves_its_filesystem_in_use_ends_the_test";
    if !needs_mounts(TEST) {
        return;
    }
    // By its directory, and by a copy of the mount that is invisible here.
    for daemon in ["setsid", "cd /; setsid unshare -m"] {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        // It releases copies of other mounts, which belong to tests that run at the same time.
        let others = "for place in $(cut -d\" \" -f2 /proc/mounts); do \
            case $place in $CRASH_DIR) ;; *flushmark-crash-*) umount -l $place 2>/dev/null;; esac; \
                      done";
        let others = if daemon.contains("unshare") { others } else { "true" };
        let check = "DAEMON sh -c 'OTHERS; echo $$ > PID; exec sleep 30' & until test -s PID; do \
                     sleep 0.01; done";
        let check = check.replace("OTHERS", others);
        let check = check.replace("DAEMON", daemon).replace("PID", pid.to_str().unwrap());
        let ended =
            crash(directory.path(), &["--size", "64MiB", "--jobs", "1", "--check", &check], RIGHT);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), ""), "{}", ended.stderr);
        let pid = fs::read_to_string(pid).unwrap();
        let named = format!("left its filesystem in use by `sleep` (process {}); all", pid.trim());
        assert!(ended.stderr.contains(&named), "{}", ended.stderr);
        assert_eq!(lines(&directory.path().join("session/results.jsonl")), 0, "nothing is claimed");
        let _ = kill(&[pid.trim()]);
    }
}

#[test]
fn a_command_that_leaves_its_filesystem_in_use_is_not_recorded() {
    const TEST: &str = "a_command_that_leaves_its_filesystem_in_use_is_not_recorded";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let args = ["--size", "64MiB", "--check", "true"];
    let daemon = "setsid sh -c 'echo > there; exec sleep 15' > /dev/null 2>&1 & until test -e \
                  there; do sleep 0.01; done";
    let ended = crash(directory.path(), &args, daemon);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the command left its filesystem in use by `sleep`"),
        "{}",
        ended.stderr
    );
    assert!(!directory.path().join("session").exists());
    // Its whole process group is ended with it.
    let ended = crash(directory.path(), &args, "sleep 600 & sleep 0.1");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn what_the_preparation_starts_is_there_for_the_command() {
    const TEST: &str = "what_the_preparation_starts_is_there_for_the_command";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let alive = directory.path().join("alive");
    let script = format!("kill -0 $(cat pid) && touch {}", alive.display());
    let args = ["--size", "64MiB", "--check", "true", "--prepare", "sleep 600 & echo $! > pid"];
    let ended = crash(directory.path(), &args, &script);
    // It is ended with the command, because it would keep the filesystem busy.
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(alive.exists());
}

#[test]
fn blocks_of_one_state_are_not_seen_in_the_next() {
    const TEST: &str = "blocks_of_one_state_are_not_seen_in_the_next";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    // A process that keeps the device open, as udev does for a moment, keeps its page cache. The
    // daemon also keeps the check's output open.
    let check = format!(
        "cat \"$CRASH_DRIVE\" > /dev/null; (cd /; setsid sleep 600 < \"$CRASH_DRIVE\" & echo $! >> \
         {}); {KEPT}",
        pids.display()
    );
    let passed =
        crash(directory.path(), &["--size", "64MiB", "--jobs", "1", "--check", &check], RIGHT);
    for pid in fs::read_to_string(pids).unwrap().lines() {
        let _ = kill(&[pid]);
    }
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    assert!(passed.document()["tried"].as_u64().unwrap() > 5);
}

#[test]
fn a_signal_fails_no_state() {
    const TEST: &str = "a_signal_fails_no_state";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let checks = directory.path().join("checks");
    // Any loss makes it fail, so minimizing takes a while.
    let check = format!(
        "echo x >> {}; sleep 0.3; case $CRASH_STATE in *-*) false;; esac",
        checks.display()
    );
    let args = ["--fs", "none", "--size", "1MiB", "--jobs", "1", "--first", "--check", &check];
    let script = "for n in $(seq 20); do echo $n | dd of=$CRASH_DRIVE bs=4096 seek=$n conv=notrunc \
                  status=none; done";
    let child = command(directory.path(), &args, script).spawn().unwrap();
    wait_until("the second check", || lines(&checks) >= 2);
    let run = interrupt(child, "-INT");
    assert_eq!(run.code, Some(130), "{}{}", run.stdout, run.stderr);
    let report = run.document();
    assert_eq!((&report["tried"], &report["first_failure"]), (&1.into(), &serde_json::Value::Null));
    // A single state is checked to its end.
    let session = directory.path().join("session");
    fs::write(&checks, "").unwrap();
    let mut one = flushmark();
    one.args(["crash", "--resume"])
        .arg(&session)
        .args(["--state", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = one.spawn().unwrap();
    wait_until("the check", || lines(&checks) >= 1);
    let run = interrupt(child, "-INT");
    assert_eq!(run.stdout, "0 passes\n", "{}", run.stderr);
}

#[test]
fn a_signal_ends_the_recorded_command() {
    const TEST: &str = "a_signal_ends_the_recorded_command";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let script = format!("echo $$ > {}; sleep 600; true", pid.display());
    for args in [&["--fs", "none", "--check", "true"][..], &["--size", "64MiB", "--check", "true"]]
    {
        let child = command(directory.path(), args, &script).spawn().unwrap();
        wait_until("the command", || lines(&pid) == 1);
        let run = interrupt(child, "-TERM");
        insta::allow_duplicates! {
            insta::assert_snapshot!(format!("{:?} {}", run.code, run.stderr), @"Some(143) flushmark: interrupted before the recording was complete; nothing was kept");
        }
        let process = Path::new("/proc").join(fs::read_to_string(&pid).unwrap().trim());
        wait_until("the command's end", || !process.exists());
        assert!(!directory.path().join("session").exists());
        fs::remove_file(&pid).unwrap();
    }
}

#[test]
fn a_full_disk_below_the_log_is_an_error() {
    const TEST: &str = "a_full_disk_below_the_log_is_an_error";
    if !needs_mounts(TEST) {
        return;
    }
    let Some(disk) = Mount::new(TEST, &["-t", "tmpfs", "-o", "size=2m", "flushmark-test"]) else {
        return;
    };
    let begun = Instant::now();
    let script = "dd if=/dev/zero of=$CRASH_DRIVE bs=64k count=64 conv=notrunc 2>/dev/null; echo \
                  done; sleep 600";
    let ended = crash(&disk.path, &["--fs", "none", "--size", "64MiB", "--check", "true"], script);
    let said = ended.said(&disk.path, "DISK");
    insta::assert_snapshot!(format!("{:?} {said}", ended.code), @"Some(4) flushmark: the recording in `DISK/session` is incomplete and cannot be used; is the disk full? Use --session to choose another directory: No space left on device (os error 28)");
    assert!(begun.elapsed() < Duration::from_mins(1), "nobody waits for the command");
    assert_eq!(common::entries(&disk.path), [""; 0], "nothing is kept of it");
}

#[test]
fn a_killed_test_is_gone_on_with() {
    const TEST: &str = "a_killed_test_is_gone_on_with";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (checks, runtime) = (directory.path().join("checks"), directory.path().join("run"));
    fs::create_dir(&runtime).unwrap();
    let check = format!("echo x >> {}; sleep 0.05; {KEPT}", checks.display());
    let args = ["--size", "64MiB", "--jobs", "2", "--check", &check];
    let mut child =
        command(directory.path(), &args, RIGHT).env("XDG_RUNTIME_DIR", &runtime).spawn().unwrap();
    wait_until("the checks", || lines(&checks) >= 6);
    child.kill().unwrap();
    // Whatever it waited for in the kernel, which it served itself.
    wait_until("its end", || child.try_wait().unwrap().is_some());
    let session = directory.path().join("session");
    let done = lines(&session.join("results.jsonl"));
    assert!(done >= 4);
    let go_on =
        || run(&["crash", "--resume", session.to_str().unwrap(), "--format", "json", "--quiet"]);
    let passed = go_on();
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    let report = passed.document();
    assert_eq!(report["tried"], report["planned"]);
    assert_eq!(
        lines(&session.join("results.jsonl")) as u64,
        report["planned"].as_u64().unwrap(),
        "none twice"
    );
    // Its leftover mount is found, and its directory is removed by the next test.
    let left = common::entries(&runtime);
    assert_eq!(left.len(), 1, "{left:?}");
    let again = |left: usize| {
        let mut again = flushmark();
        again.args(["crash", "--quiet", "--resume"]).arg(&session).env("XDG_RUNTIME_DIR", &runtime);
        assert!(again.output().unwrap().status.success());
        assert_eq!(common::entries(&runtime).len(), left);
    };
    again(1);
    let states = runtime.join(&left[0]).join("states");
    let cleaned = run(&["emulate", "clean-up", states.to_str().unwrap()]);
    assert!(cleaned.stdout.starts_with("removed: "), "{}{}", cleaned.stdout, cleaned.stderr);
    again(0);
    // Without its log, nothing would fail.
    fs::remove_file(session.join("writes.log")).unwrap();
    let refused = go_on();
    let said = refused.said(directory.path(), "DIR");
    insta::assert_snapshot!(format!("{:?} {said}", refused.code), @"Some(4) flushmark: `DIR/session/writes.log` is damaged: it is missing; record the command again");
    assert!(!session.join("writes.log").exists());
}
