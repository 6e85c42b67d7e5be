//! Several runs side by side: the result of the comparison, the differences, and distributions of
//! tests that the runs have in common.

use compare::{Comparison, Direction, Group};
use maud::{Markup, html};
use measurement::{TestResult, Use};
use report::{ComparisonView, TestView, counted};
use workload::number::latency;

use super::RunSection;
use crate::charts::block_sizes::{self, NamedRun};
use crate::charts::figure::{Figure, Figures};
use crate::charts::{percentiles, positive};
use crate::fold::fold;
use crate::heading::{Level, Look};
use crate::table::{Table, or_dash};

/// The conclusion, the curves of the leading test, the differences and grades of several runs;
/// nothing for a single run. The others are compared with the first.
pub(super) fn section(places: &[RunSection<'_>], figures: &mut Figures) -> Markup {
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
    let leading = leading(&comparison, &pairs);
    let picture = leading.and_then(|index| overlaid(index, &pairs[index]));
    let picture = picture.map(|figure| figures.place(figure, PART));
    let more = charts(places, &pairs, leading);
    let more: Vec<Markup> =
        more.into_iter().map(|figure| figures.place(figure, PART.below())).collect();
    html! {
        section.run #overlay aria-label="Side by side" {
            (Level::TOP.heading(Look::Run, None, &html! { "Side by side" }))
            @for told in &told { p.deciding { (sentence(told)) } }
            @if let Some(picture) = picture { (picture) }
            @if pairs.is_empty() {
                p.notice { "These runs have no test in common, so there are no charts side by \
                            side. Tests are matched by name." }
            } @else if others.len() > 1 {
                (medians(places, &pairs))
            }
            @for told in &told { (differences(told)) }
            (grades(places))
            @if !more.is_empty() {
                section aria-labelledby="overlay-charts" {
                    (PART.heading(Look::Part, Some("overlay-charts"), &html! { "More charts" }))
                    @if pairs.len() > CHARTS_MAX {
                        p.notice { (CHARTS_MAX) " of " (pairs.len()) " tests: those that differ most." }
                    }
                    (fold(
                        &html! { (counted(more.len() as u64, "chart")) ": the distributions of the other tests" },
                        &html! { div.figures { @for figure in &more { (figure) } } },
                    ))
                }
            }
        }
    }
}

/// The test whose curves stand for a comparison: the one that the answer is about, otherwise the
/// first.
fn leading(comparison: &Comparison, pairs: &[Pair<'_>]) -> Option<usize> {
    let headline = comparison.candidates.iter().find_map(|against| against.headline());
    let is_headline = |pair: &Pair<'_>| headline.is_some_and(|test| test.test == pair.test);
    pairs.iter().position(is_headline).or((!pairs.is_empty()).then_some(0))
}

/// More tests in common are not drawn over each other.
const CHARTS_MAX: usize = 60;

/// Level of the parts of the comparison.
const PART: Level = Level::TOP.below();

fn group<'a>(place: &RunSection<'a>) -> Group<'a> {
    Group { label: place.name.clone(), runs: vec![place.document] }
}

/// A test that more than one run has.
struct Pair<'a> {
    test: &'a str,
    /// The runs and their results; of repetitions, the first.
    results: Vec<(&'a RunSection<'a>, &'a TestResult)>,
}

fn pairs<'a>(places: &'a [RunSection<'a>]) -> Vec<Pair<'a>> {
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
            .filter_map(|place| {
                Some((place, place.document.results.iter().find(|result| result.test == test)?))
            })
            .collect(),
    };
    tests.into_iter().map(pair).filter(|pair| pair.results.len() > 1).collect()
}

/// Times by block size, and a distribution for each test but the leading one; none without a test
/// in common. Tests of only one run are shown with that run.
fn charts(places: &[RunSection<'_>], pairs: &[Pair<'_>], leading: Option<usize>) -> Vec<Figure> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let runs: Vec<NamedRun<'_>> = places
        .iter()
        .map(|place| NamedRun { name: place.name.clone(), results: &place.document.results })
        .collect();
    let mut charts: Vec<Figure> = block_sizes::figure("overlay", &runs).into_iter().collect();
    let others = drawn(pairs).into_iter().filter(|(index, _)| Some(*index) != leading);
    charts.extend(others.filter_map(|(index, pair)| overlaid(index, pair)));
    charts
}

/// The tests that are drawn, with their places among all: of very many, those that differ most.
fn drawn<'a>(pairs: &'a [Pair<'a>]) -> Vec<(usize, &'a Pair<'a>)> {
    let mut drawn: Vec<(usize, &Pair<'_>)> = pairs.iter().enumerate().collect();
    if drawn.len() > CHARTS_MAX {
        drawn.sort_by(|(_, a), (_, b)| difference(b).total_cmp(&difference(a)));
        drawn.truncate(CHARTS_MAX);
    }
    drawn
}

/// The distance between the medians of the runs, on a logarithmic scale.
fn difference(pair: &Pair<'_>) -> f64 {
    let medians =
        || pair.results.iter().filter_map(|(_, result)| positive(result.headline_us()?.p50));
    let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    if least < most { (most / least).ln() } else { 0.0 }
}

fn overlaid(index: usize, pair: &Pair<'_>) -> Option<Figure> {
    let named = pair.results.iter().filter_map(|(place, result)| {
        Some(percentiles::NamedDistribution {
            name: place.name.clone(),
            histogram: percentiles::headline(result)?,
        })
    });
    let named: Vec<percentiles::NamedDistribution<'_>> = named.collect();
    let title = format!("Latency by percentile: {}", pair.test);
    percentiles::overlay(format!("overlay-{}", index + 1), title, &named)
}

/// The result of comparing a run with the first: the same sentence that ends `results compare`.
fn sentence(told: &ComparisonView<'_>) -> String {
    let [baseline, candidate] = told.names.map(|name| format!("“{name}”"));
    ComparisonView { names: [&baseline, &candidate], ..*told }.sentence()
}

/// A run compared with the first: the figures of every test, caveats, and other differences.
fn differences(told: &ComparisonView<'_>) -> Markup {
    let [baseline, candidate] = told.names;
    let title = format!("{candidate} against {baseline}");
    let (remarks, unpaired, facts) = (told.remarks(), told.unpaired(), told.differences());
    html! {
        section aria-label=(title) {
            (PART.heading(Look::Part, None, &html! { (title) }))
            @let lines = told.lines();
            @if !lines.is_empty() {
                (summary(told.names, &lines))
                (fold(&html! { "All figures of " (title) }, &figures(told)))
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

/// The table of `results compare`: the difference of each test in words.
fn summary(names: [&str; 2], lines: &[TestView]) -> Markup {
    let [baseline, candidate] = names;
    html! {
        div.scroll role="region" aria-label={ (candidate) " and " (baseline) } tabindex="0" {
            table.compared {
                thead {
                    tr {
                        th scope="col" { "test" }
                        th.number scope="col" { (baseline) } th.number scope="col" { (candidate) }
                        th scope="col" { "difference" } th scope="col" { "significance" }
                    }
                }
                tbody {
                    @for line in lines {
                        tr {
                            th scope="row" { @if line.is_further { "· " } (line.name) }
                            td { (dashed(&line.baseline)) } td { (dashed(&line.candidate)) }
                            @let (better, worse) = (
                                line.direction == Some(Direction::Better),
                                line.direction == Some(Direction::Worse),
                            );
                            td.words.better[better].worse[worse] { (dashed(&line.difference)) }
                            td.words.better[better].worse[worse] { (line.significance) }
                        }
                    }
                }
            }
        }
    }
}

/// Every figure of each test.
fn figures(told: &ComparisonView<'_>) -> Markup {
    let [baseline, candidate] = told.names;
    html! {
        div.scroll role="region" aria-label={ "Figures of " (candidate) " and " (baseline) } tabindex="0" {
            table.compared {
                thead {
                    tr {
                        th scope="col" { "test" } th scope="col" { "figure" }
                        th.number scope="col" { (baseline) } th.number scope="col" { (candidate) }
                        th.number scope="col" { "ratio" } th.number scope="col" { "95 % interval" } th scope="col" { "verdict" }
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
}

fn facts_table(names: [&str; 2], facts: Vec<(String, String, String)>) -> Table {
    let [baseline, candidate] = names.map(str::to_owned);
    let rows = facts
        .into_iter()
        .map(|(fact, baseline, candidate)| vec![fact, baseline, candidate])
        .collect();
    Table { columns: vec!["fact".to_owned(), baseline, candidate], rows, ..Table::default() }
}

/// Tables on this page use a dash for missing values instead of the terminal's hyphen.
fn dashed(cell: &str) -> &str {
    if cell == "-" { "–" } else { cell }
}

/// CSS class of a verdict's cell.
fn class(direction: Option<Direction>) -> Option<&'static str> {
    direction.map(|direction| match direction {
        Direction::Better => "better",
        Direction::Worse => "worse",
    })
}

fn grades(places: &[RunSection<'_>]) -> Markup {
    let uses: Vec<Use> = Use::ALL
        .into_iter()
        .filter(|fit_for| places.iter().any(|place| place.document.fitness.contains_key(fit_for)))
        .collect();
    if uses.is_empty() {
        return html! {};
    }
    let mut table = Table { columns: vec!["fit for".to_owned()], ..Table::default() };
    table.columns.extend(places.iter().map(|place| place.name.clone()));
    for fit_for in uses {
        let grade = |place: &RunSection<'_>| {
            or_dash(place.document.fitness.get(&fit_for), |fitness| fitness.grade.name().to_owned())
        };
        table.rows.push(
            std::iter::once(fit_for.label().to_owned()).chain(places.iter().map(grade)).collect(),
        );
    }
    table.markup("Grades of each run")
}

fn medians(places: &[RunSection<'_>], pairs: &[Pair<'_>]) -> Markup {
    let mut table = Table { columns: vec!["p50 (p99)".to_owned()], ..Table::default() };
    table.columns.extend(places.iter().map(|place| place.name.clone()));
    for pair in pairs {
        let cell = |place: &RunSection<'_>| {
            let of_run = pair.results.iter().find(|(of, _)| std::ptr::eq(*of, place));
            let us = of_run.and_then(|(_, result)| result.headline_us());
            or_dash(us, |us| format!("{} ({})", latency(us.p50), latency(us.p99)))
        };
        table
            .rows
            .push(std::iter::once(pair.test.to_owned()).chain(places.iter().map(cell)).collect());
    }
    table.markup("Medians and 99th percentiles of the tests that the runs have in common")
}
