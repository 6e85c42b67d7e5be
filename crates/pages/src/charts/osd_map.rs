//! All OSDs of a cluster as a heat map of how slow each is among its peers.

use std::collections::BTreeMap;

use judge::OsdRow;
use measurement::Pass;
use serde::Serialize;
use workload::number::{latency, number};

use super::Chart;
use super::figure::Figure;
use crate::table::{Table, or_dash};

/// More OSDs are drawn as one cell each instead of one row each.
pub(crate) const ROWS_MAX: usize = 40;
/// Most cells of a row.
const COLUMNS_MAX: usize = 50;
/// More hosts share rows.
const HOSTS_MAX: usize = 60;
/// Multiples of the median at which the next colour begins.
const BANDS: [f64; 4] = [1.15, 1.5, 2.0, 4.0];

/// Cells with their values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OsdMap {
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    pub columns: usize,
    /// The name of the columns' axis.
    pub across: &'static str,
    /// Multiples of the median at which the next colour begins.
    pub bands: [f64; 4],
    pub cells: Vec<Cell>,
}

/// The writes of an OSD, in all passes or in one of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    pub column: usize,
    pub row: usize,
    pub name: String,
    /// The median latency.
    pub us: f64,
    /// The latency as a multiple of that of the peers.
    pub ratio: f64,
}

/// The map; `None` with fewer than two OSDs.
pub fn figure(id: String, rows: &[OsdRow<'_>]) -> Option<Figure> {
    let mut osds: Vec<&OsdRow<'_>> = rows.iter().filter(|row| row.standing.is_some()).collect();
    if osds.len() < 2 {
        return None;
    }
    osds.sort_by(|a, b| {
        natural(a.osd.host.as_deref())
            .cmp(&natural(b.osd.host.as_deref()))
            .then_with(|| a.osd.host.cmp(&b.osd.host))
            .then(a.osd.id.cmp(&b.osd.id))
    });
    let passes = osds.iter().map(|row| passes_of(row).len()).max().unwrap_or_default();
    let by_pass = osds.len() <= ROWS_MAX && passes > 1;
    let map = if by_pass { passes_map(&osds, passes) } else { hosts_map(&osds) };
    let title = if by_pass {
        "Write latency of every OSD in every pass".to_owned()
    } else {
        "Write latency of every OSD".to_owned()
    };
    let table = if by_pass { passes_table(&osds, passes) } else { hosts_table(&osds) };
    let summary = summary(&osds, by_pass);
    Some(Figure { id, title, summary, chart: Chart::OsdMap(map), table })
}

/// Text in which numbers compare by their value, so `node10` follows `node9`.
fn natural(text: Option<&str>) -> Vec<(String, u64)> {
    let mut pieces: Vec<(String, u64)> = Vec::new();
    let mut rest = text.unwrap_or_default();
    while !rest.is_empty() {
        let (word, after) =
            rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let (digits, after) =
            after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()));
        pieces.push((word.to_owned(), digits.parse().unwrap_or_default()));
        rest = after;
    }
    pieces
}

/// A row for each OSD, a column for each pass. Passes over all OSDs take turns, so each cell is
/// compared with the same pass of the peers: a disturbance of everything makes no OSD look slow.
fn passes_map(osds: &[&OsdRow<'_>], passes: usize) -> OsdMap {
    let mut cells = Vec::new();
    for pass in 0..passes {
        let mut classes: BTreeMap<Option<&str>, Vec<f64>> = BTreeMap::new();
        for row in osds {
            classes.entry(row.osd.class.as_deref()).or_default().extend(p50_us(row, pass));
        }
        for (row, osd) in osds.iter().enumerate() {
            let us = p50_us(osd, pass);
            let osd = osd.osd;
            let usual_us = classes.get_mut(&osd.class.as_deref()).map(|peers| median(peers));
            let (Some(us), Some(usual_us)) = (us, usual_us) else {
                continue;
            };
            let name = format!("{}, pass {}", osd.name(), pass + 1);
            let ratio = if usual_us > 0.0 { us / usual_us } else { 1.0 };
            cells.push(Cell { column: pass, row, name, us, ratio });
        }
    }
    let rows = osds.iter().map(|row| placed(row)).collect();
    OsdMap { rows, columns: passes, across: "pass", bands: BANDS, cells }
}

/// The passes of its writes at depth 1.
fn passes_of<'a>(row: &OsdRow<'a>) -> &'a [Pass] {
    row.write.map_or(&[], |result| &result.passes)
}

fn p50_us(row: &OsdRow<'_>, pass: usize) -> Option<f64> {
    passes_of(row).get(pass)?.p50_us
}

/// The median of some values, which are sorted for it.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.get(middle) {
        None => 0.0,
        Some(upper) if values.len() % 2 == 1 => *upper,
        Some(upper) => f64::midpoint(values[middle - 1], *upper),
    }
}

/// `osd.3 (node1)`.
fn placed(row: &OsdRow<'_>) -> String {
    row.osd
        .host
        .as_ref()
        .map_or_else(|| row.osd.name(), |host| format!("{} ({host})", row.osd.name()))
}

/// A row for each host, a cell for each of its OSDs. A host with very many takes several rows; very
/// many hosts share rows.
fn hosts_map(osds: &[&OsdRow<'_>]) -> OsdMap {
    let hosts: Vec<&[&OsdRow<'_>]> = osds.chunk_by(|a, b| a.osd.host == b.osd.host).collect();
    let shared = hosts.len() > HOSTS_MAX;
    let groups = if shared { vec![osds] } else { hosts };
    let lines: Vec<(String, &[&OsdRow<'_>])> = groups
        .into_iter()
        .flat_map(|group| group.chunks(COLUMNS_MAX).enumerate())
        .filter_map(|(nth, line)| {
            let (first, is_continued) = (line.first()?, nth > 0 || shared);
            let host = first.osd.host.clone().filter(|_| !is_continued);
            Some((host.unwrap_or_else(|| placed(first)), line))
        })
        .collect();
    let cells = lines.iter().enumerate().flat_map(|(row, (_, line))| {
        line.iter().enumerate().filter_map(move |(column, osd)| {
            let standing = osd.standing?;
            let (us, ratio) = (standing.p50_us, standing.ratio);
            Some(Cell { column, row, name: placed(osd), us, ratio })
        })
    });
    OsdMap {
        columns: lines.iter().map(|(_, line)| line.len()).max().unwrap_or_default(),
        across: if shared { "OSDs" } else { "OSDs of the host" },
        bands: BANDS,
        cells: cells.collect(),
        rows: lines.into_iter().map(|(name, _)| name).collect(),
    }
}

fn summary(osds: &[&OsdRow<'_>], by_pass: bool) -> String {
    let ratio = |row: &OsdRow<'_>| row.standing.map_or(1.0, |standing| standing.ratio);
    let (usual, notable) = (BANDS[0], BANDS[1]);
    let slow = osds.iter().filter(|row| ratio(row) >= notable).count();
    let near = osds.iter().filter(|row| ratio(row) < usual).count();
    let slowest = osds.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let slowest = slowest.map_or(String::new(), |row| {
        format!(" The slowest is {}, {} times the median.", placed(row), number(ratio(row)))
    });
    let compared = if by_pass {
        "Stronger colour means slower than the median of the class in the same pass."
    } else {
        "Stronger colour means slower than the median of the class."
    };
    format!(
        "{compared} Below {} times the median: {near} of {} OSDs; at {} times or more: \
         {slow}.{slowest}",
        number(usual),
        osds.len(),
        number(notable)
    )
}

fn passes_table(osds: &[&OsdRow<'_>], passes: usize) -> Table {
    let mut table = Table::new(["OSD"]);
    table.columns.extend((1..=passes).map(|pass| format!("pass {pass}")));
    let cells = |row: &&OsdRow<'_>| {
        let pass = |pass: usize| or_dash(p50_us(row, pass), latency);
        std::iter::once(placed(row)).chain((0..passes).map(pass)).collect()
    };
    table.rows = osds.iter().map(cells).collect();
    table
}

fn hosts_table(osds: &[&OsdRow<'_>]) -> Table {
    let mut table = Table::new(["OSD", "p50", "× median"]);
    table.rows = osds
        .iter()
        .filter_map(|row| {
            let standing = row.standing?;
            Some(vec![placed(row), latency(standing.p50_us), number(standing.ratio)])
        })
        .collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(hosts: u32, osds_per_host: u32) -> (OsdMap, Figure) {
        let results = samples::osds(hosts, osds_per_host);
        let figure = figure("map".to_owned(), &judge::osd_rows(&results)).unwrap();
        let Chart::OsdMap(map) = figure.chart.clone() else { panic!("{figure:?}") };
        assert!(map.cells.iter().all(|cell| cell.row < map.rows.len()));
        assert!(map.cells.iter().all(|cell| cell.column < map.columns));
        (map, figure)
    }

    #[test]
    fn a_few_osds_have_a_row_each_and_a_column_for_each_pass() {
        let (map, figure) = map(2, 3);
        assert_eq!((map.columns, map.cells.len(), map.across), (5, 30, "pass"));
        assert_eq!(
            map.rows[..4],
            ["osd.0 (node1)", "osd.1 (node1)", "osd.2 (node1)", "osd.3 (node2)"]
        );
        let is_slow = |cell: &&Cell| cell.ratio > BANDS[1];
        assert!(map.cells.iter().filter(is_slow).all(|cell| cell.row == 2));
        assert_eq!(map.cells.iter().filter(is_slow).count(), 5, "slow in every pass");
        insta::assert_snapshot!(figure.summary, @"Stronger colour means slower than the median of the class in the same pass. Below 1.15 times the median: 5 of 6 OSDs; at 1.5 times or more: 1. The slowest is osd.2 (node1), 4.03 times the median.");
        assert_eq!((figure.table.rows.len(), figure.table.columns.len()), (6, 6));
    }

    #[test]
    fn many_osds_have_a_row_for_each_host() {
        let (map, figure) = map(12, 5);
        assert_eq!((map.columns, map.cells.len(), map.rows.len()), (5, 60, 12));
        assert_eq!((map.rows[8].as_str(), map.rows[9].as_str()), ("node9", "node10"));
        insta::assert_snapshot!(figure.summary, @"Stronger colour means slower than the median of the class. Below 1.15 times the median: 59 of 60 OSDs; at 1.5 times or more: 1. The slowest is osd.2 (node1), 4 times the median.");
    }

    #[test]
    fn a_thousand_osds_stay_small_however_they_are_spread() {
        for (hosts, osds_per_host) in [(1000, 1), (1, 1000), (20, 50)] {
            let (map, _) = map(hosts, osds_per_host);
            assert_eq!((map.columns, map.rows.len()), (50, 20), "{hosts} hosts");
            assert_eq!(map.cells.len(), 1000);
        }
    }

    #[test]
    fn one_osd_has_no_peers() {
        let results = samples::osds(1, 1);
        assert_eq!(judge::osd_rows(&results).len(), 1);
        assert!(figure(String::new(), &judge::osd_rows(&results)).is_none());
    }
}
