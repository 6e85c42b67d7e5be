//! Workloads on models behave as on real storage: the requested number of operations, no faster
//! than the drive, and for no longer than requested.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use measurement::{Outcome, TestResult};
use simdrive::{SimTarget, run, run_alone};
use workload::Plan;

/// The first test of a plan on a target.
fn result(target: &str, test: &str) -> TestResult {
    let plan = Plan::from_toml("test", &format!("[[test]]\n{test}"))
        .unwrap_or_else(|error| panic!("{error}"));
    let target = SimTarget::split(target).unwrap();
    let machine = target.machine(catalogue::find_model(target.model).unwrap()).unwrap();
    match run_alone(&machine, &plan.tests[0], &mut |_| true).unwrap() {
        Outcome::Measured(result) => *result,
        Outcome::Skipped(skipped) => panic!("{skipped:?}"),
    }
}

#[test]
fn writes_of_one_stripe_take_turns_also_beside_reads() {
    let of = |pattern: &str| {
        let test = format!("pattern = \"{pattern}\"\nsize = \"64KiB\"\ndepth = 16\ntime = \"1s\"");
        let result = result("sim:enterprise-sata,raid=5", &test);
        result.proof.writes as f64 / result.elapsed_s
    };
    assert!(of("randrw") < of("randwrite") * 1.05, "{} {}", of("randrw"), of("randwrite"));
}

#[test]
fn a_buffered_sync_waits_for_pages_that_another_writes_back() {
    let test =
        "pattern = \"randwrite\"\ndirect = false\nsync = \"fdatasync\"\ntime = \"3s\"\njobs = 4";
    let least_us = result("sim:disk-7200rpm-cache-off", test).commit_us.unwrap().min;
    assert!(least_us > 100.0, "a commit in {least_us} µs on a disk without a cache");
}

#[test]
fn an_offered_load_is_late_and_not_dropped() {
    let base =
        "pattern = \"randwrite\"\nsync = \"fdatasync\"\nsync_every = 2\ndepth = 2\ntime = \"3s\"\n";
    let free = result("sim:cloud-volume", base).iops;
    let offered = 0.8 * free;
    let held = result("sim:cloud-volume", &format!("{base}rate = {offered}")).iops;
    assert!((held / offered - 1.0).abs() < 0.03, "{held} of {offered}");
}

#[test]
fn counts_are_exact() {
    for (jobs, depth, count) in [(4, 8, 20), (8, 4, 50), (1, 1, 7)] {
        for rate in ["", "rate = 20\narrivals = \"poisson\"\n"] {
            for warm_up in ["0s", "1s"] {
                let test = format!(
                    "pattern = \"randwrite\"\njobs = {jobs}\ndepth = {depth}\ncount = \
                     {count}\nwarm_up = \"{warm_up}\"\n{rate}"
                );
                let result = result("sim:disk-7200rpm-cache-off", &test);
                assert_eq!(result.ops, jobs * count, "{test}");
            }
        }
    }
}

#[test]
fn a_low_rate_does_not_outlast_the_test() {
    for rate in ["0.2", "0.001", "0.000000001"] {
        let elapsed_s = result(
            "sim:enterprise-nvme",
            &format!("pattern = \"randwrite\"\ntime = \"2s\"\nrate = {rate}"),
        )
        .elapsed_s;
        assert!((1.9..2.1).contains(&elapsed_s), "{rate}: {elapsed_s} s");
    }
}

#[test]
fn a_job_that_needs_time_and_count_waits_beyond_the_time() {
    let test = "pattern = \"randwrite\"\nrate = 2\ncount = 5\ntime = \"1s\"\nstop \
                = \"both\"\nwarm_up = \"0s\"";
    let result = result("sim:enterprise-sata", test);
    assert_eq!(result.ops, 5);
    assert!((2.0..2.1).contains(&result.elapsed_s), "{} s", result.elapsed_s);
}

#[test]
fn step_programs_stay_within_their_files() {
    let rename = "files = { data = { size = \"64MiB\" }, tmp = { size = \"1MiB\" } }\n\
        steps = [\"write tmp same 4KiB\", \"sync tmp fsync\", \"rename tmp data\", \"write data \
                  rand 4KiB x16\", \"sync data fsync\"]\ntime = \"1s\"";
    let append = "files = { log = { size = \"64MiB\", layout = \"append\" } }\n\
        steps = [\"write log append 1MiB x100\", \"sync log fdatasync\"]\ntime = \"1s\"";
    for test in [rename, append] {
        assert!(result("sim:consumer-nvme,filesystem=ext4,capacity=2GiB", test).ops > 0);
    }
}

#[test]
fn an_array_s_journal_costs_what_its_drive_costs() {
    let iops = |target: &str| result(target, "pattern = \"randwrite\"\ntime = \"5s\"").iops;
    for cache in [
        "sim:disk-7200rpm-cache-on",
        "sim:disk-7200rpm-cache-off",
        "sim:disk-7200rpm-cache-on,write-cache=off",
    ] {
        let (plain, journalled) =
            (iops(&format!("{cache},raid=5")), iops(&format!("{cache},raid=5,journal=on")));
        assert!(journalled < plain * 0.97, "{cache}: {journalled} with a journal, {plain} without");
    }
}

#[test]
fn an_array_has_the_queues_of_all_its_members() {
    let iops = |target: &str| {
        result(target, "pattern = \"randread\"\ndepth = 512\nsize = \"16GiB\"\ntime = \"5s\"").iops
    };
    let (one, sixteen) =
        (iops("sim:disk-7200rpm-cache-on"), iops("sim:disk-7200rpm-cache-on,raid=0,members=16"));
    assert!(sixteen > one * 12.0, "{sixteen} of sixteen disks, {one} of one");
}

#[test]
fn a_model_in_which_nothing_takes_time_ends_all_the_same() {
    let mut model = catalogue::find_model("enterprise-nvme").unwrap().clone();
    (model.host.call_us, model.host.sync_us) = (0.0, 0.0);
    let catalogue::model::Parameters::SolidState(drive) = &mut model.drive else {
        panic!("it is one")
    };
    (drive.link.command_us, drive.link.read_us, drive.link.write_us) = (0.0, 0.0, 0.0);
    (drive.link.mb_per_s, drive.flash.channel_mb_per_s, drive.flash.read_us) = (1e9, 1e9, 0.0);
    let plan = Plan::from_toml(
        "test",
        "[[test]]\npattern = \"randread\"\ntime = \"1ms\"\nwarm_up = \"0s\"",
    )
    .unwrap();
    let machine = simdrive::Machine::new(model);
    let Outcome::Measured(result) = run_alone(&machine, &plan.tests[0], &mut |_| true).unwrap()
    else {
        panic!("skipped")
    };
    assert!(result.ops > 0);
}

/// The results of all tests of a plan, run at the same time.
fn together(target: &str, text: &str) -> Vec<TestResult> {
    let plan = Plan::from_toml("test", text).unwrap_or_else(|error| panic!("{error}"));
    let target = SimTarget::split(target).unwrap();
    let machine = target.machine(catalogue::find_model(target.model).unwrap()).unwrap();
    let measured = |outcome| match outcome {
        Outcome::Measured(result) => *result,
        Outcome::Skipped(skipped) => panic!("{skipped:?}"),
    };
    run(&machine, &plan.tests, &mut |_| true).unwrap().into_iter().map(measured).collect()
}

#[test]
fn tests_at_the_same_time_share_the_drive() {
    const READS: &str =
        "[[test]]\nname = \"reads\"\npattern = \"randread\"\ndepth = 4\ntime = \"2s\"\n";
    const COMMITS: &str =
        "[[test]]\nname = \"commits\"\npattern = \"randwrite\"\nsync = \"fsync\"\ntime = \"1s\"\n";
    for target in ["sim:disk-7200rpm-cache-off", "sim:consumer-nvme,filesystem=ext4"] {
        let [reads_alone, commits_alone] =
            [READS, COMMITS].map(|test| together(target, test).remove(0));
        let both = together(target, &format!("{READS}{COMMITS}with_previous = true\n"));
        let [reads, commits] = both.as_slice() else { panic!("{}", both.len()) };
        assert_eq!(
            (reads.workload.beside.as_slice(), &reads.proof.device),
            (&["commits".to_owned()][..], &None)
        );
        assert!(commits_alone.proof.device.is_some());
        // Each does its own work for its own duration, slower than alone.
        assert_eq!(
            (reads.proof.writes, commits.proof.reads, commits.proof.syncs),
            (0, 0, commits.proof.writes)
        );
        assert!((reads.elapsed_s - 2.0).abs() < 0.2 && (commits.elapsed_s - 1.0).abs() < 0.2);
        assert_eq!((reads.series.iops.len(), commits.series.iops.len()), (2, 1));
        assert!(reads.iops < reads_alone.iops, "{target}: {} and {}", reads.iops, reads_alone.iops);
        assert!(
            commits.iops < commits_alone.iops,
            "{target}: {} and {}",
            commits.iops,
            commits_alone.iops
        );
        // Once the commits have ended, reads are at full speed again.
        if target.contains("disk") {
            let [beside, after] = [reads.series.iops[0], reads.series.iops[1]];
            assert!(beside < after * 0.9, "{target}: {beside} and {after}");
        }
        for result in [reads, commits] {
            assert!(
                (result.in_flight.unwrap() - f64::from(result.workload.depth)).abs() < 0.1,
                "{result:?}"
            );
        }
    }
}
