//! The result document matches its published schema, and both have every key that programs rely on.

// A test outside of `mod tests`: a failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use measurement::document::{SCHEMA, json_schema};
use measurement::{
    Confidence, CpuUse, DeviceProof, Ended, Evidence, Finding, Fitness, FitnessUnderEachSetting,
    Grade, Histogram, Histograms, Measured, Proof, RunDocument, Series, Skipped, TargetKind,
    TargetRecord, TestResult, Use, WorkloadRecord,
};
use serde_json::Value;
use workload::{BlockBytes, Pattern, SyncMethod, Test, Work, Workload};

const COMMITTED: &str = include_str!("../../../schemas/run-1.json");

#[test]
fn the_committed_schema_is_the_generated_one() {
    // Compared as values: the order of keys depends on serde_json's `preserve_order`, which other
    // crates of the build may enable, so the text differs between `cargo test -p measurement` and a
    // build of the workspace.
    let committed: Value = serde_json::from_str(COMMITTED).unwrap();
    // `assert!` instead of `assert_eq!`: the dump of two such values is unreadable; `git diff`
    // after `cargo xtask docs` shows the difference.
    assert!(
        committed == serde_json::to_value(json_schema()).unwrap(),
        "schemas/run-1.json does not match the types. Run `cargo xtask docs` and review the \
         difference: additions are \
         compatible, a rename or a removal needs a new version of the document."
    );
}

#[test]
fn descriptions_contain_no_rust() {
    let schemas = std::fs::read_dir("../../schemas").unwrap();
    for path in schemas.map(|entry| entry.unwrap().path()) {
        let schema = std::fs::read_to_string(&path).unwrap();
        assert!(!schema.contains("[`") && !schema.contains("```"), "{}", path.display());
    }
}

#[test]
fn the_committed_schemas_of_ceph_are_the_generated_ones() {
    use measurement::ceph_document::{check_schema, layout_schema};
    let committed = [
        (include_str!("../../../schemas/ceph-layout-1.json"), layout_schema()),
        (include_str!("../../../schemas/ceph-check-1.json"), check_schema()),
    ];
    for (committed, generated) in committed {
        let committed: Value = serde_json::from_str(committed).unwrap();
        assert!(
            committed == serde_json::to_value(generated).unwrap(),
            "schemas/ceph-*.json do not match the types. Run `cargo xtask docs` and review the \
             difference."
        );
    }
}

#[test]
fn the_committed_schema_of_hosts_is_the_generated_one() {
    let committed: Value =
        serde_json::from_str(include_str!("../../../schemas/host-1.json")).unwrap();
    assert!(
        committed == serde_json::to_value(measurement::host_document::json_schema()).unwrap(),
        "schemas/host-1.json does not match the types. Run `cargo xtask docs` and review the \
         difference."
    );
}

#[test]
fn the_committed_schema_of_drives_is_the_generated_one() {
    let committed: Value =
        serde_json::from_str(include_str!("../../../schemas/drives-1.json")).unwrap();
    assert!(
        committed == serde_json::to_value(measurement::drives_document::json_schema()).unwrap(),
        "schemas/drives-1.json does not match the types. Run `cargo xtask docs` and review the \
         difference."
    );
}

fn histogram(latencies_ns: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    latencies_ns.into_iter().for_each(|latency_ns| histogram.record(latency_ns));
    histogram
}

fn document() -> RunDocument {
    let mut workload = Workload::new(Pattern::RandWrite, BlockBytes::new(4096).unwrap());
    workload.sync = SyncMethod::Fsync;
    let test = Test::alone(workload.title(), Work::Blocks(workload));
    let commits = 16_358;
    let device = DeviceProof {
        reads: 0,
        writes: commits,
        writes_merged: None,
        bytes_written: commits * 4096,
        flushes: Some(commits),
        flush_mean_us: Some(281.0),
        flushes_per_commit: Some(1.0),
        bytes_per_byte: Some(1.0),
        medium_bytes_written: None,
    };
    let result = TestResult::new(
        &test.name,
        Measured {
            workload: WorkloadRecord::of(&test),
            engine: "psync",
            elapsed_s: 5.0,
            turns: None,
            bytes: commits * 4096,
            histograms: Histograms {
                read: None,
                write: Some(histogram((0..commits).map(|n| 20_000 + n))),
                sync: Some(histogram((0..commits).map(|n| 280_000 + n))),
                commit: Some(histogram((0..commits).map(|n| 300_000 + 2 * n))),
            },
            series: Series {
                iops: vec![3271.0; 5],
                commit_p50_us: vec![Some(305.0), None, Some(305.0), Some(305.0), Some(305.0)],
                commit_p99_us: vec![Some(320.0), None, Some(320.0), Some(320.0), Some(320.0)],
                ..Series::new()
            },
            proof: Proof {
                reads: 0,
                writes: commits,
                syncs: commits,
                commits,
                device: Some(device),
            },
            cpu: CpuUse { user_s: 0.1, system_s: 0.4 },
            ended: Ended::Limit,
            notes: Vec::new(),
        },
    );
    let fitness = Fitness { grade: Grade::Poor, because: "a commit takes 305 µs".to_owned() };
    let grades: BTreeMap<Use, Fitness> =
        Use::ALL.into_iter().map(|used| (used, fitness.clone())).collect();
    RunDocument {
        schema: SCHEMA.to_owned(),
        flushmark: "0.1.0".to_owned(),
        started_at: "2026-11-20T19:30:00Z".to_owned(),
        source: None,
        merged_runs: None,
        group: None,
        suite: "slog".to_owned(),
        label: Some("new rack".to_owned()),
        smoke: false,
        target: TargetRecord::new("/var/lib/db", TargetKind::Directory),
        host: drive::HostFacts::default(),
        drive: None,
        drives: Vec::new(),
        results: vec![result],
        skipped: vec![Skipped {
            test: "0.5 KiB".to_owned(),
            because: "below the logical block size".to_owned(),
        }],
        findings: vec![Finding {
            id: "no-power-loss-protection".to_owned(),
            title: "The drive has no power-loss protection".to_owned(),
            evidence: vec![
                Evidence::number("fsync p50", 285.0, "us"),
                Evidence::fact("write cache", "write back"),
            ],
            confidence: Confidence::High,
            doubt: None,
            advice: "Use a drive that has it.".to_owned(),
        }],
        fitness: grades.clone(),
        fitness_under_each_setting: Some(FitnessUnderEachSetting {
            off: grades.clone(),
            on: grades,
        }),
    }
}

fn committed_validator() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(COMMITTED).unwrap()).unwrap()
}

fn problems(document: &Value) -> Vec<String> {
    committed_validator()
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn a_document_is_valid_and_reads_back() {
    let written = serde_json::to_value(document()).unwrap();
    assert_eq!(problems(&written), Vec::<String>::new());
    assert_eq!(serde_json::from_value::<RunDocument>(written).unwrap(), document());
}

#[test]
fn a_later_document_with_more_keys_is_valid_too() {
    let mut later = serde_json::to_value(document()).unwrap();
    later["results"][0]["energy_j"] = 12.5.into();
    later["lattice"] = "yes".into();
    assert_eq!(problems(&later), Vec::<String>::new());
}

#[test]
fn invalid_documents_are_refused() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut document = serde_json::to_value(document()).unwrap();
        change(&mut document);
        assert!(!problems(&document).is_empty(), "{document}");
    };
    refused(&|document| document["schema"] = "flushmark/run/2".into());
    refused(&|document| document["results"][0]["workload"]["pattern"] = "sideways".into());
    refused(&|document| document["results"][0]["commit_us"]["p99"] = Value::Null);
    refused(&|document| {
        document.as_object_mut().unwrap().remove("results");
    });
}

/// The documented keys that programs rely on.
#[test]
fn every_promised_key_is_there() {
    let document = serde_json::to_value(document()).unwrap();
    let summary = ["mean", "min", "p50", "p90", "p99", "p99_9", "p99_99", "max", "count"];
    let mut promised: Vec<String> = [
        "/schema",
        "/flushmark",
        "/started_at",
        "/suite",
        "/target/given",
        "/target/kind",
        "/host",
        "/drive",
        "/results/0/test",
        "/results/0/engine",
        "/results/0/elapsed_s",
        "/results/0/ops",
        "/results/0/iops",
        "/results/0/mib_per_s",
        "/results/0/read_us",
        "/results/0/histograms/write",
        "/results/0/histograms/sync",
        "/results/0/histograms/commit",
        "/results/0/series/interval_s",
        "/results/0/series/iops",
        "/results/0/series/commit_p99_us",
        "/findings/0/id",
        "/findings/0/title",
        "/findings/0/evidence/0/what",
        "/findings/0/evidence/0/value",
        "/findings/0/evidence/0/unit",
        "/findings/0/confidence",
        "/findings/0/advice",
        "/fitness/ceph-osd/grade",
        "/fitness/ceph-osd/because",
        "/fitness/zfs-slog/grade",
        "/fitness/database-log/grade",
        "/fitness/general/grade",
    ]
    .map(str::to_owned)
    .to_vec();
    for key in ["pattern", "block_bytes", "depth", "jobs", "sync", "sync_every", "write_cache"] {
        promised.push(format!("/results/0/workload/{key}"));
    }
    for latency in ["write_us", "sync_us", "commit_us"] {
        promised.extend(summary.map(|figure| format!("/results/0/{latency}/{figure}")));
    }
    let missing: Vec<_> =
        promised.iter().filter(|pointer| document.pointer(pointer).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(document["results"][0]["workload"]["write_cache"], "unchanged");
}
