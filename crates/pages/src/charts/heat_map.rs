//! How latencies were spread, second by second: a stall is seen, and not averaged away.

use std::time::Duration;

use measurement::TestResult;
use measurement::histogram::HIGHEST_NS;
use measurement::series::{BINS_PER_DECADE, bin_from_ns, bin_of};
use report::number::{latency, rate};
use serde::Serialize;

use super::Chart;
use crate::figure::Figure;
use crate::table::{Table, or_dash};

/// Fewer intervals show nothing over time.
pub(crate) const INTERVALS_LEAST: usize = 3;
/// Columns of a map; a longer test has several intervals to one.
const COLUMNS_MOST: usize = 120;

/// Cells, each with a count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatMap {
    /// Seconds to each column.
    pub column_s: f64,
    /// How many columns there are.
    pub columns: usize,
    /// The lowest bin that occurs: it begins at 10^(bin/10) ns.
    pub lowest_bin: u32,
    /// How many bins there are from that one on.
    pub bins: u32,
    /// Column, bin above the lowest, count.
    pub cells: Vec<(usize, u32, u64)>,
    /// Columns in which nothing completed at all.
    pub stalls: Vec<usize>,
}

/// The figure, or `None` where the spread was not kept or the test was too short.
pub fn figure(id: String, title: String, result: &TestResult) -> Option<Figure> {
    let series = &result.series;
    let intervals = series.commit_bins.len();
    if intervals < INTERVALS_LEAST {
        return None;
    }
    let per_column = intervals.div_ceil(COLUMNS_MOST);
    let columns: Vec<Vec<(u32, u64)>> = series.commit_bins.chunks(per_column).map(summed).collect();
    let bins = || columns.iter().flatten().map(|(bin, _)| *bin);
    let (highest_filled, (lowest_bin, highest)) = (bins().max()?, scale(bins().min()?, bins().max()?));
    let cells = columns
        .iter()
        .enumerate()
        .flat_map(|(column, counts)| counts.iter().map(move |(bin, count)| (column, bin - lowest_bin, *count)));
    let stalls: Vec<usize> =
        columns.iter().enumerate().filter(|(_, counts)| counts.is_empty()).map(|(column, _)| column).collect();
    let map = HeatMap {
        column_s: series.interval_s * per_column as f64,
        columns: columns.len(),
        lowest_bin,
        bins: highest - lowest_bin + 1,
        cells: cells.collect(),
        stalls,
    };
    let summary = summary(&map, &columns, highest_filled);
    Some(Figure { id, title, summary, table: table(result, per_column), chart: Chart::HeatMap(map) })
}

/// The bins that the map shows: at least a factor of ten, so that latencies that hardly differ look as if they hardly differed.
fn scale(lowest: u32, highest: u32) -> (u32, u32) {
    let missing = BINS_PER_DECADE.saturating_sub(highest - lowest + 1);
    let from = lowest.saturating_sub(missing / 2);
    (from, highest.max(from + BINS_PER_DECADE - 1))
}

/// The counts of several intervals as one.
fn summed(intervals: &[Vec<(u32, u64)>]) -> Vec<(u32, u64)> {
    let mut sums = std::collections::BTreeMap::new();
    // What lies above the longest latency that is ever kept was made by hand, and would make the map as high.
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
    let slowest = columns.iter().filter(|counts| counts.iter().any(|(bin, _)| *bin == highest)).count();
    let seconds = |columns: usize| {
        report::number::span(Duration::try_from_secs_f64(columns as f64 * map.column_s).unwrap_or_default())
    };
    let mut text = format!(
        "The stronger the colour, the more. The slowest, {} to {}, fell into {} of {}.",
        latency(bin_us(highest)),
        latency(bin_us(highest + 1)),
        seconds(slowest),
        seconds(map.columns)
    );
    if !map.stalls.is_empty() {
        text += &format!(" For {} nothing completed at all.", seconds(map.stalls.len()));
    }
    text
}

fn table(result: &TestResult, per_column: usize) -> Table {
    let series = &result.series;
    let mut table = Table::new(["from", "completed", "half within", "99 % within", "slowest below"]);
    for (column, bins) in series.commit_bins.chunks(per_column).enumerate() {
        let from = column * per_column;
        let bins = summed(bins);
        // Of several intervals at once the percentiles stand nowhere.
        let alone = |values: &[Option<f64>]| values.get(from).copied().flatten().filter(|_| per_column == 1);
        table.rows.push(vec![
            format!("{} s", from as f64 * series.interval_s),
            rate(bins.iter().map(|(_, count)| *count as f64).sum()),
            or_dash(alone(&series.commit_p50_us), latency),
            or_dash(alone(&series.commit_p99_us), latency),
            or_dash(bins.last(), |(bin, _)| latency(bin_us(bin + 1))),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn of(bins: Vec<Vec<(u32, u64)>>) -> Option<Figure> {
        let mut result = samples::quick().remove(1);
        result.series.commit_bins = bins;
        figure("id".to_owned(), "title".to_owned(), &result)
    }

    #[test]
    fn a_stall_is_named() {
        let figure = of(vec![vec![(60, 500)], vec![(60, 480), (80, 1)], vec![], vec![(61, 400)]]).unwrap();
        insta::assert_snapshot!(figure.summary, @"The stronger the colour, the more. The slowest, 100 ms to 126 ms, fell into 1 s of 4 s. For 1 s nothing completed at all.");
        let Chart::HeatMap(map) = figure.chart else { panic!() };
        assert_eq!(map.cells, [(0, 0, 500), (1, 0, 480), (1, 20, 1), (3, 1, 400)]);
        assert_eq!(map.stalls, [2]);
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
        assert!(map.columns <= COLUMNS_MOST);
        assert_eq!(map.cells.iter().map(|cell| cell.2).sum::<u64>(), 1202);
        assert_eq!(figure.table.rows.len(), map.columns);
    }

    #[test]
    fn a_document_made_by_hand_makes_no_monster() {
        let Chart::HeatMap(map) = of(vec![vec![(60, 1), (u32::MAX, u64::MAX)]; 3]).unwrap().chart else { panic!() };
        assert_eq!((map.bins, map.cells.len()), (10, 3));
        assert!(of(vec![vec![(u32::MAX, 1)]; 3]).is_none());
        let mut result = samples::quick().remove(1);
        result.series.interval_s = -1.0;
        result.series.commit_bins = vec![vec![(60, 1)]; 3];
        assert!(figure(String::new(), String::new(), &result).is_some());
    }

    #[test]
    fn what_is_too_short_or_was_not_kept_is_no_map() {
        assert!(of(vec![]).is_none());
        assert!(of(vec![vec![(60, 1)]; 2]).is_none());
        assert!(of(vec![vec![]; 5]).is_none());
    }
}
