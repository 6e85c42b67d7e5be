//! Each test with its charts.

use maud::{Markup, html};
use measurement::{Ended, TestResult};
use report::sort_sentence;
use workload::number::{latency, number, throughput};

use super::overview::names;
use super::repetitions::{Repetitions, repetitions};
use super::{RunSection, osds};
use crate::charts::figure::{Figure, Figures};
use crate::charts::{heat_map, percentiles, rate_over_time};
use crate::fold::fold;
use crate::heading::Look;

/// More tests are not even listed until a reader opens the list: the table has their names.
const LISTED_MAX: usize = 16;

pub(super) fn section(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let results = &place.document.results;
    let names = names(results);
    let shown = osds::tests_shown(results);
    let all = repetitions(results);
    let tests: Vec<Markup> = all
        .iter()
        .filter(|test| test.indexes.iter().any(|index| shown.contains(index)))
        .map(|test| self::test(place, test, &names, figures))
        .collect();
    let list = html! { div.tests { @for test in &tests { (test) } } };
    html! {
        section aria-labelledby=(place.within("tests")) {
            (place.part("tests", "Tests"))
            @if tests.len() < all.len() {
                p.notice {
                    (tests.len()) " of " (all.len()) " tests: those of the slowest OSDs and of \
                    a median one. The result document has all."
                }
            }
            @if let Some(why) = nothing_over_time(place) { p.notice { (why) } }
            @if tests.len() > LISTED_MAX {
                (fold(&html! { (tests.len()) " tests, each with its charts" }, &list))
            } @else {
                (list)
            }
        }
    }
}

/// A test with its charts, or with those of each repetition.
fn test(
    place: &RunSection<'_>,
    test: &Repetitions<'_>,
    names: &[String],
    figures: &mut Figures,
) -> Markup {
    let anchor = place.test(test.indexes[0]);
    let name = format!("{anchor}-name");
    let level = place.level().below();
    let several = test.are_several();
    let each: Vec<Markup> = test
        .indexes
        .iter()
        .map(|index| repetition(place, *index, &names[*index], several, figures))
        .collect();
    html! {
        article.test id=(anchor) aria-labelledby=(name) {
            (fold(
                &level.heading(Look::Title, Some(&name), &html! { (test.name()) }),
                &html! { @for one in &each { (one) } },
            ))
        }
    }
}

/// One time that a test ran. Of several, each has its own heading.
fn repetition(
    place: &RunSection<'_>,
    index: usize,
    name: &str,
    of_several: bool,
    figures: &mut Figures,
) -> Markup {
    let document = place.document;
    let result = &document.results[index];
    let anchor = place.test(index);
    let within = |part: &str| format!("{anchor}-{part}");
    let published = percentiles::published(result, document.drive.as_ref(), &document.host);
    // The name must identify the chart among many, even for those who hear only the name.
    let called = |what: &str| format!("{what}: {name}");
    let parts = percentiles::parts(result);
    let level = place.level().below().below();
    let charts = [
        percentiles::figure(within("latency"), called("Latency by percentile"), &parts, published),
        heat_map::figure(within("heat"), called("Latency over time"), result),
        rate_over_time::figure(within("rate"), called("Rate over time"), result),
    ];
    html! {
        @if of_several { (level.heading(Look::Title, None, &html! { (name) })) }
        p.key { (key_figures(result)) }
        @if let Some(said) = sort_sentence(result) { p { "Time: " (said) } }
        @let notes = notes(result);
        @if !notes.is_empty() { ul.notes { @for note in &notes { li { (note) } } } }
        @let charts: Vec<Figure> = charts.into_iter().flatten().collect();
        div.figures.beside[charts.len() == 3] { @for figure in charts { (figures.place(figure, level)) } }
    }
}

/// The test in one line.
fn key_figures(result: &TestResult) -> String {
    let mut words = match result.commits_per_s {
        Some(commits) => vec![format!("{} commits/s", number(commits))],
        None => vec![format!("{} operations/s", number(result.iops))],
    };
    words.push(format!("{} MiB/s", throughput(result.mib_per_s)));
    if let Some(us) = result.headline_us() {
        words.push(format!("p50 {}", latency(us.p50)));
        words.push(format!("p99 {}", latency(us.p99)));
        words.push(format!("max {}", latency(us.max)));
    }
    if let Some(flushes) = result.flushes_per_commit() {
        words.push(format!("{flushes:.2} flushes each"));
    }
    words.push(format!("engine {}", result.engine));
    words.join(" · ")
}

/// Differences from what was requested.
fn notes(result: &TestResult) -> Vec<String> {
    let ended = match &result.ended {
        Ended::Limit => None,
        Ended::Interrupted => Some(format!("Interrupted after {:.2} s.", result.elapsed_s)),
        Ended::Failed { error } => Some(format!("Ended after {:.2} s: {error}", result.elapsed_s)),
    };
    ended.into_iter().chain(result.notes.iter().cloned()).collect()
}

/// Why no test has a chart over time; `None` if one does.
fn nothing_over_time(place: &RunSection<'_>) -> Option<String> {
    let document = place.document;
    let least = heat_map::INTERVALS_MIN;
    let long_enough = |result: &TestResult| result.series.iops.len() >= least;
    if document.results.is_empty()
        || document.results.iter().any(|result| result.series.commit_bins.len() >= least)
    {
        return None;
    }
    Some(match &document.source {
        Some(source) => {
            format!(
                "No latency over time: the output of {} has no data for each second.",
                source.tool
            )
        }
        None if document.results.iter().any(long_enough) => {
            "No latency over time: this result is from a version that did not record the \
             distribution for each second."
                .to_owned()
        }
        None => format!("No charts over time: every test was shorter than {least} seconds."),
    })
}
