//! A figure: a chart with its caption, its summary in words and its data table.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;

use crate::charts::Chart;
use crate::heading::{Level, Look};
use crate::table::Table;

/// A chart and what makes it readable without being seen.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its anchor on the page; unique there.
    pub id: String,
    /// What it shows: its caption and its name for a screen reader.
    pub title: String,
    /// What is to be seen in it, a sentence or two.
    pub summary: String,
    /// What is drawn.
    pub chart: Chart,
    /// The same numbers as a table.
    pub table: Table,
}

/// The data of a page's charts, by the anchors of their figures: what the script draws from.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, Chart>);

impl Figures {
    /// Keeps a figure's data and gives its place on the page, with a heading of this level.
    pub fn place(&mut self, figure: Figure, level: Level) -> Markup {
        let Figure { id, title, summary, chart, table } = figure;
        let rows = chart.rows();
        self.0.insert(id.clone(), chart);
        html! {
            figure.wide[rows.is_some()] id=(id) {
                figcaption { (level.heading(Look::Title, None, &html! { (title) })) p { (summary) } }
                div.chart data-figure=(id) data-rows=[rows] role="img" aria-label={ (title) ". " (summary) } {}
                details {
                    summary { "Data" span.of { " of “" (title) "”" } }
                    (table.markup(&format!("Data of “{title}”")))
                }
            }
        }
    }

    /// Whether there is a figure of this anchor.
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Whether the page has no chart.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
