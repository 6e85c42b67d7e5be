//! Time per key with a growing number of keys: whether it stays within n log n.
//!
//! A sort that takes n log n steps takes log n per key: 1.4 times as much at 10 million keys as at
//! 100 000. What exceeds that is due to memory, and the same figure for std's sort shows how much.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, bail};

use super::Options;
use super::plot::{Curve, plot};
use super::runner::{Outcome, Runner};
use crate::build;

const COUNTS: [usize; 5] = [100_000, 316_000, 1_000_000, 3_160_000, 10_000_000];
const CONTESTANTS: [&str; 3] = ["prefixsort", "std-unstable", "sketch"];
/// The data sets with targets for their speed.
const DATA: [&str; 4] = ["urls", "composite-binary", "prefix-48", "uniform-16"];

/// Measures, prints a table for each data set, and writes a plot into the target directory.
pub fn run(runner: &Runner, options: &Options) -> anyhow::Result<()> {
    let asked: Vec<&str> = options.data.iter().map(String::as_str).collect();
    let sets = if asked.is_empty() { &DATA[..] } else { &asked };
    let directory = build::target_directory();
    for data in sets {
        let mut curves =
            CONTESTANTS.map(|name| Curve { name: name.to_owned(), points: Vec::new() });
        for count in COUNTS {
            eprintln!("{data}: {count} keys");
            let measured = match runner.compare(data, count, options.repeat, &CONTESTANTS)? {
                Outcome::Measured(measured) => measured,
                Outcome::LeftOut(why) => {
                    bail!("growth is measured up to {} keys: {why}", COUNTS[COUNTS.len() - 1])
                }
            };
            for (curve, measured) in curves.iter_mut().zip(&measured) {
                curve.points.push((count as f64, measured.median_ns()));
            }
        }
        print!("{}", table(data, &curves));
        let path = directory.join(format!("sort-growth-{data}.svg"));
        fs::write(&path, plot(&format!("{data}: ns per key"), &curves))
            .with_context(|| format!("cannot write the plot to {}", path.display()))?;
        println!("plot: {}\n", path.display());
    }
    Ok(())
}

fn table(data: &str, curves: &[Curve]) -> String {
    let mut text = format!("{data}: ns per key\n{:<14}", "keys");
    for curve in curves {
        let _ = write!(text, " {:>13}", curve.name);
    }
    let counts = curves.first().map_or(&[][..], |curve| &curve.points);
    for (at, (count, _)) in counts.iter().enumerate() {
        let _ = write!(text, "\n{count:<14}");
        for curve in curves {
            let _ = write!(text, " {:>13.1}", curve.points[at].1);
        }
    }
    let _ = write!(text, "\n{:<14}", "by n log n");
    for curve in curves {
        let _ = write!(text, " {:>13}", format!("{:.2} x", beyond(&curve.points)));
    }
    text.push('\n');
    text
}

/// The growth of the time per key from the first count to the last, divided by the growth of log n.
fn beyond(points: &[(f64, f64)]) -> f64 {
    match points {
        [(few, fast), .., (many, slow)] => slow / fast / (many.ln() / few.ln()),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_by_log_n_is_one() {
        let curve = |name: &str, points: [f64; 2]| Curve {
            name: name.to_owned(),
            points: vec![(100_000.0, points[0]), (10_000_000.0, points[1])],
        };
        assert!((beyond(&curve("a", [50.0, 70.0]).points) - 1.0).abs() < 1e-9);
        assert_eq!(
            table(
                "urls",
                &[curve("prefixsort", [50.0, 70.0]), curve("std-unstable", [200.0, 560.0])]
            ),
            "urls: ns per key\n\
             keys              prefixsort  std-unstable\n\
             100000                  50.0         200.0\n\
             10000000                70.0         560.0\n\
             by n log n            1.00 x        2.00 x\n"
        );
    }
}
