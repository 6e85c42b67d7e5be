//! Detects that a drive has reverted: it lost what it had promised but kept the order.

use std::collections::HashSet;

use super::{Class, LaneDuty, Rollback, Verdict};
use crate::geometry::{Geometry, LaneKind};
use crate::obligations::{Heard, Obligations};
use crate::survey::Survey;

/// Messages arrive about a millisecond after what they report, so moments closer than this are
/// indistinguishable.
const CLOCK_SLACK_US: u64 = 10_000;

/// Finds the earlier moment that explains everything missing: each lane holds exactly what it had
/// written up to some operation, and these operations belong to the same time.
pub(super) fn rollback(
    geometry: &Geometry,
    duties: &[LaneDuty],
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
        let duty = &duties[usize::from(place.lane)];
        if version == Survey::ODD || duty.kind == LaneKind::Control || shorn.contains(&number) {
            continue;
        }
        let at_that_moment = duty.schedule.version_at(place.index, duty.newest);
        let was_under_way = duty.schedule.seq_of(place.index, at_that_moment) == duty.newest;
        if version != at_that_moment && !(was_under_way && version + 1 == at_that_moment) {
            return None;
        }
    }
    // The moment is after everything that was recorded when the newest surviving records were
    // built, and before the first missing acknowledgement.
    let (mut after_us, mut before_us, mut gone) = (0, u64::MAX, 0);
    for (duty, heard) in
        duties.iter().zip(&obligations.lanes).filter(|(duty, _)| duty.kind != LaneKind::Control)
    {
        // Old moments are recorded too late, which only matters for a rollback longer than the
        // recorded past.
        if let Some(us) = last_heard_us(heard, duty.newest.saturating_sub(1)) {
            after_us = after_us.max(us);
        }
        let first_missing = duty.schedule.covered_by(duty.schedule.write_after(duty.newest));
        if heard.frontier.durable >= first_missing {
            let writes = |seq| duty.schedule.writes_up_to(seq);
            gone += writes(heard.frontier.durable) - writes(duty.newest);
            before_us = before_us.min(heard.heard_us(first_missing)?);
        }
    }
    (after_us <= before_us.saturating_add(CLOCK_SLACK_US)).then_some(Rollback {
        writes: gone,
        by_us: obligations.end_us.saturating_sub(before_us.min(obligations.end_us)),
    })
}

/// The time at which the last sync at or before operation `seq` was recorded.
fn last_heard_us(heard: &Heard, seq: u64) -> Option<u64> {
    let at = heard.moments.partition_point(|&(_, durable)| durable <= seq);
    at.checked_sub(1).and_then(|index| heard.moments.get(index)).map(|&(us, _)| us)
}
