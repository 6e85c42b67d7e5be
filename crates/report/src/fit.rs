//! The quality of a fitted model: how well it reproduces a measurement.

use workload::number::number;

use crate::columns::{Column, Columns};
use crate::look::{Look, paint};

/// The measured and the modelled rate of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct FitRow {
    pub test: String,
    /// Measured operations per second.
    pub measured: f64,
    /// Operations per second of the model.
    pub modelled: f64,
    /// The model is within the tolerance.
    pub holds: bool,
}

/// The model that the fit started from, the parameters changed, and the remaining differences.
pub fn fit_page(
    like: &str,
    turned: &[(&'static str, f64, f64)],
    rows: &[FitRow],
    look: &Look,
) -> String {
    let mut text = format!("Started from `{like}`.\n");
    if turned.is_empty() {
        text += "No parameter had to be changed.\n";
    } else {
        text.push('\n');
        text += &Columns::<(&'static str, f64, f64)>::new()
            .with(Column::left("parameter"), |(path, _, _)| *path)
            .with(Column::right("was"), |(_, from, _)| from.to_string())
            .with(Column::right("is"), |(_, _, to)| to.to_string())
            .of(turned, look);
    }
    text.push('\n');
    text += &Columns::<FitRow>::new()
        .with(Column::left("test"), |row| row.test.clone())
        .with(Column::right("measured"), |row| number(row.measured))
        .with(Column::right("modelled"), |row| number(row.modelled))
        .with(Column::right("off by"), |row| {
            format!("{:+.1} %", (row.modelled / row.measured - 1.0) * 100.0)
        })
        .with(Column::left(""), |row| if row.holds { "" } else { "too far" })
        .of(rows, look);
    let far = rows.iter().filter(|row| !row.holds).count();
    if far > 0 {
        let words = "Tests that are too far off were disturbed during the measurement, or depend \
                     on a mechanism that this model lacks.";
        text += &format!("\n{}\n", paint(look.palette.warning, words));
    }
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit() {
        let row = |test: &str, measured, modelled, holds| FitRow {
            test: test.to_owned(),
            measured,
            modelled,
            holds,
        };
        let rows = [row("write", 25_100.0, 25_400.0, true), row("read", 6_000.0, 9_000.0, false)];
        let turned = [("drive.flush.journal_us", 1200.0, 1730.0), ("drive.flash.dies", 16.0, 8.0)];
        insta::assert_snapshot!(fit_page("consumer-nvme", &turned, &rows, &Look::plain()), @"
        Started from `consumer-nvme`.

          parameter                was    is
          drive.flush.journal_us  1200  1730
          drive.flash.dies          16     8

          test   measured  modelled   off by
          write    25,100    25,400   +1.2 %
          read      6,000     9,000  +50.0 %  too far

        Tests that are too far off were disturbed during the measurement, or depend on a mechanism that this model lacks.
        ");
        insta::assert_snapshot!(fit_page("consumer-nvme", &[], &rows[..1], &Look::plain()), @"
        Started from `consumer-nvme`.
        No parameter had to be changed.

          test   measured  modelled  off by
          write    25,100    25,400  +1.2 %
        ");
    }
}
