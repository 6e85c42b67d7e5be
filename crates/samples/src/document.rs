//! Run documents.

use std::collections::BTreeMap;

use drive::HostFacts;
use measurement::document::SCHEMA;
use measurement::{RunDocument, TargetKind, TargetRecord, TestResult};

/// A `check` of a host and a drive, written by version 0.1.0.
pub const CHECKED: &str = include_str!("../../measurement/tests/documents/run-1-check.json");
/// A `check` of a model, written by version 0.1.0.
pub const MODELLED: &str = include_str!("../../measurement/tests/documents/run-1-model.json");

pub fn checked() -> RunDocument {
    RunDocument::from_json(CHECKED).unwrap()
}

pub fn modelled() -> RunDocument {
    RunDocument::from_json(MODELLED).unwrap()
}

/// A run of `check` with these results, without findings and grades.
pub fn document(results: Vec<TestResult>) -> RunDocument {
    RunDocument {
        schema: SCHEMA.to_owned(),
        flushmark: "0.1.0".to_owned(),
        started_at: "2026-11-20T19:30:00Z".to_owned(),
        source: None,
        merged_runs: None,
        group: None,
        suite: "check".to_owned(),
        label: None,
        smoke: false,
        target: TargetRecord::new("/var/lib/db", TargetKind::Directory),
        host: HostFacts::default(),
        drive: None,
        drives: Vec::new(),
        results,
        skipped: Vec::new(),
        findings: Vec::new(),
        fitness: BTreeMap::new(),
        fitness_under_each_setting: None,
    }
}
