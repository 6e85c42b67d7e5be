//! Shortens long series for charts and tables: several intervals become one, with the worst of them
//! next to their mean, so a stall of a second is visible in a day.

use std::time::Duration;

/// Most rows of a table over time that are still readable.
pub(super) const ROWS_MAX: usize = 120;

/// Number of intervals to combine, if at most `most` can be shown.
pub(super) const fn width(intervals: usize, most: usize) -> usize {
    let width = intervals.div_ceil(most);
    if width == 0 { 1 } else { width }
}

/// Note for a table whose rows cover several intervals each; empty if each covers one.
pub(super) fn note(width: usize, interval_s: f64) -> String {
    if width == 1 {
        return String::new();
    }
    let (row, one) = (span(width, interval_s), span(1, interval_s));
    format!("Each row covers {row}; the result document has every {one}.")
}

/// The length of `count` intervals in words.
pub(super) fn span(count: usize, interval_s: f64) -> String {
    workload::number::span(
        Duration::try_from_secs_f64(count as f64 * interval_s).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_never_more_than_there_is_room_for() {
        for intervals in [0_usize, 1, 119, 120, 121, 240, 241, 86_400] {
            let shown = intervals.div_ceil(width(intervals, ROWS_MAX));
            assert!(shown <= ROWS_MAX && (shown > 0 || intervals == 0), "{intervals}: {shown}");
        }
        assert_eq!(width(120, 120), 1);
        assert_eq!(note(1, 1.0), "");
        insta::assert_snapshot!(note(720, 1.0), @"Each row covers 12 min; the result document has every 1 s.");
    }
}
