//! `flushmark crash` from outside: known defects are found, and correct programs pass.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use common::{Run, flushmark, needs_fusermount, needs_mounts, needs_rigs, nobody, run};

fn crash(directory: &Path, args: &[&str], script: &str) -> Run {
    let session = directory.join("session");
    let mut command = flushmark();
    command
        .args([
            "crash", "--format", "json", "--quiet", "--size", "128MiB", "--settle", "2s",
            "--session",
        ])
        .arg(session);
    Run::of(command.args(args).args(["--", "bash", "-c", script]).output().unwrap())
}

/// The file must contain the last line that was printed before the state under check.
const KEPT: &str = "want=$(tail -n 1 \"$CRASH_PRINTED\"); test -z \"$want\" || test \"$(tail -n 1 \
                    file)\" -ge \"$want\" || { echo \"$want is gone\"; exit 1; }";

#[test]
fn a_file_that_is_renamed_before_it_is_synced() {
    const TEST: &str = "a_file_that_is_renamed_before_it_is_synced";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // The content is written back later, but the new name is committed by the next sync, here of
    // another file.
    let check = "test ! -e config || test -s config || { echo 'config is empty'; exit 1; }";
    let wrong = "echo settings > config.new; mv config.new config; touch other; sync other";
    let found = crash(directory.path(), &["--check", check], wrong);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let report = found.document();
    let failure = &report["first_failure"];
    assert_eq!(failure["said"], "config is empty");
    let state = failure["state"].as_str().unwrap();
    let session = directory.path().join("session");
    let session = session.to_str().unwrap();
    // So does the command that reproduces it.
    let again = run(&["crash", "--resume", session, "--state", state]);
    assert_eq!((again.code, again.stdout), (Some(1), format!("{state} fails: config is empty\n")));
    let right = "echo settings > config.new; sync config.new; mv config.new config; touch other; \
                 sync other";
    fs::remove_dir_all(session).unwrap();
    let passed = crash(directory.path(), &["--check", check], right);
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    assert!(passed.document()["tried"].as_u64().unwrap() > 3);
}

#[test]
fn a_log_that_is_synced_after_its_commit_record() {
    const TEST: &str = "a_log_that_is_synced_after_its_commit_record";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Two files written in place: a reader that sees the commit record trusts the log.
    let prepare = "head -c 65536 /dev/zero > log; head -c 4096 /dev/zero > commit; sync log commit";
    let put = "put() { printf '%04095d\\n' $1 | dd of=$2 bs=4096 seek=$3 conv=notrunc,nocreat oflag=direct status=none; }; ";
    let check = "n=$(tail -c 5 commit | tr -d '\\0'); test -z \"$n\" || for i in $(seq ${n#0}); do \
        got=$(dd if=log bs=4096 skip=$i count=1 status=none | tail -c 5 | tr -d '\\0'); \
        test \"$((10#${got:-0}))\" -eq $i || \
                 { echo \"commit says $n, record $i is not in the log\"; exit 1; }; done";
    let check = format!("bash -c '{}'", check.replace('\'', "'\\''"));
    let args = ["--prepare", prepare, "--check", &check, "--samples", "16"];
    let wrong =
        format!("{put} for i in 1 2 3; do put $i log $i; put $i commit 0; sync log commit; done");
    let found = crash(directory.path(), &args, &wrong);
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let report = found.document();
    let failure = &report["first_failure"];
    assert!(failure["said"].as_str().unwrap().contains("is not in the log"), "{failure}");
    // One lost write is enough: the log's.
    assert_eq!(failure["lost"].as_array().unwrap().len(), 1, "{failure}");
    assert_eq!(failure["lost"][0]["owners"], serde_json::json!(["log"]));
    assert_eq!(failure["lost"][0]["bytes"], 4096);
    fs::remove_dir_all(directory.path().join("session")).unwrap();
    let right = format!(
        "{put} for i in 1 2 3; do put $i log $i; sync log; put $i commit 0; sync commit; done"
    );
    let passed = crash(directory.path(), &args, &right);
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
}

#[test]
fn what_was_acknowledged_is_asked_for() {
    const TEST: &str = "what_was_acknowledged_is_asked_for";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let args = ["--prepare", "echo 0 > file; sync file", "--check", KEPT];
    let right = "for n in $(seq 10); do echo $n >> file; sync file; echo $n; done";
    let passed = crash(directory.path(), &args, right);
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    assert!(passed.document()["flushes"].as_u64().unwrap() >= 10);
    fs::remove_dir_all(directory.path().join("session")).unwrap();
    // Acknowledged before it is durable.
    let wrong = "for n in $(seq 10); do echo $n >> file; echo $n; sleep 0.02; sync file; done";
    let found = crash(directory.path(), &args, wrong);
    assert_eq!(found.code, Some(1));
    assert!(
        found.document()["first_failure"]["said"].as_str().unwrap().ends_with("is gone"),
        "{}",
        found.stdout
    );
}

#[test]
fn sqlite_survives_every_cut() {
    const TEST: &str = "sqlite_survives_every_cut";
    if !needs_rigs(TEST) || !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let check = "test \"$(sqlite3 db 'pragma integrity_check')\" = ok || exit 1; \
        test \"$(sqlite3 db 'select count(*) from t')\" -ge \"$(wc -l < \"$CRASH_PRINTED\")\" || \
                 { echo 'rows are gone'; exit 1; }";
    let prepare = "sqlite3 db 'create table t(n)'; sync db; sync .";
    let insert = |pragma: &str| {
        format!(
            "for n in $(seq 12); do sqlite3 db \"{pragma} insert into t values($n)\" && echo $n; \
             done"
        )
    };
    let args = ["--prepare", prepare, "--check", check];
    let passed = crash(directory.path(), &args, &insert("pragma synchronous=extra;"));
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    // After a resume, states already checked are not checked again.
    let session = directory.path().join("session");
    let again = run(&["crash", "--resume", session.to_str().unwrap(), "--format", "json"]);
    let (first, second) = (passed.document(), again.document());
    assert_eq!((again.code, &first["tried"]), (Some(0), &second["tried"]));
    assert!(second["elapsed_s"].as_f64() < first["elapsed_s"].as_f64());
    // By default SQLite does not sync the directory after deleting its journal, which is what
    // commits: the journal comes back and undoes the last transaction (sqlite.org/pragma.html: with
    // EXTRA it does).
    for pragma in ["", "pragma synchronous=off;"] {
        fs::remove_dir_all(&session).unwrap();
        let found = crash(directory.path(), &args, &insert(pragma));
        assert_eq!(found.code, Some(1), "{pragma} {}{}", found.stdout, found.stderr);
        assert_eq!(found.document()["first_failure"]["said"], "rows are gone");
    }
}

#[test]
fn a_drive_without_filesystem_needs_no_root() {
    const TEST: &str = "a_drive_without_filesystem_needs_no_root";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let write = "dd if=/dev/urandom of=\"$CRASH_DRIVE\" bs=4096 seek=$1 count=1 conv=notrunc,fsync \
                 status=none";
    let script = format!("put() {{ {write}; }}; put 1; put 2; put 3");
    let check = "for at in 1 2; do next=$((at + 1)); \
        here=$(dd if=\"$CRASH_DRIVE\" bs=4096 skip=$at count=1 status=none | tr -d '\\0' | wc -c); \
        there=$(dd if=\"$CRASH_DRIVE\" bs=4096 skip=$next count=1 status=none | tr -d '\\0' | wc \
                 -c); \
        test $here -gt 0 || test $there -eq 0 || exit 1; done";
    let passed = crash(directory.path(), &["--fs", "none", "--check", check], &script);
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    let report = passed.document();
    assert_eq!((report["writes"].as_u64(), report["flushes"].as_u64()), (Some(3), Some(3)));
    // Four boundaries; losing nothing of an epoch is the boundary after it.
    assert_eq!(report["tried"], 4);
}

#[test]
fn what_cannot_be_tested_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let refused = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| arg.replace("DIR", place)).collect();
        let run = Run::of(flushmark().arg("crash").args(&args).output().unwrap());
        format!("{} {}", run.code.unwrap(), run.said(place, "DIR"))
    };
    insta::assert_snapshot!(refused(&["--resume", "DIR/none"]), @"2 flushmark: no crash test found in `DIR/none` (No such file or directory (os error 2))");
    insta::assert_snapshot!(refused(&["--check", "true", "--size", "1MiB", "--", "true"]), @"2 flushmark: --size must be a multiple of 4 KiB and at least 16 MiB for ext4");
    insta::assert_snapshot!(refused(&["--check", "true", "--size", "128MiB", "--fs", "xfs", "--", "true"]), @"2 flushmark: --size must be a multiple of 4 KiB and at least 300 MiB for xfs");
    insta::assert_snapshot!(refused(&["--check", "true", "--size", "1000", "--fs", "none", "--", "true"]), @"2 flushmark: --size must be a multiple of 4 KiB and at least 4 KiB");
    insta::assert_snapshot!(refused(&["--check", "true", "--atomic", "1000", "--", "true"]), @"2 flushmark: --atomic must be a power of two and at least 512");
    insta::assert_snapshot!(refused(&["--check", "true", "--session", "DIR", "--", "true"]), @"2 flushmark: `DIR` exists: continue it with `flushmark crash --resume DIR`, or choose another directory");
    insta::assert_snapshot!(refused(&["--check", "true", "--fs", "none", "--session", "DIR/x", "--", "no-such-command"]), @"4 flushmark: cannot run `no-such-command`: No such file or directory (os error 2)");
    assert!(!directory.path().join("x").exists(), "nothing is left of what was not recorded");
    // The options of a test cannot change.
    for option in
        [&["--check", "true"][..], &["--expect", "ok"], &["--fs", "none"], &["--", "true"]]
    {
        let said = refused(&[&["--resume", "DIR"], option].concat());
        assert!(
            said.starts_with("2 error: the argument '--resume <DIR>' cannot be used with"),
            "{said}"
        );
    }
    let Some(nobody) = nobody("what_cannot_be_tested_is_said") else { return };
    let place = tempfile::tempdir().unwrap();
    common::system("chmod", &["777", place.path().to_str().unwrap()]).unwrap();
    let session = place.path().join("session");
    let refused = nobody.shell(&format!(
        "XDG_RUNTIME_DIR= \"$0\" crash --check true --session {} -- true",
        session.display()
    ));
    insta::assert_snapshot!(format!("{:?} {}", refused.code, refused.stderr), @"Some(2) flushmark: mounting a filesystem needs root; without root, use --fs none to give the command the drive itself");
}

#[test]
fn a_lost_write_is_named_also_where_the_check_mounts_nothing() {
    const TEST: &str = "a_lost_write_is_named_also_where_the_check_mounts_nothing";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Acknowledged before it is durable.
    let put = "printf '%04096d' 7 | tr 0 X | dd bs=4096 seek=1 conv=notrunc,nocreat oflag=direct \
               status=none";
    let check = "test ! -s \"$CRASH_PRINTED\" || grep -q XXXXXXXX \"$CRASH_DRIVE\"";
    let prepare = "head -c 65536 /dev/zero > log; sync log";
    let script = format!("{put} of=log; echo done; sync log");
    let found = crash(
        directory.path(),
        &["--prepare", prepare, "--check-unmounted", "--check", check],
        &script,
    );
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    let report = found.document();
    assert_eq!(report["filesystem"], "ext4");
    assert_eq!(
        report["first_failure"]["lost"][0]["owners"],
        serde_json::json!(["log"]),
        "{report}"
    );
    fs::remove_dir_all(directory.path().join("session")).unwrap();
    let script = format!("{put} of=\"$CRASH_DRIVE\"; echo done; sync \"$CRASH_DRIVE\"");
    let found = crash(directory.path(), &["--fs", "none", "--check", check], &script);
    let report = found.document();
    assert_eq!(report["filesystem"], serde_json::Value::Null);
    assert_eq!(report["first_failure"]["lost"][0]["owners"], serde_json::Value::Null, "{report}");
    let session = directory.path().join("session");
    let page = run(&["crash", "--resume", session.to_str().unwrap()]).stdout;
    assert!(page.contains("no filesystem was found on the drive"), "{page}");
}

#[test]
fn a_shell_looks_around_in_a_state_and_changes_nothing() {
    const TEST: &str = "a_shell_looks_around_in_a_state_and_changes_nothing";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let passed = crash(
        directory.path(),
        &["--check", "true"],
        "echo one > file; sync file .; echo two > file; sync file",
    );
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    let [text, shell] = ["text", "shell"].map(|name| directory.path().join(name));
    let script = "#!/bin/sh\ncat file; echo three > file; sync file; echo $CRASH_STATE; \
                  test \"$PWD\" = \"$CRASH_DIR\"; test -b $CRASH_DRIVE";
    fs::write(&text, script).unwrap();
    common::install(&text, &shell);
    let session = directory.path().join("session");
    let results = fs::read_to_string(session.join("results.jsonl")).unwrap();
    let states = results.lines().filter(|line| !line.is_empty()).map(|line| {
        let checked: serde_json::Value = serde_json::from_str(line).unwrap();
        checked["state"].as_str().unwrap().to_owned()
    });
    let epochs =
        states.map(|state| state.split(['-', '~']).next().unwrap().parse::<u64>().unwrap());
    let last = epochs.max().unwrap().to_string();
    let look = || {
        let mut command = flushmark();
        command
            .env("SHELL", &shell)
            .args(["crash", "--resume"])
            .arg(&session)
            .args(["--state", &last, "--shell"]);
        Run::of(command.output().unwrap())
    };
    for looked in [look(), look()] {
        assert_eq!(
            (looked.code, looked.stdout),
            (Some(0), format!("two\n{last}\n")),
            "{}",
            looked.stderr
        );
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_jobs() {
    const TEST: &str = "the_result_does_not_depend_on_the_number_of_jobs";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = "for n in $(seq 10); do echo $n >> file; echo $n; sleep 0.02; sync file; done";
    let args = ["--prepare", "echo 0 > file; sync file", "--check", KEPT, "--jobs", "1"];
    let one = crash(directory.path(), &args, script).document();
    let session = directory.path().join("session");
    fs::remove_file(session.join("results.jsonl")).unwrap();
    let more =
        run(&["crash", "--resume", session.to_str().unwrap(), "--jobs", "5", "--format", "json"])
            .document();
    for field in ["tried", "failed", "first_failure", "possible_log2"] {
        assert_eq!(one[field], more[field], "{field}");
    }
    assert_ne!(one["failed"], serde_json::json!([]));
    // Never more than exist.
    assert!(one["tried"].as_f64().unwrap().log2() <= one["possible_log2"].as_f64().unwrap());
}

#[test]
fn small_drives_and_xfs_are_tested_as_well() {
    const TEST: &str = "small_drives_and_xfs_are_tested_as_well";
    if !needs_rigs(TEST) || !needs_mounts(TEST) {
        return;
    }
    for (filesystem, size) in [("ext4", "16MiB"), ("ext4", "24MiB"), ("xfs", "300MiB")] {
        let directory = tempfile::tempdir().unwrap();
        let args = [
            "--fs",
            filesystem,
            "--size",
            size,
            "--prepare",
            "echo 0 > file; sync file",
            "--check",
            KEPT,
        ];
        let session = directory.path().join("session");
        let right = "for n in $(seq 5); do echo $n >> file; sync file; echo $n; done";
        let test = |script: &str| {
            let mut command = flushmark();
            command
                .args(["crash", "--format", "json", "--quiet", "--settle", "1s", "--session"])
                .arg(&session);
            Run::of(command.args(args).args(["--", "bash", "-c", script]).output().unwrap())
        };
        let passed = test(right);
        assert_eq!(passed.code, Some(0), "{filesystem} {size}: {}{}", passed.stdout, passed.stderr);
        fs::remove_dir_all(&session).unwrap();
        let found =
            test("for n in $(seq 5); do echo $n >> file; echo $n; sleep 0.02; sync file; done");
        assert_eq!(found.code, Some(1), "{filesystem} {size}: {}{}", found.stdout, found.stderr);
    }
}

#[test]
fn an_ordinary_user_tests_a_drive_without_filesystem() {
    const TEST: &str = "an_ordinary_user_tests_a_drive_without_filesystem";
    let Some(nobody) = nobody(TEST) else { return };
    if !needs_mounts(TEST) || !needs_fusermount(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    common::system("chown", &["65534", place]).unwrap();
    let test = |put: &str| {
        let _ = fs::remove_dir_all(directory.path().join("session"));
        nobody.shell_with_fuse("666", &format!(
            "XDG_RUNTIME_DIR={place} \"$0\" crash --fs none --size 1MiB --session {place}/session \
             --quiet --format json \
             --check 'grep -q \"^$(tail -n 1 \"$CRASH_PRINTED\")\" \"$CRASH_DRIVE\"' -- \
             sh -c 'for n in 1 2 3; do {put}; done'"
        ))
    };
    // Wherever it begins and ends.
    let write =
        "echo record $n. | dd of=$CRASH_DRIVE bs=1000 seek=$n conv=notrunc,fsync status=none";
    let passed = test(&format!("{write}; echo record $n."));
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    assert_eq!(passed.document()["writes"], 3);
    let found = test(&format!("echo record $n.; {write}"));
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    assert_eq!(common::entries(directory.path()), ["session"], "nothing else is left");
}
