//! The main table: every data set, every peer.

use std::fmt::Write as _;

use super::runner::{Measured, Outcome, Runner};
use super::{Options, targets};

/// The peer with a target of its own.
const STD: &str = "std-unstable";

/// Measures data set by data set, and prints a line after each: a run over all takes minutes.
pub fn run(runner: &Runner, options: &Options, keys: usize, sets: &[String]) -> anyhow::Result<()> {
    println!("{keys} keys of each data set, median of {}; a ratio is a peer's time by ours", options.repeat);
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
            // Ten million of the long keys do not fit into every machine; those of the other data sets are worth having all the same.
            Outcome::LeftOut(why) => {
                left_out += 1;
                println!("{data:<17} LEFT OUT: {why}");
            }
        }
    }
    println!("{} of {} data sets fall short of what is wanted, {left_out} were left out", short, sets.len());
    Ok(())
}

/// A line of the table.
#[derive(Debug)]
struct Line {
    data: String,
    ours_ns: f64,
    ratios: Vec<f64>,
    fastest: (String, f64),
    wanted: String,
    met: bool,
}

impl Line {
    /// Of what was measured, ours first.
    fn of(data: &str, measured: &[Measured]) -> Self {
        let (ours, peers) = measured.split_first().map_or((0.0, measured), |(ours, peers)| (ours.median_ns(), peers));
        let ratio = |peer: &Measured| peer.median_ns() / ours;
        let fastest = peers.iter().min_by(|left, right| left.median_ns().total_cmp(&right.median_ns()));
        let fastest = fastest.map_or((String::new(), 0.0), |peer| (peer.name.clone(), ratio(peer)));
        let std = peers.iter().find(|peer| peer.name == STD).map_or(0.0, ratio);
        let target = targets::of(data);
        Self {
            data: data.to_owned(),
            ours_ns: ours,
            ratios: peers.iter().map(ratio).collect(),
            met: target.is_met(fastest.1, std),
            wanted: target.wanted(),
            fastest,
        }
    }
}

fn head(measured: &[Measured]) -> String {
    let mut head = format!("{:<17} {:>9}", "data set", "ours ns");
    for peer in measured.iter().skip(1) {
        let _ = write!(head, " {:>12}", peer.name);
    }
    head + &format!("  {:>5} {:<12} {:<11} met", "best", "peer", "wanted")
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<17} {:>9.1}", self.data, self.ours_ns)?;
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
            r#"[{"name": "prefixsort", "ns_per_key": [90, 100, 2000]},
                {"name": "std-unstable", "ns_per_key": [350, 400, 410]},
                {"name": "sketch", "ns_per_key": [140, 130, 120]}]"#,
        )
        .unwrap();
        let line = Line::of("urls", &measured);
        assert_eq!(
            format!("{}\n{line}", head(&measured)),
            "data set            ours ns std-unstable       sketch   best peer         wanted      met\n\
             urls                  100.0         4.00         1.30   1.30 sketch       1.5 std 3   SHORT"
        );
        assert!(Line::of("uuid-4", &measured).met);
    }
}
