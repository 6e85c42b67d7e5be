//! Results as an engine would hand them over, for tests.

use drive::HostFacts;
use measurement::document::SCHEMA;
use measurement::result::Measured;
use measurement::{
    CpuUse, Ended, Histogram, Histograms, Proof, RunDocument, Series, TargetKind, TargetRecord, TestResult,
    WorkloadRecord,
};
use workload::{SyncMethod, Test, Work};

/// The results of a built-in suite on a drive whose write takes `write_us` and whose sync takes `sync_us`.
pub(crate) fn suite(name: &str, write_us: f64, sync_us: f64) -> Vec<TestResult> {
    let plan = workload::suites::named(name).unwrap_or_else(|| panic!("no suite {name}"));
    plan.tests.iter().map(|test| result(test, write_us, sync_us)).collect()
}

/// What `check` measures on a consumer NVMe drive.
pub(crate) fn quick() -> Vec<TestResult> {
    suite("quick", 15.0, 1700.0)
}

fn result(test: &Test, write_us: f64, sync_us: f64) -> TestResult {
    let workload = WorkloadRecord::of(test);
    let reads = workload.pattern.is_some_and(|pattern| !pattern.writes());
    let durable = workload.sync.is_some_and(SyncMethod::is_durable) && !reads;
    let bytes = match &test.work {
        Work::Blocks(workload) => f64::from(workload.block_bytes.get()),
        Work::Steps(program) => program.turn_bytes() as f64,
        Work::Sort(sort) => f64::from(sort.block_bytes.get()),
    };
    let operation_us = write_us * (0.5 + bytes / 8192.0);
    let total_us = operation_us + if durable { sync_us } else { 0.0 };
    let operation = Some(spread(operation_us)).filter(|_| !durable);
    let in_flight = if durable { workload.jobs } else { workload.depth * workload.jobs };
    let measured = Measured {
        turns: workload.pattern.is_none().then_some(1000),
        bytes: workload.block_bytes * 1000,
        workload,
        engine: "psync",
        elapsed_s: total_us * 1000.0 / 1e6 / f64::from(in_flight).powf(0.8),
        histograms: Histograms {
            read: operation.clone().filter(|_| reads),
            write: operation.filter(|_| !reads),
            sync: durable.then(|| spread(sync_us)),
            commit: durable.then(|| spread(total_us)),
        },
        series: Series::new(),
        proof: Proof {
            reads: if reads { 1000 } else { 0 },
            writes: if reads { 0 } else { 1000 },
            syncs: if durable { 1000 } else { 0 },
            commits: if durable { 1000 } else { 0 },
            device: None,
        },
        cpu: CpuUse { user_s: 0.01, system_s: 0.02 },
        ended: Ended::Limit,
        notes: Vec::new(),
    };
    TestResult::new(&test.name, measured)
}

/// A thousand latencies, spread by a few percent with a thin tail.
fn spread(us: f64) -> Histogram {
    let mut histogram = Histogram::new();
    for (share, times) in [(0.95, 300), (1.0, 500), (1.04, 190), (1.6, 9), (5.0, 1)] {
        histogram.record_n((us * share * 1e3) as u64, times);
    }
    histogram
}

/// A run of these results, judged.
pub(crate) fn document(results: Vec<TestResult>) -> RunDocument {
    let host = HostFacts::default();
    let judge::Judgement { findings, fitness } = judge::judge(&judge::Case::new(&results, None, &host));
    RunDocument {
        schema: SCHEMA.to_owned(),
        flushmark: "0.1.0".to_owned(),
        started_at: "2026-11-20T19:30:00Z".to_owned(),
        source: None,
        merged_runs: None,
        suite: "quick".to_owned(),
        smoke: false,
        target: TargetRecord { given: "/var/lib/db".to_owned(), kind: TargetKind::Directory },
        host,
        drive: None,
        drives: Vec::new(),
        results,
        skipped: Vec::new(),
        findings,
        fitness,
    }
}
