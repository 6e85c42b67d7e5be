//! `cargo xtask versus`: flushmark compared with a peer in one run, on the same target.
//!
//! Contestants take turns in an order that changes from round to round, and medians are compared.
//! A comparison fails if a program is missing or a measurement fails, not if a ratio falls short.

pub mod ceph;
pub mod db;
pub mod fio;
mod loop_device;
pub mod nbd;
pub mod nbdkit;
pub mod sort;
pub mod trace;
pub mod verify;

use std::path::{Path, PathBuf};

/// Options of every comparison of flushmark with a peer.
#[derive(Debug, Clone, clap::Args)]
pub struct Shared {
    /// Rounds of each row, of which medians are taken
    #[arg(long, default_value_t = 5)]
    rounds: u32,

    /// Seconds of each measurement
    #[arg(long, default_value_t = 3)]
    seconds: u32,

    /// Another build of flushmark, such as the version before, measured in the same rounds; can be
    /// repeated
    #[arg(long = "build", value_name = "PROGRAM")]
    builds: Vec<PathBuf>,

    /// Only rows whose name contains one of these
    rows: Vec<String>,
}

impl Shared {
    fn wants(&self, row: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|part| row.contains(part.as_str()))
    }
}

/// The share of another build's rate that this one must reach: what is written for clarity, and
/// the release profile, may cost 3 %.
const BUILD_SHARE_MIN: f64 = 0.97;

/// Measures every contestant once per round. Returns the samples of each, in the order of the
/// contestants; prints the figure that `shown` takes from each sample after every round.
fn in_turns<C, S>(
    rounds: u32,
    contestants: &[C],
    shown: fn(&S) -> f64,
    mut measure: impl FnMut(&C) -> anyhow::Result<S>,
) -> anyhow::Result<Vec<Vec<S>>> {
    let mut samples: Vec<Vec<S>> = contestants.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds as usize {
        for turn in order(round, contestants.len()) {
            samples[turn].push(measure(&contestants[turn])?);
        }
        let last = samples.iter().filter_map(|samples| samples.last());
        let figures: Vec<String> = last.map(|sample| figure(shown(sample))).collect();
        eprintln!("  round {}: {}", round + 1, figures.join(", "));
    }
    Ok(samples)
}

/// The order of a round: reversed in every other one, beginning with the next contestant after two.
fn order(round: usize, contestants: usize) -> Vec<usize> {
    let mut turns: Vec<usize> =
        (0..contestants).map(|turn| (turn + round / 2) % contestants).collect();
    if round % 2 == 1 {
        turns.reverse();
    }
    turns
}

/// A line of the table.
struct Compared {
    row: String,
    what: String,
    ours: f64,
    theirs: f64,
    wanted: Wanted,
}

impl Compared {
    /// The medians of the samples of two sides.
    fn medians<S>(
        row: &str,
        what: impl Into<String>,
        [ours, theirs]: [&[S]; 2],
        figure: fn(&S) -> f64,
        wanted: Wanted,
    ) -> Compared {
        Compared {
            row: row.to_owned(),
            what: what.into(),
            ours: median(ours.iter().map(figure)),
            theirs: median(theirs.iter().map(figure)),
            wanted,
        }
    }

    fn ratio(&self) -> f64 {
        if self.theirs > 0.0 { self.ours / self.theirs } else { 0.0 }
    }
}

/// The requirement on the ratio of flushmark's figure to the peer's.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
    /// At most this far from 1.
    Within(f64),
    /// Our figure is below this, whatever theirs is.
    Below(f64),
}

impl Wanted {
    /// The requirement on a rate, compared with that of another build.
    const BUILD_RATE: Wanted = Wanted::AtLeast(BUILD_SHARE_MIN);
    /// The requirement on a time, compared with that of another build.
    const BUILD_TIME: Wanted = Wanted::AtMost(1.0 / BUILD_SHARE_MIN);

    fn holds(self, line: &Compared) -> bool {
        let ratio = line.ratio();
        match self {
            Wanted::AtLeast(least) => ratio >= least,
            Wanted::AtMost(most) => ratio <= most,
            Wanted::Within(off) => (ratio - 1.0).abs() <= off,
            Wanted::Below(limit) => line.ours < limit,
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::AtLeast(least) => write!(f, ">= {least:.2}"),
            Wanted::AtMost(most) => write!(f, "<= {most:.2}"),
            Wanted::Within(off) => write!(f, "1 ± {off}"),
            Wanted::Below(limit) => write!(f, "below {limit}"),
        }
    }
}

/// The label of a comparison with another build: a figure, and the name of the build's file.
fn and_build(what: &str, build: &Path) -> String {
    format!("{what} and {}'s", build.file_name().unwrap_or_default().to_string_lossy())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn print(table: &[Compared]) {
    println!(
        "{:<32} {:<26} {:>12} {:>12} {:>7}  wanted",
        "row", "figure", "flushmark", "beside", "ratio"
    );
    for line in table {
        let ratio = line.ratio();
        let verdict = if line.wanted.holds(line) { "" } else { "  SHORT" };
        println!(
            "{:<32} {:<26} {:>12} {:>12} {ratio:>7.3}  {}{verdict}",
            line.row,
            line.what,
            figure(line.ours),
            figure(line.theirs),
            line.wanted
        );
    }
}

fn figure(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert!((median([3.0, 1.0, 2.0].into_iter()) - 2.0).abs() < f64::EPSILON);
        assert!(median(std::iter::empty()).abs() < f64::EPSILON);
    }

    #[test]
    fn everyone_is_first_and_last_equally_often() {
        let rounds: Vec<Vec<usize>> = (0..6).map(|round| order(round, 3)).collect();
        for contestant in 0..3 {
            let first = rounds.iter().filter(|turns| turns[0] == contestant).count();
            let last = rounds.iter().filter(|turns| turns[2] == contestant).count();
            assert_eq!([first, last], [2, 2], "{rounds:?}");
        }
    }

    #[test]
    fn samples_are_returned_in_the_order_of_the_contestants() {
        let samples = in_turns(3, &[1.0, 2.0], |sample| *sample, |&own| Ok(own)).unwrap();
        assert_eq!(samples, [vec![1.0; 3], vec![2.0; 3]]);
    }
}
