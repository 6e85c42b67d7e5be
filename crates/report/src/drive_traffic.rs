//! The commands that drives were given, beside what the block layer was asked for and sent.

use measurement::{DriveTraffic, OperationCounts};
use workload::number::number;

use crate::columns::{Column, Columns};
use crate::look::Look;

/// The heading of the table.
pub const COMMANDS_GIVEN: &str = "Commands that drives were given";

/// The counts at one level above a drive, or of the commands that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficRow<'a> {
    pub device: &'a str,
    pub level: &'static str,
    counts: &'a OperationCounts,
}

/// A column of counts.
#[derive(Debug, Clone, Copy)]
pub struct TrafficColumn {
    pub name: &'static str,
    of: fn(&OperationCounts) -> u64,
    /// Shown only where a row has a count.
    optional: bool,
}

const fn column(name: &'static str, of: fn(&OperationCounts) -> u64) -> TrafficColumn {
    TrafficColumn { name, of, optional: false }
}

const fn optional(name: &'static str, of: fn(&OperationCounts) -> u64) -> TrafficColumn {
    TrafficColumn { name, of, optional: true }
}

const COLUMNS: [TrafficColumn; 6] = [
    column("writes", |counts| counts.writes),
    column("with FUA", |counts| counts.fua_writes),
    column("flushes", |counts| counts.flushes),
    optional("discards", |counts| counts.discards),
    optional("others", |counts| counts.others),
    optional("failed", |counts| counts.failed),
];

impl TrafficColumn {
    /// The columns that these rows need.
    pub fn of_rows(rows: &[TrafficRow<'_>]) -> impl Iterator<Item = TrafficColumn> {
        let is_needed = |column: &TrafficColumn| rows.iter().any(|row| (column.of)(row.counts) > 0);
        COLUMNS.into_iter().filter(move |column| !column.optional || is_needed(column))
    }

    /// The text of a cell; `None` for the 0 of a column that not all rows need.
    pub fn cell(&self, row: &TrafficRow<'_>) -> Option<String> {
        let count = (self.of)(row.counts);
        (!self.optional || count > 0).then(|| number(count as f64))
    }
}

/// The rows of each drive. A text may lack the events of the block layer.
pub fn traffic_rows(traffic: &[DriveTraffic]) -> Vec<TrafficRow<'_>> {
    traffic.iter().flat_map(rows).collect()
}

fn rows(drive: &DriveTraffic) -> impl Iterator<Item = TrafficRow<'_>> {
    let above = [("asked of the block layer", &drive.asked), ("sent to the driver", &drive.sent)];
    let above = above.into_iter().filter(|(_, counts)| **counts != OperationCounts::default());
    let rows = above.chain([("given to the drive", &drive.given)]);
    rows.map(|(level, counts)| TrafficRow { device: &drive.device, level, counts })
}

/// A part of the page, with an empty line before it; empty if no driver reports commands.
pub(crate) fn commands_given(traffic: &[DriveTraffic], look: &Look) -> String {
    let rows = traffic_rows(traffic);
    if rows.is_empty() {
        return String::new();
    }
    let columns = Columns::<TrafficRow<'_>>::new()
        .with(Column::left("drive"), |row| row.device)
        .with(Column::left("level"), |row| row.level);
    let columns = TrafficColumn::of_rows(&rows).fold(columns, |columns, column| {
        columns.with(Column::right(column.name), move |row| column.cell(row))
    });
    format!("\n{}{}", look.heading(COMMANDS_GIVEN), columns.of(&rows, look))
}
