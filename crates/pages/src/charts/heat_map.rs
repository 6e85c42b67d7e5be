//! Latency distribution second by second, in which stalls stay visible instead of being averaged
//! away.

use measurement::series::{BINS_PER_DECADE, bin_from_ns, bin_of};
use measurement::{HIGHEST_NS, TestResult};
use serde::Serialize;
use workload::number::{latency, number};

use super::figure::Figure;
use super::{Chart, folding};
use crate::table::{Table, or_dash};

/// Fewest intervals for a chart over time.
pub(crate) const INTERVALS_MIN: usize = 3;
/// Most columns of a map and rows of its table; in a longer test several intervals share one.
const COLUMNS_MAX: usize = folding::ROWS_MAX;

/// Cells with their counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatMap {
    /// Seconds per column.
    pub column_s: f64,
    pub columns: usize,
    /// The lowest bin that occurs; it begins at 10^(bin/10) ns.
    pub lowest_bin: u32,
    /// Number of bins from the lowest upwards.
    pub bins: u32,
    /// Column, bin above the lowest, count.
    pub cells: Vec<(usize, u32, u64)>,
    /// Columns that contain intervals without any completed operation, and the total length of
    /// those intervals in seconds.
    pub stalls: Vec<(usize, f64)>,
}

/// The figure; `None` if the distribution was not recorded or the test was too short.
pub fn figure(id: String, title: String, result: &TestResult) -> Option<Figure> {
    let series = &result.series;
    let intervals = series.commit_bins.len();
    if intervals < INTERVALS_MIN {
        return None;
    }
    let per_column = folding::width(intervals, COLUMNS_MAX);
    let columns: Vec<Vec<(u32, u64)>> = series.commit_bins.chunks(per_column).map(summed).collect();
    let bins = || columns.iter().flatten().map(|(bin, _)| *bin);
    let (highest_filled, (lowest_bin, highest)) =
        (bins().max()?, scale(bins().min()?, bins().max()?));
    let cells = columns.iter().enumerate().flat_map(|(column, counts)| {
        counts.iter().map(move |(bin, count)| (column, bin - lowest_bin, *count))
    });
    let stalled: Vec<usize> = series.commit_bins.chunks(per_column).map(stalled).collect();
    let stalls = stalled.iter().enumerate().filter(|(_, intervals)| **intervals > 0);
    let map = HeatMap {
        column_s: series.interval_s * per_column as f64,
        columns: columns.len(),
        lowest_bin,
        bins: highest - lowest_bin + 1,
        cells: cells.collect(),
        stalls: stalls
            .map(|(column, intervals)| (column, *intervals as f64 * series.interval_s))
            .collect(),
    };
    let mut summary = summary(&map, &columns, highest_filled);
    let stalled_intervals = stalled.iter().sum();
    if stalled_intervals > 0 {
        summary += &format!(
            " For {} nothing completed at all.",
            folding::span(stalled_intervals, series.interval_s)
        );
    }
    Some(Figure {
        id,
        title,
        summary,
        table: table(result, per_column),
        chart: Chart::HeatMap(map),
    })
}

/// Number of intervals in which nothing completed.
fn stalled(intervals: &[Vec<(u32, u64)>]) -> usize {
    intervals.iter().filter(|counts| counts.is_empty()).count()
}

/// The range of bins on the axis: at least a factor of ten, so small differences in latency look
/// small.
fn scale(lowest: u32, highest: u32) -> (u32, u32) {
    let missing = BINS_PER_DECADE.saturating_sub(highest - lowest + 1);
    let from = lowest.saturating_sub(missing / 2);
    (from, highest.max(from + BINS_PER_DECADE - 1))
}

/// The counts of several intervals added up.
fn summed(intervals: &[Vec<(u32, u64)>]) -> Vec<(u32, u64)> {
    let mut sums = std::collections::BTreeMap::new();
    // Higher bins than that of the longest recorded latency can only come from an edited document,
    // and would make the map as high.
    for (bin, count) in intervals.iter().flatten().filter(|(bin, _)| *bin <= bin_of(HIGHEST_NS)) {
        let sum: &mut u64 = sums.entry(*bin).or_default();
        *sum = sum.saturating_add(*count);
    }
    sums.into_iter().collect()
}

fn bin_us(bin: u32) -> f64 {
    bin_from_ns(bin) / 1e3
}

fn summary(map: &HeatMap, columns: &[Vec<(u32, u64)>], highest: u32) -> String {
    let slowest =
        columns.iter().filter(|counts| counts.iter().any(|(bin, _)| *bin == highest)).count();
    let seconds = |columns: usize| folding::span(columns, map.column_s);
    format!(
        "Stronger colour means more operations. The slowest, {} to {}, occurred in {} of {}.",
        latency(bin_us(highest)),
        latency(bin_us(highest + 1)),
        seconds(slowest),
        seconds(map.columns)
    )
}

fn table(result: &TestResult, per_column: usize) -> Table {
    let series = &result.series;
    // Percentiles of several intervals combined are not recorded.
    let of_several = per_column > 1;
    let mut table = if of_several {
        Table::new(["from", "completed", "stalled", "slowest below"])
    } else {
        Table::new(["from", "completed", "half within", "99 % within", "slowest below"])
    };
    table.note = folding::note(per_column, series.interval_s);
    for (column, intervals) in series.commit_bins.chunks(per_column).enumerate() {
        let from = column * per_column;
        let bins = summed(intervals);
        let at = |values: &[Option<f64>]| or_dash(values.get(from).copied().flatten(), latency);
        let mut row = vec![
            format!("{} s", from as f64 * series.interval_s),
            number(bins.iter().map(|(_, count)| *count as f64).sum()),
        ];
        if of_several {
            let still = Some(stalled(intervals)).filter(|still| *still > 0);
            row.push(or_dash(still, |still| folding::span(still, series.interval_s)));
        } else {
            row.extend([at(&series.commit_p50_us), at(&series.commit_p99_us)]);
        }
        row.push(or_dash(bins.last(), |(bin, _)| latency(bin_us(bin + 1))));
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bins: Vec<Vec<(u32, u64)>>) -> Option<Figure> {
        let mut result = samples::check().remove(1);
        result.series.commit_bins = bins;
        figure("id".to_owned(), "title".to_owned(), &result)
    }

    #[test]
    fn a_stall_is_reported() {
        let figure =
            of(vec![vec![(60, 500)], vec![(60, 480), (80, 1)], vec![], vec![(61, 400)]]).unwrap();
        insta::assert_snapshot!(figure.summary, @"Stronger colour means more operations. The slowest, 100 ms to 126 ms, occurred in 1 s of 4 s. For 1 s nothing completed at all.");
        let Chart::HeatMap(map) = figure.chart else { panic!() };
        assert_eq!(map.cells, [(0, 0, 500), (1, 0, 480), (1, 20, 1), (3, 1, 400)]);
        assert_eq!(map.stalls, [(2, 1.0)]);
    }

    #[test]
    fn latencies_that_are_all_alike_do_not_fill_the_map() {
        let Chart::HeatMap(map) = of(vec![vec![(43, 9)]; 3]).unwrap().chart else { panic!() };
        assert_eq!((map.lowest_bin, map.bins), (39, 10));
        assert_eq!(map.cells[0], (0, 4, 9));
        let Chart::HeatMap(map) = of(vec![vec![(0, 9)]; 3]).unwrap().chart else { panic!() };
        assert_eq!((map.lowest_bin, map.bins), (0, 10));
    }

    #[test]
    fn a_long_test_has_several_seconds_to_a_column_and_loses_no_count() {
        let figure = of(vec![vec![(60, 2)]; 601]).unwrap();
        let Chart::HeatMap(map) = figure.chart else { panic!() };
        assert!(map.columns <= COLUMNS_MAX);
        assert_eq!(map.cells.iter().map(|cell| cell.2).sum::<u64>(), 1202);
        assert_eq!(figure.table.rows.len(), map.columns);
    }

    #[test]
    fn a_stall_of_seconds_and_one_slow_commit_are_seen_in_a_day() {
        let mut bins = vec![vec![(60, 900)]; 86_400];
        bins[50_000..50_003].fill(Vec::new());
        bins[70_000].push((95, 1));
        let figure = of(bins).unwrap();
        insta::assert_snapshot!(figure.summary, @"Stronger colour means more operations. The slowest, 3.16 s to 3.98 s, occurred in 12 min of 24 h. For 3 s nothing completed at all.");
        assert_eq!((figure.table.rows.len(), figure.table.columns.len()), (120, 4));
        assert_eq!(figure.table.rows[50_000 / 720][2], "3 s");
        assert!(figure.table.note.starts_with("Each row covers 12 min"), "{}", figure.table.note);
        let Chart::HeatMap(map) = figure.chart else { panic!() };
        assert_eq!(map.stalls, [(50_000 / 720, 3.0)]);
        assert!(map.cells.contains(&(70_000 / 720, 35, 1)), "the one slow commit has its cell");
    }

    #[test]
    fn an_edited_document_does_not_make_a_huge_map() {
        let Chart::HeatMap(map) = of(vec![vec![(60, 1), (u32::MAX, u64::MAX)]; 3]).unwrap().chart
        else {
            panic!()
        };
        assert_eq!((map.bins, map.cells.len()), (10, 3));
        assert!(of(vec![vec![(u32::MAX, 1)]; 3]).is_none());
        let mut result = samples::check().remove(1);
        result.series.interval_s = -1.0;
        result.series.commit_bins = vec![vec![(60, 1)]; 3];
        assert!(figure(String::new(), String::new(), &result).is_some());
    }

    #[test]
    fn short_or_unrecorded_tests_have_no_map() {
        assert!(of(vec![]).is_none());
        assert!(of(vec![vec![(60, 1)]; 2]).is_none());
        assert!(of(vec![vec![]; 5]).is_none());
    }
}
