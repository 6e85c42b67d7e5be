//! The published drives nearest to the measured one.

use judge::Nearest;
use workload::number::{latency, number};

use crate::columns::{Cell, Column, Columns};
use crate::look::Look;

/// The nearest drives, the compared tests, and the limits of the comparison.
pub(crate) fn nearest(nearest: &[Nearest], look: &Look) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let mut table = Columns::new([
        Column::left("drive"),
        Column::left("cache"),
        Column::prose("compared"),
        Column::right("here"),
        Column::right("published"),
        Column::right("apart"),
    ]);
    let mut notes = Vec::new();
    for near in nearest {
        for (index, compared) in near.compared.iter().enumerate() {
            let show = |value: f64| {
                if compared.unit == "us" {
                    latency(value)
                } else {
                    format!("{} {}", number(value), compared.unit)
                }
            };
            let first = index == 0;
            table.row([
                Cell::from(if first { near.drive.label.clone() } else { String::new() }),
                Cell::from(if first { near.write_cache.name().to_owned() } else { String::new() }),
                Cell::from(compared.what.clone()),
                Cell::from(show(compared.ours)),
                Cell::from(show(compared.published)),
                Cell::from(if first { number(near.factor) } else { String::new() }),
            ]);
        }
        if let Some(note) = near.note.as_ref().filter(|note| !notes.contains(note)) {
            notes.push(note);
        }
    }
    let mut text = look.heading("Nearest published drives") + &table.render(look);
    for note in notes {
        text += &crate::prose::hanging("  ", 2, note, look.columns());
    }
    look.finish(text)
}
