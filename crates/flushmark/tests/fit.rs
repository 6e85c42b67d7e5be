//! `flushmark fit`: a model fitted to a result, and reasons why none can be.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::run;
use serde_json::Value;

/// The result document of `check` on a target, in a file.
fn checked(directory: &Path, target: &str) -> (String, Value) {
    let path = directory.join("result.json").display().to_string();
    let run = run(&["check", "--quiet", "--output", &path, target]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    (path, document)
}

fn rates(document: &Value) -> Vec<(String, f64)> {
    let results = document["results"].as_array().unwrap();
    results
        .iter()
        .map(|result| (result["test"].to_string(), result["iops"].as_f64().unwrap()))
        .collect()
}

#[test]
fn a_drive_that_was_measured_becomes_a_model() {
    // Started from another drive of the same class.
    for (measured, like) in [
        ("sim:samsung-980-1tb,filesystem=ext4", "consumer-nvme"),
        ("sim:micron-5100-eco-960gb", "consumer-sata"),
        ("sim:gcp-hyperdisk-balanced-1tb-ext4", "cloud-volume"),
        ("sim:disk-7200rpm-cache-on", "disk-7200rpm-cache-on"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (path, measured_document) = checked(directory.path(), measured);
        let fitted = run(&["fit", &path, "--like", like, "--name", "ours"]);
        assert_eq!(fitted.code, Some(0), "{}", fitted.stderr);
        assert!(fitted.stderr.contains(&format!("Started from `{like}`.")), "{}", fitted.stderr);
        let model = directory.path().join("ours.toml");
        std::fs::write(&model, &fitted.stdout).unwrap();
        let (_, modelled) = checked(directory.path(), &format!("sim:{}", model.display()));
        let mut errors: Vec<f64> = rates(&measured_document)
            .iter()
            .zip(rates(&modelled))
            .map(|((test, measured), (same, modelled))| {
                assert_eq!(*test, same);
                (modelled / measured - 1.0).abs()
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        assert!(
            errors[errors.len() / 2] < 0.05 && errors[errors.len() - 1] < 0.3,
            "{measured}: {errors:?}"
        );
    }
}

#[test]
fn what_keeps_a_model_from_being_made() {
    let directory = tempfile::tempdir().unwrap();
    let (path, document) = checked(directory.path(), "sim:samsung-980-1tb");
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut document = document.clone();
        change(&mut document);
        std::fs::write(&path, document.to_string()).unwrap();
        let run = run(&["fit", &path]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        run.said(&path, "FILE")
    };
    let keep = |names: &'static [&'static str]| {
        move |document: &mut Value| {
            document["results"]
                .as_array_mut()
                .unwrap()
                .retain(|result| names.contains(&result["test"].as_str().unwrap()));
        }
    };
    insta::assert_snapshot!(refused(&keep(&["write + fsync", "read"])), @"flushmark: FILE: missing the measurement of a small write at depth 1 without a sync, which is needed to determine the cost of a write without its flush; run `flushmark check TARGET --output RESULT.json` to measure everything that is needed");
    insta::assert_snapshot!(refused(&keep(&["write", "write O_DSYNC", "read"])), @"flushmark: FILE: missing the measurement of a small write at depth 1 with fsync or fdatasync, which is needed to determine the cost of a flush; run `flushmark check TARGET --output RESULT.json` to measure everything that is needed");
    insta::assert_snapshot!(refused(&keep(&["write", "write + fsync"])), @"flushmark: FILE: missing the measurement of a small read at depth 1, which is needed to determine the read latency of the medium; run `flushmark check TARGET --output RESULT.json` to measure everything that is needed");
    insta::assert_snapshot!(refused(&keep(&[])), @"flushmark: FILE: missing the measurement of a small write at depth 1 without a sync, which is needed to determine the cost of a write without its flush; run `flushmark check TARGET --output RESULT.json` to measure everything that is needed");
    let result = |document: &Value, name: &str| {
        document["results"]
            .as_array()
            .unwrap()
            .iter()
            .position(|result| result["test"] == name)
            .unwrap()
    };
    insta::assert_snapshot!(refused(&|document| {
        let index = result(document, "write");
        document["results"][index]["iops"] = 4000.0.into();
    }), @"flushmark: FILE: `write` reports 4000 operations per second of 21.2 µs each, which is impossible for one at a time; measure again while nothing else uses the drive");
    insta::assert_snapshot!(refused(&|document| {
        let mut again = document["results"][result(document, "write + fsync")].clone();
        again["test"] = "again".into();
        again["iops"] = (again["iops"].as_f64().unwrap() * 3.0).into();
        again["commit_us"]["mean"] = (again["commit_us"]["mean"].as_f64().unwrap() / 3.0).into();
        document["results"].as_array_mut().unwrap().push(again);
    }), @"flushmark: FILE: `write + fsync` and `again` are the same test with contradictory results: 572 and 1717 operations per second; measure again while nothing else uses the drive");
    insta::assert_snapshot!(refused(&|document| {
        let index = result(document, "write + fsync");
        let result = &mut document["results"][index];
        result["iops"] = (result["iops"].as_f64().unwrap() * 200.0).into();
        result["commit_us"]["mean"] = (result["commit_us"]["mean"].as_f64().unwrap() / 200.0).into();
    }), @"flushmark: FILE: `write + fsync` is faster than `write`, the same test without durability (114441 and 47079 operations per second), which is a contradiction; measure again while nothing else uses the drive");
    insta::assert_snapshot!(refused(&|document| document["smoke"] = true.into()), @"flushmark: FILE: the numbers of a smoke run are meaningless; run the suite without --smoke");
    insta::assert_snapshot!(refused(&|document| document["target"]["kind"] = "null".into()), @"flushmark: FILE: the target `sim:samsung-980-1tb` is not a drive");
    insta::assert_snapshot!(refused(&|document| *document = serde_json::json!({"results": []})), @"flushmark: FILE: not a result document of `check` or `run`: `\"schema\": \"flushmark/run/1\"` is missing");
    let nothing = run(&["fit", "/no/such/result.json"]);
    assert_eq!(nothing.code, Some(4));
    insta::assert_snapshot!(nothing.stderr.trim_end(), @"flushmark: cannot read /no/such/result.json: No such file or directory (os error 2)");
    std::fs::write(&path, document.to_string()).unwrap();
    insta::assert_snapshot!(run(&["fit", &path, "--like", "comsumer-nvme"]).said(&path, "FILE"), @"flushmark: unknown model `comsumer-nvme` (did you mean `consumer-nvme`?); run `flushmark models` for a list");
}
