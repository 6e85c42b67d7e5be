//! Whether a drive went back in time: it lost what it had promised, and kept the order.

use std::collections::HashSet;

use super::{Bond, Class, Rollback, Verdict};
use crate::geometry::{Geometry, LaneKind};
use crate::obligations::{Heard, Obligations};
use crate::survey::Survey;

/// Frames come a millisecond or so after what they tell of; moments closer than this cannot be told apart.
const CLOCK_SLACK_US: u64 = 10_000;

/// Whether one earlier moment explains everything that is missing: each lane holds exactly what it had written up to some operation, and these operations belong to one time.
pub(super) fn rollback(
    geometry: &Geometry,
    bonds: &[Bond],
    obligations: &Obligations,
    survey: &Survey,
    verdict: &Verdict,
) -> Option<Rollback> {
    let shorn: HashSet<u64> = verdict
        .findings
        .iter()
        .filter(|finding| finding.class != Class::Lost)
        .flat_map(|finding| finding.sectors.iter().copied())
        .collect();
    for (number, &version) in survey.versions.iter().enumerate() {
        let number = number as u64;
        let place = geometry.location(number);
        let bond = &bonds[usize::from(place.lane)];
        if version == Survey::ODD || bond.kind == LaneKind::Control || shorn.contains(&number) {
            continue;
        }
        let at_that_moment = bond.schedule.version_at(place.index, bond.newest);
        let was_under_way = bond.schedule.seq_of(place.index, at_that_moment) == bond.newest;
        if version != at_that_moment && !(was_under_way && version + 1 == at_that_moment) {
            return None;
        }
    }
    // The moment lies after everything that had been heard when the newest surviving records were built, and before anything that is missing was heard.
    let (mut after_us, mut before_us, mut gone) = (0, u64::MAX, 0);
    for (bond, heard) in bonds.iter().zip(&obligations.lanes).filter(|(bond, _)| bond.kind != LaneKind::Control) {
        // What is long past is heard "later" than it was, which only matters for a rollback by more than is remembered.
        if let Some(us) = last_heard_us(heard, bond.newest.saturating_sub(1)) {
            after_us = after_us.max(us);
        }
        let first_missing = bond.schedule.covered_by(bond.schedule.write_after(bond.newest));
        if heard.frontier.durable >= first_missing {
            let writes = |seq| bond.schedule.writes_up_to(seq);
            gone += writes(heard.frontier.durable) - writes(bond.newest);
            before_us = before_us.min(heard.heard_us(first_missing)?);
        }
    }
    (after_us <= before_us.saturating_add(CLOCK_SLACK_US)).then_some(Rollback {
        writes: gone,
        by_us: obligations.end_us.saturating_sub(before_us.min(obligations.end_us)),
    })
}

/// When the last sync at or before operation `seq` was heard.
fn last_heard_us(heard: &Heard, seq: u64) -> Option<u64> {
    let at = heard.moments.partition_point(|&(_, durable)| durable <= seq);
    at.checked_sub(1).and_then(|index| heard.moments.get(index)).map(|&(us, _)| us)
}
