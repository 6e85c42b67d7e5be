//! Property tests: the judgement of any case does not panic and keeps its invariants.

use std::sync::LazyLock;

use drive::{HostFacts, Transport};
use measurement::Histogram;
use measurement::Use;
use proptest::prelude::*;
use workload::{Pattern, SyncMethod};

use crate::case::Case;
use crate::findings::findings;
use crate::fitness::fitness;
use crate::nearest::nearest;
use samples::machine::{self, Machine, raw};
use samples::place::drive;

static TEMPLATE: LazyLock<measurement::TestResult> =
    LazyLock::new(|| machine::consumer_nvme().results.swap_remove(1));

prop_compose! {
    fn any_result()(
        pattern in prop::sample::select(Pattern::ALL.to_vec()),
        sync in prop::sample::select(SyncMethod::ALL.to_vec()),
        block_bytes in prop_oneof![Just(0u64), Just(512), Just(4096), Just(16384), any::<u64>()],
        depth in 0u32..3, jobs in 0u32..3, sync_every in 0u32..3,
        latencies in prop::collection::vec(prop_oneof![Just(0u64), 1u64..1_000_000, any::<u64>()], 0..40),
        repeats in prop_oneof![Just(1u64), Just(1000)],
        commits in prop_oneof![Just(0u64), any::<u64>()],
        flushes in prop_oneof![Just(None), Just(Some(0u64)), any::<u64>().prop_map(Some)],
        rate in prop_oneof![Just(0.0f64), Just(f64::NAN), Just(f64::INFINITY), 0.0..1e9],
        direct: bool, step_program: bool,
    ) -> measurement::TestResult {
        let mut histogram = Histogram::new();
        for latency in latencies {
            histogram.record_n(latency, repeats);
        }
        let mut result = TEMPLATE.clone();
        result.workload.pattern = (!step_program).then_some(pattern);
        result.workload.sync = (!step_program).then_some(sync);
        result.workload.block_bytes = block_bytes;
        result.workload.depth = depth;
        result.workload.jobs = jobs;
        result.workload.sync_every = sync_every;
        result.workload.direct = direct;
        result.iops = rate;
        result.mib_per_s = rate;
        result.commits_per_s = Some(rate);
        result.read_us = histogram.summary();
        result.write_us = histogram.summary();
        result.sync_us = histogram.summary();
        result.commit_us = histogram.summary();
        result.histograms.commit = Some(histogram);
        result.proof.commits = commits;
        if let Some(device) = &mut result.proof.device {
            device.flushes = flushes;
        }
        result
    }
}

fn any_place() -> impl Strategy<Value = Machine> {
    let machines = vec![
        machine::protected_nvme(),
        machine::disk(),
        machine::cloud_volume(),
        machine::tmpfs(),
        machine::overlay(),
        raw(drive("nvme1n1", Transport::Nvme)),
        Machine { results: Vec::new(), place: None, host: HostFacts::default() },
    ];
    prop::sample::select(machines)
}

proptest! {
    #[test]
    fn any_case_is_judged_without_a_panic(place in any_place(), results in prop::collection::vec(any_result(), 0..8)) {
        let case = Case::new(&results, place.place.as_ref(), &place.host);
        for finding in findings(&case) {
            prop_assert!(!finding.evidence.is_empty(), "{}", finding.id);
            prop_assert!(finding.title.ends_with('.') && !finding.title.contains("NaN"), "{}", finding.title);
            prop_assert!(finding.advice.ends_with('.'), "{}", finding.advice);
        }
        prop_assert_eq!(fitness(&case).len(), Use::ALL.len());
        for near in nearest(&case, 3) {
            prop_assert!(near.factor >= 1.0 && near.factor.is_finite(), "{near:?}");
        }
    }
}
