//! The main table: every data set, every peer.

use std::fmt::Write as _;

use super::runner::{Input, Measured, Outcome, Runner};
use super::{Options, targets};

/// The peer with a separate target.
const STD: &str = "std-unstable";

/// Measures data set by data set, and prints a line after each, because a run over all takes
/// minutes.
pub fn run(runner: &Runner, options: &Options, keys: usize, sets: &[String]) -> anyhow::Result<()> {
    println!(
        "{keys} keys of each data set, median of {}; a ratio is a peer's time divided by ours, on \
         a column if the peer sorts one",
        options.repeat
    );
    let (mut headed, mut short, mut left_out) = (false, 0, 0);
    for data in sets {
        match runner.compare(data, keys, options.repeat, &[])? {
            Outcome::Measured(measured) => {
                if !headed {
                    println!("{}", head(&measured));
                    headed = true;
                }
                let line = Line::of(data, &measured);
                short += usize::from(!line.met);
                println!("{line}");
            }
            // Ten million of the long keys do not fit into every machine; the other data sets are
            // still measured.
            Outcome::LeftOut(why) => {
                left_out += 1;
                println!("{data:<17} LEFT OUT: {why}");
            }
        }
    }
    println!("{} of {} data sets miss their target, {left_out} were left out", short, sets.len());
    Ok(())
}

#[derive(Debug)]
struct Line {
    data: String,
    /// On slices, and on a column.
    ours_ns: [f64; OURS],
    ratios: Vec<f64>,
    fastest: (String, f64),
    wanted: String,
    met: bool,
}

/// The number of our entries in the measurements.
const OURS: usize = 2;

impl Line {
    /// The measurements, ours first.
    fn of(data: &str, measured: &[Measured]) -> Self {
        let (ours, peers) = measured.split_at(OURS.min(measured.len()));
        let on = |input: Input| {
            ours.iter().find(|one| one.input == input).map_or(f64::NAN, Measured::median_ns)
        };
        let ratio = |peer: &Measured| peer.median_ns() / on(peer.input);
        let ratios = || peers.iter().map(|peer| (peer.name.clone(), ratio(peer)));
        let fastest = ratios().min_by(|left, right| left.1.total_cmp(&right.1)).unwrap_or_default();
        let std = peers.iter().find(|peer| peer.name == STD).map_or(0.0, ratio);
        let target = targets::of(data);
        Self {
            data: data.to_owned(),
            ours_ns: [on(Input::Slices), on(Input::Column)],
            ratios: ratios().map(|(_, ratio)| ratio).collect(),
            met: target.is_met(fastest.1, std),
            wanted: target.wanted(),
            fastest,
        }
    }
}

fn head(measured: &[Measured]) -> String {
    let mut head = format!("{:<17} {:>9} {:>9}", "data set", "ours ns", "on column");
    for peer in measured.iter().skip(OURS) {
        let _ = write!(head, " {:>12}", peer.name);
    }
    head + &format!("  {:>5} {:<12} {:<11} met", "best", "peer", "wanted")
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [slices, column] = self.ours_ns;
        write!(f, "{:<17} {slices:>9.1} {column:>9.1}", self.data)?;
        for ratio in &self.ratios {
            write!(f, " {ratio:>12.2}")?;
        }
        let met = if self.met { "yes" } else { "SHORT" };
        write!(f, "  {:>5.2} {:<12} {:<11} {met}", self.fastest.1, self.fastest.0, self.wanted)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn ratios_are_of_medians_and_the_fastest_peer_decides() {
        let measured: Vec<Measured> = serde_json::from_str(
            r#"[{"name": "prefixsort", "input": "slices", "ns_per_key": [90, 100, 2000]},
                {"name": "ours-on-column", "input": "column", "ns_per_key": [80]},
                {"name": "std-unstable", "input": "slices", "ns_per_key": [350, 400, 410]},
                {"name": "arrow-ord", "input": "column", "ns_per_key": [120]},
                {"name": "sketch", "input": "slices", "ns_per_key": [140, 130, 120]}]"#,
        )
        .unwrap();
        let line = Line::of("urls", &measured);
        assert_eq!(
            format!("{}\n{line}", head(&measured)),
            "data set            ours ns on column std-unstable    arrow-ord       sketch   best \
             peer         wanted      met\n\
             urls                  100.0      80.0         4.00         1.50         1.30   1.30 \
             sketch       1.5 std 3   SHORT"
        );
        assert!(Line::of("uuid-4", &measured).met);
    }
}
