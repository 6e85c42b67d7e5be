//! The finding of each probe.

use drive::Transport;
use measurement::{Confidence, DeviceProof, Finding, TestResult};
use workload::SyncMethod::{Fsync, None as NoSync};
use workload::{Arrivals, Layout, Pattern, SyncMethod, WriteCache};

use super::AsCase as _;
use crate::probes::probes;
use samples::machine::{Machine, raw, write};
use samples::place::drive;

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;
/// Block size of long writes.
const LONG_BLOCK_BYTES: u64 = 1_000_000;

/// A write of 4 KiB that bypasses the page cache, synced or not.
fn one(pattern: Pattern, sync: SyncMethod) -> TestResult {
    let mut result = write(sync, 20.0, 10.0).result();
    result.workload.pattern = Some(pattern);
    result
}

fn found_on(machine: &Machine, results: &[TestResult], id: &str) -> Option<Finding> {
    let machine = Machine { results: results.to_vec(), ..machine.clone() };
    probes(&machine.case()).into_iter().find(|finding| finding.id == id)
}

/// The finding from `results`, which must not change if results of unrelated tests are added.
fn found(results: &[TestResult], id: &str) -> Option<Finding> {
    let machine = raw(drive("nvme1n1", Transport::Nvme));
    let found = found_on(&machine, results, id);
    for stranger in unrelated_tests(&results[0]) {
        let all = [results, &[stranger]].concat();
        assert_eq!(found_on(&machine, &all, id), found, "{:?}", all.last().unwrap().workload);
    }
    found
}

/// Tests that a probe must not confuse with `like`: each differs in one parameter, and in every
/// figure.
fn unrelated_tests(like: &TestResult) -> Vec<TestResult> {
    let mut odd = like.clone();
    (odd.iops, odd.mib_per_s, odd.elapsed_s) = (1e9, 1e9, 1e9);
    (odd.workload.streams, odd.workload.sync_every) = (1000, 1000);
    odd.workload.size_bytes = 1 << 50;
    odd.proof.writes *= 1000;
    odd.series.iops = vec![1e9; 1000];
    odd.sync_us = odd.sync_us.map(|sync| measurement::LatencySummary { mean: 1e9, ..sync });
    odd.steady_state = None;
    let changed = |change: &dyn Fn(&mut TestResult)| {
        let mut odd = odd.clone();
        change(&mut odd);
        odd
    };
    let mut unrelated_tests = vec![
        changed(&|odd| odd.workload.jobs = 2),
        changed(&|odd| odd.workload.direct = false),
        changed(&|odd| odd.workload.layout = Some(Layout::Append)),
        changed(&|odd| odd.workload.pattern = Some(Pattern::RandRead)),
        changed(&|odd| {
            odd.workload.rate = Some(measurement::RateRecord {
                per_second: 1.0,
                reads_per_second: None,
                arrivals: Arrivals::Constant,
            });
        }),
        changed(&|odd| odd.workload.write_cache = WriteCache::Off),
        changed(&|odd| odd.workload.sync = Some(SyncMethod::ODsync)),
    ];
    // A long write may have any depth.
    if like.workload.block_bytes != LONG_BLOCK_BYTES {
        unrelated_tests.push(changed(&|odd| odd.workload.depth = 7));
    }
    if like.workload.sync == Some(NoSync) {
        // A test without a measurement.
        unrelated_tests.push(changed(&|odd| odd.iops = 0.0));
    }
    unrelated_tests
}

/// Appends, as pairs of the number of locations and MiB/s.
fn places(points: &[(u32, f64)]) -> Vec<TestResult> {
    let of = |&(places, mib_per_s): &(u32, f64)| {
        let mut result = one(Pattern::Write, NoSync);
        (result.workload.streams, result.mib_per_s) = (places, mib_per_s);
        result
    };
    points.iter().map(of).collect()
}

#[test]
fn open_blocks_are_the_last_number_of_locations_before_the_collapse() {
    let finding_of = |points: &[(u32, f64)]| {
        let finding = found(&places(points), "open-blocks").unwrap();
        (finding.title, finding.confidence, finding.evidence[0].value.as_f64().unwrap())
    };
    assert_eq!(
        finding_of(&[(5, 20.0), (1, 100.0), (3, 95.0), (4, 90.0), (8, 15.0)]),
        (
            "/dev/nvme1n1 appends to 4 locations at once; at 5 it falls from 90 to 20 MiB/s."
                .to_owned(),
            Confidence::High,
            4.0
        )
    );
    assert_eq!(
        finding_of(&[(1, 100.0), (2, 95.0), (4, 90.0), (8, 20.0)]),
        (
            "/dev/nvme1n1 appends to 4 to 7 locations at once; at 8 it falls from 90 to 20 MiB/s."
                .to_owned(),
            Confidence::Medium,
            4.0
        )
    );
    // 60 % of the slowest previous speed is not a collapse yet.
    assert_eq!(
        finding_of(&[(1, 110.0), (2, 100.0), (4, 80.0), (8, 60.0)]),
        (
            "/dev/nvme1n1 appends to 8 locations at once without slowing down: its translation \
             layer maps pages."
                .to_owned(),
            Confidence::Medium,
            110.0
        )
    );
    assert_eq!(
        found(&places(&[(1, 100.0), (2, 95.0), (4, 20.0)]), "open-blocks"),
        None,
        "too few points"
    );
    let mut rested = places(&[(1, 100.0), (2, 95.0), (4, 90.0), (8, 20.0)]);
    rested.iter_mut().for_each(|result| result.workload.rest_s = 1.0);
    assert_eq!(found(&rested, "open-blocks"), None, "bursts after a rest go into the cache");
}

/// Random writes, as pairs of KiB and MiB/s.
fn sizes(points: &[(u64, f64)]) -> Vec<TestResult> {
    let of = |&(kib, mib_per_s): &(u64, f64)| {
        let mut result = one(Pattern::RandWrite, NoSync);
        (result.workload.block_bytes, result.mib_per_s) = (kib * KIB, mib_per_s);
        result
    };
    points.iter().map(of).collect()
}

#[test]
fn an_erase_block_is_the_size_that_reaches_the_best_speed() {
    let finding_of = |last: [f64; 3]| {
        let [half, block, twice] = last;
        let points =
            [(16, 10.0), (64, 20.0), (256, 30.0), (1024, half), (4096, block), (16384, twice)];
        let finding = found(&sizes(&points), "erase-block").unwrap();
        (finding.title, finding.evidence[0].value.as_f64().unwrap())
    };
    let (title, bytes) = finding_of([40.0, 100.0, 99.0]);
    assert_eq!(
        title,
        "/dev/nvme1n1 maps blocks of 4 MiB: random writes of 1 MiB run at 40 MiB/s, of 4 MiB at \
         100."
    );
    assert!((bytes - 4194304.0).abs() < 1e-9);
    // 85 % of the best speed counts as reached, and half a block reaches at most 75 % of a whole
    // one's.
    assert!(finding_of([63.75, 85.0, 100.0]).0.contains("of 4 MiB"));
    assert!(finding_of([63.0, 84.0, 100.0]).0.contains("shows no erase block"));
    let (title, slowest) = finding_of([64.0, 85.0, 100.0]);
    assert_eq!(
        title,
        "/dev/nvme1n1 shows no erase block: random writes get faster gradually with their size."
    );
    assert!((slowest - 10.0).abs() < 1e-9);
    let five = [(16, 10.0), (64, 20.0), (256, 30.0), (1024, 40.0), (4096, 100.0)];
    assert_eq!(found(&sizes(&five), "erase-block"), None, "too few points");
}

/// Sequential writes after a rest, as pairs of MiB and seconds.
fn bursts(points: &[(u64, f64)]) -> Vec<TestResult> {
    let of = |&(mib, elapsed_s): &(u64, f64)| {
        let mut result = one(Pattern::Write, NoSync);
        (result.workload.rest_s, result.elapsed_s) = (1.0, elapsed_s);
        result.proof.writes = mib * 256;
        result
    };
    points.iter().map(of).collect()
}

#[test]
fn a_cache_is_full_when_bursts_slow_down_to_the_medium() {
    // In MiB/s: 2000 until 1024 MiB, of which the medium has written a quarter by then; then 500.
    let seconds =
        |mib: u64| mib.min(1024) as f64 / 2000.0 + mib.saturating_sub(1024) as f64 / 500.0;
    let results = bursts(&[256, 512, 768, 1024, 1280, 1536].map(|mib| (mib, seconds(mib))));
    let finding = found(&results, "cache-size").unwrap();
    assert_eq!(
        finding.title,
        "/dev/nvme1n1 writes bursts at 2,000 MiB/s until 768 MiB fill its cache, then at 500 MiB/s."
    );
    let values: Vec<f64> =
        finding.evidence.iter().map(|evidence| evidence.value.as_f64().unwrap()).collect();
    let mib = f64::from(1 << 20);
    for (value, expected) in values.iter().zip([768.0 * mib, 2000.0, 500.0]) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{values:?}");
    }
    let unrested = |result: &TestResult| {
        let mut result = result.clone();
        result.workload.rest_s = 0.0;
        result
    };
    assert_eq!(found(&results.iter().map(unrested).collect::<Vec<_>>(), "cache-size"), None);
}

#[test]
fn bursts_that_all_go_at_one_speed_show_no_cache() {
    let straight = [1, 2, 3, 4, 5].map(|n| (100 * n, 0.1 * n as f64));
    let finding = found(&bursts(&straight), "cache-size").unwrap();
    assert_eq!(
        finding.title,
        "/dev/nvme1n1 shows no write cache: a burst of 500 MiB is as fast as a short one."
    );
    let values: Vec<f64> =
        finding.evidence.iter().map(|evidence| evidence.value.as_f64().unwrap()).collect();
    assert!(
        (values[0] - 524288000.0).abs() < 1e-6 && (values[1] - 1000.0).abs() < 1e-9,
        "{values:?}"
    );
    assert_eq!(found(&bursts(&straight[..4]), "cache-size"), None, "too few bursts");
    // A longer burst that took less time was measured too coarsely to show a knee.
    let mut rough = [
        (256, 0.10),
        (512, 0.20),
        (768, 0.30),
        (1024, 0.25),
        (1280, 1.3),
        (1536, 2.3),
        (1792, 3.3),
    ];
    assert!(found(&bursts(&rough), "cache-size").unwrap().title.contains("shows no write cache"));
    rough[3].1 = 0.40;
    assert!(found(&bursts(&rough), "cache-size").unwrap().title.contains("fill its cache"));
}

/// A write after a rest, given as thousands of operations of 1 MB per interval.
fn long(thousands: &[f64]) -> TestResult {
    let mut result = one(Pattern::Write, NoSync);
    result.workload.rest_s = 1.0;
    result.workload.block_bytes = LONG_BLOCK_BYTES;
    result.series.iops = thousands.iter().map(|thousand| thousand * 1e3).collect();
    result.series.interval_s = 2.0;
    result
}

#[test]
fn a_long_write_overruns_its_cache_when_its_speed_drops_permanently() {
    // Six intervals of 2 s at 1 GB/s and half of another: 13 GB are 12.1 GiB.
    let falling = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.4, 0.4, 0.4];
    let finding = found(&[long(&falling)], "one-bit-cache").unwrap();
    assert_eq!(
        finding.title,
        "A long write on /dev/nvme1n1 falls from 954 to 381 MiB/s after 12.1 GiB."
    );
    let mib = f64::from(1 << 20);
    let values: Vec<f64> =
        finding.evidence.iter().map(|evidence| evidence.value.as_f64().unwrap()).collect();
    for (value, expected) in values.iter().zip([13e9, 1e9 / mib, 4e8 / mib]) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{values:?}");
    }
    assert_eq!(found(&[long(&falling[1..])], "one-bit-cache"), None, "too short");
    let ending_at =
        |end: f64| found(&[long(&[[1.0; 6].as_slice(), &[end; 4]].concat())], "one-bit-cache");
    assert!(ending_at(0.69).is_some() && ending_at(0.7).is_none() && ending_at(1.0).is_none());
    // The longest of several writes counts.
    let mut longest = long(&[1.0; 20]);
    longest.proof.writes *= 2;
    assert_eq!(found(&[long(&falling), longest], "one-bit-cache"), None);
    let steady =
        found(&[long(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.9, 0.9])], "steady-long-write");
    assert_eq!(
        steady.unwrap().title,
        "A long write on /dev/nvme1n1 keeps its speed: 954 MiB/s at first, 858 at the end of 2.79 GiB."
    );
    assert_eq!(found(&[long(&falling)], "steady-long-write"), None);
}

/// Writes that share a sync, as pairs of writes per sync and its mean time in microseconds.
fn flushed(pattern: Pattern, points: [(u32, f64); 4]) -> Vec<TestResult> {
    let of = |(writes, us): (u32, f64)| {
        let mut result = one(pattern, Fsync);
        result.workload.sync_every = writes;
        result.sync_us.as_mut().unwrap().mean = us;
        result
    };
    points.map(of).to_vec()
}

#[test]
fn a_flush_is_free_has_a_fixed_cost_or_depends_on_the_writes() {
    let finding_of = |us: [f64; 4]| {
        let [a, b, c, d] = us;
        found(&flushed(Pattern::Write, [(16, b), (64, d), (1, a), (32, c)]), "flush-cost")
            .unwrap()
            .title
    };
    assert_eq!(
        finding_of([50.0, 60.0, 70.0, 199.0]),
        "A flush on /dev/nvme1n1 takes at most 199 µs, regardless of how much was written before \
         it."
    );
    assert_eq!(
        finding_of([200.0; 4]),
        "A flush on /dev/nvme1n1 costs 200 µs, almost regardless of how much was written before it."
    );
    let by_itself = finding_of([1000.0, 1100.0, 1200.0, 1499.0]);
    assert_eq!(
        by_itself,
        "A flush on /dev/nvme1n1 costs 1 ms, almost regardless of how much was written before it."
    );
    assert_eq!(
        finding_of([1000.0, 1100.0, 1200.0, 1500.0]),
        "A flush on /dev/nvme1n1 costs 1 ms after one write of 4 KiB and 1.5 ms after the largest \
         amount tested."
    );
    let three = flushed(Pattern::Write, [(1, 50.0), (16, 60.0), (16, 70.0), (64, 80.0)]);
    assert_eq!(found(&three, "flush-cost"), None, "three points, one of them twice");
    let mut unsent = flushed(Pattern::Write, [(1, 0.7), (16, 0.7), (32, 0.7), (64, 0.7)]);
    for result in &mut unsent {
        result.proof.device = Some(DeviceProof {
            reads: 0,
            writes: 1000,
            writes_merged: None,
            bytes_written: 4_096_000,
            flushes: Some(0),
            flush_mean_us: None,
            flushes_per_commit: Some(0.0),
            bytes_per_byte: Some(1.0),
            medium_bytes_written: None,
        });
    }
    assert_eq!(found(&unsent, "flush-cost"), None, "no flush was sent");
}

#[test]
fn the_cost_of_scattering_is_divided_by_the_writes() {
    let row = flushed(Pattern::Write, [(1, 500.0), (4, 600.0), (16, 900.0), (64, 2000.0)]);
    let finding_of = |scattered: [(u32, f64); 4]| {
        let results = [row.clone(), flushed(Pattern::RandWrite, scattered)].concat();
        let evidence = found(&results, "flush-cost").unwrap().evidence;
        evidence
            .iter()
            .map(|one| (one.what.clone(), one.value.as_f64().unwrap()))
            .collect::<Vec<_>>()
    };
    let expected = |points: &[(&str, f64)]| {
        points.iter().map(|&(what, us)| (what.to_owned(), us)).collect::<Vec<_>>()
    };
    let all = [
        ("flush after one write of 4 KiB", 500.0),
        ("flush after 256 KiB in a row", 2000.0),
        ("flush after 64 scattered writes", 3575.0),
        ("each scattered write adds", 25.0),
    ];
    assert_eq!(finding_of([(1, 500.0), (4, 700.0), (16, 1500.0), (64, 3575.0)]), expected(&all));
    // No cost if the two kinds have no number of writes in common, or if scattering costs nothing.
    assert_eq!(finding_of([(1, 500.0), (4, 700.0), (16, 1500.0), (128, 3575.0)]).len(), 3);
    assert_eq!(finding_of([(1, 500.0), (4, 700.0), (16, 1500.0), (64, 2000.0)]).len(), 3);
}

/// Random writes, as pairs of the filled percentage and the final rate per second.
fn filled(points: &[(u64, f64)]) -> Vec<TestResult> {
    let of = |&(percent, iops): &(u64, f64)| {
        let mut result = one(Pattern::RandWrite, NoSync);
        result.test = format!("{percent} %");
        result.workload.size_bytes = percent * GIB;
        let steady = result.steady_state.as_mut().unwrap();
        (steady.reached, steady.iops.average) = (true, iops);
        result
    };
    points.iter().map(of).collect()
}

/// A raw drive of 100 GiB.
fn hundred() -> Machine {
    let mut device = drive("nvme1n1", Transport::Nvme);
    device.size_bytes = Some(100 * GIB);
    raw(device)
}

#[test]
fn a_fuller_drive_writes_more_slowly() {
    let finding_of = |points: &[(u64, f64)]| found_on(&hundred(), &filled(points), "fill");
    let finding = finding_of(&[(100, 4000.0), (25, 10_000.0), (50, 8000.0)]).unwrap();
    assert_eq!(
        finding.title,
        "/dev/nvme1n1 makes 10,000 random writes/s on 25 % of the drive, 4,000 on 100 % of the \
         drive, each at the end of its test."
    );
    assert!(
        finding.advice.ends_with("on 25 % of the drive it writes 2.5 times as fast."),
        "{}",
        finding.advice
    );
    assert_eq!((finding.confidence, finding.doubt), (Confidence::Medium, None));
    let less = finding_of(&[(25, 6000.0), (50, 5000.0), (100, 4000.0)]).unwrap();
    assert!(less.advice.starts_with("Nothing to do"), "exactly 1.5 times is not more than that");
    assert_eq!(finding_of(&[(25, 10_000.0), (100, 4000.0)]), None, "too few points");
}

#[test]
fn an_unsettled_drive_is_doubted_with_the_name_of_the_test() {
    let doubt = |restless: usize| {
        let mut results = filled(&[(25, 10_000.0), (50, 8000.0), (100, 4000.0)]);
        results[0].iops = 10_000.0;
        results[0].steady_state = None;
        results[1].steady_state.as_mut().unwrap().reached = restless < 2;
        let finding = found_on(&hundred(), &results, "fill").unwrap();
        assert_eq!(finding.confidence, Confidence::Low);
        finding.doubt.unwrap()
    };
    assert!(doubt(1).starts_with("`25 %` did not reach a steady state"), "{}", doubt(1));
    assert!(doubt(2).starts_with("`25 %` and 1 more did not reach a steady state"), "{}", doubt(2));
}

#[test]
fn spare_flash_is_reported_only_for_a_whole_drive() {
    // Greedy garbage collection with 7 % spare flash: write amplification by Xiang and Kurkoski.
    let amplification = |full: f64| {
        let r: f64 = 1.07 / full;
        // The other root of x e^-x = r e^-r, by iteration.
        let root = (0..500).fold(0.5_f64, |x, _| r * (x - r).exp());
        r / (r - root)
    };
    let points = [25, 50, 70, 80, 90, 95, 100]
        .map(|percent| (percent, 1e5 / amplification(percent as f64 / 100.0)));
    let finding = found_on(&hundred(), &filled(&points), "fill").unwrap();
    assert!(finding.title.ends_with("; it has about 7 % spare flash."), "{}", finding.title);
    let spare = finding.evidence.last().unwrap();
    assert!((spare.value.as_f64().unwrap() - 7.0).abs() < 1e-6, "{spare:?}");
    // The filled share of a part of a drive, or of a layer on top of drives, is unknown.
    let mut part = hundred();
    let mut layered = hundred();
    let device = |machine: &mut Machine, change: &dyn Fn(&mut drive::BlockDevice)| {
        let drive::Backing::BlockDevice(device) = &mut machine.place.as_mut().unwrap().backing
        else {
            panic!()
        };
        change(device);
    };
    device(&mut part, &|device| {
        let disk = "nvme1n1".to_owned();
        device.partition =
            Some(drive::Partition { number: Some(1), start_bytes: None, disk, disk_device: None });
    });
    device(&mut layered, &|device| device.layers = vec![drive("sda", Transport::Sata)]);
    let mut directory = hundred();
    directory.place.as_mut().unwrap().kind = drive::PlaceKind::Directory;
    for machine in [part, layered, directory] {
        let finding = found_on(&machine, &filled(&points), "fill").unwrap();
        assert!(
            finding.title.contains(" on 25 GiB, ") && !finding.title.contains("spare"),
            "{}",
            finding.title
        );
    }
}
