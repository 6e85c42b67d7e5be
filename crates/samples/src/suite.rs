//! Results of a built-in suite on a drive with given latencies.

use measurement::{
    CpuUse, DeviceProof, Histogram, Histograms, Measured, Proof, SortFigures, TestResult,
};
use workload::{OpenFlag, Step, StepProgram, SyncCall, SyncMethod, Test, Work};

use crate::measured::measured;

/// Operations per test.
const OPERATIONS: u64 = 1000;

/// A result of `test` whose operation takes about `operation_us` and whose sync takes about
/// `sync_us`, with a spread of a few percent and a thin tail.
fn result(test: &Test, operation_us: f64, sync_us: Option<f64>) -> TestResult {
    let around = |us: f64| {
        let mut histogram = Histogram::new();
        for (share, times) in [(0.95, 300), (1.0, 500), (1.04, 190), (1.6, 9), (5.0, 1)] {
            histogram.record_n((us * share * 1e3) as u64, times);
        }
        histogram
    };
    let base = measured(test, OPERATIONS);
    let (workload, commits) = (&base.workload, base.proof.commits);
    let total_us = operation_us + sync_us.unwrap_or(0.0);
    // Operations that wait for a flush gain nothing from depth; all others gain much, though less
    // than linearly.
    let in_flight = if sync_us.is_some() { workload.jobs } else { workload.depth * workload.jobs };
    // Rate times mean latency is the depth.
    let waits =
        if workload.constant_depth().is_some() { f64::from(in_flight).powf(0.2) } else { 1.0 };
    let operation = around(operation_us * waits);
    let flushes = sync_us.map_or(0, |_| OPERATIONS);
    let device = DeviceProof {
        reads: 0,
        writes: 2 * OPERATIONS,
        writes_merged: None,
        bytes_written: 4096 * OPERATIONS,
        flushes: Some(flushes),
        flush_mean_us: sync_us,
        flushes_per_commit: (commits > 0).then_some(flushes as f64 / OPERATIONS as f64),
        bytes_per_byte: Some(1.0),
        medium_bytes_written: None,
    };
    let measured = Measured {
        elapsed_s: total_us * OPERATIONS as f64 / 1e6 / f64::from(in_flight).powf(0.8),
        histograms: Histograms {
            read: (base.proof.reads > 0).then(|| operation.clone()),
            write: (base.proof.writes > 0).then_some(operation),
            sync: sync_us.map(around),
            commit: (commits > 0).then(|| around(total_us)),
        },
        proof: Proof { syncs: flushes, device: Some(device), ..base.proof },
        cpu: CpuUse { user_s: 0.01, system_s: 0.02 },
        ..base
    };
    TestResult::new(&test.name, measured)
}

/// The results of a built-in suite on a drive whose 4 KiB write takes `write_us` and whose sync
/// takes `sync_us`.
pub fn suite(name: &str, write_us: f64, sync_us: f64) -> Vec<TestResult> {
    let plan = workload::suites::named(name).unwrap_or_else(|| panic!("no suite {name}"));
    let sized = |test: &Test| {
        let (bytes, sync) = match &test.work {
            Work::Blocks(workload) => (f64::from(workload.block_bytes.get()), workload.sync),
            Work::Steps(program) => (program.turn_bytes() as f64, method(program)),
            Work::Sort(sort) => (f64::from(sort.block_bytes.get()), sort.sync_method()),
        };
        let sync_us = sync_us * price(sync);
        let inline_us = if sync.is_durable() && sync.call().is_none() { sync_us } else { 0.0 };
        result(test, write_us * (0.5 + bytes / 8192.0) + inline_us, sync.call().map(|_| sync_us))
    };
    plan.tests.iter().map(sized).collect()
}

/// The results of `sort-spill`: a drive that limits the sort, one that does not, the page cache,
/// and more sorts than processors.
pub fn sorts() -> Vec<TestResult> {
    let alone = SortFigures {
        sorts: 1,
        records: 9_300_000,
        bytes: 1 << 30,
        runs: 22,
        written_bytes: 880 << 20,
        read_bytes: 880 << 20,
        input_s: 0.62,
        sorting_s: 1.31,
        coding_s: 0.74,
        merging_s: 1.48,
        waiting_s: 0.01,
        writing_s: 4.4,
        writing_cpu_s: 0.07,
        reading_s: 2.93,
        reading_cpu_s: 0.05,
        first_row_s: Some(6.1),
    };
    let figures = [
        alone,
        SortFigures {
            records: 12_700_000,
            writing_s: 0.88,
            reading_s: 0.59,
            first_row_s: Some(3.2),
            ..alone
        },
        SortFigures {
            writing_s: 0.61,
            writing_cpu_s: 0.48,
            reading_s: 0.44,
            reading_cpu_s: 0.29,
            first_row_s: Some(2.9),
            ..alone
        },
        SortFigures {
            sorts: 4,
            runs: 92,
            written_bytes: 884 << 20,
            read_bytes: 884 << 20,
            sorting_s: 1.42,
            coding_s: 0.81,
            merging_s: 1.63,
            waiting_s: 2.36,
            writing_s: 15.2,
            writing_cpu_s: 0.08,
            reading_s: 10.7,
            reading_cpu_s: 0.06,
            first_row_s: Some(5.4),
            ..alone
        },
    ];
    let results = suite("sort-spill", 15.0, 0.0).into_iter().zip(figures);
    results.map(|(result, figures)| result.with_sort(figures)).collect()
}

/// The sync method of a program's writes.
fn method(program: &StepProgram) -> SyncMethod {
    let called = |wanted| {
        program.steps.iter().any(|step| matches!(step, Step::Sync { call, .. } if *call == wanted))
    };
    match program.files.iter().find_map(|file| file.open_flag) {
        _ if called(SyncCall::Fsync) => SyncMethod::Fsync,
        _ if called(SyncCall::Fdatasync) => SyncMethod::Fdatasync,
        Some(OpenFlag::ODsync) => SyncMethod::ODsync,
        Some(OpenFlag::OSync) => SyncMethod::OSync,
        None => SyncMethod::None,
    }
}

/// Cost of a method relative to `fdatasync`. All costs differ, so a verdict on the wrong row is
/// noticed.
fn price(sync: SyncMethod) -> f64 {
    match sync {
        SyncMethod::Fsync => 1.2,
        SyncMethod::OSync => 1.3,
        SyncMethod::ODsync => 0.9,
        _ => 1.0,
    }
}

/// The measurements of `check` on a consumer NVMe drive.
pub fn check() -> Vec<TestResult> {
    suite("check", 15.0, 1700.0)
}

/// About `count` latencies around `us`, with a small tail at three times that.
pub fn spread(us: f64, count: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for (share, part) in [
        (0.8, 0.05),
        (0.92, 0.25),
        (1.0, 0.4),
        (1.08, 0.2),
        (1.25, 0.08),
        (1.8, 0.019),
        (3.0, 0.001),
    ] {
        histogram.record_n((us * share * 1e3) as u64, (count as f64 * part).ceil() as u64);
    }
    histogram
}
