//! A figure: a chart with its caption, its summary in words and its data table.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;

use super::Chart;
use crate::heading::{Level, Look};
use crate::table::Table;

/// A chart with the texts that make it readable without seeing it.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The HTML id; unique on the page.
    pub id: String,
    /// The caption, which is also its name for a screen reader.
    pub title: String,
    /// One or two sentences about the chart.
    pub summary: String,
    /// The data to draw.
    pub chart: Chart,
    /// The same numbers as a table.
    pub table: Table,
}

/// The data of a page's charts by the ids of their figures; the input of the script.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, Chart>);

impl Figures {
    /// Records a figure's data and returns its markup, with a heading of this level.
    pub fn place(&mut self, figure: Figure, level: Level) -> Markup {
        let Figure { id, title, summary, chart, table } = figure;
        let (rows, wide) = (chart.rows(), chart.is_wide());
        self.0.insert(id.clone(), chart);
        html! {
            figure.wide[wide] id=(id) {
                figcaption { (level.heading(Look::Title, None, &html! { (title) })) p { (summary) } }
                div.chart data-figure=(id) data-rows=[rows] role="img" aria-label={ (title) ". " (summary) } {}
                details.data {
                    summary { "Data" span.of { " of “" (title) "”" } }
                    (table.markup(&format!("Data of “{title}”")))
                }
            }
        }
    }

    /// Returns whether there is a figure with this id.
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Returns whether the page has no charts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
