//! Models are fitted to measured figures, here to the figures of another model.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use catalogue::Model;
use measurement::{Ended, Outcome, RateRecord, RunDocument, TargetKind, TestResult};
use simdrive::fit::knobs::KNOBS;
use simdrive::fit::measured::{Unfit, samples, start};
use simdrive::fit::{PASSES, fit, misfit};
use simdrive::sample::{Comparison, Figure, Sample, compare, median_error};
use simdrive::{Machine, run_alone};
use workload::{
    Arrivals, IoPriority, Layout, Limit, Plan, PriorityClass, Sharing, SyncMethod, Work,
};

fn model(name: &str) -> Model {
    catalogue::find_model(name).unwrap().clone()
}

/// A small write without and with a sync, a small read, and concurrent reads.
const TESTS: [&str; 4] = [
    "pattern = \"randwrite\"",
    "pattern = \"randwrite\"\nsync = \"fdatasync\"",
    "pattern = \"randread\"",
    "pattern = \"randread\"\ndepth = 8",
];

fn document(model: &Model) -> RunDocument {
    let machine = Machine::new(model.clone());
    let of = |test: &&str| -> TestResult {
        let plan =
            format!("[[test]]\n{test}\nsize = \"1GiB\"\ntime = \"300ms\"\nwarm_up = \"10ms\"");
        let plan = Plan::from_toml("test", &plan).unwrap();
        match run_alone(&machine, &plan.tests[0], &mut |_| true).unwrap() {
            Outcome::Measured(result) => *result,
            Outcome::Skipped(skipped) => panic!("{skipped:?}"),
        }
    };
    samples::document(TESTS.iter().map(of).collect())
}

#[test]
fn what_makes_a_drive_different_is_found_again() {
    let knob = KNOBS.iter().find(|knob| knob.path == "drive.flush.journal_us").unwrap();
    let origin = model("consumer-sata");
    let mut other = origin.clone();
    let value = knob.get(&origin).unwrap();
    knob.set(&mut other, value * 3.0);
    let measured = samples(&document(&other)).unwrap();
    let mut passes = Vec::new();
    let fitted = fit(&origin, &measured, &mut |misfit| passes.push(misfit)).unwrap();
    assert!(passes.len() == PASSES && passes.is_sorted_by(|one, next| one >= next), "{passes:?}");
    assert!(
        misfit(&fitted.model, &measured).unwrap() < misfit(&origin, &measured).unwrap() / 100.0
    );
    let off = fitted.comparisons.iter().map(|comparison| comparison.error().abs());
    assert!(off.fold(0.0, f64::max) < 0.05, "{:?}", fitted.turned);
    for (path, from, to) in &fitted.turned {
        let knob = KNOBS.iter().find(|knob| knob.path == *path).unwrap();
        assert_eq!((knob.get(&origin), knob.get(&fitted.model)), (Some(*from), Some(*to)));
    }
    // A fit to a model's own figures leaves the model unchanged.
    let same = fit(&other, &measured, &mut |_| ()).unwrap();
    assert_eq!((same.turned.len(), &same.model), (0, &other));
}

#[test]
fn a_fit_starts_from_the_model_that_comes_nearest() {
    for name in ["consumer-sata", "disk-7200rpm-cache-on", "usb-stick"] {
        let document = document(&model(name));
        let start = start(&document, &samples(&document).unwrap()).unwrap();
        assert_eq!(start.model, name);
    }
}

#[test]
fn what_a_model_needs_is_asked_for() {
    let whole = document(&model("consumer-sata"));
    let missing = |document: &RunDocument| match samples(document) {
        Err(Unfit::Missing { what, .. }) => what.to_owned(),
        other => format!("{other:?}"),
    };
    let without = |index: usize| {
        let mut document = whole.clone();
        document.results.remove(index);
        missing(&document)
    };
    let plain_write = "the measurement of a small write at depth 1 without a sync";
    assert_eq!(without(0), plain_write);
    assert_eq!(without(1), "the measurement of a small write at depth 1 with fsync or fdatasync");
    assert_eq!(without(2), "the measurement of a small read at depth 1");
    assert_eq!(samples(&whole).unwrap().len(), 4);
    // Other kinds of measurements contain no information about the drive.
    let changes: [fn(&mut TestResult); 12] = [
        |result| result.workload.direct = false,
        |result| {
            let idle = IoPriority { class: PriorityClass::Idle, level: 0, hint: 0 };
            result.workload.priorities.thread = Some(idle);
        },
        |result| {
            let arrivals = Arrivals::Constant;
            result.workload.rate =
                Some(RateRecord { per_second: 10.0, reads_per_second: None, arrivals });
        },
        |result| result.workload.layout = Some(Layout::Append),
        |result| result.workload.sharing = Sharing::All,
        |result| result.workload.offset_bytes = 4096,
        |result| result.workload.end_fsync = true,
        |result| result.ended = Ended::Interrupted,
        |result| result.iops = 0.0,
        |result| result.workload.depth = 2,
        |result| result.workload.jobs = 2,
        |result| result.workload.block_bytes = 32 << 10,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut document = whole.clone();
        change(&mut document.results[0]);
        assert_eq!(missing(&document), plain_write, "{index}");
    }
    let mut blocks = whole.clone();
    blocks.results.iter_mut().for_each(|result| result.workload.block_bytes = 16 << 10);
    assert!(samples(&blocks).is_ok());
    assert_eq!(samples(&RunDocument { smoke: true, ..whole.clone() }), Err(Unfit::Smoke));
    let mut null = whole;
    null.target.kind = TargetKind::Null;
    assert_eq!(samples(&null), Err(Unfit::NoDrive("/var/lib/db".to_owned())));
}

/// The same operations in less time.
fn faster(result: &TestResult, factor: f64) -> TestResult {
    let mut faster = result.clone();
    faster.iops *= factor;
    for latency in
        [&mut faster.write_us, &mut faster.commit_us, &mut faster.read_us].into_iter().flatten()
    {
        latency.mean /= factor;
    }
    faster
}

#[test]
fn figures_that_contradict_make_no_model() {
    let whole = document(&model("consumer-sata"));
    let contradicts = |change: &dyn Fn(&mut Vec<TestResult>)| {
        let mut document = whole.clone();
        change(&mut document.results);
        match samples(&document) {
            Err(Unfit::Contradiction(what)) => Some(what.split('(').next().unwrap().to_owned()),
            other => other.map(|_| None).unwrap(),
        }
    };
    // At depth 1, the latencies of one second add up to one second.
    for factor in [1.2, 0.3] {
        assert!(
            contradicts(&|results| results[2].iops *= factor)
                .unwrap()
                .contains("impossible for one at a time")
        );
    }
    assert_eq!(contradicts(&|results| results[2].iops *= 0.6), None);
    assert_eq!(contradicts(&|results| results[3].iops *= 1.2), None, "eight at a time may be");
    let twice = |factor| contradicts(&|results| results.push(faster(&results[3], factor)));
    assert_eq!((twice(1.9), twice(0.55)), (None, None));
    assert!(
        twice(2.1).unwrap().contains("are the same test with contradictory results")
            && twice(0.45).is_some()
    );
    // A commit cannot be faster than the same write alone.
    let rates = (whole.results[0].iops, whole.results[1].iops);
    let synced = |factor| {
        contradicts(&|results| results[1] = faster(&results[1], rates.0 / rates.1 * factor))
    };
    assert_eq!(synced(1.2), None);
    assert!(synced(1.3).unwrap().contains("the same test without durability"));
}

#[test]
fn a_sample_is_the_test_that_was_measured_in_no_more_time_than_it_takes() {
    let document = document(&model("consumer-sata"));
    let sample = |iops: f64, elapsed_s: f64| {
        let mut document = document.clone();
        let result = &mut document.results[3];
        (result.iops, result.elapsed_s) = (iops, elapsed_s);
        samples(&document).unwrap().remove(3)
    };
    let of = |iops, elapsed_s| match sample(iops, elapsed_s).test.work {
        Work::Blocks(workload) => workload,
        work => panic!("{work:?}"),
    };
    let time = |iops, elapsed_s| of(iops, elapsed_s).limit.time().unwrap();
    // Five seconds, the measured time, or thirty thousand operations.
    assert_eq!(time(100.0, 60.0), Duration::from_secs(5));
    assert_eq!(time(100.0, 0.5), Duration::from_millis(500));
    assert_eq!(time(100_000.0, 60.0), Duration::from_millis(300));
    assert_eq!(time(1e9, 60.0), Duration::from_millis(20));
    let workload = of(100.0, 0.5);
    assert_eq!(
        (workload.depth.get(), workload.sync, workload.block_bytes.get()),
        (8, SyncMethod::None, 4096)
    );
    assert!(matches!(workload.limit, Limit::Time(_)));
    assert_eq!(sample(100.0, 0.5).figure, Figure::Iops(100.0));
}

#[test]
fn a_model_is_near_within_30_percent_or_what_repetitions_span() {
    let document = document(&model("consumer-sata"));
    let sample = samples(&document).unwrap().remove(0);
    let comparison = |modelled: f64, span: (f64, f64)| {
        let sample = Sample { figure: Figure::MibPerS(100.0), span, ..sample.clone() };
        Comparison { sample, result: document.results[0].clone(), modelled }
    };
    let once = |modelled| comparison(modelled, (100.0, 100.0));
    assert!((once(110.0).error() - 0.1).abs() < 1e-9 && (once(80.0).error() + 0.2).abs() < 1e-9);
    assert_eq!(
        [70.1, 129.9, 69.0, 131.0].map(|modelled| once(modelled).holds()),
        [true, true, false, false]
    );
    let repeated = |modelled| comparison(modelled, (50.0, 180.0)).holds();
    assert_eq!([50.0, 180.0, 49.0, 181.0].map(repeated), [true, true, false, false]);
    assert!(
        !comparison(132.0, (105.0, 135.0)).holds(),
        "these repetitions differ by less than 30 %"
    );
    let median = |modelled: &[f64]| {
        let comparisons: Vec<Comparison> =
            modelled.iter().map(|modelled| once(*modelled)).collect();
        (median_error(&comparisons) * 1e6).round() / 1e6
    };
    assert_eq!(
        (median(&[]), median(&[90.0, 140.0, 105.0]), median(&[90.0, 120.0])),
        (0.0, 0.1, 0.15)
    );
    let machine = Machine::new(model("consumer-sata"));
    let all = samples(&document).unwrap();
    let names: Vec<String> =
        compare(&machine, &all).unwrap().into_iter().map(|one| one.sample.test.name).collect();
    assert!(names.iter().eq(all.iter().map(|sample| &sample.test.name)));
}
