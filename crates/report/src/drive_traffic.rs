//! The commands that drives were given, beside what the block layer was asked for and sent.

use measurement::{DriveTraffic, OperationCounts};
use workload::number::number;

use crate::columns::{Column, Columns};
use crate::look::Look;

struct Row<'a> {
    device: &'a str,
    level: &'static str,
    counts: &'a OperationCounts,
}

/// A part of the page, with an empty line before it; empty if no driver reports commands.
pub(crate) fn commands_given(traffic: &[DriveTraffic], look: &Look) -> String {
    if traffic.is_empty() {
        return String::new();
    }
    let rows: Vec<Row<'_>> = traffic.iter().flat_map(rows).collect();
    let count = |count: u64| number(count as f64);
    let if_any = move |value: u64| (value > 0).then(|| count(value));
    let table = Columns::<Row<'_>>::new()
        .with(Column::left("drive"), |row| row.device)
        .with(Column::left("level"), |row| row.level)
        .with(Column::right("writes"), move |row| count(row.counts.writes))
        .with(Column::right("with FUA"), move |row| count(row.counts.fua_writes))
        .with(Column::right("flushes"), move |row| count(row.counts.flushes))
        .with(Column::right("discards").optional(), move |row| if_any(row.counts.discards))
        .with(Column::right("others").optional(), move |row| if_any(row.counts.others))
        .with(Column::right("failed").optional(), move |row| if_any(row.counts.failed))
        .of(&rows, look);
    format!("\n{}{table}", look.heading("Commands that drives were given"))
}

/// A text may lack the events of the block layer.
fn rows(drive: &DriveTraffic) -> impl Iterator<Item = Row<'_>> {
    let above = [("asked of the block layer", &drive.asked), ("sent to the driver", &drive.sent)];
    let above = above.into_iter().filter(|(_, counts)| **counts != OperationCounts::default());
    let rows = above.chain([("given to the drive", &drive.given)]);
    rows.map(|(level, counts)| Row { device: &drive.device, level, counts })
}
