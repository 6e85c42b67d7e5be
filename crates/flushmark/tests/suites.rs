//! Every suite, end to end, on a real directory and on a real loop device; each document is checked
//! against the schema.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{LoopDevice, entries, needs_root, run};
use serde_json::Value;

const SUITES: [&str; 9] = [
    "check", "journal", "ceph-disk", "slog", "wal", "commits", "fsync-study", "write-cache",
    "read-scaling",
];

fn validator() -> jsonschema::Validator {
    let schema = include_str!("../../../schemas/run-1.json");
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

/// Checks what must hold for every result of every suite.
fn check(suite: &str, document: &Value, validator: &jsonschema::Validator) {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{suite}: {errors:?}");
    assert_eq!(document["suite"], suite);
    for result in document["results"].as_array().unwrap() {
        let name = format!("{suite}: {}", result["test"]);
        assert_eq!(result["ended"]["why"], "limit", "{name}: {}", result["ended"]);
        assert!(result["ops"].as_u64().unwrap() > 0, "{name} did nothing");
        let commits = result["proof"]["commits"].as_u64().unwrap();
        assert_eq!(commits, result["commit_us"]["count"].as_u64().unwrap_or(0), "{name}");
        let work = &result["workload"];
        let steps = work["steps"].as_array().into_iter().flatten();
        let mut steps = steps.filter_map(Value::as_str).peekable();
        let flagged = |file: &Value| file["open_flag"].is_string();
        let durable = if steps.peek().is_none() {
            !matches!(work["sync"].as_str(), Some("none"))
        } else {
            steps.any(|step| step.starts_with("sync"))
                || work["files"].as_array().into_iter().flatten().any(flagged)
        };
        // A sync that does not wait for writes in flight does not make them durable.
        if durable && result["workload"]["drain"] != false {
            assert!(commits > 0, "{name} made nothing durable");
        } else if !durable {
            assert_eq!(commits, 0, "{name} made something durable");
        }
        let flushes = result["proof"]["device"]["flushes"].as_u64();
        let syncs = result["proof"]["syncs"].as_u64().unwrap();
        let alone = result["workload"]["jobs"] == 1 && result["workload"]["pattern"].is_string();
        if let (Some(flushes), true, true) =
            (flushes, alone && syncs > 0, document["target"]["kind"] == "block-device")
        {
            // Only this test uses the loop device: each fsync is one flush.
            assert_eq!(flushes, syncs, "{name}");
        }
    }
}

#[test]
fn every_suite_runs_on_a_directory_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (target, validator) = (directory.path().to_str().unwrap(), validator());
    for suite in SUITES {
        let run =
            run(&["run", suite, "--target", target, "--smoke", "--format", "json", "--quiet"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{suite}");
        check(suite, &run.document(), &validator);
        assert!(
            entries(directory.path()).is_empty(),
            "{suite} left {:?}",
            entries(directory.path())
        );
    }
}

#[test]
fn every_suite_runs_on_a_loop_device() {
    const TEST: &str = "every_suite_runs_on_a_loop_device";
    if !needs_root(TEST) {
        return;
    }
    // fsync-study with 32 jobs of 2 MiB blocks needs this much.
    let Some(device) = LoopDevice::new(TEST, 256 << 20, &[]) else { return };
    let validator = validator();
    for suite in SUITES {
        let run = run(&[
            "run", suite, "--target", &device.path, "--destroy-data", "--smoke", "--format",
            "json", "--quiet",
        ]);
        assert_eq!(run.code, Some(0), "{suite}: {}", run.stderr);
        let document = run.document();
        check(suite, &document, &validator);
        // Tests that create and remove files need a directory, and a loop device has no cache to
        // switch; both are reported.
        let reason = if suite == "write-cache" { "loop device has no cache" } else { "directory" };
        for skipped in document["skipped"].as_array().into_iter().flatten() {
            assert!(skipped["because"].as_str().unwrap().contains(reason), "{suite}: {skipped}");
        }
    }
}

#[test]
fn null_runs_what_needs_no_files() {
    let run = run(&["run", "check", "--target", "null:", "--smoke", "--format", "json", "--quiet"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    assert_eq!(
        (&document["drive"], &document["results"][0]["engine"]),
        (&Value::Null, &"null".into())
    );
}

#[test]
fn progress_is_on_stderr_and_text_on_stdout() {
    let directory = tempfile::tempdir().unwrap();
    let run = run(&["run", "journal", "--target", directory.path().to_str().unwrap(), "--smoke"]);
    assert!(run.stderr.starts_with("[1/3] randwrite 4 KiB, fsync=1: "), "{}", run.stderr);
    assert!(run.stdout.contains("target") && run.stdout.contains("A smoke run"), "{}", run.stdout);
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[test]]\npattern = \"randrw\"\ncount = 500\nsize = \"1MiB\"\nwarm_up \
                = \"0s\"\nseed = 7\n";
    let plan = common::plan(directory.path(), text);
    let reads = || {
        let run = run(&["run", &plan, "--target", "null:", "--format", "json", "--quiet"]);
        run.document()["results"][0]["proof"]["reads"].as_u64().unwrap()
    };
    assert_eq!(reads(), reads());
}

#[test]
fn a_short_form_says_so_and_the_published_one_rests() {
    let fsync_study = |options: &[&str]| {
        let base = ["run", "fsync-study", "--target", "sim:enterprise-nvme,filesystem=none"];
        run(&[&base[..], options].concat())
    };
    let short = fsync_study(&["--time", "100ms"]);
    assert_eq!(short.code, Some(0), "{}", short.stderr);
    assert!(
        short.stderr.contains("short form: under 1 s a test instead of 5 min, no rest of 5 min"),
        "{}",
        short.stderr
    );
    let long = fsync_study(&["--as-published", "--smoke"]);
    assert_eq!(long.code, Some(0), "{}", long.stderr);
    assert!(!long.stderr.contains("short form"), "{}", long.stderr);
    let both = fsync_study(&["--as-published", "--time", "1s"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    let other = run(&["run", "slog", "--as-published", "--target", "null:"]);
    assert_eq!(other.code, Some(2));
    insta::assert_snapshot!(other.stderr.trim_end(), @"flushmark: --as-published needs a plan with a [published] section, and `slog` has none");
}
