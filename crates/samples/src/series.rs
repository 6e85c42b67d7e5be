//! Results whose latency varies from second to second around a known value.

use measurement::{
    Histogram, Histograms, Measured, RunDocument, Series, Source, TestResult, WorkloadRecord,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use workload::Test;

use crate::document::modelled;
use crate::measured::measured;

fn test(name: &str) -> Test {
    let plan = workload::suites::named("check").unwrap();
    plan.tests
        .into_iter()
        .find(|test| test.name == name)
        .unwrap_or_else(|| panic!("no test {name} in check"))
}

/// The workload of a test of `check`, by its name.
pub fn workload(name: &str) -> WorkloadRecord {
    WorkloadRecord::of(&test(name))
}

/// A result of this many seconds in which an operation takes `us`, plus or minus 5 % from second to
/// second. A test with a sync commits.
pub fn result(name: &str, us: f64, seconds: usize, seed: u64) -> TestResult {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut wobble = || 0.95 + 0.1 * ((random.next_u64() >> 11) as f64 / (1u64 << 53) as f64);
    let mut histogram = Histogram::new();
    let mut series = Series::new();
    for _ in 0..seconds {
        let us = us * wobble();
        let rate = 1e6 / us;
        histogram.record_n((us * 1e3) as u64, (rate * 0.98) as u64);
        histogram.record_n((us * 2e3) as u64, (rate * 0.02) as u64);
        series.iops.push(rate);
        series.commit_p50_us.push(Some(us));
        series.commit_p99_us.push(Some(us * 2.0));
    }
    let mut base = measured(&test(name), histogram.count());
    // The sync is part of the operation.
    base.proof.syncs = 0;
    let histograms = Histograms {
        read: (base.proof.reads > 0).then(|| histogram.clone()),
        write: (base.proof.writes > 0).then(|| histogram.clone()),
        sync: None,
        commit: (base.proof.commits > 0).then_some(histogram),
    };
    TestResult::new(name, Measured { elapsed_s: seconds as f64, histograms, series, ..base })
}

pub fn run(results: Vec<TestResult>) -> RunDocument {
    RunDocument { results, ..modelled() }
}

/// A run as an importer creates it: no series, no histograms.
pub fn imported(tool: &str, results: Vec<TestResult>) -> RunDocument {
    let bare = |result: TestResult| TestResult {
        histograms: Histograms::default(),
        series: Series::new(),
        ..result
    };
    let source = Source {
        tool: tool.to_owned(),
        version: Some("3.33".to_owned()),
        drive: Some("a drive".to_owned()),
        disks: Vec::new(),
    };
    RunDocument { source: Some(source), ..run(results.into_iter().map(bare).collect()) }
}
