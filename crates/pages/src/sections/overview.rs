//! All tests of a run in one chart and one table.

use maud::{Markup, html};
use measurement::TestResult;
use workload::number::{latency, number, throughput};

use super::{RunSection, insert_benchmark, osds};
use crate::charts::figure::Figures;
use crate::charts::{glance, sort_time};
use crate::table::{Table, or_dash};

/// The chart, the table, and the tests that could not run.
pub(super) fn section(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let results = &place.document.results;
    html! {
        section aria-labelledby=(place.within("overview")) {
            (place.part("overview", "Numbers"))
            @if osds::are_measured(results) {
                (osds::numbers(place, figures))
            } @else {
                (every_test(place, figures))
            }
            @if !place.document.skipped.is_empty() {
                ul.notes {
                    @for skipped in &place.document.skipped { li { b { (skipped.test) } ": skipped, " (skipped.because) } }
                }
            }
        }
    }
}

fn every_test(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let results = &place.document.results;
    let names = names(results);
    let rows = results.iter().enumerate();
    let spreads =
        rows.map(|(index, result)| (names[index].clone(), place.test(index), result)).collect();
    let mut table = Table::new(["test", "half within", "99 % within", "slowest"]);
    for (name, result) in names.iter().zip(results) {
        let us = result.headline_us();
        let cell = |value: Option<f64>| or_dash(value, latency);
        let cells = [us.map(|us| us.p50), us.map(|us| us.p99), us.map(|us| us.max)].map(cell);
        table.rows.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    let glance = glance::figure(place.within("glance"), spreads, table);
    html! {
        @if let Some(figure) = glance { (figures.place(figure, place.level().below())) }
        @if results.is_empty() { p.notice { "No test was measured." } } @else { (numbers(place, &names)) }
        @if let Some(steps) = insert_benchmark::table(&names, results) { (steps.markup("Every step of \
            the Insert Benchmark")) }
        @if let Some(sorts) = sort_time::table(&names, results) { (sorts.markup("Every sort's \
            numbers")) }
    }
}

/// Name of each test; repetitions are numbered.
pub(super) fn names(results: &[TestResult]) -> Vec<String> {
    let same = |result: &&TestResult, name: &str| result.test == name;
    results
        .iter()
        .enumerate()
        .map(|(index, result)| {
            let repetitions = results.iter().filter(|other| same(other, &result.test)).count();
            let before = results[..index].iter().filter(|other| same(other, &result.test)).count();
            if repetitions == 1 {
                result.test.clone()
            } else {
                format!("{} ({} of {repetitions})", result.test, before + 1)
            }
        })
        .collect()
}

fn numbers(place: &RunSection<'_>, names: &[String]) -> Markup {
    let results = &place.document.results;
    let steady = results.iter().any(|result| result.steady_state.is_some());
    let counted = results.iter().any(|result| result.flushes_per_commit().is_some());
    html! {
        div.scroll role="region" aria-label="Every test's numbers" tabindex="0" {
            table.numbers {
                thead {
                    tr {
                        th scope="col" { "test" } th scope="col" { "per second" } th scope="col" { "MiB/s" }
                        th scope="col" { "p50" } th scope="col" { "p99" } th scope="col" { "p99.9" } th scope="col" { "max" }
                        @if steady { th scope="col" { "steady" } }
                        @if counted { th scope="col" { "flushes each" } }
                    }
                }
                tbody {
                    @for (index, result) in results.iter().enumerate() {
                        @let us = result.headline_us();
                        tr {
                            th scope="row" { a href={ "#" (place.test(index)) } { (names[index]) } }
                            td { (number(result.commits_per_s.unwrap_or(result.iops))) }
                            td { (throughput(result.mib_per_s)) }
                            @for value in [us.map(|us| us.p50), us.map(|us| us.p99), us.map(|us| us.p99_9), us.map(|us| us.max)] {
                                td { (or_dash(value, latency)) }
                            }
                            @if steady {
                                td { (or_dash(result.steady_state, |steady| if steady.reached { "yes" } else { "no" }.to_owned())) }
                            }
                            @if counted { td { (or_dash(result.flushes_per_commit(), |flushes| format!("{flushes:.2}"))) } }
                        }
                    }
                }
            }
        }
    }
}
