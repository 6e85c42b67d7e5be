//! Several runs side by side: what it comes to, what differs, and distributions where their tests pair.

use compare::{Comparison, Direction, Group};
use maud::{Markup, html};
use measurement::{TestResult, Use};
use report::ComparisonView;
use workload::number::latency;

use super::Place;
use crate::charts::block_sizes::{self, Named};
use crate::charts::percentiles;
use crate::figure::{Figure, Figures};
use crate::heading::{Level, Look};
use crate::table::{Table, or_dash};

/// The sentences, grades, differences and distributions of the runs; nothing for a single one. The first is what the others are compared with.
pub(super) fn section(places: &[Place<'_>], figures: &mut Figures) -> Markup {
    let [first, others @ ..] = places else { return html! {} };
    if others.is_empty() {
        return html! {};
    }
    let candidates: Vec<Group<'_>> = others.iter().map(group).collect();
    let comparison = Comparison::of(&group(first), &candidates, "");
    let pairs = pairs(places);
    let told: Vec<ComparisonView<'_>> = comparison
        .candidates
        .iter()
        .map(|against| ComparisonView {
            against,
            names: [&comparison.baseline.label, &against.candidate.label],
            figures: report::Figures::Leading,
        })
        .collect();
    let charts = charts(places, &pairs);
    html! {
        section.run #overlay aria-label="Side by side" {
            (Level::TOP.heading(Look::Run, None, &html! { "Side by side" }))
            @for told in &told { p.deciding { (sentence(told)) } }
            (grades(places))
            @if pairs.is_empty() {
                p.notice { "These runs have no test in common, so nothing is drawn side by side; a test pairs with one of the same name." }
            } @else if others.len() > 1 {
                (medians(places, &pairs))
            }
            @for told in &told { (differences(told)) }
            @if !charts.is_empty() {
                section aria-labelledby="overlay-charts" {
                    (PART.heading(Look::Part, Some("overlay-charts"), &html! { "Distributions" }))
                    div.figures { @for figure in charts { (figures.place(figure, PART.below())) } }
                }
            }
        }
    }
}

/// Of the parts of the comparison.
const PART: Level = Level::TOP.below();

fn group<'a>(place: &Place<'a>) -> Group<'a> {
    Group { label: place.label.to_owned(), runs: vec![place.document] }
}

/// A test that more than one run has.
struct Pair<'a> {
    test: &'a str,
    /// The run and its result, the first of repetitions.
    results: Vec<(&'a Place<'a>, &'a TestResult)>,
}

fn pairs<'a>(places: &'a [Place<'a>]) -> Vec<Pair<'a>> {
    let mut tests: Vec<&str> = Vec::new();
    for result in places.iter().flat_map(|place| &place.document.results) {
        if !tests.contains(&result.test.as_str()) {
            tests.push(&result.test);
        }
    }
    let pair = |test: &'a str| Pair {
        test,
        results: places
            .iter()
            .filter_map(|place| Some((place, place.document.results.iter().find(|result| result.test == test)?)))
            .collect(),
    };
    tests.into_iter().map(pair).filter(|pair| pair.results.len() > 1).collect()
}

/// Times by block size, and a distribution for each test. None without a test in common: what only one run has is drawn with that run.
fn charts(places: &[Place<'_>], pairs: &[Pair<'_>]) -> Vec<Figure> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let runs: Vec<Named<'_>> =
        places.iter().map(|place| Named { name: place.label.to_owned(), results: &place.document.results }).collect();
    let mut charts = block_sizes::figures("overlay", &runs);
    charts.extend(pairs.iter().enumerate().filter_map(|(index, pair)| overlaid(index, pair)));
    charts
}

fn overlaid(index: usize, pair: &Pair<'_>) -> Option<Figure> {
    let named = pair.results.iter().filter_map(|(place, result)| {
        Some(percentiles::Named { name: place.label.to_owned(), histogram: percentiles::headline(result)? })
    });
    let named: Vec<percentiles::Named<'_>> = named.collect();
    let title = format!("Latency by percentile: {}", pair.test);
    percentiles::overlay(format!("overlay-{}", index + 1), title, &named)
}

/// What a run comes to against the first, the same sentence that `results compare` ends with.
fn sentence(told: &ComparisonView<'_>) -> String {
    let [baseline, candidate] = told.names.map(|name| format!("“{name}”"));
    ComparisonView { names: [&baseline, &candidate], ..*told }.sentence()
}

/// A run against the first: every test's figures, what is to be known of them, and what else differs.
fn differences(told: &ComparisonView<'_>) -> Markup {
    let [baseline, candidate] = told.names;
    let title = format!("{candidate} against {baseline}");
    let (remarks, unpaired, facts) = (told.remarks(), told.unpaired(), told.differences());
    html! {
        section aria-label=(title) {
            (PART.heading(Look::Part, None, &html! { (title) }))
            @if !told.against.tests.is_empty() {
                div.scroll role="region" aria-label={ "Figures of " (title) } tabindex="0" {
                    table.compared {
                        thead {
                            tr {
                                th scope="col" { "test" } th scope="col" { "figure" }
                                th scope="col" { (baseline) } th scope="col" { (candidate) }
                                th scope="col" { "ratio" } th scope="col" { "95 % interval" } th scope="col" { "verdict" }
                            }
                        }
                        @for (test, figures) in told.tests() {
                            tbody {
                                @for (index, figure) in figures.iter().enumerate() {
                                    tr {
                                        @if index == 0 { th scope="rowgroup" rowspan=(figures.len()) { (test) } }
                                        th scope="row" { (figure.name) }
                                        td { (figure.baseline) } td { (figure.candidate) }
                                        td { (dashed(&figure.ratio)) } td { (dashed(&figure.interval)) }
                                        td class=[class(figure.direction)] { (figure.verdict) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if !remarks.is_empty() || !unpaired.is_empty() {
                ul.notes {
                    @for remark in &remarks { li { (remark) } }
                    @for (test, why) in &unpaired { li { b { (test) } ": not compared, " (why) } }
                }
            }
            @if !facts.is_empty() {
                (PART.below().heading(Look::Title, None, &html! { "What else differs" }))
                (facts_table(told.names, facts).markup(&format!("What else differs: {title}")))
            }
        }
    }
}

fn facts_table(names: [&str; 2], facts: Vec<(String, String, String)>) -> Table {
    let [baseline, candidate] = names.map(str::to_owned);
    let rows = facts.into_iter().map(|(fact, baseline, candidate)| vec![fact, baseline, candidate]).collect();
    Table { columns: vec!["fact".to_owned(), baseline, candidate], rows, ..Table::default() }
}

/// What stands nowhere has the dash of all tables here, and not the terminal's.
fn dashed(cell: &str) -> &str {
    if cell == "-" { "–" } else { cell }
}

/// Of a verdict's cell.
fn class(direction: Option<Direction>) -> Option<&'static str> {
    direction.map(|direction| match direction {
        Direction::Better => "better",
        Direction::Worse => "worse",
    })
}

fn grades(places: &[Place<'_>]) -> Markup {
    let uses: Vec<Use> = Use::ALL
        .into_iter()
        .filter(|fit_for| places.iter().any(|place| place.document.fitness.contains_key(fit_for)))
        .collect();
    if uses.is_empty() {
        return html! {};
    }
    let mut table = Table { columns: vec!["fit for".to_owned()], ..Table::default() };
    table.columns.extend(places.iter().map(|place| place.label.to_owned()));
    for fit_for in uses {
        let grade = |place: &Place<'_>| {
            or_dash(place.document.fitness.get(&fit_for), |fitness| fitness.grade.name().to_owned())
        };
        table.rows.push(std::iter::once(fit_for.label().to_owned()).chain(places.iter().map(grade)).collect());
    }
    table.markup("Grades of each run")
}

fn medians(places: &[Place<'_>], pairs: &[Pair<'_>]) -> Markup {
    let mut table = Table { columns: vec!["p50 (p99)".to_owned()], ..Table::default() };
    table.columns.extend(places.iter().map(|place| place.label.to_owned()));
    for pair in pairs {
        let cell = |place: &Place<'_>| {
            let of_run = pair.results.iter().find(|(of, _)| std::ptr::eq(*of, place));
            let us = of_run.and_then(|(_, result)| result.headline_us());
            or_dash(us, |us| format!("{} ({})", latency(us.p50), latency(us.p99)))
        };
        table.rows.push(std::iter::once(pair.test.to_owned()).chain(places.iter().map(cell)).collect());
    }
    table.markup("Medians and 99th percentiles of the tests that the runs have in common")
}
