//! All tests of a run in one table.

use maud::{Markup, html};
use measurement::{LatencySummary, Skipped, TestResult};
use workload::number::{latency, number, throughput};

use super::repetitions::{Repetitions, repetitions};
use super::{RunSection, insert_benchmark, osds};
use crate::charts::figure::Figures;
use crate::charts::sort_time;
use crate::fold::fold;
use crate::table::or_dash;

/// The table, and the tests that could not run.
pub(super) fn section(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let results = &place.document.results;
    html! {
        section aria-labelledby=(place.within("overview")) {
            (place.part("overview", "Numbers"))
            @if osds::are_measured(results) {
                (osds::numbers(place, figures))
            } @else {
                (every_test(place))
            }
            (skipped(&place.document.skipped))
        }
    }
}

fn every_test(place: &RunSection<'_>) -> Markup {
    let results = &place.document.results;
    let names = names(results);
    html! {
        @if results.is_empty() { p.notice { "No test was measured." } } @else { (numbers(place)) }
        @if let Some(steps) = insert_benchmark::table(&names, results) { (steps.markup("Every step of \
            the Insert Benchmark")) }
        @if let Some(sorts) = sort_time::table(&names, results) { (sorts.markup("Every sort's \
            numbers")) }
    }
}

/// The tests that could not run: one line for each reason.
fn skipped(skipped: &[Skipped]) -> Markup {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Skipped { test, because } in skipped {
        match reasons.iter_mut().find(|(known, _)| known == because) {
            Some((_, tests)) => tests.push(test),
            None => reasons.push((because, vec![test])),
        }
    }
    html! {
        @for (because, tests) in &reasons {
            @match tests.as_slice() {
                [test] => p.notes { b { (test) } ": skipped, " (because) },
                tests => (fold(
                    &html! { (tests.len()) " tests skipped: " (because) },
                    &html! { ul.notes { @for test in tests { li { (test) } } } },
                )),
            }
        }
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

fn numbers(place: &RunSection<'_>) -> Markup {
    let results = &place.document.results;
    let tests = repetitions(results);
    let steady = results.iter().any(|result| result.steady_state.is_some());
    let counted = results.iter().any(|result| result.flushes_per_commit().is_some());
    let changes = results.iter().any(TestResult::ends_at_another_rate);
    let repeated = tests.iter().any(Repetitions::are_several);
    let per_s = |result: &TestResult| Some(result.commits_per_s.unwrap_or(result.iops));
    html! {
        div.scroll role="region" aria-label="Every test's numbers" tabindex="0" {
            table.numbers {
                thead {
                    tr {
                        th scope="col" { "test" } th scope="col" { "per second" }
                        @if repeated { th scope="col" { "±" } }
                        @if changes { th scope="col" { "at the end" } }
                        th scope="col" { "MiB/s" }
                        th scope="col" { "p50" } th scope="col" { "p99" } th scope="col" { "p99.9" } th scope="col" { "max" }
                        @if steady { th scope="col" { "steady" } }
                        @if counted { th scope="col" { "flushes each" } }
                    }
                }
                tbody {
                    @for test in &tests {
                        @let rate = test.middle(per_s);
                        @let us = |figure: fn(&LatencySummary) -> f64| {
                            test.middle(|result| Some(figure(&result.headline_us()?))).map(|middle| middle.value)
                        };
                        tr {
                            th scope="row" { a href={ "#" (place.test(test.indexes[0])) } { (test.name()) } }
                            td { (or_dash(rate, |rate| number(rate.value))) }
                            @if repeated {
                                td { (or_dash(rate.and_then(|rate| rate.spread), |spread| format!("{:.1} %", spread * 100.0))) }
                            }
                            @if changes {
                                td { (or_dash(test.middle(|result| Some(result.iops_at_the_end())), |iops| number(iops.value))) }
                            }
                            td { (or_dash(test.middle(|result| Some(result.mib_per_s)), |mib| throughput(mib.value))) }
                            @for value in [us(|us| us.p50), us(|us| us.p99), us(|us| us.p99_9), test.most(|result| Some(result.headline_us()?.max))] {
                                td { (or_dash(value, latency)) }
                            }
                            @if steady { td { (steady_word(test)) } }
                            @if counted { td { (or_dash(test.middle(TestResult::flushes_per_commit), |flushes| format!("{:.2}", flushes.value))) } }
                        }
                    }
                }
            }
        }
        @if repeated {
            p.meta {
                "A test that ran several times is one row: the middle of each figure, and the \
                 longest latency of all. ± is half of the distance between the lowest and the \
                 highest rate."
            }
        }
    }
}

/// The cell that shows whether every repetition of a test was steady at its end.
fn steady_word(test: &Repetitions<'_>) -> &'static str {
    let not = |result: &TestResult| Some(f64::from(u8::from(!result.steady_state?.reached)));
    match test.most(not) {
        None => "–",
        Some(not) if not > 0.0 => "no",
        Some(_) => "yes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_were_skipped_for_one_reason_are_one_line() {
        let one = |test: &str, because: &str| Skipped {
            test: test.to_owned(),
            because: because.to_owned(),
        };
        let all = [one("512 B", "smaller"), one("1 KiB", "smaller"), one("discard", "no `TRIM`")];
        insta::assert_snapshot!(skipped(&all).into_string(), @r#"<details class="fold"><summary>2 tests skipped: smaller</summary><div class="folded"><ul class="notes"><li>512 B</li><li>1 KiB</li></ul></div></details><p class="notes"><b>discard</b>: skipped, no `TRIM`</p>"#);
    }
}
