//! Tests the tester: every way in which a drive can lie, alone and in pairs, against the verdict.
//! Sector by sector, everything wrong is found with the right class, and nothing else is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sim_disk;

use std::collections::{BTreeMap, BTreeSet};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim_disk::{Fault, SimDisk};
use verify::survey::Survey;
use verify::{
    Class, Frontiers, Geometry, Lane, LaneKind, Obligations, RunHeader, Schedule, Stepped, Verdict,
    judge,
};

/// Duration of an operation in the simulation.
const OPERATION_US: u64 = 100;

struct Played {
    run: RunHeader,
    disk: SimDisk,
    obligations: Obligations,
    /// The true progress of each lane.
    durable: Vec<u64>,
    verdict: Verdict,
}

#[derive(Clone, Copy)]
struct Play<'a> {
    geometry: Geometry,
    faults: &'a [Fault],
    protected: bool,
    operations: u64,
    /// The recorder misses this many of the last operations.
    unheard: u64,
    /// Judged without recorded obligations.
    alone: bool,
    seed: u64,
}

fn geometry() -> Geometry {
    Geometry {
        sector_bytes: 512,
        record_sectors: 4,
        slots_per_lane: 64,
        flush_lanes: 3,
        fua_lanes: 2,
        control_lanes: 1,
        writes_per_sync: 1,
    }
}

impl Play<'_> {
    fn of(faults: &[Fault], seed: u64) -> Play<'_> {
        Play {
            geometry: geometry(),
            faults,
            protected: false,
            operations: 1500,
            unheard: 0,
            alone: false,
            seed,
        }
    }

    fn play(self) -> Played {
        let run = RunHeader::plain(0x1000 + self.seed, self.geometry);
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut disk = SimDisk::new(&run, self.faults, self.protected, self.seed ^ 0xabcd);
        let frontiers = Frontiers::new(&run.geometry);
        let mut obligations = Obligations::new(&run.geometry);
        let lanes = run.geometry.lanes();
        for lane in 0..lanes {
            frontiers.extend(lane, u64::MAX);
            obligations.lease(lane, u64::MAX).unwrap();
        }
        let mut writers: Vec<Lane<'_>> =
            (0..lanes).map(|lane| Lane::new(&run, lane, &frontiers)).collect();
        let mut next = |writers: &mut Vec<Lane<'_>>, disk: &mut SimDisk| {
            let lane = draws.next_u64() % u64::from(lanes);
            assert_ne!(writers[lane as usize].step(disk).unwrap(), Stepped::Waits);
            lane as u16
        };
        for operation in 0..self.operations {
            let lane = next(&mut writers, &mut disk);
            if operation + self.unheard < self.operations {
                obligations
                    .acknowledge(operation * OPERATION_US, lane, frontiers.of(lane))
                    .unwrap();
            }
            if operation == self.operations * 9 / 10 {
                disk.remember();
            }
        }
        // Operations in flight at the power cut: executed by the drive, but not recorded.
        for _ in 0..lanes {
            next(&mut writers, &mut disk);
        }
        drop(writers);
        disk.cut();
        let survey = Survey::take(&mut disk, &run, &mut |_| true).unwrap();
        let heard = Some(&obligations).filter(|_| !self.alone);
        let verdict = judge(&run, heard, &survey);
        let durable = (0..lanes).map(|lane| frontiers.of(lane).durable).collect();
        Played { run, disk, obligations, durable, verdict }
    }
}

const MISSING: [Class; 5] =
    [Class::Lost, Class::Unserializable, Class::RolledBack, Class::Shorn, Class::Flying];

/// Checks every sector of the verdict against the truth, and returns the classes found.
fn compare(played: &Played, what: &str) -> BTreeSet<Class> {
    let Played { run, disk, obligations, durable, verdict } = played;
    assert_eq!(verdict.never_issued, None, "{what}");
    let mut named: BTreeMap<u64, BTreeSet<Class>> = BTreeMap::new();
    for finding in &verdict.findings {
        for &sector in &finding.sectors {
            named.entry(sector).or_default().insert(finding.class);
        }
    }
    if verdict.findings.iter().all(|finding| finding.class != Class::Dead) {
        for number in 0..run.geometry.sectors() {
            let place = run.geometry.location(number);
            let schedule = Schedule::new(run.run_id, &run.geometry, place.lane);
            let heard = obligations.lanes[usize::from(place.lane)].frontier.durable;
            let required = schedule.version_at(place.index, heard);
            // Surviving records may prove more than was recorded.
            let provable = schedule.version_at(place.index, durable[usize::from(place.lane)]);
            let (version, wrong) = disk.truth(number);
            let named = named.remove(&number).unwrap_or_default();
            let context = || {
                format!(
                    "{what}: sector {number} holds {version}, must {required}, wrong {wrong:?}, \
                     named {named:?}"
                )
            };
            if wrong.contains(&Class::Unreadable) {
                assert_eq!(named, BTreeSet::from([Class::Unreadable]), "{}", context());
            } else if !wrong.is_empty() {
                // A record that is wrong in two ways is reported with one class.
                let finding =
                    verdict.findings.iter().find(|finding| finding.sectors.contains(&number));
                assert!(named.len() == 1 && named.is_subset(wrong), "{}: {finding:#?}", context());
            } else if version < required {
                assert!(
                    named.len() == 1 && named.iter().all(|class| MISSING.contains(class)),
                    "{}",
                    context()
                );
            } else if version < provable && !named.is_empty() {
                assert!(
                    named.len() == 1 && named.iter().all(|class| MISSING.contains(class)),
                    "{}",
                    context()
                );
            } else {
                assert!(named.is_empty(), "{}", context());
            }
        }
    }
    assert!(named.is_empty(), "{what}: {named:?}");
    verdict.findings.iter().map(|finding| finding.class).collect()
}

/// Each fault, the classes that it may get, and whether it must be detected in nearly every run.
fn faults() -> Vec<(Fault, Vec<Class>)> {
    use Class::{Corrupt, Dead, Flying, Lost, RolledBack, Shorn, Unreadable, Unserializable};
    vec![
        (Fault::IgnoreFlush, vec![Lost, Unserializable, RolledBack]),
        (Fault::IgnoreFua, vec![Lost, Unserializable, RolledBack]),
        (Fault::AckEarly(200), vec![RolledBack]),
        (Fault::BarrierOnly, vec![RolledBack]),
        (Fault::Shear(50), vec![Shorn]),
        // A misdirected record may be overwritten where it landed: then it is only missing at home.
        (Fault::Misdirect(50), vec![Flying, Unserializable, Lost, RolledBack]),
        (Fault::BitFlip(50), vec![Corrupt]),
        (Fault::Forget(50), vec![Lost, Unserializable, RolledBack]),
        (Fault::Rollback, vec![RolledBack]),
        // The range begins and ends anywhere, also in the middle of records.
        (Fault::OldRange, vec![Lost, Unserializable, Shorn]),
        (Fault::Unreadable(200), vec![Unreadable]),
        (Fault::Dead, vec![Dead]),
    ]
}

#[test]
fn honest_drives_are_never_accused() {
    let mut control_lost = 0;
    for seed in 0..100 {
        for protected in [false, true] {
            for writes_per_sync in [1, 5] {
                let geometry = Geometry { writes_per_sync, ..geometry() };
                let played = Play { geometry, protected, ..Play::of(&[], seed) }.play();
                assert_eq!(compare(&played, &format!("seed {seed}")), BTreeSet::new());
                let tally = played.verdict.tallies;
                assert_eq!(tally.map(|tally| tally.obligations), tally.map(|tally| tally.kept));
                assert!(tally[0].obligations > 100 && tally[1].obligations > 50, "{tally:?}");
                let lost = played.verdict.legal.control_lost;
                assert!(!protected || lost == 0, "{:?}", played.verdict.legal);
                control_lost += u32::from(lost > 0);
            }
        }
    }
    // Other lanes flush all the time, which empties a simulated cache at once: few of 200 cuts find
    // writes of the control lane in it.
    assert!(control_lost > 10, "{control_lost}");
}

#[test]
fn each_fault_is_called_by_its_name() {
    for (fault, names) in faults() {
        let allowed: BTreeSet<Class> = names.into_iter().collect();
        let mut noticed = 0;
        for seed in 0..40 {
            let what = format!("{fault:?}, seed {seed}");
            let named = compare(&Play::of(&[fault], seed).play(), &what);
            assert!(named.is_subset(&allowed), "{what}: {named:?}");
            noticed += u32::from(!named.is_empty());
        }
        // A random cut sometimes loses nothing. And what FUA did not keep, the next flush of
        // another lane does.
        let least = if fault == Fault::IgnoreFua { 3 } else { 33 };
        assert!(noticed >= least, "{fault:?} was noticed in {noticed} of 40 runs");
    }
}

#[test]
fn pairs_of_faults_are_called_by_both_names() {
    let faults = faults();
    for (index, (first, first_names)) in faults.iter().enumerate() {
        for (second, second_names) in &faults[index + 1..] {
            // Two conflicting rules for flushes make a third one.
            let in_order = |fault: &Fault| matches!(fault, Fault::AckEarly(_) | Fault::BarrierOnly);
            if in_order(first) && in_order(second) {
                continue;
            }
            let mut allowed: BTreeSet<Class> =
                first_names.iter().chain(second_names).copied().collect();
            // A record with two faults may be missing in any way: a broken order makes a loss
            // provable that would not be otherwise.
            if allowed.iter().any(|class| MISSING.contains(class)) {
                allowed.extend(MISSING);
            }
            for seed in 0..8 {
                let what = format!("{first:?} and {second:?}, seed {seed}");
                let named = compare(&Play::of(&[*first, *second], seed).play(), &what);
                assert!(named.is_subset(&allowed), "{what}: {named:?}");
            }
        }
    }
}

#[test]
fn a_lost_message_accuses_nobody() {
    for seed in 0..40 {
        for unheard in [1, 100, 1500] {
            let played = Play { unheard, ..Play::of(&[], seed) }.play();
            assert_eq!(played.verdict.findings, [], "seed {seed}, {unheard} unheard");
        }
    }
}

#[test]
fn media_alone_prove_what_broke_the_order_and_nothing_of_what_kept_it() {
    let mut proven = 0;
    for seed in 0..40 {
        let honest = Play { alone: true, ..Play::of(&[], seed) }.play();
        assert_eq!(honest.verdict.findings, []);
        let in_order = Play { alone: true, ..Play::of(&[Fault::AckEarly(200)], seed) }.play();
        assert_eq!(
            in_order.verdict.findings,
            [],
            "what reverts in order is only visible from outside"
        );
        let unordered = Play { alone: true, ..Play::of(&[Fault::IgnoreFlush], seed) }.play();
        let classes: BTreeSet<Class> =
            unordered.verdict.findings.iter().map(|finding| finding.class).collect();
        assert!(classes.is_subset(&BTreeSet::from([Class::Unserializable])), "{classes:?}");
        for finding in &unordered.verdict.findings {
            let witness = finding.witness.unwrap();
            assert!(finding.found.unwrap() < finding.required && witness.seq > 0, "{finding:?}");
        }
        proven += u32::from(!classes.is_empty());
    }
    assert!(proven >= 38, "{proven}");
}

#[test]
fn fua_and_flush_are_told_apart() {
    for seed in 0..20 {
        let flush_lies = Play::of(&[Fault::IgnoreFlush], seed).play().verdict;
        assert_eq!(
            flush_lies.tallies[1].kept, flush_lies.tallies[1].obligations,
            "FUA kept its word"
        );
        assert!(flush_lies.tallies[0].kept < flush_lies.tallies[0].obligations);
        let fua_lies = Play::of(&[Fault::IgnoreFua], seed).play().verdict;
        assert_eq!(
            fua_lies.tallies[0].kept, fua_lies.tallies[0].obligations,
            "flushes kept their word"
        );
    }
}

#[test]
fn a_rollback_tells_how_far() {
    for seed in 0..20 {
        let verdict = Play::of(&[Fault::Rollback], seed).play().verdict;
        let rollback = verdict.rollback.unwrap();
        // The last tenth of 1500 operations of 100 µs; one lane in six has no obligations.
        assert!((12_000..16_000).contains(&rollback.by_us), "{rollback:?}");
        assert!((60..150).contains(&rollback.writes), "{rollback:?}");
    }
}

/// Slots for one round of writes: no fault is overwritten before the check.
fn wide() -> Geometry {
    Geometry { record_sectors: 2, slots_per_lane: 12_000, writes_per_sync: 4, ..geometry() }
}

fn million(faults: &[Fault], mut each: impl FnMut(&Played, u64)) -> u64 {
    let mut acknowledged = 0;
    let mut seed = 0;
    while acknowledged < 1_000_000 {
        let played = Play { geometry: wide(), operations: 70_000, ..Play::of(faults, seed) }.play();
        acknowledged +=
            played.verdict.tallies.iter().map(|tally| tally.acknowledged_writes).sum::<u64>();
        each(&played, seed);
        seed += 1;
    }
    acknowledged
}

#[test]
fn a_million_acknowledged_records_on_an_honest_drive_and_not_one_finding() {
    million(&[], |played, seed| {
        assert_eq!(compare(played, &format!("seed {seed}")), BTreeSet::new());
    });
}

#[test]
fn one_in_a_hundred_thousand_is_found_each_time() {
    const RATE: u64 = 100_000;
    let faults =
        [Fault::Shear(RATE), Fault::Misdirect(RATE), Fault::BitFlip(RATE), Fault::Forget(RATE)];
    let mut classes: BTreeMap<Class, u32> = BTreeMap::new();
    // The comparison checks every sector against the truth.
    million(&faults, |played, seed| {
        compare(played, &format!("seed {seed}"));
        for finding in
            played.verdict.findings.iter().filter(|finding| finding.kind != LaneKind::Control)
        {
            *classes.entry(finding.class).or_default() += 1;
        }
    });
    let named: BTreeSet<Class> = classes.keys().copied().collect();
    let expected =
        BTreeSet::from([Class::Shorn, Class::Flying, Class::Corrupt, Class::Unserializable]);
    assert!(named.is_superset(&expected), "{classes:?}");
}
