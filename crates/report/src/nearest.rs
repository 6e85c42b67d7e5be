//! The published drives nearest to the measured one.

use judge::{Basis, Compared, Nearest};
use workload::number::{latency, number};

use crate::columns::{Column, Columns};
use crate::look::Look;

/// The nearest drives in a line each.
pub(crate) fn nearest_in_brief(nearest: &[Nearest], look: &Look) -> String {
    let drives: Vec<String> = nearest
        .iter()
        .map(|near| {
            let basis = match near.basis {
                Basis::SameTests => "",
                Basis::SimilarTest => ", similar test",
                Basis::DoubtfulFigures => ", doubtful",
            };
            format!("{} (factor {}{basis})", near.drive.label, number(near.factor))
        })
        .collect();
    if drives.is_empty() {
        return String::new();
    }
    look.finish(look.hanging("Similar published drives: ", &drives.join(", ")))
}

/// The nearest drives, the compared tests, and the limits of the comparison.
pub(crate) fn nearest(nearest: &[Nearest], look: &Look) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let show = |compared: &Compared, value: f64| {
        if compared.unit == "us" {
            latency(value)
        } else {
            format!("{} {}", number(value), compared.unit)
        }
    };
    // The drive, in its first row only, and one of its tests.
    let mut table = Columns::<(Option<&Nearest>, &Compared)>::new()
        .with(Column::prose("drive"), |(near, _)| {
            near.map_or_else(String::new, |near| near.drive.label.clone())
        })
        .with(Column::left("cache").may_drop(1), |(near, _)| {
            near.map_or("", |near| near.write_cache.name())
        })
        .with(Column::prose("compared"), |(_, compared)| compared.what.clone())
        .with(Column::right("here"), |(_, compared)| show(compared, compared.ours))
        .with(Column::right("published"), |(_, compared)| show(compared, compared.published))
        .with(Column::right("apart"), |(near, _)| {
            near.map_or_else(String::new, |near| number(near.factor))
        });
    for near in nearest {
        for (index, compared) in near.compared.iter().enumerate() {
            table.row(&((index == 0).then_some(near), compared));
        }
    }
    let mut text = look.heading("Nearest published drives") + &table.render(look);
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for near in nearest {
        let Some(note) = near.note.as_deref() else { continue };
        let label = near.drive.label.as_str();
        match notes.iter_mut().find(|(other, _)| *other == note) {
            Some((_, labels)) => labels.push(label),
            None => notes.push((note, vec![label])),
        }
    }
    for (note, labels) in notes {
        text += &if labels.len() == nearest.len() {
            look.hanging("  ", note)
        } else {
            look.hanging("  ", &format!("{}: {note}", labels.join(", ")))
        };
    }
    look.finish(text)
}
