//! HTML pages with charts from result documents. Pure functions from documents to text; no I/O.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`shell`] | the frame of a page: head, content security policy, embedded or linked assets |
//! | [`assets`] | style sheet, script and the chart library, each with its digest |
//! | [`naming`] | the names of runs |
//! | [`heading`] | heading levels |
//! | [`mod@card`] | a result as a picture for a forum or a ticket |
//! | [`charts::figure`] | a chart with its caption, its summary in words and its data table |
//! | [`table`] | tables of numbers |
//! | [`charts`] | the data of charts: one file for each kind of chart |
//! | [`sections`] | the text of the report as HTML: one file for each part |
//!
//! [`report()`] and [`trace_report()`] make one self-contained file. A server uses the same parts separately: [`content`]
//! returns a run's sections and the data of its charts, [`shell::Page`] frames them with linked
//! assets.
//!
//! All text that came from a drive, a host or a file name is escaped by `maud` in HTML and
//! attributes, by [`shell::embedded_json`] in data, and reaches a chart's label or tooltip as text
//! only. Invisible characters and those that change the writing direction are made visible
//! ([`unseen`]), except in values that a form sends back.
//!
//! ```
//! let page = pages::report(&[]);
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! assert!(pages::is_report(&page));
//! ```

pub mod assets;
pub mod card;
pub mod charts;
pub mod fleet;
pub mod heading;
pub mod sections;
pub mod shell;
pub mod table;

pub mod naming;

mod evidence;
mod fold;
mod prose;

#[cfg(test)]
mod contrast;

use maud::Markup;
use measurement::{RunDocument, TraceDocument};

pub use card::{card, is_card};
pub use charts::figure::Figures;
pub use shell::{Assets, Page};

/// Identifies a report in its head, so flushmark may overwrite it.
const MARKER: &str = "<meta name=\"generator\" content=\"flushmark report\">";
/// The marker is within this many bytes of the start.
const MARKER_WITHIN_BYTES: usize = 1024;

/// A run and its label on the page.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The name given by the user: a file name, a tag, the number of a stored run.
    pub label: String,
    /// The host that measured; a document does not contain its name.
    pub host: Option<String>,
    pub document: &'a RunDocument,
}

impl<'a> Run<'a> {
    /// A run of an unknown host.
    pub fn new(label: impl Into<String>, document: &'a RunDocument) -> Run<'a> {
        Run { label: label.into(), host: None, document }
    }
}

/// A trace of other programs, and its label on the page.
#[derive(Debug, Clone)]
pub struct Trace<'a> {
    pub label: String,
    pub document: &'a TraceDocument,
}

/// The content of a page, and the data of its charts.
#[derive(Debug)]
pub struct Content {
    /// The sections as HTML.
    pub markup: Markup,
    /// The data of the charts in the sections.
    pub figures: Figures,
}

/// The sections of these runs: verdict, comparison if there are several, and each run with its
/// charts.
pub fn content(runs: &[Run<'_>]) -> Content {
    content_after(&maud::html! {}, runs)
}

/// Like [`content`], with a server's own markup after the heading and before everything else.
pub fn content_after(lead: &Markup, runs: &[Run<'_>]) -> Content {
    let mut figures = Figures::default();
    let markup = sections::runs(runs, lead, &mut figures);
    Content { markup, figures }
}

/// The report: a single file that contains everything.
pub fn report(runs: &[Run<'_>]) -> String {
    file(&naming::tab_title(runs), content(runs))
}

/// The report of traces: a single file that contains everything.
pub fn trace_report(traces: &[Trace<'_>]) -> String {
    let mut figures = Figures::default();
    let markup = sections::trace_page::sections(traces, &mut figures);
    file(&sections::trace_page::title(traces), Content { markup, figures })
}

fn file(title: &str, content: Content) -> String {
    let Content { markup, figures } = content;
    shell::html(&Page {
        title: &format!("{title} · flushmark"),
        above: maud::html! {},
        main: markup,
        figures: &figures,
        assets: Assets::Inline,
    })
}

/// Returns whether the start of a file shows that it is a report made by flushmark.
pub fn is_report(text: &str) -> bool {
    let most = text.len().min(MARKER_WITHIN_BYTES);
    let head = text.as_bytes().get(..most).unwrap_or_default();
    head.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
}
