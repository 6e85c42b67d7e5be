//! Steps of the Insert Benchmark.

use measurement::{
    DriveCosts, Histogram, InsertBenchmarkStep, OperationCosts, OperationKind, StatementFigures,
    TestResult, WorkloadRecord,
};
use workload::SyncMethod;

use crate::machine::write;

/// Statements of this many rows with these latencies, and their number in each second.
fn statements(rows_each: u64, us: u64, seconds: &[u64]) -> Option<StatementFigures> {
    let second = |&count: &u64| {
        let mut latencies = Histogram::new();
        latencies.record_n(us * 1000, count);
        latencies.record_n(us * 4000, u64::from(count > 0));
        latencies
    };
    let seconds: Vec<Histogram> = seconds.iter().map(second).collect();
    let mut all = Histogram::new();
    seconds.iter().for_each(|second| all.merge(second));
    let rows = all.count() * rows_each;
    StatementFigures::new(rows, seconds.len() as f64, all, &seconds)
}

fn costs(operation: OperationKind, each: f64) -> OperationCosts {
    OperationCosts {
        operation,
        operations: 1000,
        drives: Some(DriveCosts {
            writes: 0.02 * each,
            written_kib: 0.4 * each,
            reads: 0.001 * each,
            read_kib: 0.016 * each,
        }),
        server_cpu_us: Some(12.5 * each),
        unknown: Vec::new(),
    }
}

fn result(name: &str, step: InsertBenchmarkStep) -> TestResult {
    let measured = write(SyncMethod::Fdatasync, 100.0, 900.0).result();
    let seconds = [&step.inserts, &step.queries];
    let seconds = seconds.iter().filter_map(|figures| Some(figures.as_ref()?.seconds.len())).max();
    let commits = [&step.inserts, &step.deletes];
    let commits: f64 = commits.iter().filter_map(|figures| Some(figures.as_ref()?.per_s)).sum();
    TestResult {
        test: name.to_owned(),
        workload: WorkloadRecord { jobs: 1, depth: 1, ..WorkloadRecord::unknown() },
        engine: "mariadb".to_owned(),
        elapsed_s: seconds.map_or(2.5, |seconds| seconds as f64),
        commits_per_s: (step.indexed_rows.is_none()).then_some(commits),
        server: Some(crate::watched::activity(1000.0, 10.5, None)),
        insert_benchmark: Some(Box::new(step)),
        ..measured
    }
}

/// A load, its indexes, changes with a stall, and queries beside a rate that is met and one that
/// is not.
pub fn insert_benchmark() -> Vec<TestResult> {
    let nothing = InsertBenchmarkStep {
        rows_per_commit: 50,
        indexed_rows: None,
        inserts: None,
        deletes: None,
        queries: None,
        background_rows_per_s: None,
        costs: None,
    };
    let load = InsertBenchmarkStep {
        rows_per_commit: 100,
        inserts: statements(100, 1500, &[500, 480, 490]),
        costs: Some(costs(OperationKind::InsertedRow, 1.0)),
        ..nothing.clone()
    };
    let index = InsertBenchmarkStep {
        rows_per_commit: 0,
        indexed_rows: Some(147_300),
        costs: Some(costs(OperationKind::IndexedRow, 0.5)),
        ..nothing.clone()
    };
    let changes = InsertBenchmarkStep {
        inserts: statements(50, 3000, &[300, 20, 290]),
        deletes: statements(50, 2000, &[300, 20, 290]),
        costs: Some(costs(OperationKind::InsertedRow, 9.0)),
        ..nothing.clone()
    };
    let beside = |wanted: f64, inserts: &[u64]| InsertBenchmarkStep {
        inserts: statements(50, 3000, inserts),
        deletes: statements(50, 2000, inserts),
        queries: statements(10, 120, &[7000, 7100, 6900]),
        background_rows_per_s: Some(wanted),
        costs: Some(costs(OperationKind::Query, 3.0)),
        ..nothing.clone()
    };
    vec![
        result("l.i0", load),
        result("l.x", index),
        result("l.i1", changes),
        result("qr100", beside(100.0, &[1, 1, 1])),
        result("qp1000", beside(1000.0, &[12, 10, 8])),
    ]
}
