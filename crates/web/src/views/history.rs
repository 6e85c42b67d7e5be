//! The latency of drives from run to run: of a model on all hosts, or of a host.

use std::collections::{BTreeMap, BTreeSet};

use fleet::Trend;
use maud::{Markup, html};
use measurement::RunDocument;
use pages::Content;
use pages::charts::figure::{Figure, Figures};
use pages::charts::trend;
use pages::heading::{Level, Look};
use store::{RunId, Summary};

use super::frame::{Here, plain, with_charts};
use super::list;
use crate::assets::Needs;
use crate::query::Query;

/// Runs that are read; older ones are not drawn.
pub const RUNS_MAX: u32 = 500;
/// Charts of one page.
const CHARTS_MAX: usize = 12;

/// The pages that there are, if neither a model nor a host is chosen.
pub fn index(query: &Query, newest: &store::Figures) -> String {
    let models = newest.runs.iter().filter_map(|run| run.drive.as_ref()?.model.as_deref());
    let models: BTreeSet<&str> = models.collect();
    let hosts: BTreeSet<&str> = newest.runs.iter().map(|run| run.host.as_str()).collect();
    let main = html! {
        header.page {
            h1 { "History" }
            p.meta { "How the latency of a commit changed from run to run, and what else changed then." }
        }
        @if models.is_empty() && hosts.is_empty() { p.notice { (fleet::NO_RUN) } }
        (links(query, "Drive models", "model", &models))
        (links(query, "Hosts", "host", &hosts))
    };
    plain("History", Here::History, main, Needs::Plain)
}

fn links(query: &Query, title: &str, field: &str, names: &BTreeSet<&str>) -> Markup {
    html! {
        @if !names.is_empty() {
            (Level::TOP.heading(Look::Part, None, &html! { (title) }))
            ul.links { @for name in names { li { a href=(query.narrowed(field, name)) { (name) } } } }
        }
    }
}

/// The trends of the chosen runs, each with its chart.
pub fn page(query: &Query, runs: &[Summary], headers: &BTreeMap<RunId, RunDocument>) -> String {
    let title = title(query);
    let trends = fleet::trends(runs, headers);
    let mut figures = Figures::default();
    let drawn: Vec<(&Trend, Figure)> = trends
        .iter()
        .enumerate()
        .filter_map(|(index, of)| {
            Some((of, trend::figure(format!("trend-{}", index + 1), name(of), of)?))
        })
        .collect();
    let (shown, hidden) = (drawn.len().min(CHARTS_MAX), drawn.len().saturating_sub(CHARTS_MAX));
    let single = trends.len() - drawn.len();
    let charts: Vec<Markup> = drawn
        .into_iter()
        .take(shown)
        .map(|(_, figure)| figures.place(figure, Level::TOP))
        .collect();
    let main = html! {
        header.page {
            h1 { (title) }
            p.meta {
                "Each chart is one drive in the leading test of a suite. A numbered line marks the \
                 first run after a known fact had changed: kernel, firmware, write cache, scheduler."
            }
        }
        (list::filter(query, "Filter runs", "All models and hosts", &[]))
        @if charts.is_empty() {
            p.notice { "Nothing to draw: no drive has two complete runs of one suite." }
        }
        div.figures { @for chart in &charts { (chart) } }
        @if hidden > 0 {
            p.meta { "Only the " (shown) " drives and tests with the most runs of " (shown + hidden) "; filter by host or suite to see the others." }
        }
        @if single > 0 {
            p.meta { "Not drawn for lack of a second run: " (report::counted(single as u64, "test")) "." }
        }
        @if runs.len() >= RUNS_MAX as usize {
            p.meta { "Only the newest " (RUNS_MAX) " runs; filter by date to see older ones." }
        }
    };
    with_charts(&title, Here::History, &Content { markup: main, figures }, Needs::Plain)
}

/// The form again, if fields of the filter are invalid.
pub fn wrong(query: &Query, wrong: &list::Wrong) -> String {
    let main = html! {
        header.page { h1 { "History" } }
        (list::filter(query, "Filter runs", "All models and hosts", wrong))
    };
    plain("History", Here::History, main, Needs::Plain)
}

fn title(query: &Query) -> String {
    let value = |wanted: &str| {
        query
            .fields()
            .find(|(field, text)| field.name == wanted && !text.is_empty())
            .map(|(_, text)| text)
    };
    match (value("model"), value("host")) {
        (Some(model), Some(host)) => format!("History of {model} on {host}"),
        (Some(name), None) | (None, Some(name)) => format!("History of {name}"),
        (None, None) => "History".to_owned(),
    }
}

/// `db1, Samsung 980 1 TB S1234: check`, or `db1, /srv/db (S1234): check` of an unknown model.
fn name(trend: &Trend) -> String {
    let drive = match &trend.model {
        Some(model) => format!("{model} {}", trend.drive),
        None if trend.drive == trend.target => trend.target.clone(),
        None => format!("{} ({})", trend.target, trend.drive),
    };
    let host = trend.host.as_deref().map(|host| format!("{host}, ")).unwrap_or_default();
    format!("{host}{drive}: {}, {}", trend.suite, trend.test)
}
