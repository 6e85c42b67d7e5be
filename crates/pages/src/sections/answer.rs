//! The picture that answers a run's question, and the other charts of several tests.

use maud::{Markup, html};

use super::repetitions::repetitions;
use super::{RunSection, overview};
use crate::charts::block_sizes::{self, NamedRun};
use crate::charts::figure::{Figure, Figures};
use crate::charts::scaling::{self, Over};
use crate::charts::{commit_rates, glance, sort_time, write_cache};
use crate::fold::fold;

/// The charts that combine tests. What was measured decides which come first, so a suite of the
/// user's own is shown like the built-in one that it resembles.
pub(super) fn figures(place: &RunSection<'_>) -> Vec<Figure> {
    let document = place.document;
    let results = &document.results;
    let names = overview::names(results);
    let anchor = place.anchor.as_str();
    let mut all = write_cache::figures(anchor, results);
    all.extend(sort_time::figure(place.within("sorts"), &names, results));
    all.extend(commit_rates::figure(place.within("rates"), &names, results));
    for over in Over::PROBES {
        all.extend(scaling::figure(anchor, over, document));
    }
    all.extend(block_sizes::figure(anchor, &[NamedRun { name: place.name.clone(), results }]));
    for over in Over::LOADS {
        all.extend(scaling::figure(anchor, over, document));
    }
    all.extend(spreads(place));
    all
}

fn spreads(place: &RunSection<'_>) -> Option<Figure> {
    let tests = repetitions(&place.document.results);
    let spreads = tests.iter().filter_map(|test| {
        let us = |figure: fn(&measurement::LatencySummary) -> f64| {
            test.middle(|result| Some(figure(&result.headline_us()?))).map(|middle| middle.value)
        };
        Some(glance::Spread {
            name: test.name(),
            anchor: place.test(test.indexes[0]),
            p50_us: us(|us| us.p50)?,
            p99_us: us(|us| us.p99)?,
            max_us: test.most(|result| Some(result.headline_us()?.max))?,
        })
    });
    glance::figure(place.within("glance"), spreads.collect())
}

/// The question and its picture. Nothing without charts that combine tests.
pub(super) fn section(
    place: &RunSection<'_>,
    picture: Option<Figure>,
    figures: &mut Figures,
) -> Markup {
    let Some(picture) = picture else { return html! {} };
    let suite = workload::suites::named(&place.document.suite);
    html! {
        section.answer aria-labelledby=(place.within("answer")) {
            (place.part("answer", "In one picture"))
            @if let Some(suite) = suite { p.question { (suite.answers) } }
            (figures.place(picture, place.level().below()))
        }
    }
}

/// The other charts, closed at first.
pub(super) fn others(place: &RunSection<'_>, others: Vec<Figure>, figures: &mut Figures) -> Markup {
    if others.is_empty() {
        return html! {};
    }
    let titles: Vec<&str> = others.iter().map(|figure| figure.title.as_str()).collect();
    let line = html! { (titles.join("; ")) };
    html! {
        section aria-labelledby=(place.within("together")) {
            (place.part("together", "More charts"))
            (fold(&line, &html! {
                div.figures { @for figure in others { (figures.place(figure, place.level().below())) } }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    /// The id of the picture that comes first for each suite.
    fn first(suite: &str) -> String {
        let mut document = samples::document(samples::suite(suite, 15.0, 1700.0));
        suite.clone_into(&mut document.suite);
        // Vary what the samples leave constant.
        for (result, step) in document.results.iter_mut().zip(1_u64..) {
            match suite {
                "cache-size" => result.proof.writes = 1 << step,
                "fill" => result.workload.size_bytes = step << 30,
                _ => {}
            }
        }
        if suite == "sort-spill" {
            document.results = samples::sorts();
        }
        let run = Run::new("x", &document);
        let place = RunSection::new(0, &run, run.label.clone(), false);
        figures(&place).remove(0).id
    }

    #[test]
    fn every_suite_has_a_picture_that_answers_its_question() {
        let all: Vec<String> = workload::suites::all()
            .iter()
            .map(|suite| format!("{}: {}", suite.name, first(&suite.name)))
            .collect();
        insta::assert_snapshot!(all.join("\n"), @"
        check: run-1-glance
        journal: run-1-glance
        ceph-disk: run-1-glance
        slog: run-1-sizes
        wal: run-1-rates
        commits: run-1-rates
        fsync-study: run-1-jobs
        write-cache: run-1-cache-small
        read-scaling: run-1-depth
        open-blocks: run-1-places
        erase-block: run-1-write-size
        cache-size: run-1-burst
        flush-cost: run-1-writes-per-flush
        fill: run-1-area
        sort-spill: run-1-sorts
        ");
    }
}
