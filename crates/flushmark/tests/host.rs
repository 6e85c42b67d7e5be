//! `flushmark host` on this machine, and on captures of very different ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use common::{Run, is_root, nobody, run};
use serde_json::Value;

fn expect_valid(document: &Value) {
    let schema = include_str!("../../../schemas/host-1.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn this_machine_is_audited() {
    let page = run(&["host"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(page.stdout.contains(release.trim()), "{}", page.stdout);
    let document = run(&["host", "--format", "json"]).document();
    expect_valid(&document);
    assert!(!document["audit"].as_array().unwrap().is_empty());
}

#[test]
fn captured_machines_are_audited_through_the_command() {
    for name in captures::NAMES {
        let capture = captures::lay_out(name);
        let root = capture.path().to_str().unwrap().to_owned();
        let document = run(&["host", "--system-root", &root, "--format", "json"]).document();
        expect_valid(&document);
        let page = run(&["host", "--system-root", &root]);
        assert_eq!(page.code, Some(0), "{name}: {}", page.stderr);
        for line in document["audit"].as_array().unwrap() {
            let subject = line["subject"].as_str().unwrap().split(':').next().unwrap();
            assert!(page.stdout.contains(subject), "{name}: {subject} is not on the page");
        }
        let drives = run(&["drives", "--system-root", &root]);
        assert_eq!((drives.code, drives.stderr.as_str()), (Some(0), ""), "{name}");
        assert!(drives.stdout.lines().count() > 1, "{name}: {}", drives.stdout);
    }
}

#[test]
fn a_machine_without_proc_and_sys_is_no_error() {
    let empty = tempfile::tempdir().unwrap();
    let root = empty.path().to_str().unwrap();
    let page = run(&["host", "--system-root", root]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    assert!(page.stdout.contains("No facts about this machine"), "{}", page.stdout);
    assert!(run(&["drives", "--system-root", root]).stdout.contains("No drives found"));
}

#[test]
fn absurd_settings_break_nothing() {
    for name in captures::NAMES {
        let capture = captures::lay_out(name);
        let mut files = Vec::new();
        collect(capture.path(), &mut files);
        for (index, file) in files.iter().enumerate() {
            // Every value in turn is corrupted in some way.
            let nonsense: [&[u8]; 4] =
                [b"", b"-1\n", b"99999999999999999999999999\n", b"\xff\xfe[[]\0\n"];
            if index % 3 == 0 {
                fs::write(file, nonsense[index / 3 % nonsense.len()]).unwrap();
            }
        }
        let root = capture.path().to_str().unwrap();
        for verb in ["host", "drives"] {
            let done = run(&[verb, "--system-root", root, "--format", "json"]);
            assert_eq!(done.code, Some(0), "{name}, {verb}: {}", done.stderr);
        }
    }
}

fn collect(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

#[test]
fn settings_are_measured_or_left_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let measured = run(&["host", "--measure", place]);
    if is_root() {
        assert_eq!(measured.code, Some(0), "{}", measured.stderr);
        for [done, left] in [
            ["With C-states held off", "C-state"],
            ["With the governor performance", "governor|frequency"],
        ] {
            let reasons = measured.stdout.split_once("Not measured").map_or("", |page| page.1);
            let is_left = left.split('|').any(|word| reasons.contains(word));
            assert!(measured.stdout.contains(done) != is_left, "{}", measured.stdout);
        }
    } else if measured.code != Some(0) {
        assert_eq!(measured.code, Some(4), "{}", measured.stderr);
        // The findings are printed all the same.
        assert!(measured.stdout.contains("Good"), "{}", measured.stdout);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "test files are gone");
}

#[test]
fn another_machine_cannot_be_measured() {
    let capture = captures::lay_out("cloud-vm");
    let refused =
        run(&["host", "--system-root", capture.path().to_str().unwrap(), "--measure", "."]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--measure measures this machine"), "{}", refused.stderr);
}

#[test]
fn an_ordinary_user_sees_the_same_settings() {
    const TEST: &str = "an_ordinary_user_sees_the_same_settings";
    let Some(nobody) = nobody(TEST) else { return };
    let args = ["host", "--format", "json"];
    let lines = |run: Run| -> Vec<(Value, Value)> {
        let document = run.document();
        let lines = document["audit"].as_array().unwrap().iter();
        lines.map(|line| (line["id"].clone(), line["subject"].clone())).collect()
    };
    // Disks come and go, for example those of other tests: compare only if nothing changed between
    // the two.
    for _ in 0..20 {
        let before = lines(run(&args));
        let theirs = lines(nobody.run(&args));
        if before == lines(run(&args)) {
            assert_eq!(theirs, before);
            return;
        }
    }
    panic!("the machine's settings never stayed as they were for the time that three runs take");
}
