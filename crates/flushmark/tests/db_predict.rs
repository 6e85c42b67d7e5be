//! `flushmark db predict`, from a result to page, JSON and exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::run;
use measurement::RunDocument;
use serde_json::Value;
use tempfile::NamedTempFile;

fn file(document: &RunDocument) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), serde_json::to_string(document).unwrap()).unwrap();
    file
}

fn name(file: &NamedTempFile) -> &str {
    file.path().to_str().unwrap()
}

fn predicted(arguments: &[&str]) -> Value {
    let measured = file(&samples::server_commits());
    let run = run(&[&["db", "predict", name(&measured), "--format", "json"], arguments].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&run.stdout).unwrap()
}

fn refused(document: &RunDocument, arguments: &[&str]) -> String {
    let measured = file(document);
    let run = run(&[&["db", "predict", name(&measured)], arguments].concat());
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
    run.stderr.lines().next().unwrap_or_default().to_owned()
}

/// The expected rates of a row.
fn rates(document: &Value, row: usize) -> Vec<f64> {
    let loads = document["predictions"][row]["loads"].as_array().unwrap();
    loads.iter().map(|load| load["commits_per_s"]["expected"].as_f64().unwrap()).collect()
}

#[test]
fn a_modelled_drive_and_a_measured_one() {
    let other = file(&samples::document(samples::check()));
    let document = predicted(&["--on", "sim:consumer-nvme", "--on", name(&other)]);
    assert_eq!(document["schema"], "flushmark/db-predict/1");
    let rows = document["predictions"].as_array().unwrap();
    let on: Vec<_> = rows.iter().map(|row| row["on"].as_str().unwrap()).collect();
    assert_eq!(on, ["as measured", "sim:consumer-nvme", name(&other)]);
    assert_eq!((&rows[1]["basis"], &rows[2]["basis"]), (&"modelled".into(), &"measured".into()));
    for (rate, measured) in rates(&document, 0).into_iter().zip([1600.0, 3700.0, 14_000.0]) {
        assert!((rate / measured - 1.0).abs() < 0.05, "{rate} instead of {measured}");
    }
    // A flush of 1.4 ms instead of 0.5 ms.
    let slower = rates(&document, 1);
    assert!((500.0..750.0).contains(&slower[0]), "{slower:?}");
    let schema = serde_json::from_str(include_str!("../../../schemas/db-predict-1.json")).unwrap();
    assert!(jsonschema::is_valid(&schema, &document));
}

#[test]
fn every_drive_of_the_catalogue() {
    let document = predicted(&[]);
    let rows = document["predictions"].as_array().unwrap();
    assert!(rows.len() > catalogue::drives().len(), "{} rows", rows.len());
    let syncs: Vec<f64> = rows[1..].iter().map(|row| row["sync_us"].as_f64().unwrap()).collect();
    assert!(syncs.is_sorted(), "{syncs:?}");
}

#[test]
fn other_numbers_of_clients_and_settings() {
    let document = predicted(&["--on", "sim:consumer-nvme", "--clients", "2,8"]);
    assert_eq!(document["predictions"][0]["loads"][1]["load"], "8 clients");
    let changed = ["--on", "sim:consumer-nvme", "--set", "wal_sync_method=open_datasync"];
    let document = predicted(&changed);
    assert_eq!(document["settings"][0]["to"], "open_datasync");
    // The server's own storage was not measured with O_DSYNC, so it has no prediction.
    assert_eq!(document["predictions"][0]["on"], "sim:consumer-nvme");
}

#[test]
fn the_page_names_the_server_and_the_drives() {
    let measured = file(&samples::server_commits());
    let run = run(&["db", "predict", name(&measured), "--on", "sim:enterprise-sata"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    for part in ["PostgreSQL 15.18", "as measured", "sim:enterprise-sata", "limited by"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn refusals() {
    let server = samples::server_commits();
    insta::assert_snapshot!(refused(&samples::document(samples::check()), &[]), @"flushmark: the result of suite check is not one of a database server; measure one with `flushmark db commits` or `flushmark db bench`");
    insta::assert_snapshot!(refused(&server, &["--clients", "64"]), @"flushmark: 64 clients are more than were measured (16), and nothing is known about them; measure that many, or predict for fewer");
    insta::assert_snapshot!(refused(&server, &["--set", "shared_buffers=1GB"]), @"flushmark: the effect of `shared_buffers` on the commits of PostgreSQL is not known; expected one of wal_sync_method, synchronous_commit, fsync");
    let unknown = refused(&server, &["--on", "sim:floppy"]);
    assert!(unknown.contains("floppy"), "{unknown}");
    let other = file(&samples::document(Vec::new()));
    let refusal = refused(&server, &["--on", name(&other)]).replace(name(&other), "other.json");
    insta::assert_snapshot!(refusal, @"flushmark: `other.json`: it contains no commits of one writer, whose time a prediction could start from");
    let mut without = server.clone();
    without.results.retain(|result| result.workload.pattern.is_none());
    insta::assert_snapshot!(refused(&without, &[]), @"flushmark: commits of the storage under the server were not measured, so their share in those of the server is unknown; run `flushmark db commits` on the server's host");
    let two = format!("{0},{0}", name(&other));
    let run = run(&["db", "predict", &two]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("names several results; name one"), "{}", run.stderr);
}
