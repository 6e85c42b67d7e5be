//! Properties of merged results.

use proptest::prelude::*;
use workload::Test;

use super::*;
use crate::TargetKind;
use crate::document::{RunDocument, Skipped, Source};
use crate::result::Measured;

fn test() -> Test {
    let plan = workload::suites::named("check").unwrap();
    plan.tests.into_iter().find(|test| test.name == "write + fsync").unwrap()
}

/// A run of a test with these commit latencies, one hundred per second.
fn run(latencies_ns: &[u64]) -> TestResult {
    let mut commits = Histogram::new();
    for &latency in latencies_ns {
        commits.record(latency);
    }
    let count = latencies_ns.len() as u64;
    let intervals = latencies_ns.len().div_ceil(100);
    let p50 = commits.summary().map(|summary| summary.p50);
    let device = DeviceProof {
        reads: 1,
        writes: 2 * count,
        writes_merged: None,
        bytes_written: 8192 * count,
        flushes: Some(count),
        flush_mean_us: (count > 0).then_some(count as f64),
        flushes_per_commit: (count > 0).then_some(1.0),
        bytes_per_byte: (count > 0).then_some(2.0),
        medium_bytes_written: Some(16384 * count),
    };
    let measured = Measured {
        workload: WorkloadRecord::of(&test()),
        engine: "psync",
        elapsed_s: 0.25 + count as f64 / 128.0,
        turns: None,
        bytes: 4096 * count,
        histograms: Histograms {
            write: Some(commits.clone()),
            sync: Some(commits.clone()),
            commit: Some(commits),
            read: None,
        },
        series: Series {
            iops: vec![100.0; intervals],
            commit_p50_us: vec![p50; intervals],
            commit_p99_us: vec![p50; intervals],
            commit_bins: vec![vec![(30, 100)]; intervals],
            ..Series::new()
        },
        proof: Proof {
            reads: 0,
            writes: count,
            syncs: count,
            commits: count,
            device: Some(device),
        },
        cpu: CpuUse { user_s: 0.5, system_s: 0.25 },
        ended: Ended::Limit,
        notes: Vec::new(),
    };
    TestResult::new(&test().name, measured)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1u64..crate::histogram::HIGHEST_NS, 0..300)
}

#[test]
fn passes_are_joined_unless_a_part_has_none() {
    let [one, two] = [run(&[1_000; 40]), run(&[3_000; 90])];
    let parts = [one.clone().as_pass(), two.clone().as_pass()];
    let merged = TestResult::merged(&parts.each_ref()).unwrap();
    let expected = [&one, &two].map(|part| (part.iops, part.commit_us.map(|us| us.p50)));
    let passes: Vec<_> = merged.passes.iter().map(|pass| (pass.iops, pass.p50_us)).collect();
    assert_eq!(passes, expected);
    assert_eq!(TestResult::merged(&[&merged, &one]).unwrap().passes, []);
}

proptest! {
    #[test]
    fn a_sum_is_what_one_run_of_all_would_have_been(a in latencies(), b in latencies()) {
        let merged = TestResult::merged(&[&run(&a), &run(&b)]).unwrap();
        let pooled: Vec<u64> = a.iter().chain(&b).copied().collect();
        let whole = run(&pooled);
        prop_assert_eq!(&merged.histograms, &whole.histograms);
        prop_assert_eq!(merged.commit_us, whole.commit_us);
        prop_assert_eq!(merged.ops, whole.ops);
        prop_assert_eq!(merged.proof.commits, whole.proof.commits);
        let elapsed_s = 0.5 + pooled.len() as f64 / 128.0;
        prop_assert!(close(merged.elapsed_s, elapsed_s));
        prop_assert!(close(merged.iops, pooled.len() as f64 / elapsed_s));
        prop_assert!(close(merged.mib_per_s, merged.iops / 256.0));
        prop_assert!(close(merged.commits_per_s.unwrap(), merged.iops));
        let busy_s = |result: &TestResult| result.in_flight.unwrap() * result.elapsed_s;
        prop_assert!(close(busy_s(&merged), busy_s(&whole)));
    }

    #[test]
    fn order_and_grouping_do_not_matter(a in latencies(), b in latencies(), c in latencies()) {
        let [a, b, c] = [run(&a), run(&b), run(&c)];
        let merge = |parts: &[&TestResult]| TestResult::merged(parts).unwrap();
        let left = merge(&[&merge(&[&a, &b]), &c]);
        let right = merge(&[&a, &merge(&[&b, &c])]);
        let turned = merge(&[&c, &b, &a]);
        // All but the order of the seconds, and the last digits of floating-point sums.
        for other in [&right, &turned] {
            prop_assert_eq!(&left.histograms, &other.histograms);
            prop_assert_eq!(left.commit_us, other.commit_us);
            prop_assert_eq!((left.ops, left.proof.writes), (other.ops, other.proof.writes));
            let device = |result: &TestResult| result.proof.device.unwrap();
            prop_assert_eq!(device(&left).flushes, device(other).flushes);
            prop_assert_eq!(device(&left).flushes_per_commit, device(other).flushes_per_commit);
            let means = [&left, other].map(|result| device(result).flush_mean_us.unwrap_or(0.0));
            prop_assert!(close(means[0], means[1]));
            prop_assert!(close(left.iops, other.iops) && close(left.mib_per_s, other.mib_per_s));
            prop_assert!(close(left.cpu.user_s, other.cpu.user_s));
            prop_assert_eq!(left.series.iops.len(), other.series.iops.len());
            prop_assert_eq!(left.series.commit_bins.len(), other.series.iops.len());
        }
        prop_assert_eq!(&left.series, &right.series);
    }
}

#[test]
fn a_single_result_stays_what_it_was_but_for_its_steady_state() {
    let one = run(&[1000; 600]);
    assert!(one.steady_state.is_some());
    let merged = TestResult::merged(&[&one]).unwrap();
    assert_eq!(merged, TestResult { steady_state: None, ..one });
}

#[test]
fn another_workload_is_refused_by_the_field_that_differs() {
    let one = run(&[1000]);
    let mut other = one.clone();
    other.workload.seed += 1;
    assert!(TestResult::merged(&[&one, &other]).is_ok());
    other.workload.sync_every = 8;
    let refused = TestResult::merged(&[&one, &other]).unwrap_err().to_string();
    insta::assert_snapshot!(refused, @"the workloads of `write + fsync` differ: `sync_every` is 1 in one result and 8 in another");
    assert_eq!(TestResult::merged(&[]), Err(MergeError::TooFew));
}

#[test]
fn percentiles_without_their_distribution_and_unequal_intervals_are_refused() {
    let one = run(&[1000; 100]);
    let mut text = one.clone();
    text.histograms.sync = None;
    insta::assert_snapshot!(TestResult::merged(&[&one, &text]).unwrap_err(), @"`write + fsync` has sync latency percentiles but no histogram, and percentiles cannot be added up");
    let mut coarse = one.clone();
    coarse.series.interval_s = 5.0;
    insta::assert_snapshot!(TestResult::merged(&[&one, &coarse]).unwrap_err(), @"the series of `write + fsync` have different intervals: 1 s and 5 s");
}

#[test]
fn device_counts_add_up_and_means_are_weighted() {
    let (mut one, other) = (run(&[1000; 100]), run(&[1000; 300]));
    one.proof.device.as_mut().unwrap().bytes_per_byte = Some(6.0);
    let merged = TestResult::merged(&[&one, &other]).unwrap();
    let proof = &merged.proof;
    assert_eq!((proof.reads, proof.writes, proof.syncs, proof.commits), (0, 400, 400, 400));
    let device = proof.device.unwrap();
    assert_eq!((device.reads, device.writes, device.bytes_written), (2, 800, 8192 * 400));
    assert_eq!((device.flushes, device.flushes_per_commit), (Some(400), Some(1.0)));
    // 100 flushes of 100 us and 300 of 300 us; a quarter of the bytes grew by a factor of six, the
    // rest by two.
    assert!(
        close(device.flush_mean_us.unwrap(), 250.0) && close(device.bytes_per_byte.unwrap(), 3.0)
    );
    assert_eq!((merged.cpu.user_s, merged.cpu.system_s), (1.0, 0.5));
}

#[test]
fn runs_that_came_to_nothing_add_up_to_nothing() {
    let mut idle = run(&[]);
    idle.elapsed_s = 0.0;
    let merged = TestResult::merged(&[&idle, &idle]).unwrap();
    assert_eq!((merged.iops, merged.mib_per_s, merged.commits_per_s), (0.0, 0.0, Some(0.0)));
    let device = merged.proof.device.unwrap();
    assert_eq!(
        (device.flush_mean_us, device.flushes_per_commit, device.bytes_per_byte),
        (None, None, None)
    );
    // A part without an operation adds nothing to the distribution of that operation.
    idle.histograms = Histograms::default();
    let busy = run(&[1000; 100]);
    assert_eq!(TestResult::merged(&[&busy, &idle]).unwrap().histograms, busy.histograms);
}

#[test]
fn the_worst_end_and_every_remark_are_kept_once() {
    let calm = run(&[1000; 600]);
    let mut restless = calm.clone();
    restless.steady_state.as_mut().unwrap().reached = false;
    restless.notes = vec!["the file was new".to_owned()];
    restless.ended = Ended::Interrupted;
    let mut failed = calm.clone();
    failed.ended = Ended::Failed { error: "the drive is gone".to_owned() };
    let merged = TestResult::merged(&[&calm, &restless, &restless]).unwrap();
    assert_eq!(merged.ended, Ended::Interrupted);
    let notes = ["the file was new", "a merged run had not reached a steady state"];
    assert_eq!(merged.notes, notes);
    let again = TestResult::merged(&[&merged, &restless, &failed]).unwrap();
    assert_eq!(
        (again.ended, again.notes.as_slice()),
        (failed.ended, &notes.map(str::to_owned)[..])
    );
}

#[test]
fn series_of_one_interval_keep_it() {
    let mut coarse = run(&[1000; 100]);
    coarse.series.interval_s = 5.0;
    let joined = TestResult::merged(&[&coarse, &coarse]).unwrap().series;
    assert_eq!((joined.interval_s, joined.iops.len()), (5.0, 2));
}

/// A result of a tool that counts commits but does not time them.
fn counted(rate: f64, elapsed_s: f64) -> TestResult {
    let mut counted = run(&[]);
    let commits = (rate * elapsed_s) as u64;
    counted.elapsed_s = elapsed_s;
    (counted.ops, counted.iops, counted.commits_per_s) = (commits, rate, Some(rate));
    counted.proof = Proof { reads: 0, writes: commits, syncs: commits, commits, device: None };
    counted.histograms = Histograms::default();
    (counted.write_us, counted.sync_us, counted.commit_us) = (None, None, None);
    counted
}

#[test]
fn commits_that_were_only_counted_are_counted_together() {
    let merged = TestResult::merged(&[&counted(1000.0, 5.0), &counted(400.0, 15.0)]).unwrap();
    assert!(close(merged.commits_per_s.unwrap(), 550.0), "{:?}", merged.commits_per_s);
    assert_eq!((merged.proof.commits, merged.commit_us), (11_000, None));
    let mut idle = counted(0.0, 10.0);
    idle.commits_per_s = None;
    let merged = TestResult::merged(&[&counted(1000.0, 10.0), &idle]).unwrap();
    assert!(close(merged.commits_per_s.unwrap(), 500.0));
    // If one part is unknown, so is the sum.
    let mut silent = counted(1000.0, 5.0);
    silent.commits_per_s = None;
    assert_eq!(TestResult::merged(&[&counted(1000.0, 5.0), &silent]).unwrap().commits_per_s, None);
    assert_eq!(TestResult::merged(&[&silent, &silent]).unwrap().commits_per_s, None);
}

#[test]
fn the_percentiles_of_some_are_not_given_out_as_those_of_all() {
    let refused =
        TestResult::merged(&[&run(&[1000; 100]), &counted(1000.0, 5.0)]).unwrap_err().to_string();
    insta::assert_snapshot!(refused, @"one result of `write + fsync` only counts its write operations and another times them, and percentiles of some operations are not those of all");
}

#[test]
fn what_a_part_lacks_the_sum_does_not_claim() {
    let one = run(&[1000; 200]);
    let mut other = one.clone();
    other.engine = "io_uring".to_owned();
    other.proof.device = None;
    other.series.commit_bins.clear();
    other.ended = Ended::Interrupted;
    let merged = TestResult::merged(&[&one, &other]).unwrap();
    assert_eq!(merged.engine, "psync, io_uring");
    assert_eq!(merged.notes, ["the merged runs used different engines"]);
    assert_eq!(merged.proof.device, None);
    assert!(merged.series.commit_bins.is_empty());
    assert_eq!(merged.ended, Ended::Interrupted);
}

fn document(results: Vec<TestResult>) -> RunDocument {
    let kept = include_str!("../../tests/documents/run-1-model.json");
    RunDocument { results, ..RunDocument::from_json(kept).unwrap() }
}

#[test]
fn runs_merge_test_by_test_and_are_counted() {
    let a = document(vec![run(&[1000; 100]), run(&[9000; 100])]);
    let mut b = document(vec![run(&[2000; 100]), run(&[8000; 300])]);
    b.started_at = "2026-11-20T19:30:00Z".to_owned();
    let two = RunDocument::merged(&[a.clone(), b.clone()]).unwrap();
    assert_eq!(two.merged_runs, Some(2));
    assert_eq!(two.started_at, b.started_at, "the earliest that is known");
    assert_eq!(two.results.iter().map(|result| result.ops).collect::<Vec<_>>(), [200, 400]);
    assert!(two.findings.is_empty() && two.fitness.is_empty());
    assert_eq!(RunDocument::merged(&[two, a]).unwrap().merged_runs, Some(3));
}

#[test]
fn runs_of_different_kinds_are_refused() {
    let one = document(vec![run(&[1000])]);
    let refused = |change: &dyn Fn(&mut RunDocument)| {
        let mut other = one.clone();
        change(&mut other);
        RunDocument::merged(&[one.clone(), other]).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused(&|run| run.suite = "slog".to_owned()), @"the results are of different kinds: `suite` is `journal` in one and `slog` in another");
    insta::assert_snapshot!(refused(&|run| run.smoke = true), @"the results are of different kinds: `smoke` is `false` in one and `true` in another");
    insta::assert_snapshot!(refused(&|run| run.target.kind = TargetKind::File), @"the results are of different kinds: `target.kind` is `model` in one and `file` in another");
    insta::assert_snapshot!(refused(&|run| run.results.clear()), @"`write + fsync` is missing from some of the results");
    insta::assert_snapshot!(refused(&|run| run.results[0].test = "another".to_owned()), @"`write + fsync` is missing from some of the results");
    insta::assert_snapshot!(refused(&|run| run.results[0].workload.depth = 4), @"the workloads of `write + fsync` differ: `depth` is 1 in one result and 4 in another");
    assert_eq!(RunDocument::merged(std::slice::from_ref(&one)), Err(MergeError::TooFew));
    assert!(
        RunDocument::merged(&[one.clone(), one.clone()]).is_ok(),
        "one model with one seed, run twice"
    );
    let mut real = one.clone();
    real.target.kind = TargetKind::Directory;
    insta::assert_snapshot!(RunDocument::merged(&[real.clone(), real.clone()]).unwrap_err(), @"a run of `journal` is listed twice and would be counted twice");
    let dated = RunDocument { started_at: "2026-11-20T19:30:00Z".to_owned(), ..real.clone() };
    insta::assert_snapshot!(RunDocument::merged(&[dated.clone(), dated]).unwrap_err(), @"the run of 2026-11-20T19:30:00Z is listed twice and would be counted twice");
}

fn device(run: &mut RunDocument) -> &mut drive::BlockDevice {
    match &mut run.drive.as_mut().unwrap().backing {
        drive::Backing::BlockDevice(device) => device,
        drive::Backing::NoBlockDevice(_) => panic!("the document has a device"),
    }
}

#[test]
fn storage_is_the_same_by_drives_filesystem_and_without_serial_numbers_by_machine() {
    let one = document(vec![run(&[1000])]);
    let with = |change: &dyn Fn(&mut RunDocument)| {
        let mut other = one.clone();
        change(&mut other);
        let runs = [one.clone(), other];
        let kept = RunDocument::merged(&runs).unwrap().drive.is_some();
        assert_eq!(kept, RunDocument::of_one_storage(&runs));
        kept
    };
    assert!(with(&|_| ()));
    // A model's name is what the user typed.
    assert!(with(&|run| device(run).name += ",seed=2"));
    assert!(!with(&|run| device(run).model = Some("another".to_owned())));
    assert!(!with(&|run| device(run).serial = Some("S1".to_owned())));
    assert!(!with(&|run| run.host.memory_bytes = Some(1)));
    let numbered = |machine: u64, name: &str, kernel_name: &str| {
        let mut run = one.clone();
        run.host.memory_bytes = Some(machine);
        let device = device(&mut run);
        (device.serial, device.name) = (Some(name.to_owned()), kernel_name.to_owned());
        run
    };
    let drive = numbered(1, "S1", "sda");
    assert!(
        RunDocument::of_one_storage(&[drive.clone(), numbered(2, "S1", "sdb")]),
        "moved to another machine"
    );
    assert!(!RunDocument::of_one_storage(&[drive, numbered(1, "S2", "sda")]));
    let mount = drive::MountTable::parse(b"1 0 0:0 / / rw,relatime - ext4 /dev/vda rw\n")
        .unwrap()
        .mounts()[0]
        .clone();
    assert!(!with(&|run| run.drive.as_mut().unwrap().mount = Some(mount.clone())));
}

#[test]
fn imported_runs_keep_of_their_source_what_all_say() {
    let imported = |version: &str, drive: &str| {
        let mut run = document(vec![run(&[1000])]);
        let [version, drive] = [version, drive].map(|text| Some(text.to_owned()));
        run.source = Some(Source { tool: "fio".to_owned(), version, drive, disks: Vec::new() });
        run
    };
    let runs = [imported("3.33", "a drive"), imported("3.36", "a drive")];
    let source = RunDocument::merged(&runs).unwrap().source.unwrap();
    assert_eq!(
        source,
        Source { tool: "fio".to_owned(), drive: Some("a drive".to_owned()), ..Source::default() }
    );
}

#[test]
fn tests_that_could_not_run_are_listed_once_each() {
    let skipped = |tests: &[&str]| {
        let skip =
            |test: &&str| Skipped { test: (*test).to_owned(), because: "no room".to_owned() };
        let mut run = document(vec![run(&[1000])]);
        run.skipped = tests.iter().map(skip).collect();
        run
    };
    let merged = RunDocument::merged(&[skipped(&["a", "b"]), skipped(&["b", "c"])]).unwrap();
    assert_eq!(merged.skipped, skipped(&["a", "b", "c"]).skipped);
}
