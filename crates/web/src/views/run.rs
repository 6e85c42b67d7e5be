//! One run: its entry in the store, forms for its tags and note, and its report.

use maud::{Markup, html};
use measurement::RunDocument;
use pages::Run;
use store::{State, StoredRun, Summary};

use super::frame::{Here, with_charts};
use super::list::{minute, tag_link};
use crate::assets::Needs;
use crate::query::{HISTORY, Query};

/// The page of a run. `form_secret` is included in its forms.
pub fn page(kept: &StoredRun, form_secret: &str) -> String {
    let StoredRun { summary, document } = kept;
    let runs = [named(summary, document)];
    let content = pages::content_after(&of_store(summary, form_secret), &runs);
    with_charts(
        &format!("Run {}: {}", summary.id, pages::naming::tab_title(&runs)),
        Here::Runs,
        &content,
        Needs::Plain,
    )
}

/// A stored run as pages show it.
pub fn named<'a>(summary: &Summary, document: &'a RunDocument) -> Run<'a> {
    Run { host: summary.host.clone(), ..Run::new(format!("#{}", summary.id), document) }
}

/// The report as a self-contained file.
pub fn report(summary: &Summary, document: &RunDocument) -> String {
    pages::report(&[named(summary, document)])
}

/// The result as a picture for a forum or a ticket.
pub fn card(summary: &Summary, document: &RunDocument) -> String {
    pages::card(&named(summary, document))
}

fn of_store(run: &Summary, form_secret: &str) -> Markup {
    let id = run.id;
    let word = || html! { input type="hidden" name="word" value=(form_secret); };
    html! {
        section.kept aria-label={ "Run " (id) " in the store" } {
            p.meta {
                b { "Run " (id) }
                " · " (minute(run.at)) " UTC"
                @if let Some(host) = &run.host { " · host " (host) }
                " · " (run.tool)
                @match run.state {
                    State::Complete => {}
                    State::Running => { " · " strong { "still being measured" } ", see " a href="/live" { "Running now" } }
                    State::Interrupted => { " · " strong { "interrupted" } ": these tests were \
                        measured before it stopped" }
                }
                // Without a host, it was on a model, which has no history.
                @if let Some(host) = &run.host {
                    @for model in run.drives.iter().filter_map(|drive| drive.model.as_ref()) {
                        " · " a href=(Query::by(&HISTORY, "model", model)) { "History of " (model) }
                    }
                    " · " a href=(Query::by(&HISTORY, "host", host)) { "History of " (host) }
                }
                " · " a href={ "/run/" (id) "/card.svg" } download={ "run-" (id) ".svg" } { "Card for a forum or ticket" }
                " · " a href={ "/run/" (id) "/report.html" } download={ "run-" (id) ".html" } { "Report as a file" }
                " · " a href={ "/run/" (id) ".json" } download={ "run-" (id) ".json" } { "Result as JSON" }
            }
            div.marks {
                @if !run.tags.is_empty() {
                    ul.tags aria-label="Tags" {
                        @for tag in &run.tags {
                            li {
                                (tag_link(tag))
                                form action={ "/run/" (id) "/untag" } method="post" {
                                    (word()) input type="hidden" name="tag" value=(tag);
                                    button type="submit" aria-label={ "Remove the tag " (tag) } { "×" }
                                }
                            }
                        }
                    }
                }
                form action={ "/run/" (id) "/tag" } method="post" {
                    (word())
                    label { span { "Tag" } input type="text" name="tag" required maxlength="64" autocomplete="off"; }
                    button type="submit" { "Add" }
                }
                form.note action={ "/run/" (id) "/note" } method="post" {
                    (word())
                    label { span { "Note" } textarea name="note" rows="1" { (run.note) } }
                    button type="submit" { "Save" }
                }
            }
        }
    }
}
