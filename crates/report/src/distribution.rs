//! Draws latency distributions over a logarithmic axis, one line each. A tail or a second mode is
//! visible there although a percentile hides it.

use measurement::Histogram;

use crate::look::{Look, paint};

/// Block characters by height, lowest first.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The marks of the axis, within each decade.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];
/// Wider axes show noise rather than shape.
const AXIS_MAX: usize = 72;

/// Draws each labelled distribution as one line over a common axis. Empty distributions are left
/// out; the result is empty if all are.
///
/// The height of a column is its share of the line's fullest column. Anything rarer than an eighth
/// of that, down to a single latency, still shows as the lowest block so that the tail is visible.
pub fn distributions(labelled: &[(String, &Histogram)], look: &Look) -> String {
    let drawn: Vec<&(String, &Histogram)> =
        labelled.iter().filter(|(_, histogram)| !histogram.is_empty()).collect();
    let Some(axis) = Axis::over(drawn.iter().map(|(_, histogram)| *histogram)) else {
        return String::new();
    };
    let label_width = drawn.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let left = 2 + label_width + 2;
    let width = look.columns().saturating_sub(left).clamp(20, AXIS_MAX);

    let mut text = look.heading(
        "Latency distribution (logarithmic axis; the lowest block may be a single operation)",
    );
    for (label, histogram) in drawn {
        text += &format!("  {label:<label_width$}  {}\n", strip(histogram, &axis, width));
    }
    let (ruler, marks) = axis.drawn(width);
    for line in [ruler, marks] {
        text += &format!("{:left$}{}\n", "", paint(look.palette.faint, line.trim_end()));
    }
    look.finish(text)
}

fn strip(histogram: &Histogram, axis: &Axis, width: usize) -> String {
    let mut shares = vec![0u64; width];
    for (latency_ns, count) in histogram.buckets() {
        shares[axis.column(latency_ns as f64, width)] += count;
    }
    let fullest = shares.iter().copied().max().unwrap_or(0).max(1);
    let block = |&count: &u64| match count {
        0 => ' ',
        count => BLOCKS[((count * 8).div_ceil(fullest) as usize).clamp(1, 8) - 1],
    };
    shares.iter().map(block).collect::<String>().trim_end().to_owned()
}

/// A logarithmic axis from one mark of [`STEPS`] to another.
struct Axis {
    low_ns: f64,
    high_ns: f64,
}

impl Axis {
    fn over<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Option<Axis> {
        let ends =
            histograms.map(|histogram| (histogram.quantile_ns(0.0), histogram.quantile_ns(1.0)));
        let (low, high) =
            ends.reduce(|(low, high), (lower, higher)| (low.min(lower), high.max(higher)))?;
        let low_ns = marks().take_while(|&mark| mark <= low.max(1) as f64).last()?;
        let high_ns = marks().find(|&mark| mark > high.max(1) as f64)?;
        // At least a decade; otherwise the noise of a steady drive looks like a mountain range.
        Some(Axis { low_ns, high_ns: high_ns.max(low_ns * 10.0) })
    }

    fn column(&self, latency_ns: f64, width: usize) -> usize {
        let share =
            (latency_ns.max(self.low_ns) / self.low_ns).ln() / (self.high_ns / self.low_ns).ln();
        ((share * width as f64) as usize).min(width - 1)
    }

    /// The line with the marks, and the line with their labels. The start of the axis and the
    /// decades have priority; other marks are labelled if there is room.
    fn drawn(&self, width: usize) -> (String, String) {
        let inside = marks().filter(|&mark| mark >= self.low_ns && mark < self.high_ns);
        let (first, others): (Vec<f64>, Vec<f64>) =
            inside.partition(|&mark| mark <= self.low_ns || is_decade(mark));
        let mut ruler = vec!['─'; width];
        let mut names = vec![' '; width];
        for mark in first.into_iter().chain(others) {
            // Slightly above the mark, because its logarithm may round to just below its column.
            let column = self.column(mark * 1.000_001, width);
            let name = workload::number::latency(mark / 1e3);
            let end = column + name.chars().count();
            // Two spaces separate a label from its neighbours.
            let around = column.saturating_sub(2)..(end + 2).min(width);
            if end <= width && names[around].iter().all(|&character| character == ' ') {
                ruler[column] = '┴';
                names.splice(column..end, name.chars());
            }
        }
        (ruler.into_iter().collect(), names.into_iter().collect())
    }
}

fn is_decade(mark: f64) -> bool {
    mark.log10().fract().abs() < 1e-9
}

/// 1, 2, 5, 10, 20, 50 ... ns, up to more than the hour at which histograms end.
fn marks() -> impl Iterator<Item = f64> {
    (0..14).flat_map(|decade| STEPS.map(|step| step * 10f64.powi(decade)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Glyphs;
    use samples::spread;

    fn three() -> Vec<(String, Histogram)> {
        let mut bimodal = spread(1_700.0, 3_000);
        bimodal.merge(&spread(9_000.0, 400));
        vec![
            ("write".to_owned(), spread(21.0, 20_000)),
            ("write + fsync".to_owned(), bimodal),
            ("nothing".to_owned(), Histogram::new()),
        ]
    }

    fn drawn(look: &Look) -> String {
        let three = three();
        let labelled: Vec<_> =
            three.iter().map(|(label, histogram)| (label.clone(), histogram)).collect();
        distributions(&labelled, look)
    }

    #[test]
    fn two_modes_are_visible() {
        insta::assert_snapshot!(drawn(&Look { columns: 80, ..Look::plain() }), @"
        Latency distribution (logarithmic axis; the lowest block may be a single
        operation)
          write             ▁▅█▄▂ ▁   ▁
          write + fsync                                      ▁█▃▁  ▁   ▁ ▁▁▁▁  ▁   ▁
                         ┴────────────────┴────────────────┴──────────┴─────┴───────────
                         10 µs            100 µs           1 ms       5 ms  10 ms
        ");
    }

    #[test]
    fn ascii_has_the_same_shape() {
        insta::assert_snapshot!(drawn(&Look { columns: 80, glyphs: Glyphs::Ascii, ..Look::plain() }), @"
        Latency distribution (logarithmic axis; the lowest block may be a single
        operation)
          write             .+#=: .   .
          write + fsync                                      .#-.  .   . ....  .   .
                         +----------------+----------------+----------+-----+-----------
                         10 us            100 us           1 ms       5 ms  10 ms
        ");
    }

    #[test]
    fn a_single_latency_and_no_latency() {
        let mut one = Histogram::new();
        one.record(1);
        insta::assert_snapshot!(distributions(&[("null".to_owned(), &one)], &Look::plain()), @"
        Latency distribution (logarithmic axis; the lowest block may be a single operation)
          null  █
                ┴────────────────────┴────────────────────────────┴─────────────────────
                1 ns                 2 ns                         5 ns
        ");
        assert_eq!(distributions(&[], &Look::plain()), "");
        assert_eq!(distributions(&[("empty".to_owned(), &Histogram::new())], &Look::plain()), "");
    }

    #[test]
    fn every_latency_of_a_histogram_has_a_column() {
        let mut all = Histogram::new();
        for latency_ns in [0, 1, 999, 1_000_000, measurement::HIGHEST_NS, u64::MAX] {
            all.record(latency_ns);
        }
        let text = distributions(&[("all".to_owned(), &all)], &Look::plain());
        let line = text.lines().nth(1).unwrap_or_default();
        // 0 and 1 ns share a column, as do the two at the end of the scale.
        assert_eq!(line.chars().filter(|&c| BLOCKS.contains(&c)).count(), 4, "{text}");
    }
}
