use measurement::{CpuUse, Ended, Histograms, Measured, Proof, Series, WorkloadRecord};
use workload::{SyncMethod, Test};

/// The measurement of a test that reads or writes `operations` times, without latencies.
pub(crate) fn measured(test: &Test, operations: u64) -> Measured {
    let workload = WorkloadRecord::of(test);
    let reads = workload.pattern.is_some_and(|pattern| !pattern.writes());
    let durable =
        workload.sync.is_none_or(SyncMethod::is_durable) && workload.sort.is_none() && !reads;
    let by_call = workload.sync.is_some_and(|sync| sync.call().is_some());
    let count = |holds: bool| if holds { operations } else { 0 };
    Measured {
        turns: (!workload.steps.is_empty()).then_some(operations),
        bytes: workload.block_bytes * operations,
        proof: Proof {
            reads: count(reads),
            writes: count(!reads),
            syncs: count(by_call && durable),
            commits: count(durable),
            device: None,
        },
        workload,
        engine: "psync",
        elapsed_s: 0.0,
        histograms: Histograms::default(),
        series: Series::new(),
        cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
        ended: Ended::Limit,
        notes: Vec::new(),
    }
}
