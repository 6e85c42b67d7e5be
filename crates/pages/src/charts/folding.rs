//! Long series as pictures and tables show them: several intervals as one, with the worst of them beside their mean, so that a stall of a second is seen
//! in a day.

use std::time::Duration;

/// Rows of a table over time: what a person reads.
pub(super) const ROWS_MOST: usize = 120;

/// How many intervals make one, where at most so many are shown.
pub(super) const fn width(intervals: usize, most: usize) -> usize {
    let width = intervals.div_ceil(most);
    if width == 0 { 1 } else { width }
}

/// What a table says of rows that stand for several intervals each; nothing where each stands for one.
pub(super) fn note(width: usize, interval_s: f64) -> String {
    if width == 1 {
        return String::new();
    }
    let (row, one) = (span(width, interval_s), span(1, interval_s));
    format!("A row stands for {row}; the result document has every {one}.")
}

/// So many intervals as a person says it.
pub(super) fn span(count: usize, interval_s: f64) -> String {
    workload::number::span(Duration::try_from_secs_f64(count as f64 * interval_s).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_never_more_than_there_is_room_for() {
        for intervals in [0_usize, 1, 119, 120, 121, 240, 241, 86_400] {
            let shown = intervals.div_ceil(width(intervals, ROWS_MOST));
            assert!(shown <= ROWS_MOST && (shown > 0 || intervals == 0), "{intervals}: {shown}");
        }
        assert_eq!(width(120, 120), 1);
        assert_eq!(note(1, 1.0), "");
        insta::assert_snapshot!(note(720, 1.0), @"A row stands for 12 min; the result document has every 1 s.");
    }
}
