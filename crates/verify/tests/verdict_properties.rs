//! Properties of every verdict, whatever is on the target and whatever was recorded.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use verify::survey::{Damage, Oddity, Survey, Trace};
use verify::{Class, Frontier, Geometry, LaneKind, Obligations, RunHeader, Schedule, judge};

const LANES: usize = 4;

fn run() -> RunHeader {
    let geometry = Geometry {
        sector_bytes: 512,
        record_sectors: 2,
        slots_per_lane: 6,
        flush_lanes: 2,
        fua_lanes: 1,
        control_lanes: 1,
        writes_per_sync: 2,
    };
    RunHeader::plain(5, geometry)
}

/// Lanes recorded up to these operations.
fn heard(durable: [u64; LANES]) -> Obligations {
    let run = run();
    let mut obligations = Obligations::new(&run.geometry);
    for (lane, seq) in (0u16..).zip(durable) {
        obligations.lease(lane, 1000).unwrap();
        let durable = match run.geometry.kind(lane) {
            LaneKind::Flush => seq / 3 * 3,
            LaneKind::Fua => seq,
            LaneKind::Control => 0,
        };
        obligations.acknowledge(1000, lane, Frontier { completed: seq, durable }).unwrap();
    }
    obligations
}

/// A target on which each sector has the version that `version` returns.
fn survey(version: impl Fn(u64) -> u32, proven: u64) -> Survey {
    let run = run();
    let versions: Vec<u32> = (0..run.geometry.sectors()).map(version).collect();
    let mut traces = vec![Trace::default(); LANES];
    for (lane, trace) in (0u16..).zip(&mut traces) {
        let schedule = Schedule::new(run.run_id, &run.geometry, lane);
        for (number, &version) in (0u64..).zip(&versions) {
            let place = run.geometry.location(number);
            if place.lane == lane && version > 0 {
                trace.newest = trace.newest.max(schedule.seq_of(place.index, version));
            }
        }
        trace.proven = proven;
    }
    Survey { versions, oddities: BTreeMap::new(), traces }
}

/// The version that a lane's operations up to `seq` leave in each sector.
fn written(seqs: [u64; LANES]) -> impl Fn(u64) -> u32 {
    move |number| {
        let run = run();
        let place = run.geometry.location(number);
        Schedule::new(run.run_id, &run.geometry, place.lane)
            .version_at(place.index, seqs[usize::from(place.lane)])
    }
}

fn sectors(obligations: &Obligations, survey: &Survey) -> BTreeSet<u64> {
    let verdict = judge(&run(), Some(obligations), survey);
    verdict.findings.iter().flat_map(|finding| finding.sectors.clone()).collect()
}

proptest! {
    /// A drive that keeps everything written is never accused, however little or much was recorded.
    #[test]
    fn all_that_was_written_keeps_every_promise(seqs in prop::array::uniform4(0u64..60), less in prop::array::uniform4(0u64..60)) {
        let survey = survey(written(seqs), 0);
        let heard_at_most: [u64; LANES] = std::array::from_fn(|lane| seqs[lane].min(less[lane]));
        for obligations in [heard(seqs), heard(heard_at_most)] {
            let verdict = judge(&run(), Some(&obligations), &survey);
            prop_assert!(verdict.is_kept(), "{:?}", verdict.findings);
            prop_assert!(verdict.tallies.iter().all(|tally| tally.kept == tally.obligations));
        }
    }

    /// A lost message never adds an accusation.
    #[test]
    fn hearing_less_accuses_of_less(
        found in prop::collection::vec(0u32..4, 48), seqs in prop::array::uniform4(0u64..20), less in prop::array::uniform4(0u64..20),
    ) {
        let survey = survey(|number| found[number as usize], 0);
        let fewer: [u64; LANES] = std::array::from_fn(|lane| seqs[lane].min(less[lane]));
        prop_assert!(sectors(&heard(fewer), &survey).is_subset(&sectors(&heard(seqs), &survey)));
    }

    /// A later version is never worse than an earlier one.
    #[test]
    fn newer_is_never_worse(found in prop::collection::vec(0u32..3, 48), seqs in prop::array::uniform4(0u64..20), at in 0u64..48) {
        let before = survey(|number| found[number as usize], 0);
        let after = survey(|number| found[number as usize] + u32::from(number == at), 0);
        let (before, after) = (sectors(&heard(seqs), &before), sectors(&heard(seqs), &after));
        prop_assert!(after.is_subset(&before));
    }

    /// Losses that surviving records prove are unserializable, and never just lost.
    #[test]
    fn what_is_proven_is_unserializable(seqs in prop::array::uniform4(9u64..60), gone in 0u64..48, proven in 3u64..9) {
        let written = written(seqs);
        let survey = survey(|number| if number == gone { written(number).saturating_sub(9) } else { written(number) }, proven);
        for finding in judge(&run(), None, &survey).findings {
            prop_assert!(matches!(finding.class, Class::Unserializable | Class::Shorn));
            prop_assert!(finding.kind != LaneKind::Control);
        }
    }

    /// Damage is found wherever it is, and only there.
    #[test]
    fn damage_is_found_where_it_is(seqs in prop::array::uniform4(0u64..60), at in prop::collection::btree_set(0u64..48, 1..5)) {
        let mut survey = survey(written(seqs), 0);
        for &number in &at {
            survey.versions[number as usize] = Survey::ODD;
            survey.oddities.insert(number, Oddity::Corrupt(Damage::Zeros));
        }
        let verdict = judge(&run(), Some(&heard(seqs)), &survey);
        prop_assert!(verdict.findings.iter().all(|finding| finding.class == Class::Corrupt));
        prop_assert_eq!(sectors(&heard(seqs), &survey), at);
    }

    /// Versions beyond what was allowed to be written are a bug in flushmark, not a loss.
    #[test]
    fn what_was_never_issued_accuses_no_drive(number in 0u64..48) {
        let mut ahead = survey(|_| 0, 0);
        ahead.versions[number as usize] = 100_000;
        let verdict = judge(&run(), Some(&heard([0; LANES])), &ahead);
        prop_assert!(verdict.is_kept());
        prop_assert_eq!(verdict.never_issued.map(|(count, _)| count), Some(1));
    }
}

#[test]
fn evidence_beyond_the_lease_is_flushmarks_error() {
    let verdict = judge(&run(), Some(&heard([30; LANES])), &survey(written([30; LANES]), 1001));
    assert_eq!(verdict.never_issued.map(|(count, _)| count), Some(4), "of each lane");
}

#[test]
fn nothing_readable_is_dead() {
    let run = run();
    let mut survey = survey(|_| Survey::ODD, 0);
    for number in 0..run.geometry.sectors() {
        survey.oddities.insert(number, Oddity::Unreadable("Input/output error".to_owned()));
    }
    let verdict = judge(&run, Some(&heard([30; LANES])), &survey);
    let classes: Vec<Class> = verdict.findings.iter().map(|finding| finding.class).collect();
    assert_eq!(classes, [Class::Dead]);
    assert!(verdict.tallies[0].obligations > 0 && verdict.tallies[0].kept == 0);
}
