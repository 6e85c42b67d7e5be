//! Answers over many hosts as HTML: the parts of the fleet's report, which a server's pages share.

use fleet::map::{Cell, Column, Map, Row};
use fleet::outliers::RATIO_MIN;
use fleet::{Drifts, NO_RUN, Outliers, Shape, Summary, SummaryRow};
use maud::{Markup, html};
use report::counted;
use store::RunId;
use workload::number::{latency, number};

use crate::charts::figure::Figures;
use crate::heading::{Level, Look};
use crate::shell::{self, Assets, Page};
use crate::table::Table;

/// More drives would make the file slow to open; the slowest for their model come first.
const ROWS_MAX: usize = 500;

/// A drive that takes at most this share of its model's usual latency is marked as fast.
const FAST_MAX: f64 = 1.0 / RATIO_MIN;

/// The answers on the page of a fleet.
#[derive(Debug, Clone)]
pub struct FleetReport {
    pub summary: Summary,
    pub outliers: Outliers,
    pub drifts: Drifts,
    pub maps: Vec<Map>,
}

/// Addresses of the page of a run, and of the map sorted by a test; `None` without a server.
pub type RunLink<'a> = &'a dyn Fn(RunId) -> Option<String>;
pub type SortLink<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The report: a single file that contains everything.
pub fn fleet_report(report: &FleetReport) -> String {
    let FleetReport { summary, outliers, drifts, maps } = report;
    let title = format!("Fleet of {}", counted(summary.hosts as u64, "host"));
    let part = |text: &str| Level::TOP.heading(Look::Part, None, &html! { (text) });
    let main = html! {
        header.page {
            p.brand { "flushmark" }
            h1 { (title) }
            @if let Some([first, last]) = summary.began {
                p.meta {
                    "The newest run of each suite and target: " (counted(summary.runs as u64, "run"))
                    ", from " (first.strftime("%Y-%m-%d").to_string())
                    " to " (last.strftime("%Y-%m-%d").to_string()) " (UTC)"
                }
            }
        }
        (part("Slower than others of their model"))
        (outliers_section(outliers))
        (part("Slower than they were"))
        (drifts_section(drifts))
        (part("All hosts together"))
        (summary_section(summary))
        @for map in maps {
            (part(&format!("Drives in {}", map.suite)))
            (map_section(map, &map.rows[..map.rows.len().min(ROWS_MAX)], &|_| None, &|_| None))
            @if map.rows.len() > ROWS_MAX {
                p.meta { "Only the " (ROWS_MAX) " of " (number(map.rows.len() as f64)) " drives that are slowest for their model." }
            }
        }
        footer { p { "Made by flushmark " (env!("CARGO_PKG_VERSION")) "." } }
    };
    shell::html(&Page {
        title: &format!("{title} · flushmark"),
        above: html! {},
        main,
        figures: &Figures::default(),
        assets: Assets::Inline,
    })
}

/// Percentiles of each test, over the whole distributions.
pub fn summary_section(summary: &Summary) -> Markup {
    let suites = summary.rows.chunk_by(|one, other| one.suite == other.suite);
    html! {
        @if summary.rows.is_empty() { p.notice { (NO_RUN) } }
        @for rows in suites {
            div.scroll role="region" aria-label="Latencies of all hosts together" tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { (rows[0].suite) }
                            @for column in ["hosts", "operations", "p50", "p99", "max", "lowest p50", "highest p50"] {
                                th scope="col" { (column) }
                            }
                        }
                    }
                    tbody { @for row in rows { (summary_row(row)) } }
                }
            }
        }
    }
}

fn summary_row(row: &SummaryRow) -> Markup {
    let us = row.latency_us;
    html! {
        tr {
            th scope="row" { (row.test) }
            td { (number(row.hosts as f64)) }
            td { (number(us.count as f64)) }
            td { (latency(us.p50)) }
            td { (latency(us.p99)) }
            td { (latency(us.max)) }
            td { (latency(row.fastest.p50_us)) " (" (row.fastest.host) ")" }
            td { (latency(row.slowest.p50_us)) " (" (row.slowest.host) ")" }
        }
    }
}

/// Drives that are slower than others of their model, with what differs.
pub fn outliers_section(outliers: &Outliers) -> Markup {
    let mut table =
        Table::new(["host", "drive", "model", "test", "p50", "usual", "slower", "what differs"]);
    for found in &outliers.found {
        table.rows.push(vec![
            found.host.clone(),
            found.drive.clone(),
            found.kind.model.clone(),
            found.test.clone(),
            latency(found.p50_us),
            latency(found.usual_us),
            times(found.p50_us / found.usual_us),
            report::what_differs(&found.causes),
        ]);
    }
    html! {
        p.meta {
            (number(outliers.compared as f64)) " drives compared within model, suite and filesystem."
            @if outliers.not_compared > 0 {
                " " (number(outliers.not_compared as f64)) " were not: fewer than "
                (fleet::outliers::PEERS_MIN) " of their kind were measured."
            }
        }
        @if table.rows.is_empty() {
            p.notice {
                @if outliers.compared == 0 {
                    "Nothing to compare: " (fleet::outliers::PEERS_MIN) " drives of one model, \
                    measured with the same suite and filesystem, are needed."
                } @else {
                    "No drive is slower than others of its model."
                }
            }
        } @else {
            (table.markup("Drives that are slower than others of their model"))
        }
    }
}

/// Drives that became slower, since when, and what changed then.
pub fn drifts_section(drifts: &Drifts) -> Markup {
    let mut table = Table::new([
        "host", "drive", "model", "test", "since (UTC)", "before", "since", "slower", "how",
        "what changed then",
    ]);
    for drift in &drifts.found {
        table.rows.push(vec![
            drift.host.clone(),
            drift.drive.clone(),
            drift.model.clone().unwrap_or_default(),
            format!("{}: {}", drift.suite, drift.test),
            drift.since.strftime("%Y-%m-%d").to_string(),
            latency(drift.before_us),
            latency(drift.since_us),
            times(drift.since_us / drift.before_us),
            match drift.shape {
                Shape::Step => "at once".to_owned(),
                Shape::Gradual => "gradually".to_owned(),
            },
            report::what_changed(&drift.changes),
        ]);
    }
    html! {
        p.meta {
            (number(drifts.drives as f64)) " drives with " (fleet::HISTORY_MIN) " runs or more of a \
            test."
        }
        @if table.rows.is_empty() {
            p.notice {
                @if drifts.drives == 0 { "Nothing to compare." }
                @else { "No drive became slower." }
            }
        } @else {
            (table.markup("Drives that became slower"))
        }
    }
}

/// Drives and tests: each cell has the median latency, and how it compares with the model's.
pub fn map_section(map: &Map, rows: &[Row], link: RunLink<'_>, sort: SortLink<'_>) -> Markup {
    html! {
        div.scroll role="region" aria-label={ "Drives in " (map.suite) } tabindex="0" {
            table.fleet {
                thead {
                    tr {
                        @for column in ["host", "drive", "model", "firmware"] {
                            th scope="col" { (column) }
                        }
                        @for column in &map.columns {
                            th scope="col" {
                                @match sort(&column.test) {
                                    Some(address) => a href=(address) { (column.test) },
                                    None => (column.test),
                                }
                            }
                        }
                    }
                }
                tbody { @for row in rows { (map_row(row, link)) } }
            }
        }
        p.meta {
            "Median latency in each drive's newest run. The factor compares it with the median of \
             its model, and is shown from " (RATIO_MIN) " × on and up to " (FAST_MAX) " ×."
        }
    }
}

fn map_row(row: &Row, link: RunLink<'_>) -> Markup {
    html! {
        tr {
            th scope="row" {
                @match link(row.run) {
                    Some(address) => a href=(address) { (row.host) },
                    None => (row.host),
                }
            }
            td { (row.drive) }
            td { (row.model.as_deref().unwrap_or("–")) }
            td { (row.firmware.as_deref().unwrap_or("–")) }
            @for cell in &row.cells {
                @match cell {
                    Some(cell) => td class=[cell.ratio.and_then(heat)] { (cell_text(cell)) },
                    None => td { "–" },
                }
            }
        }
    }
}

/// Each test over the drives of a map: lowest, middle and highest.
pub fn columns_section(map: &Map) -> Markup {
    let mut table = Table::new(["test", "drives", "lowest p50", "middle", "highest p50"]);
    table.rows = map.columns.iter().map(column_row).collect();
    table.markup(&format!("Tests of {}", map.suite))
}

fn column_row(column: &Column) -> Vec<String> {
    let [lowest, middle, highest] = column.p50_us.map(latency);
    vec![column.test.clone(), number(column.drives as f64), lowest, middle, highest]
}

/// The class of a cell whose latency is this many times the usual; `None` if it is usual.
fn heat(ratio: f64) -> Option<&'static str> {
    match ratio {
        4.0.. => Some("hot-4"),
        2.0.. => Some("hot-3"),
        1.5.. => Some("hot-2"),
        RATIO_MIN.. => Some("hot-1"),
        ..=FAST_MAX => Some("fast"),
        _ => None,
    }
}

fn cell_text(cell: &Cell) -> Markup {
    html! {
        (latency(cell.p50_us))
        @if let Some(ratio) = cell.ratio.filter(|ratio| heat(*ratio).is_some()) {
            " " span.faint { (times(ratio)) }
        }
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.1}×")
}
