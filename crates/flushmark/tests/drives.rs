//! `flushmark drives` and `flushmark cache` on this machine: what they show and refuse. The QEMU
//! rig has drives that can be switched.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;

use common::{LoopDevice, Run, flushmark, needs_root, nobody, run};
use serde_json::Value;

fn validator() -> jsonschema::Validator {
    let schema = include_str!("../../../schemas/drives-1.json");
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

fn drive<'a>(document: &'a Value, path: &str) -> &'a Value {
    let drives = document["drives"].as_array().unwrap();
    drives
        .iter()
        .find(|drive| drive["device"]["path"] == path)
        .unwrap_or_else(|| panic!("no {path} in {document}"))
}

/// Any disk of this machine, for tests that need one.
fn any_disk(test: &str) -> Option<String> {
    let document = run(&["drives", "--format", "json"]).document();
    let path = document["drives"][0]["device"]["path"].as_str().map(str::to_owned);
    if path.is_none() {
        eprintln!("skipped: {test}: this machine shows no block device");
    }
    path
}

#[test]
fn the_document_keeps_to_its_schema_and_the_table_names_every_drive() {
    let document = run(&["drives", "--format", "json"]).document();
    let errors: Vec<String> =
        validator().iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let status = run(&["cache", "status", "--format", "json"]).document();
    assert!(validator().is_valid(&status));
    let page = run(&["drives"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    for drive in document["drives"].as_array().unwrap() {
        assert!(page.stdout.contains(drive["device"]["path"].as_str().unwrap()), "{}", page.stdout);
    }
}

#[test]
fn the_facts_are_those_of_sysfs() {
    let Some(path) = any_disk("the_facts_are_those_of_sysfs") else { return };
    let document = run(&["drives", &path, "--format", "json"]).document();
    let name = path.trim_start_matches("/dev/");
    let sysfs = |file: &str| {
        fs::read_to_string(format!("/sys/block/{name}/{file}")).map(|text| text.trim().to_owned())
    };
    let device = &drive(&document, &path)["device"];
    let sectors: u64 = sysfs("size").unwrap().parse().unwrap();
    assert_eq!(device["size_bytes"].as_u64(), Some(sectors * 512));
    assert_eq!(
        device["queue"]["nr_requests"].as_u64(),
        sysfs("queue/nr_requests").unwrap().parse().ok()
    );
    let belief = device["queue"]["write_cache"].as_str().unwrap().replace('-', " ");
    assert_eq!(Ok(belief), sysfs("queue/write_cache").map_err(|error| error.to_string()));
    let detail = run(&["drives", &path]);
    for label in ["queue", "write cache", "health", "use"] {
        assert!(detail.stdout.contains(label), "{}", detail.stdout);
    }
}

#[test]
fn a_loop_device_with_a_filesystem_on_it() {
    const TEST: &str = "a_loop_device_with_a_filesystem_on_it";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 32 << 20, &[]) else { return };
    let document = run(&["drives", &device.path, "--format", "json"]).document();
    let record = drive(&document, &device.path);
    assert_eq!(record["device"]["transport"], "loop");
    assert!(record["device"]["backing_file"].as_str().unwrap().ends_with("/image"));
    assert_eq!(record["cache"]["drive"]["answer"], "not-asked");
    for (action, code) in [("off", 2), ("on", 2)] {
        let refused = run(&["cache", action, &device.path]);
        assert_eq!(refused.code, Some(code), "{}", refused.stderr);
        assert!(refused.stderr.contains("loop"), "{}", refused.stderr);
    }
}

#[test]
fn a_partition_stands_for_its_drive() {
    let capture = captures::lay_out("md-raid5");
    let root = capture.path().to_str().unwrap();
    let shown = run(&["drives", "/dev/sda1", "--system-root", root]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(
        shown.stderr.contains("/dev/sda1 is a partition; showing its drive, /dev/sda"),
        "{}",
        shown.stderr
    );
    assert!(shown.stdout.contains("/dev/sda1"), "{}", shown.stdout);
}

#[test]
fn what_is_no_drive_is_wrong_use() {
    for device in ["/dev/null", "/dev/nosuch", "/etc/passwd", "."] {
        for args in
            [&["drives", device][..], &["cache", "off", device], &["cache", "status", device]]
        {
            let refused = run(args);
            assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.stderr);
            assert!(
                refused.stderr.contains(device) && refused.stdout.is_empty(),
                "{}",
                refused.stderr
            );
        }
    }
}

#[test]
fn an_ordinary_user_is_told_what_needs_root() {
    const TEST: &str = "an_ordinary_user_is_told_what_needs_root";
    let Some(nobody) = nobody(TEST) else { return };
    let Some(disk) = any_disk(TEST) else { return };
    let listed = nobody.run(&["drives"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(listed.stdout.contains(&disk), "{}", listed.stdout);
    assert!(validator().is_valid(&nobody.run(&["drives", "--format", "json"]).document()));
    let refused = nobody.run(&["cache", "off", &disk]);
    assert!(matches!(refused.code, Some(2 | 4)), "{:?} {}", refused.code, refused.stderr);
    assert_eq!(nobody.run(&["cache", "restore"]).code, Some(0));
}

fn restore_in(state: &Path, args: &[&str]) -> Run {
    let mut command = flushmark();
    command.env("FLUSHMARK_STATE_DIR", state).args(["cache", "restore"]).args(args);
    Run::of(command.output().unwrap())
}

#[test]
fn restoring_without_a_record_does_nothing_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("not made yet");
    let restored = restore_in(&state, &[]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert_eq!(restored.stdout, "Nothing to restore: no write cache was left switched.\n");
    assert!(!state.exists(), "nothing was changed, so nothing is made");
}

#[test]
fn a_damaged_record_is_kept_aside_and_reported_once() {
    let state = tempfile::tempdir().unwrap();
    let record = state.path().join("write-cache-Micron-S1.json");
    fs::write(&record, "{\"schema\": \"flushmark/cache-rec").unwrap();
    let mut status = flushmark();
    let status = Run::of(
        status.env("FLUSHMARK_STATE_DIR", state.path()).args(["cache", "status"]).output().unwrap(),
    );
    assert!(
        status.stderr.contains("is damaged") && record.exists(),
        "looking changes nothing: {}",
        status.stderr
    );
    let restored = restore_in(state.path(), &[]);
    assert_eq!(restored.code, Some(4));
    assert!(
        restored.stderr.contains("is damaged")
            && restored.stderr.contains("the previous state of that cache is unknown"),
        "{}",
        restored.stderr
    );
    assert!(!record.exists() && record.with_extension("damaged").exists());
    let again = restore_in(state.path(), &[]);
    assert_eq!(again.code, Some(0));
    assert!(again.stdout.contains("A damaged record is kept at"), "{}", again.stdout);
}

#[test]
fn a_record_of_a_drive_that_is_not_there_is_kept() {
    let state = tempfile::tempdir().unwrap();
    let record = state.path().join("write-cache-Micron-S1.json");
    let text = r#"{"schema": "flushmark/cache-record/1",
        "drive": {"model": "Micron", "serial": "S1", "size_bytes": 1, "place": "x", "path": "/dev/sdx"},
        "changes": [{"was_on": true, "was_unflushed": false, "by": "run", "pid": 1, "at_unix_s": 0}]}"#;
    fs::write(&record, text).unwrap();
    let restored = restore_in(state.path(), &[]);
    assert_eq!(restored.code, Some(4));
    assert!(restored.stderr.contains("Micron (S1) is not attached"), "{}", restored.stderr);
    assert_eq!(fs::read_to_string(&record).unwrap(), text);
    let mut status = flushmark();
    let status = Run::of(
        status.env("FLUSHMARK_STATE_DIR", state.path()).args(["cache", "status"]).output().unwrap(),
    );
    assert!(status.stdout.contains("Micron (S1)"), "{}", status.stdout);
}

#[test]
fn a_run_whose_cache_cannot_be_switched_measures_the_present_setting() {
    let directory = tempfile::tempdir().unwrap();
    let plan = common::plan(
        directory.path(),
        "table = \"write-cache\"\n[defaults]\nsize = \"1MiB\"\ncount = 20\nwarm_up \
         = \"0s\"\n[[test]]\npattern = \"randwrite\"\n\
         matrix = { write_cache = [\"off\", \"on\"], sync = [\"none\", \"fsync\"] }\n",
    );
    let target = directory.path().to_str().unwrap();
    let done = run(&["run", &plan, "--target", target, "--format", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let document = done.document();
    let results = document["results"].as_array().unwrap();
    let skipped = document["skipped"].as_array().unwrap();
    assert_eq!((results.len(), skipped.len()), (2, 2), "{}", done.stderr);
    for result in results {
        let name = result["test"].as_str().unwrap();
        assert!(name.ends_with("cache as found"), "{name}");
        assert_eq!(result["workload"]["write_cache"], "unchanged", "{name}");
    }
    let reason = skipped[0]["because"].as_str().unwrap();
    assert!(
        done.stderr.contains(reason),
        "the reason is said once at the start, too: {}",
        done.stderr
    );
}
