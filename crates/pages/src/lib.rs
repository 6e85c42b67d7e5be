//! Pages that a browser shows: result documents drawn as HTML with charts. Pure functions from documents to text; no I/O.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`shell`] | the frame of a page: head, content security policy, assets within the page or linked |
//! | [`assets`] | style sheet, script and the chart library, each with its digest |
//! | [`heading`] | headings in their order |
//! | [`figure`] | a chart with its caption, its summary in words and its data table |
//! | [`table`] | tables of numbers |
//! | [`charts`] | what is drawn, as data: one file a kind of chart |
//! | [`sections`] | what is said, as HTML: one file a part of the report |
//!
//! [`report()`] makes one self-contained file. A server takes the same parts apart: [`content`] gives a run's sections and the data of its
//! charts, [`shell::Page`] frames them with linked assets.
//!
//! Everything that came from a drive, a host or a file name is escaped by `maud` in HTML and attributes, by [`shell::embedded_json`] in data, and
//! reaches a chart's label or tooltip as text only. Characters that are not seen, or that turn the direction of writing, are shown
//! ([`workload::unseen`]), except in what a form sends back.
//!
//! ```
//! let page = pages::report(&[]);
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! assert!(pages::is_report(&page));
//! ```

pub mod assets;
pub mod charts;
pub mod figure;
pub mod heading;
pub mod sections;
pub mod shell;
pub mod table;

mod evidence;
mod prose;

#[cfg(test)]
mod contrast;

use maud::Markup;
use measurement::RunDocument;

pub use figure::Figures;
pub use shell::{Assets, Page};

/// What a report of ours has in its head, so that it may be written anew.
const MARKER: &str = "<meta name=\"generator\" content=\"flushmark report\">";
/// Within so many bytes the marker stands.
const MARKER_WITHIN_BYTES: usize = 1024;

/// A run and the name that the page gives it.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// What the person called it: a file's name, a tag.
    pub label: String,
    /// The run.
    pub document: &'a RunDocument,
}

/// What stands on a page, and the data of the charts on it.
#[derive(Debug)]
pub struct Content {
    /// The sections.
    pub markup: Markup,
    /// The data of their charts.
    pub figures: Figures,
}

/// The sections of these runs: verdict, comparison where there are several, and each run with its charts.
pub fn content(runs: &[Run<'_>]) -> Content {
    content_after(&maud::html! {}, runs)
}

/// The same with something of a server's own after the heading, before everything else.
pub fn content_after(lead: &Markup, runs: &[Run<'_>]) -> Content {
    let mut figures = Figures::default();
    let markup = sections::runs(runs, lead, &mut figures);
    Content { markup, figures }
}

/// The report: one file with everything in it.
pub fn report(runs: &[Run<'_>]) -> String {
    let Content { markup, figures } = content(runs);
    let title = format!("{} · flushmark", sections::tab_title(runs));
    shell::html(&Page { title: &title, above: maud::html! {}, main: markup, figures: &figures, assets: Assets::Inline })
}

/// Whether a file's beginning shows that it is a report of ours.
pub fn is_report(text: &str) -> bool {
    let most = text.len().min(MARKER_WITHIN_BYTES);
    let head = text.as_bytes().get(..most).unwrap_or_default();
    head.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
}
