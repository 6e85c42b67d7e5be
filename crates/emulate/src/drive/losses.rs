//! The losses of a power cut: the write whose data is left in each sector, and the number of
//! writes that lost theirs.

use std::collections::{BTreeMap, BTreeSet};

use simdrive::Stamp;

use super::history::History;
use super::promises::Promises;
use super::status::Cut;

/// For each sector in the log, the write whose data it contains after a cut: the one that the model
/// left there, or a later one whose early promise has been fulfilled.
pub(super) fn left(
    newest: &BTreeMap<u64, Stamp>,
    history: &History,
    promises: &Promises,
    left_by_model: impl Fn(u64) -> Stamp,
) -> BTreeMap<u64, Stamp> {
    let kept = history.newest_of(|stamp| promises.fulfilled(stamp));
    let left = |sector| kept.get(sector).copied().unwrap_or_default().max(left_by_model(*sector));
    newest.keys().map(|sector| (*sector, left(sector))).collect()
}

/// Counts the writes with lost data. `newest` and `left` name for each sector in the log the newest
/// write and the one whose data is left.
pub(super) fn count(
    newest: &BTreeMap<u64, Stamp>,
    left: &BTreeMap<u64, Stamp>,
    history: &History,
    promises: &Promises,
) -> Cut {
    let overwritten = newest.iter().filter(|(sector, newest)| left.get(sector) != Some(newest));
    let mut lost_writes: BTreeSet<Stamp> = overwritten.map(|(_, newest)| *newest).collect();
    // Data that was called safe, and then overwritten by data that was not, is also lost when an
    // older version comes back.
    let called_safe = history.newest_of(|stamp| promises.is_made(stamp));
    let is_gone = |(sector, stamp): &(u64, Stamp)| left.get(sector).is_none_or(|left| left < stamp);
    lost_writes.extend(called_safe.into_iter().filter(is_gone).map(|(_, stamp)| stamp));
    let mut cut = Cut::default();
    for stamp in lost_writes {
        if promises.is_open(stamp) {
            cut.lost_unacknowledged += 1;
        } else if promises.is_made(stamp) {
            cut.lost_promised += 1;
        } else {
            cut.lost_unflushed += 1;
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::history::Before;

    /// Sector 0 was written three times, by stamps 1 to 3, and sector 1 by stamp 4.
    fn history() -> History {
        let mut history = History::default();
        for (stamp, sector) in [(1, 0), (2, 0), (3, 0), (4, 1)] {
            history.record(stamp, sector * 512, Before::Zeros(512));
        }
        history
    }

    /// Unacknowledged, unflushed and promised writes lost, if the model left this write in sector 0
    /// and nothing in sector 1.
    fn lost(promises: &Promises, left_in_first: Stamp) -> (u64, u64, u64) {
        let history = history();
        let newest = history.newest();
        let left_by_model = |sector| if sector == 0 { left_in_first } else { 0 };
        let left = left(&newest, &history, promises, left_by_model);
        let cut = count(&newest, &left, &history, promises);
        (cut.lost_unacknowledged, cut.lost_unflushed, cut.lost_promised)
    }

    #[test]
    fn a_write_counts_by_what_the_host_was_told() {
        // Stamp 1 was flushed, 2 and 3 were acknowledged, 4 was not.
        let mut promises = Promises::new(None);
        promises.write_came(1..=1);
        promises.write_done(1..=1, false, 0);
        promises.flush_came(0, 2);
        promises.flush_done(0);
        promises.write_came(2..=4);
        promises.write_done(2..=3, false, 0);
        assert_eq!(lost(&promises, 3), (1, 0, 0));
        // Of the writes of one sector only the newest counts, unless an older one was promised.
        assert_eq!(lost(&promises, 1), (1, 1, 0));
        assert_eq!(lost(&promises, 0), (1, 1, 1));
    }

    #[test]
    fn a_fulfilled_promise_survives_what_the_model_forgot() {
        let mut promises = Promises::new(Some(1000));
        promises.write_came(1..=4);
        promises.write_done(1..=4, false, 0);
        promises.flush_waved_through(3, 0);
        assert_eq!(lost(&promises, 0), (0, 2, 1));
        promises.go_on(2000);
        assert_eq!(lost(&promises, 0), (0, 2, 0));
        let history = history();
        let left = left(&history.newest(), &history, &promises, |_| 0);
        assert_eq!(left, BTreeMap::from([(0, 2), (1, 0)]));
    }
}
