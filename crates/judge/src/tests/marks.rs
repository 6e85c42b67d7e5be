//! The thresholds of findings and grades, each from both sides.

use drive::{Transport, WriteCache};
use measurement::{Confidence, Fitness, Grade, TestResult, Use};
use workload::Submission;
use workload::SyncMethod::{self, Fdatasync, Fsync, None as NoSync, ODsync};

use super::{AsCase as _, ids};
use crate::case::Case;
use crate::findings::findings;
use crate::fitness::fitness;
use crate::flush_path::FlushPath;
use samples::machine::{Machine, on, raw, read, write};
use samples::place::drive;

type Change = fn(&mut TestResult);

/// Sets the median of a result.
fn exactly(mut result: TestResult, p50_us: f64) -> TestResult {
    for latency in
        [&mut result.read_us, &mut result.write_us, &mut result.commit_us].into_iter().flatten()
    {
        (latency.p50, latency.p99, latency.p99_9) = (p50_us, p50_us, p50_us);
    }
    result.commits_per_s = result.commits_per_s.map(|_| 1e6 / p50_us);
    result
}

fn timed(sync: SyncMethod, p50_us: f64) -> TestResult {
    exactly(write(sync, p50_us, 0.0).result(), p50_us)
}

fn reading(p50_us: f64) -> TestResult {
    exactly(read(p50_us).result(), p50_us)
}

fn nvme(results: Vec<TestResult>) -> Machine {
    Machine { results, ..on("ext4", "rw", drive("nvme0n1", Transport::Nvme)) }
}

fn has(machine: &Machine, id: &str) -> bool {
    ids(machine).iter().any(|found| found == id)
}

#[test]
fn a_method_costs_more_or_less_from_its_ratio_on() {
    let dearer = |fsync: f64| {
        has(
            &nvme(vec![timed(Fsync, fsync), timed(Fdatasync, 1000.0)]),
            "fsync-dearer-than-fdatasync",
        )
    };
    assert!(dearer(1250.0) && !dearer(1249.0));
    let cheaper = |o_dsync: f64| {
        has(&nvme(vec![timed(ODsync, o_dsync), timed(Fdatasync, 1000.0)]), "o-dsync-cheaper")
    };
    assert!(cheaper(800.0) && !cheaper(801.0));
}

#[test]
fn o_dsync_is_ignored_if_it_is_free_and_a_flush_is_not() {
    let ignored = |o_dsync: f64, fsync: f64| {
        has(
            &nvme(vec![timed(NoSync, 100.0), timed(ODsync, o_dsync), timed(Fsync, fsync)]),
            "o-dsync-ignored",
        )
    };
    assert!(ignored(130.0, 390.0) && !ignored(131.0, 1000.0) && !ignored(130.0, 389.0));
    assert!(
        ignored(100.0, 350.0) && !ignored(100.0, 349.0),
        "protected drives also take that long"
    );
}

#[test]
fn commits_scale_from_a_gain_of_one_and_a_half_on() {
    let scaling = |many_rate: f64| {
        let (mut one, mut many) =
            (write(Fsync, 10.0, 900.0).result(), write(Fsync, 10.0, 900.0).jobs(4).result());
        (one.commits_per_s, many.commits_per_s) = (Some(100.0), Some(many_rate));
        !has(&nvme(vec![one, many]), "commits-do-not-scale")
    };
    assert!(scaling(150.0) && !scaling(149.0));
}

#[test]
fn flushes_merge_if_several_commits_share_one() {
    let merging = |alone: f64, together: f64| {
        let one = write(Fsync, 10.0, 900.0).flushes(alone).result();
        let many = write(Fsync, 10.0, 900.0).jobs(4).flushes(together).result();
        has(&nvme(vec![one, many]), "concurrent-flushes-merge")
    };
    assert!(merging(1.0, 0.8) && !merging(1.0, 0.81));
    // A journal's second flush does not hide it; if one committer needs fewer flushes, so do many.
    assert!(merging(2.0, 0.8) && !merging(2.0, 0.9));
    assert!(merging(0.5, 0.4) && !merging(0.5, 0.41));
    assert!(!merging(1.0, 0.0) && !merging(0.0, 0.0));
}

#[test]
fn one_and_a_half_flushes_per_commit_are_several() {
    let several = |per_commit: f64| {
        has(
            &nvme(vec![write(Fsync, 10.0, 900.0).flushes(per_commit).result()]),
            "several-flushes-per-commit",
        )
    };
    assert!(several(1.5) && !several(1.49));
}

#[test]
fn protection_shows_in_the_commit_time() {
    let shows = |commit: f64| {
        let ids = ids(&nvme(vec![timed(Fsync, commit)]));
        ["power-loss-protection-likely", "no-power-loss-protection"]
            .map(|id| ids.iter().any(|found| found == id))
    };
    assert_eq!(
        [200.0, 201.0, 349.0, 350.0].map(shows),
        [[true, false], [false, false], [false, false], [false, true]]
    );
    // If the flush does any work, a commit takes three times as long as its write.
    let works = |control: f64| {
        has(&nvme(vec![timed(NoSync, control), timed(Fsync, 900.0)]), "no-power-loss-protection")
    };
    assert!(works(300.0) && !works(301.0));
}

fn disk(results: Vec<TestResult>) -> Machine {
    let mut disk = drive("sda", Transport::Sata);
    disk.queue.rotational = Some(true);
    Machine { results, ..on("xfs", "rw", disk) }
}

#[test]
fn no_rotating_disk_is_faster_than_half_a_rotation() {
    let read_and_commit = |read: f64, commit: f64| {
        let ids = ids(&disk(vec![reading(read), timed(Fdatasync, commit)]));
        ["rotation-claim-wrong", "flush-too-fast", "rotating-disk"]
            .map(|id| ids.iter().any(|found| found == id))
    };
    assert_eq!(read_and_commit(1999.0, 1999.0), [true, false, false]);
    assert_eq!(read_and_commit(2000.0, 1999.0), [false, true, true]);
    assert_eq!(read_and_commit(2000.0, 2000.0), [false, false, true]);
    let unsaid = |read: f64, commit: f64| {
        let slow = Machine {
            results: vec![reading(read), timed(Fdatasync, commit)],
            ..on("xfs", "rw", drive("sda", Transport::Sata))
        };
        has(&slow, "as-slow-as-a-rotating-disk")
    };
    assert!(unsaid(4167.0, 4167.0) && !unsaid(4166.0, 4167.0) && !unsaid(4167.0, 4166.0));
}

#[test]
fn two_fast_tests_deny_rotation_with_more_confidence() {
    let confidence = |results: Vec<TestResult>| {
        let mut guest = disk(results);
        guest.host.virtualisation = Some(drive::Virtualisation::Kvm);
        let wrong = findings(&guest.case())
            .into_iter()
            .find(|finding| finding.id == "rotation-claim-wrong");
        wrong.map(|wrong| wrong.confidence)
    };
    assert_eq!(confidence(vec![reading(100.0), timed(Fdatasync, 900.0)]), Some(Confidence::High));
    assert_eq!(
        confidence(vec![reading(100.0), timed(Fdatasync, 9000.0)]),
        Some(Confidence::Medium)
    );
    assert_eq!(confidence(vec![timed(Fdatasync, 900.0)]), Some(Confidence::Medium));
    assert_eq!(confidence(vec![reading(9000.0), timed(Fdatasync, 9000.0)]), None);
}

#[test]
fn a_virtual_flush_is_unproven_up_to_the_time_of_a_protected_one() {
    let guest = |results: Vec<TestResult>| Machine {
        results,
        ..on("xfs", "rw", drive("vda", Transport::Virtio))
    };
    let unproven =
        |p50_us: f64| has(&guest(vec![timed(Fdatasync, p50_us)]), "virtual-flush-unproven");
    assert!(unproven(200.0) && !unproven(201.0));
    let confidence = |sync: f64| {
        let mut commit = timed(Fdatasync, 100.0);
        commit.write_us.as_mut().unwrap().p50 = 100.0;
        commit.sync_us.as_mut().unwrap().p50 = sync;
        findings(&guest(vec![commit]).case()).remove(0).confidence
    };
    assert_eq!([59.0, 60.0].map(confidence), [Confidence::Medium, Confidence::Low]);
}

#[test]
fn a_file_was_limited_if_it_is_nearly_half_of_the_free_space() {
    let cut = |size_mib: u64, available_mib: u64| {
        let mut machine = nvme(vec![write(Fsync, 10.0, 900.0).size(size_mib << 20).result()]);
        machine.place.as_mut().unwrap().space.as_mut().unwrap().available_bytes =
            available_mib << 20;
        has(&machine, "small-test-area")
    };
    assert!(cut(45, 100) && !cut(44, 100));
    // A quarter of a gibibyte suffices, however little space is free.
    assert!(cut(255, 300) && !cut(256, 300));
}

#[test]
fn flushes_vanish_if_enough_commits_have_hardly_any() {
    let path = |commits: u64, flushes: u64, belief: Option<WriteCache>| {
        let mut result = write(Fsync, 10.0, 900.0).flushes(1.0).result();
        result.proof.commits = commits;
        let counted = result.proof.device.as_mut().unwrap();
        counted.flushes = Some(flushes);
        counted.flushes_per_commit = Some(flushes as f64 / commits as f64);
        let mut device = drive("nvme0n1", Transport::Nvme);
        device.queue.write_cache = belief;
        let machine = Machine { results: vec![result], ..on("ext4", "rw", device) };
        FlushPath::of(&machine.case())
    };
    let back = Some(WriteCache::WriteBack);
    assert_eq!(path(100, 1, back), FlushPath::Vanished { commits: 100, flushes: 1 });
    assert_eq!(path(100, 2, back), FlushPath::Counted { per_commit: 0.02 });
    assert_eq!(path(20, 0, back), FlushPath::Vanished { commits: 20, flushes: 0 });
    assert_eq!(path(19, 0, back), FlushPath::Unobserved);
    assert_eq!(path(100, 0, None), FlushPath::Unobserved, "the kernel assumes no cache");
    assert_eq!(path(100, 100, Some(WriteCache::WriteThrough)), FlushPath::NotNeeded);
}

#[test]
fn grades_hold_from_their_mark_on() {
    let graded = |machine: &Machine, used: Use| {
        let Fitness { grade, because } = fitness(&machine.case()).remove(&used).unwrap();
        (grade, because)
    };
    let ceph = |rate: f64| {
        let mut result = timed(Fsync, 1000.0);
        result.commits_per_s = Some(rate);
        graded(&nvme(vec![result]), Use::CephOsd).0
    };
    for (mark, grade, below) in [
        (25_000.0, Grade::Excellent, Grade::Good),
        (10_000.0, Grade::Good, Grade::Fair),
        (2_000.0, Grade::Fair, Grade::Poor),
        (200.0, Grade::Poor, Grade::Unfit),
    ] {
        assert_eq!([ceph(mark), ceph(mark - 1.0)], [grade, below]);
    }
    let slog = |p50_us: f64| graded(&nvme(vec![timed(Fsync, p50_us)]), Use::ZfsSlog).0;
    assert_eq!([slog(2000.0), slog(2001.0)], [Grade::Poor, Grade::Unfit]);
    let etcd = |p99_us: f64| {
        let mut result = timed(Fsync, 1000.0);
        result.commit_us.as_mut().unwrap().p99 = p99_us;
        graded(&nvme(vec![result]), Use::DatabaseLog).1
    };
    assert!(
        etcd(10_000.0).ends_with("within etcd's limit of 10 ms.")
            && etcd(10_001.0).contains("above etcd's")
    );
}

#[test]
fn an_osd_waits_for_the_slowest_method() {
    let at = |sync: SyncMethod, rate: f64, submission: Submission| {
        let mut result = timed(sync, 100.0);
        result.commits_per_s = Some(rate);
        result.workload.submission = Some(submission);
        result
    };
    let (blocking, asynchronous) = (Submission::Blocking, Submission::Asynchronous);
    let ways = [
        at(Fsync, 9000.0, blocking),
        at(ODsync, 8000.0, blocking),
        at(ODsync, 7000.0, asynchronous),
    ];
    let because =
        |count: usize| fitness(&nvme(ways[..count].to_vec()).case())[&Use::CephOsd].because.clone();
    assert!(because(1).starts_with("9,000 commits/s (4 KiB write + fsync);"), "{}", because(1));
    assert!(
        because(2)
            .starts_with("8,000 commits/s (4 KiB write + O_DSYNC, the slower of two methods);")
    );
    assert!(because(3).contains(
        "7,000 commits/s (4 KiB write + O_DSYNC, asynchronous, the slowest of three methods)"
    ));
}

#[test]
fn cache_settings_are_compared_by_otherwise_equal_commits() {
    use workload::WriteCache::{Off, On};
    let under = |setting: workload::WriteCache, sync: SyncMethod, iops: f64| {
        let mut result = write(sync, 10.0, 10.0).result();
        (result.workload.write_cache, result.iops) = (setting, iops);
        result
    };
    let host = drive::HostFacts::default();
    let finding = |results: &[TestResult]| {
        crate::cache_setting::cache_setting(&Case::new(results, None, &host))
    };
    let id =
        |off: f64, on: f64| finding(&[under(Off, Fsync, off), under(On, Fsync, on)]).unwrap().id;
    assert_eq!(id(1250.0, 1000.0), "write-cache-better-off");
    assert_eq!(id(1249.0, 1000.0), "write-cache-makes-no-difference");
    assert_eq!(id(1000.0, 1250.0), "write-cache-better-on");
    assert_eq!(id(1000.0, 1249.0), "write-cache-makes-no-difference");
    let confidence = |off: f64, on: f64| {
        finding(&[under(Off, Fsync, off), under(On, Fsync, on)]).unwrap().confidence
    };
    assert_eq!(
        [confidence(3000.0, 1000.0), confidence(2999.0, 1000.0)],
        [Confidence::High, Confidence::Medium]
    );
    assert_eq!(
        [confidence(1000.0, 3000.0), confidence(1000.0, 2999.0)],
        [Confidence::High, Confidence::Medium]
    );
    // A loss of unsynced writes is mentioned from 30 % on.
    let price = |unsynced: f64| {
        let commits = [under(Off, Fsync, 3000.0), under(On, Fsync, 1000.0)];
        let unsynced = [under(Off, NoSync, unsynced), under(On, NoSync, 1000.0)];
        finding(&[commits, unsynced].concat()).unwrap().advice.contains("fall from 1,000")
    };
    assert!(price(699.0) && !price(700.0) && !price(2000.0));

    let base = [under(Off, Fsync, 3000.0), under(On, Fsync, 1000.0)];
    let others: [Change; 7] = [
        |result| result.workload.depth = 2,
        |result| result.workload.jobs = 2,
        |result| result.workload.sync_every = 2,
        |result| result.workload.block_bytes = 16385,
        |result| result.workload.pattern = Some(workload::Pattern::RandRead),
        |result| result.workload.write_cache = workload::WriteCache::Unchanged,
        |result| result.iops = 0.0,
    ];
    for change in others {
        let mut other = under(Off, Fsync, 9000.0);
        change(&mut other);
        assert_eq!(
            finding(&[std::slice::from_ref(&other), &base].concat()),
            finding(&base),
            "{:?}",
            other.workload
        );
    }
    let mut large = base.clone();
    large.iter_mut().for_each(|result| result.workload.block_bytes = 16384);
    assert!(finding(&large).is_some());
    large[0].workload.block_bytes = 4096;
    assert_eq!(finding(&large), None, "blocks of two sizes");
    // Random is preferred to sequential, in any order.
    let mut in_a_row = base.clone();
    for result in &mut in_a_row {
        result.workload.pattern = Some(workload::Pattern::Write);
        result.iops *= 2.0;
    }
    let title = |results: &[TestResult]| finding(results).unwrap().title;
    assert_eq!(title(&[in_a_row, base.clone()].concat()), title(&base));
}

#[test]
fn a_blocking_o_dsync_write_flushes_too_from_nearly_one_flush_each_on() {
    let noted = |per_commit: f64, fua: bool| {
        let mut device = drive("nvme1n1", Transport::Nvme);
        device.queue.fua = Some(fua);
        let machine = Machine {
            results: vec![write(ODsync, 900.0, 0.0).flushes(per_commit).result()],
            ..raw(device)
        };
        has(&machine, "o-dsync-flushes-too")
    };
    assert!(noted(0.9, true) && !noted(0.89, true));
    assert!(noted(1.8, false) && !noted(1.79, false));
}
