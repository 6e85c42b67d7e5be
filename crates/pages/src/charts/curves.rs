//! Figures over a parameter that grows in steps, in panels that share its axis.

use serde::Serialize;

use super::{Line, Unit};
use crate::table::{Table, or_dash};

/// Panels over the same steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curves {
    /// The parameter: `block size`, `jobs`.
    pub over: String,
    /// The steps, as labelled on the axis.
    pub steps: Vec<String>,
    /// Panels beside each other, if there is room. Those of a row share their vertical axis.
    pub columns: usize,
    pub panels: Vec<Panel>,
}

/// One figure, with a line for each kind of test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// The distinction of its tests from those of other panels; empty without one.
    pub name: String,
    /// The figure that is plotted.
    pub what: String,
    pub unit: Unit,
    pub lines: Vec<Line>,
    pub published: Vec<Line>,
    pub mark: Option<Mark>,
}

/// A place on the axis of the steps that the text is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Position among the steps: 1.5 is in the middle between the second and the third.
    pub at: f64,
    pub text: String,
}

impl Curves {
    /// The values of all panels as a table: a row for each step.
    pub(super) fn table(&self) -> Table {
        let mut columns = vec![self.over.clone()];
        let mut lines: Vec<(&Line, Unit)> = Vec::new();
        for panel in &self.panels {
            let of =
                if self.panels.len() == 1 { String::new() } else { format!(": {}", panel.what) };
            let of = if panel.name.is_empty() { of } else { format!("{of}, {}", panel.name) };
            columns.extend(panel.lines.iter().map(|line| format!("{}{of}", line.name)));
            columns.extend(
                panel.published.iter().map(|line| format!("{}{of} (published)", line.name)),
            );
            lines.extend(panel.lines.iter().chain(&panel.published).map(|line| (line, panel.unit)));
        }
        let row = |(index, step): (usize, &String)| {
            let cells = lines.iter().map(|(line, unit)| {
                or_dash(line.values.get(index).copied().flatten(), |value| unit.words(value))
            });
            std::iter::once(step.clone()).chain(cells).collect()
        };
        let rows = self.steps.iter().enumerate().map(row).collect();
        Table { columns, rows, ..Table::default() }
    }

    /// The two ends of a line in words: `1.71 ms at 512 B, 17.1 ms at 8 MiB`. `None` if fewer than
    /// two values are known.
    pub(super) fn ends(&self, unit: Unit, line: &Line) -> Option<String> {
        let known = line.values.iter().zip(&self.steps);
        let mut known = known.filter_map(|(value, step)| Some(((*value)?, step)));
        let (first, last) = (known.next()?, known.next_back()?);
        let at = |(value, step): (f64, &String)| format!("{} at {step}", unit.words(value));
        Some(format!("{}, {}", at(first), at(last)))
    }
}

impl Panel {
    /// Number of measured values.
    pub(super) fn count(&self) -> usize {
        self.lines.iter().flat_map(|line| &line.values).filter(|value| value.is_some()).count()
    }
}

/// The position of a value between increasing steps, on a logarithmic scale; `None` outside.
pub(super) fn position(value: f64, steps: &[f64]) -> Option<f64> {
    let after = steps.iter().position(|step| *step >= value)?;
    if (steps[after] - value).abs() <= f64::EPSILON * value {
        return Some(after as f64);
    }
    let (low, high) = (*steps.get(after.checked_sub(1)?)?, steps[after]);
    (low > 0.0).then(|| (after - 1) as f64 + (value / low).ln() / (high / low).ln())
}

/// A ratio for a chart: `3.1 ×`.
pub(super) fn times(ratio: f64) -> String {
    format!("{} ×", workload::number::number(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_between_two_steps_has_a_position_between_them() {
        let steps = [1.0, 4.0, 16.0];
        let at = |value| position(value, &steps);
        assert_eq!((at(1.0), at(4.0), at(16.0)), (Some(0.0), Some(1.0), Some(2.0)));
        assert!((at(8.0).unwrap() - 1.5).abs() < 1e-9);
        assert_eq!((at(0.5), at(17.0)), (None, None));
    }
}
