//! `cargo xtask mutants`: how many small changes to the code the tests notice, by `cargo mutants`.
//!
//! A mutant is the code with one change, such as a function that returns a fixed value or a
//! replaced operator. It is caught if a test of its crate fails or never ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::command::{command, is_there, output, root};

/// The crates that measure, judge, keep and verify.
const CRATES: [&str; 8] =
    ["measurement", "workload", "judge", "compare", "simdrive", "store", "verify", "crash"];
/// The share of viable mutants that the tests of each crate must catch.
const SHARE_MIN: f64 = 0.9;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of mutants to try per crate, spread evenly over its code; 0 tries all
    #[arg(long, default_value_t = 60)]
    sample: usize,

    /// The crates; by default the eight that measure, judge, keep and verify
    crates: Vec<String>,
}

/// The outcomes of the mutants of one crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    caught: usize,
    /// Mutants that no test noticed, as `cargo mutants` names them.
    missed: Vec<String>,
    /// Mutants that do not compile.
    unviable: usize,
}

impl Tally {
    fn viable(&self) -> usize {
        self.caught + self.missed.len()
    }

    /// The share of viable mutants that were caught; 1 if there are none.
    fn share(&self) -> f64 {
        if self.viable() == 0 { 1.0 } else { self.caught as f64 / self.viable() as f64 }
    }
}

/// `mutants.out/outcomes.json`.
#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: String,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant { name: String },
}

/// Tries the mutants and prints each crate's share. Fails if one is below [`SHARE_MIN`].
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !is_there("cargo", &["mutants", "--version"]) {
        bail!("cargo-mutants is missing; install it with `cargo install --locked cargo-mutants`");
    }
    let named = options.crates.iter().map(String::as_str);
    let crates: Vec<&str> =
        if options.crates.is_empty() { CRATES.to_vec() } else { named.collect() };
    let mut tallies = BTreeMap::new();
    for name in crates {
        tallies.insert(name, try_crate(name, options.sample)?);
    }
    println!("{:<14} {:>8} {:>8} {:>8}  share", "crate", "caught", "missed", "unviable");
    for (name, tally) in &tallies {
        let (caught, missed, unviable) = (tally.caught, tally.missed.len(), tally.unviable);
        println!(
            "{name:<14} {caught:>8} {missed:>8} {unviable:>8}  {:.0} %",
            tally.share() * 100.0
        );
        tally.missed.iter().for_each(|mutant| println!("    missed: {mutant}"));
    }
    let short: Vec<&str> = tallies
        .iter()
        .filter(|(_, tally)| tally.share() < SHARE_MIN)
        .map(|(name, _)| *name)
        .collect();
    ensure!(
        short.is_empty(),
        "fewer than {:.0} % of the mutants were caught in: {}",
        SHARE_MIN * 100.0,
        short.join(", ")
    );
    Ok(())
}

fn try_crate(name: &str, sample: usize) -> anyhow::Result<Tally> {
    let listed = output("cargo", &["mutants", "--list", "--package", name])?;
    let shards = shards(listed.lines().count(), sample);
    let directory = root().join("target/mutants").join(name);
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let (shard, out) = (format!("0/{shards}"), directory.to_string_lossy());
    // Each mutant is compiled from scratch: optimising it takes longer than it saves in its tests,
    // and doc examples are compiled one by one.
    let quickly = format!("--cargo-arg=profile.dev.package.{name}.opt-level=1");
    let args = [
        &[
            "mutants", "--package", name, "--shard", &shard, "--sharding", "round-robin",
            "--output", &out,
        ][..],
        &["--cargo-arg=--config", &quickly, "--cargo-test-arg=--tests"],
    ]
    .concat();
    eprintln!("$ cargo {}", args.join(" "));
    // A shared target directory, so dependencies are compiled only once.
    let target = root().join("target/mutants/build");
    let status = command("cargo", &args).env("CARGO_TARGET_DIR", target).status();
    let status = status.context("cannot start cargo mutants")?;
    // 2 and 3 mean that some mutants were missed, or timed out.
    ensure!(
        matches!(status.code(), Some(0 | 2 | 3)),
        "cargo mutants of {name} ended with {status}"
    );
    read(&directory.join("mutants.out/outcomes.json"))
}

/// The number of shards into which a crate's mutants are divided; one of them is tried.
fn shards(mutants: usize, sample: usize) -> usize {
    if sample == 0 { 1 } else { mutants.div_ceil(sample).max(1) }
}

fn read(path: &Path) -> anyhow::Result<Tally> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    tally(&text).with_context(|| format!("{} has an unexpected format", path.display()))
}

fn tally(text: &str) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for Outcome { scenario, summary } in serde_json::from_str::<Outcomes>(text)?.outcomes {
        match (scenario, summary.as_str()) {
            (Scenario::Baseline, "Success") => {}
            (Scenario::Baseline, failed) => {
                bail!("the tests fail on the unchanged code ({failed})")
            }
            (Scenario::Mutant { .. }, "CaughtMutant" | "Timeout") => tally.caught += 1,
            (Scenario::Mutant { name }, "MissedMutant") => tally.missed.push(name),
            (Scenario::Mutant { .. }, "Unviable") => tally.unviable += 1,
            (Scenario::Mutant { name }, other) => bail!("{name}: unknown outcome `{other}`"),
        }
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_a_crate() {
        assert_eq!(shards(0, 60), 1);
        assert_eq!(shards(60, 60), 1);
        assert_eq!(shards(61, 60), 2);
        assert_eq!(shards(500, 0), 1);
    }

    #[test]
    fn outcomes_are_counted() {
        let text = r#"{"outcomes": [
            {"scenario": "Baseline", "summary": "Success", "log_path": "log/baseline.log"},
            {"scenario": {"Mutant": {"name": "a.rs:1: replace a -> 1"}}, "summary": "CaughtMutant"},
            {"scenario": {"Mutant": {"name": "a.rs:2: replace b -> 1"}}, "summary": "MissedMutant"},
            {"scenario": {"Mutant": {"name": "a.rs:3: replace c -> 1"}}, "summary": "Unviable"},
            {"scenario": {"Mutant": {"name": "a.rs:4: replace d -> 1"}}, "summary": "Timeout"}
        ]}"#;
        let tally = tally(text).unwrap();
        assert_eq!(
            tally,
            Tally { caught: 2, missed: vec!["a.rs:2: replace b -> 1".to_owned()], unviable: 1 }
        );
        assert!((tally.share() - 2.0 / 3.0).abs() < 1e-9);
        assert!(
            super::tally(r#"{"outcomes": [{"scenario": "Baseline", "summary": "Failure"}]}"#)
                .is_err()
        );
    }
}
