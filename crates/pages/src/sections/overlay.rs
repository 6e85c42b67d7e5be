//! Several runs side by side, where their tests pair.

use maud::{Markup, html};
use measurement::{TestResult, Use};
use report::number::latency;

use super::Place;
use crate::charts::block_sizes::{self, Named};
use crate::charts::percentiles;
use crate::figure::Figures;
use crate::table::{Table, or_dash};

/// Grades, medians and distributions of the runs; nothing for a single one.
pub(super) fn section(places: &[Place<'_>], figures: &mut Figures) -> Markup {
    if places.len() < 2 {
        return html! {};
    }
    let pairs = pairs(places);
    let drawn: Vec<Markup> =
        pairs.iter().enumerate().filter_map(|(index, pair)| overlaid(index, pair, figures)).collect();
    let runs: Vec<Named<'_>> =
        places.iter().map(|place| Named { name: place.label.to_owned(), results: &place.document.results }).collect();
    let sizes = block_sizes::figures("overlay", &runs);
    html! {
        section.run #overlay aria-label="Side by side" {
            h2 { "Side by side" }
            (grades(places))
            @if pairs.is_empty() {
                p.notice { "These runs have no test in common, so nothing is drawn side by side; a test pairs with one of the same name." }
            } @else {
                (medians(places, &pairs))
                div.figures {
                    @for figure in sizes { (figures.place(figure)) }
                    @for figure in &drawn { (figure) }
                }
            }
        }
    }
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

fn overlaid(index: usize, pair: &Pair<'_>, figures: &mut Figures) -> Option<Markup> {
    let named = pair.results.iter().filter_map(|(place, result)| {
        Some(percentiles::Named { name: place.label.to_owned(), histogram: percentiles::headline(result)? })
    });
    let named: Vec<percentiles::Named<'_>> = named.collect();
    let title = format!("Latency by percentile: {}", pair.test);
    let figure = percentiles::overlay(format!("overlay-{}", index + 1), title, &named)?;
    Some(figures.place(figure))
}

fn grades(places: &[Place<'_>]) -> Markup {
    let uses: Vec<Use> = Use::ALL
        .into_iter()
        .filter(|fit_for| places.iter().any(|place| place.document.fitness.contains_key(fit_for)))
        .collect();
    if uses.is_empty() {
        return html! {};
    }
    let mut table = Table { columns: vec!["fit for".to_owned()], rows: Vec::new() };
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
    let mut table = Table { columns: vec!["p50 (p99)".to_owned()], rows: Vec::new() };
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
