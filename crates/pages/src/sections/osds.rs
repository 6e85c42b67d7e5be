//! The OSDs of a Ceph cluster: which are slow, and where the time of a write goes.

use judge::OsdRow;
use maud::{Markup, html};
use measurement::TestResult;
use workload::number::{latency, number};

use super::RunSection;
use crate::charts::figure::Figures;
use crate::charts::osd_map::{self, ROWS_MAX};
use crate::charts::write_time;
use crate::fold::fold;
use crate::heading::Look;
use crate::table::{Table, or_dash};

/// More tests are not shown one by one.
const TESTS_MAX: usize = 24;

/// Returns whether all tests are those of single OSDs.
pub(super) fn are_measured(results: &[TestResult]) -> bool {
    !results.is_empty() && results.iter().all(|result| result.osd.is_some())
}

/// The map, the ranking, and where the time goes.
pub(super) fn numbers(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let rows = judge::osd_rows(&place.document.results);
    let level = place.level().below();
    let map = osd_map::figure(place.within("osd-map"), &rows);
    let by_cause = write_time::by_cause(place.within("write-time"), &rows);
    let waterfalls = write_time::waterfalls(&place.within("waterfall"), &rows);
    let (slowest, others) = rows.split_at(rows.len().min(ROWS_MAX));
    html! {
        @if let Some(figure) = map { (figures.place(figure, level)) }
        (level.heading(Look::Title, None, &html! { "Ranking" }))
        div.ranking {
            (ranking(slowest).markup("OSDs, slowest first"))
            @if !others.is_empty() {
                (fold(
                    &html! { "The other " (others.len()) " OSDs" },
                    &ranking(others).markup("The other OSDs, slowest first"),
                ))
            }
        }
        @if let Some(figure) = by_cause { (figures.place(figure, level)) }
        div.figures { @for figure in waterfalls { (figures.place(figure, level)) } }
    }
}

fn ranking(rows: &[OsdRow<'_>]) -> Table {
    let mut table = Table::new([
        "OSD", "host", "class", "commits/s", "p50", "p99", "p99.9", "max", "× median", "z",
        "read p50", "drive alone",
    ]);
    table.rows = rows.iter().map(cells).collect();
    let at_depth = |row: &OsdRow<'_>| row.deep.map(|one| (one.workload.depth, one.iops));
    if let Some((depth, _)) = rows.iter().find_map(at_depth) {
        table.columns.push(format!("writes/s at depth {depth}"));
        for (cells, row) in table.rows.iter_mut().zip(rows) {
            cells.push(or_dash(at_depth(row), |(_, per_s)| number(per_s)));
        }
    }
    table
}

fn cells(row: &OsdRow<'_>) -> Vec<String> {
    let write = row.write.and_then(|result| result.commit_us);
    let us = |figure: Option<f64>| or_dash(figure, latency);
    let standing = row.standing;
    vec![
        row.osd.name(),
        or_dash(row.osd.host.clone(), |host| host),
        or_dash(row.osd.class.clone(), |class| class),
        or_dash(row.write, |result| number(result.commits_per_s.unwrap_or(result.iops))),
        us(write.map(|us| us.p50)),
        us(write.map(|us| us.p99)),
        us(write.map(|us| us.p99_9)),
        us(write.map(|us| us.max)),
        or_dash(standing, |one| number(one.ratio)),
        or_dash(standing.and_then(|one| one.z), number),
        us(row.read.and_then(|result| Some(result.read_us?.p50))),
        us(row.osd.drive.as_ref().map(|drive| drive.us)),
    ]
}

/// The tests that are shown one by one: all if there are not too many, otherwise those of the
/// slowest OSDs and, for comparison, of a median one.
pub(super) fn tests_shown(results: &[TestResult]) -> Vec<usize> {
    if !are_measured(results) || results.len() <= TESTS_MAX {
        return (0..results.len()).collect();
    }
    let rows = judge::osd_rows(results);
    let median = rows.iter().find(|row| write_time::is_median(row));
    let mut shown: Vec<usize> = Vec::new();
    for row in median.into_iter().chain(&rows) {
        let tests = results.iter().enumerate().filter(|(index, result)| {
            result.osd.as_ref().is_some_and(|osd| osd.id == row.osd.id) && !shown.contains(index)
        });
        let tests: Vec<usize> = tests.map(|(index, _)| index).collect();
        if shown.len() + tests.len() > TESTS_MAX {
            break;
        }
        shown.extend(tests);
    }
    shown.sort_unstable();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(hosts: u32, osds_per_host: u32) -> String {
        let document = samples::document(samples::osds(hosts, osds_per_host));
        crate::report(&[crate::Run::new("osds", &document)])
    }

    #[test]
    fn the_slow_osd_is_ranked_first() {
        let results = samples::osds(1, 3);
        let table = ranking(&judge::osd_rows(&results));
        insta::assert_snapshot!(table.rows[0].join(" | "), @"osd.2 | node1 | ssd | 333 | 3 ms | 3.15 ms | 3.15 ms | 3.15 ms | 4.05 | 38.2 | 255 µs | 2.08 ms");
        let page = page(1, 3);
        for id in ["osd-map", "write-time", "waterfall-slowest", "waterfall-median", "test-6"] {
            assert!(page.contains(&format!("id=\"run-1-{id}\"")), "no {id}");
        }
        assert!(!page.contains("The other"));
    }

    #[test]
    fn a_page_of_a_thousand_osds_is_not_a_thousand_times_as_large() {
        let page = page(50, 20);
        assert!(page.len() < 3 << 20, "{} bytes", page.len());
        assert_eq!(page.matches("<article").count(), TESTS_MAX);
        assert!(page.contains("24 of 2000 tests: those of the slowest OSDs and of a median one."));
        assert!(page.contains("The other 960 OSDs"));
        assert!(page.contains("The slowest 40 of 1000 OSDs."));
    }

    #[test]
    fn a_comparison_of_many_osds_draws_those_that_differ_most() {
        let before = samples::document(samples::osds(10, 10));
        let mut after = before.clone();
        for result in after.results.iter_mut().filter(|result| result.test == "osd.77: write") {
            result.commit_us =
                result.commit_us.map(|us| measurement::LatencySummary { p50: 9000.0, ..us });
        }
        let runs = [("before", &before), ("after", &after)]
            .map(|(label, document)| crate::Run::new(label, document));
        let page = crate::report(&runs);
        assert!(page.contains("60 of 200 tests: those that differ most."));
        assert!(page.contains("Latency by percentile: osd.77: write</h"));
    }

    #[test]
    fn tests_of_the_slowest_and_of_a_median_osd_are_shown() {
        let results = samples::osds(5, 5);
        let shown = tests_shown(&results);
        assert_eq!(shown.len(), TESTS_MAX);
        assert!(shown.is_sorted());
        let is_shown = |name: &str| shown.iter().any(|index| results[*index].test == name);
        assert!(is_shown("osd.2: write") && is_shown("osd.2: read"));
        let rows = judge::osd_rows(&results);
        let median = rows.iter().find(|row| write_time::is_median(row)).unwrap();
        assert!(is_shown(&format!("osd.{}: write", median.osd.id)));
    }
}
