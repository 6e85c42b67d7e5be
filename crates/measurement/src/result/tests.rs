//! The record of a workload, and the figures that a result derives from a measurement.

use workload::{Plan, Sharing, Test};

use super::*;

/// A test of a plan with these lines.
fn test(lines: &str) -> Test {
    Plan::from_toml("plan.toml", &format!("[[test]]\n{lines}")).unwrap().tests.remove(0)
}

fn record(lines: &str) -> WorkloadRecord {
    WorkloadRecord::of(&test(lines))
}

const SYNCED: &str = "pattern = \"randwrite\"\nsync = \"fsync\"";

#[test]
fn default_values_are_left_out_and_read_back() {
    let usual = record(SYNCED);
    let unusual = WorkloadRecord {
        drain: false,
        streams: 2,
        rest_s: 1.0,
        sync_queued: true,
        sharing: Sharing::All,
        offset_bytes: 4096,
        offset_increment_bytes: 8192,
        end_fsync: true,
        verify: true,
        atomic: true,
        ..usual.clone()
    };
    let keys = [
        "drain", "streams", "rest_s", "sync_queued", "sharing", "offset_bytes",
        "offset_increment_bytes", "end_fsync", "verify", "atomic",
    ];
    for (record, written) in [(usual, false), (unusual, true)] {
        let value = serde_json::to_value(&record).unwrap();
        for key in keys {
            assert_eq!(value.get(key).is_some(), written, "{key}");
        }
        assert_eq!(serde_json::from_value::<WorkloadRecord>(value).unwrap(), record);
    }
}

#[test]
fn a_pattern_of_blocks_is_recorded_with_what_all_its_jobs_work_on() {
    let shared = record(
        "pattern = \"randwrite\"\nblock = \"8KiB\"\njobs = 4\nsize = \"1GiB\"\nsharing \
         = \"all\"\nwrite_cache = \"off\"",
    );
    assert_eq!(
        (shared.block_bytes, shared.jobs, shared.block_title().as_str()),
        (8192, 4, "8 KiB")
    );
    // Jobs that share their bytes have 1 GiB each.
    assert_eq!((shared.size_bytes, shared.sharing), (4 << 30, Sharing::All));
    assert_eq!(shared.write_cache, WriteCache::Off);
    let alone = record("pattern = \"randwrite\"\nsize = \"1GiB\"\nsharing = \"all\"");
    assert_eq!((alone.size_bytes, alone.sharing), (1 << 30, Sharing::None));
}

#[test]
fn a_queued_sync_drains_nothing_unless_nothing_is_ever_in_flight() {
    let drains = |timing: SyncTiming, depth: u64| {
        let mut workload =
            Workload::new(Pattern::RandWrite, workload::BlockBytes::new(4096).unwrap());
        (workload.sync, workload.sync_timing) = (SyncMethod::Fsync, timing);
        workload.depth = workload::Depth::new(depth).unwrap();
        WorkloadRecord::of_blocks(&workload).drain
    };
    assert!(drains(SyncTiming::Queued, 1) && !drains(SyncTiming::Queued, 8));
    assert!(drains(SyncTiming::Drained, 8) && !drains(SyncTiming::Undrained, 8));
}

#[test]
fn a_step_program_is_recorded_by_its_files_and_by_what_a_turn_writes() {
    let record = record(
        "files = { log = { size = \"16KiB\", direct = true, open = \"o_dsync\" } }\nsteps = \
         [\"write log seq 8KiB x2\"]\n\
         jobs = 3\nwrite_cache = \"off\"\ncontent = \"zero\"\nseed = 7",
    );
    assert_eq!((record.pattern, record.sync, record.block_bytes), (None, None, 16 << 10));
    assert_eq!((record.jobs, record.size_bytes, record.seed), (3, 48 << 10, 7));
    assert_eq!(
        (record.direct, record.write_cache, record.content),
        (true, WriteCache::Off, Content::Zero)
    );
    assert_eq!(record.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["log"]);
    assert_eq!(record.steps, ["write log seq 8KiB x2"]);
}

#[test]
fn a_sort_is_recorded_by_its_records_memory_and_blocks() {
    let record = record(
        "sort = \"composite\"\nsize = \"1GiB\"\nmemory = \"64MiB\"\nblock = \"256KiB\"\njobs = \
         4\nrest = \"2s\"\n\
         direct = true\nwrite_cache = \"off\"\nseed = 7",
    );
    assert_eq!((record.pattern, record.block_bytes, record.jobs), (None, 256 << 10, 4));
    assert_eq!((record.size_bytes, record.seed, record.rest_s), (1 << 30, 7, 2.0));
    assert_eq!((record.direct, record.write_cache), (true, WriteCache::Off));
    let sort = record.sort.unwrap();
    assert_eq!((sort.keys, sort.memory_bytes), (workload::SortKeys::Composite, 64 << 20));
}

#[test]
fn depth_is_constant_unless_a_rate_a_sync_or_a_restart_empties_the_queue() {
    let depth = |lines: &str| record(lines).constant_depth();
    let deep = "pattern = \"randwrite\"\ndepth = 8\njobs = 3\n";
    assert_eq!(depth(deep), Some(24));
    assert_eq!(depth(&format!("{deep}sync = \"o_dsync\"")), Some(24));
    assert_eq!(depth(&format!("{deep}sync = \"fsync\"\nsync_every = 8")), None);
    assert_eq!(depth(&format!("{deep}rate = 100")), None);
    assert_eq!(depth("pattern = \"write\"\ndepth = 8\nlayout = \"append\""), None);
    assert_eq!(depth("sort = \"urls\"\nsize = \"1GiB\"\nmemory = \"64MiB\""), None);
}

/// `count` latencies of `ms` milliseconds each.
fn latencies(count: u64, ms: u64) -> Histogram {
    let mut histogram = Histogram::new();
    histogram.record_n(ms * 1_000_000, count);
    histogram
}

fn result(test: &Test, elapsed_s: f64) -> TestResult {
    let measured = Measured {
        workload: WorkloadRecord::of(test),
        engine: "psync",
        elapsed_s,
        turns: None,
        bytes: 4 << 20,
        histograms: Histograms {
            read: Some(latencies(1000, 2)),
            write: Some(latencies(500, 4)),
            sync: Some(latencies(500, 8)),
            commit: Some(latencies(500, 12)),
        },
        series: Series { iops: vec![1.0; 5], commit_p50_us: vec![Some(1.0); 5], ..Series::new() },
        proof: Proof { reads: 1000, writes: 500, syncs: 500, commits: 500, device: None },
        cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
        ended: Ended::Limit,
        notes: Vec::new(),
    };
    TestResult::new(&test.name, measured)
}

#[test]
fn rates_are_counts_over_the_time_measured_and_in_flight_is_latency_over_it() {
    let result = result(&test(SYNCED), 4.0);
    assert_eq!((result.ops, result.iops, result.mib_per_s), (1500, 375.0, 1.0));
    assert_eq!(result.commits_per_s, Some(125.0));
    // 1000 reads of 2 ms, 500 writes of 4 ms and 500 syncs of 8 ms are 8 s in 4 s; the commits are
    // the same writes and syncs again.
    assert!((result.in_flight.unwrap() - 2.0).abs() < 0.002, "{:?}", result.in_flight);
}

#[test]
fn nothing_measured_is_a_rate_of_zero() {
    let result = result(&test(SYNCED), 0.0);
    assert_eq!((result.iops, result.mib_per_s, result.commits_per_s), (0.0, 0.0, Some(0.0)));
}

#[test]
fn a_sort_has_its_figures_and_no_steady_state() {
    let result = result(&test(SYNCED), 5.0);
    assert!(result.steady_state.is_some_and(|steady| steady.reached));
    let figures = SortFigures { sorts: 1, ..SortFigures::default() };
    let sorted = result.with_sort(figures);
    assert_eq!((sorted.sort, sorted.steady_state), (Some(figures), None));
}

#[test]
fn the_interface_matters_only_to_writes_that_are_durable_by_themselves() {
    let submission = |sync: SyncMethod, depth: u32, engine: &str, own: Option<Submission>| {
        let mut result = result(&test(SYNCED), 5.0);
        (result.workload.sync, result.workload.depth) = (Some(sync), depth);
        (result.workload.submission, result.engine) = (own, engine.to_owned());
        result.comparable_workload().submission
    };
    let of_engine = |engine: &str, depth: u32| submission(SyncMethod::OSync, depth, engine, None);
    assert_eq!([1, 8].map(|depth| of_engine("psync", depth)), [Some(Submission::Blocking); 2]);
    assert_eq!(
        [1, 8].map(|depth| of_engine("io_uring", depth)),
        [Some(Submission::Asynchronous); 2]
    );
    assert_eq!(of_engine("libaio", 1), Some(Submission::Asynchronous));
    // A model behaves like the engine that `auto` selects.
    assert_eq!(of_engine("sim", 1), Some(Submission::Blocking));
    assert_eq!(of_engine("sim", 8), Some(Submission::Asynchronous));
    assert_eq!(of_engine("null", 1), None);
    let recorded = Some(Submission::Asynchronous);
    assert_eq!(submission(SyncMethod::ODsync, 1, "psync", recorded), recorded);
    for sync in [SyncMethod::None, SyncMethod::Fsync, SyncMethod::Fdatasync] {
        assert_eq!(submission(sync, 1, "psync", recorded), None, "{sync:?}");
    }
}

#[test]
fn an_application_waits_for_the_commit_else_for_the_write_else_for_the_read() {
    let whole = result(&test(SYNCED), 5.0);
    assert_eq!(whole.headline_us(), whole.commit_us);
    let unsynced = TestResult { commit_us: None, commits_per_s: None, ..whole };
    assert_eq!(unsynced.headline_us(), unsynced.write_us);
    let reading = TestResult { write_us: None, ..unsynced.clone() };
    assert_eq!(reading.headline_us(), reading.read_us);
    // If commits were counted but not timed, the headline latency is unknown.
    let committing = |rate: f64| TestResult { commits_per_s: Some(rate), ..unsynced.clone() };
    assert_eq!(committing(100.0).headline_us(), None);
    assert_eq!(committing(0.0).headline_us(), unsynced.write_us);
}

#[test]
fn a_single_commit_of_4_kib_stands_for_a_run() {
    let commit = result(&test(SYNCED), 5.0);
    let with = |change: &dyn Fn(&mut TestResult)| {
        let mut other = commit.clone();
        (other.workload.block_bytes, other.workload.depth, other.workload.jobs) = (4096, 1, 1);
        other.workload.sync_every = 1;
        change(&mut other);
        other
    };
    let unsynced = with(&|other| (other.commit_us, other.commits_per_s) = (None, None));
    let at_depth = with(&|other| other.workload.depth = 8);
    let large = with(&|other| other.workload.block_bytes = 8192);
    let (single, untimed) = (with(&|_| ()), with(&|other| other.commit_us = None));
    let leading = |results: &[&TestResult]| {
        TestResult::leading(&results.iter().map(|&one| one.clone()).collect::<Vec<_>>())
    };
    assert_eq!(leading(&[&unsynced, &at_depth, &large, &single]), Some(3));
    assert_eq!(leading(&[&unsynced, &at_depth, &large]), Some(2));
    assert_eq!(leading(&[&unsynced, &at_depth, &at_depth]), Some(1));
    assert_eq!(leading(&[&untimed, &unsynced]), Some(1));
    assert_eq!(leading(&[&untimed]), None);
}
