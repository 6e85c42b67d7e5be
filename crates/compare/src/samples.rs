//! Runs whose truth is known, for tests.

use measurement::result::Measured;
use measurement::{
    CpuUse, Ended, Histogram, Histograms, Proof, RunDocument, Series, Source, TestResult, WorkloadRecord,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A test of `check` by its name.
pub(crate) fn workload(test: &str) -> WorkloadRecord {
    let plan = workload::suites::named("quick").unwrap();
    WorkloadRecord::of(plan.tests.iter().find(|candidate| candidate.name == test).unwrap())
}

/// A result of so many seconds in which one operation takes `us`, give or take 5 % from second to second. A test with a sync commits.
pub(crate) fn result(test: &str, us: f64, seconds: usize, seed: u64) -> TestResult {
    let workload = workload(test);
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
    let count = histogram.count();
    let reads = workload.pattern.is_some_and(|pattern| !pattern.writes());
    let commits = workload.sync.is_some_and(workload::SyncMethod::is_durable) && !reads;
    TestResult::new(
        test,
        Measured {
            bytes: workload.block_bytes * count,
            workload,
            engine: "psync",
            elapsed_s: seconds as f64,
            turns: None,
            histograms: Histograms {
                read: reads.then(|| histogram.clone()),
                write: (!reads).then(|| histogram.clone()),
                sync: None,
                commit: commits.then_some(histogram),
            },
            series,
            proof: Proof {
                reads: if reads { count } else { 0 },
                writes: if reads { 0 } else { count },
                syncs: 0,
                commits: if commits { count } else { 0 },
                device: None,
            },
            cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
            ended: Ended::Limit,
            notes: Vec::new(),
        },
    )
}

/// A run of these.
pub(crate) fn run(results: Vec<TestResult>) -> RunDocument {
    let kept = include_str!("../../measurement/tests/documents/run-1-model.json");
    RunDocument { results, ..RunDocument::from_json(kept).unwrap() }
}

/// A run as an importer makes it: no series, no histograms.
pub(crate) fn imported(tool: &str, results: Vec<TestResult>) -> RunDocument {
    let bare = |result: TestResult| TestResult { histograms: Histograms::default(), series: Series::new(), ..result };
    let source = Source { tool: tool.to_owned(), version: Some("3.33".to_owned()), drive: Some("a drive".to_owned()) };
    RunDocument { source: Some(source), ..run(results.into_iter().map(bare).collect()) }
}
