//! The drives of all hosts in each test, as a heat map, and those of one model.

use std::collections::BTreeMap;

use fleet::map::{Map, Row};
use fleet::outliers::RATIO_MIN;
use maud::{Markup, html};
use pages::fleet::{columns_section, map_section};
use pages::table::Table;
use store::Figures;
use workload::number::number;

use super::frame::{Here, plain};
use super::list::{self, Wrong, pager};
use crate::assets::Needs;
use crate::query::{HISTORY, Query};

pub const ROWS_PER_PAGE: usize = 100;

/// The drives that the query chose. If they are all of one model, the page is about it.
pub fn page(query: &Query, figures: &Figures) -> String {
    let maps = Map::all(figures);
    let Some(map) = maps.first() else { return nothing(query) };
    let model = only_model(&map.rows);
    let title = model.unwrap_or("Fleet");
    let main = html! {
        header.page {
            h1 { (title) }
            p.meta {
                (number(map.rows.len() as f64)) (if map.rows.len() == 1 { " drive" } else { " drives" })
                " in " (map.suite) ", the newest run of each"
            }
        }
        @if let Some(model) = model {
            p.meta { a href=(Query::by(&HISTORY, "model", model)) { "How its latency changed over time" } }
        }
        (filter(query, &Vec::new()))
        @if maps.len() > 1 { (suites(query, &maps)) }
        @if model.is_some() {
            (columns_section(map))
            (firmwares(map))
        } @else {
            (models(query, map))
        }
        (drives(query, map))
    };
    plain(title, Here::Fleet, main, Needs::Plain)
}

/// The form again, if fields of the filter are invalid.
pub fn wrong(query: &Query, wrong: &Wrong) -> String {
    let main = html! {
        header.page { h1 { "Fleet" } }
        (filter(query, wrong))
    };
    plain("Fleet", Here::Fleet, main, Needs::Plain)
}

fn nothing(query: &Query) -> String {
    let main = html! {
        header.page { h1 { "Fleet" } }
        (filter(query, &Vec::new()))
        p.notice {
            "No complete run of a known host" @if query.narrows() { " matches" } ". "
            "Runs on models belong to no host. "
            @if query.narrows() { a href="/fleet" { "Show all drives" } }
        }
    };
    plain("Fleet", Here::Fleet, main, Needs::Plain)
}

fn filter(query: &Query, wrong: &Wrong) -> Markup {
    list::filter(query, "Filter drives", "Show all drives", wrong)
}

fn only_model(rows: &[Row]) -> Option<&str> {
    let first = rows.first()?.model.as_deref()?;
    rows.iter().all(|row| row.model.as_deref() == Some(first)).then_some(first)
}

/// Links to the maps of the other suites.
fn suites(query: &Query, maps: &[Map]) -> Markup {
    html! {
        nav.contents aria-label="Suites" {
            ul {
                @for map in &maps[1..] {
                    li { a href=(query.narrowed("suite", &map.suite)) { (map.suite) } " (" (map.rows.len()) ")" }
                }
            }
        }
    }
}

/// Links to the pages of the models, the most frequent first.
fn models(query: &Query, map: &Map) -> Markup {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for model in map.rows.iter().filter_map(|row| row.model.as_deref()) {
        *counts.entry(model).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    html! {
        nav.contents aria-label="Models" {
            ul {
                @for (model, count) in counts {
                    li { a href=(query.narrowed("model", model)) { (model) } " (" (count) ")" }
                }
            }
        }
    }
}

/// The number of a model's drives with each firmware, and the number of them that are slow.
fn firmwares(map: &Map) -> Markup {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for row in &map.rows {
        let (drives, slow) = counts.entry(row.firmware.as_deref().unwrap_or("–")).or_default();
        *drives += 1;
        *slow += usize::from(row.worst() > RATIO_MIN);
    }
    let slower = format!("more than {RATIO_MIN} × as slow in a test");
    let mut table = Table::new(["firmware", "drives", &slower]);
    let rows = counts.into_iter().map(|(firmware, (drives, slow))| {
        vec![firmware.to_owned(), drives.to_string(), slow.to_string()]
    });
    table.rows = rows.collect();
    table.markup("Firmware")
}

/// The heat map, sorted and divided into pages.
fn drives(query: &Query, map: &Map) -> Markup {
    let mut rows: Vec<Row> = map.rows.clone();
    let sorted = map.columns.iter().position(|column| column.test == query.sort);
    if let Some(column) = sorted {
        let us = |row: &Row| row.cells[column].map_or(0.0, |cell| cell.p50_us);
        rows.sort_by(|one, other| us(other).total_cmp(&us(one)));
    } else if query.sort == "host" {
        rows.sort_by(|one, other| (&one.host, &one.drive).cmp(&(&other.host, &other.drive)));
    }
    let first = (query.page as usize).saturating_mul(ROWS_PER_PAGE).min(rows.len());
    let rest = &rows[first..];
    let shown = &rest[..rest.len().min(ROWS_PER_PAGE)];
    html! {
        p.meta {
            "Sorted by "
            @match sorted {
                Some(column) => (map.columns[column].test),
                None if query.sort == "host" => "host",
                None => "the test in which each drive is slowest for its model",
            }
            "; "
            @if !query.sort.is_empty() { a href=(query.sorted("")) { "slowest for their model first" } " " }
            a href=(query.sorted("host")) { "by host" }
        }
        (map_section(map, shown, &|run| Some(format!("/run/{run}")), &|test| Some(query.sorted(test))))
        (pager(query, rest.len() > shown.len(), ["Drives before", "More drives"]))
    }
}
