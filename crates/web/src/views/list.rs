//! The list of runs, newest first, with filter, pages and selection.

use maud::{Markup, html};
use store::{Location, State, Summary, Tag};
use workload::number::latency;

use super::frame::{Here, plain};
use crate::assets::Needs;
use crate::query::{LIST, Query, RUNS_PER_PAGE};

/// The invalid fields of the filter, each with a message.
pub type Wrong = Vec<(&'static str, String)>;

/// The list. `found` may hold one run more than a page shows, which means that there are older
/// ones.
pub fn page(query: &Query, found: &[Summary]) -> String {
    let shown = &found[..found.len().min(RUNS_PER_PAGE as usize)];
    let older = found.len() > shown.len();
    let main = html! {
        (head(shown, query, older))
        (filter(query, "Filter runs", "Show all runs", &[]))
        @if shown.is_empty() {
            p.notice { "No runs match. " a href="/" { "Show all runs" } }
        } @else {
            (table(shown))
        }
        (pager(query, older, ["Newer runs", "Older runs"]))
    };
    plain("Runs", Here::Runs, main, Needs::Selection)
}

/// The form again, if fields of the filter are invalid.
pub fn wrong(query: &Query, wrong: &Wrong) -> String {
    let main = html! {
        header.page { h1 { "Runs" } }
        (filter(query, "Filter runs", "Show all runs", wrong))
    };
    plain("Runs", Here::Runs, main, Needs::Plain)
}

/// Shown for a store that is empty or does not exist yet.
pub fn empty(location: &Location) -> String {
    let main = html! {
        header.page { h1 { "No runs yet" } }
        p { "Runs of " code { "check" } " and " code { "run" } " kept in " code { (location) } " are listed here. Measure what a commit costs where your database is:" }
        pre { code { "flushmark check /var/lib" } }
        p { "with " code { "--store " (location) } " if that is not your default store. Or try a \
                                                    drive that you do not have, on its model:" }
        pre { code { "flushmark check sim:consumer-nvme --store " (location) } }
        p { "Running tests are shown under " a href="/live" { "Running now" } "." }
    };
    plain("No runs yet", Here::Runs, main, Needs::Plain)
}

fn head(shown: &[Summary], query: &Query, older: bool) -> Markup {
    let first = query.page.saturating_mul(RUNS_PER_PAGE) + 1;
    let last = first - 1 + shown.len() as u32;
    let which = match shown.len() {
        0 => String::new(),
        1 if first == 1 && !older => "1 run".to_owned(),
        count if first == 1 && !older => format!("{count} runs, newest first"),
        _ => format!("{first} to {last}, newest first"),
    };
    html! { header.page { h1 { "Runs" } @if !which.is_empty() { p.meta { (which) } } } }
}

/// The form of a filter, with `all` as the words of the link that removes it.
pub fn filter(query: &Query, label: &str, all: &str, wrong: &[(&'static str, String)]) -> Markup {
    let sentence = |name: &str| {
        wrong.iter().find(|(field, _)| *field == name).map(|(_, sentence)| sentence.as_str())
    };
    html! {
        details.filter open[query.narrows()] {
            summary { "Filter" }
            form action=(query.form.path) method="get" role="search" aria-label=(label) {
                div.fields {
                    @for (field, text) in query.fields() {
                        @let said = sentence(field.name);
                        label {
                            span { (field.label) }
                            input type=(if said.is_some() { "text" } else { field.kind }) name=(field.name) value=(text)
                                aria-invalid=[said.map(|_| "true")]
                                aria-describedby=[said.map(|_| format!("wrong-{}", field.name))];
                            @if let Some(said) = said { span.wrong id={ "wrong-" (field.name) } { (said) } }
                        }
                    }
                }
                p.actions {
                    button type="submit" { "Filter" }
                    @if query.narrows() { a href=(query.form.path) { (all) } }
                }
            }
        }
    }
}

fn table(shown: &[Summary]) -> Markup {
    html! {
        form.compare action="/compare" method="get" aria-label="Compare runs" {
            div.scroll role="region" aria-label="Runs" tabindex="0" {
                table.runs {
                    thead {
                        tr {
                            th scope="col" { span.of { "Compare" } }
                            @for column in ["Run", "Measured (UTC)", "Drive and target", "Suite", "Latency of", "p50", "p99", "Tags and note"] {
                                th scope="col" { (column) }
                            }
                        }
                    }
                    tbody { @for run in shown { (row(run)) } }
                }
            }
            p.actions {
                button type="submit" { "Compare" }
                output id="selected" { "Select two or more runs." }
            }
        }
    }
}

fn row(run: &Summary) -> Markup {
    let us = |us: f64| html! { td.number { (latency(us)) } };
    html! {
        tr {
            td { input type="checkbox" name="run" value=(run.id) aria-label={ "Compare run " (run.id) }; }
            th scope="row" {
                a href={ "/run/" (run.id) } { (run.id) }
                @if run.state != State::Complete { div.state { (run.state.name()) } }
            }
            td {
                (minute(run.at))
                @if let Some(host) = &run.host { div.faint { a href=(Query::by(&LIST, "host", host)) { (host) } } }
            }
            td.wide {
                @if let Some(label) = &run.label { b { (label) } br; }
                @match drives(run) { Some(drives) => { (drives) div.faint { (run.target) } }, None => (run.target) }
            }
            td {
                a href=(Query::by(&LIST, "suite", &run.suite)) { (run.suite) }
                div.faint { (run.tests) (if run.tests == 1 { " test" } else { " tests" }) }
            }
            @match &run.headline {
                Some(headline) => { td.wide { (headline.test) } (us(headline.p50_us)) (us(headline.p99_us)) }
                None => { td {} td.number { "–" } td.number { "–" } }
            }
            td.wide {
                @for tag in &run.tags { (tag_link(tag)) " " }
                @if !run.note.is_empty() { div.note { (run.note) } }
            }
        }
    }
}

/// The models of a run's drives; `None` if no drive has one. A serial number is not a name.
fn drives(run: &Summary) -> Option<String> {
    let mut models: Vec<&str> =
        run.drives.iter().filter_map(|drive| drive.model.as_deref()).collect();
    models.dedup();
    (!models.is_empty()).then(|| models.join(", "))
}

/// A tag as a link to all runs that have it.
pub fn tag_link(tag: &Tag) -> Markup {
    html! { a.tag href=(Query::by(&LIST, "tag", tag.as_str())) { (tag) } }
}

/// A time to the minute.
pub fn minute(at: jiff::Timestamp) -> Markup {
    let second = at.to_string();
    let shown = second.get(..16).unwrap_or(&second).replace('T', " ");
    html! { time datetime=(second) { (shown) } }
}

/// Links to the pages before and after, which are called so.
pub fn pager(query: &Query, more: bool, [before, after]: [&str; 2]) -> Markup {
    if query.page == 0 && !more {
        return html! {};
    }
    html! {
        nav.pager aria-label="Pages of the list" {
            @if query.page > 0 { a rel="prev" href=(query.address(query.page - 1)) { (before) } }
            @if more { a rel="next" href=(query.address(query.page + 1)) { (after) } }
        }
    }
}
