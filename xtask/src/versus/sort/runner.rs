//! Starting `sortbench`, the program that measures.

use std::path::PathBuf;

use anyhow::Context as _;
use serde::Deserialize;

use crate::command::{output, root, shown};
use crate::versus::median;

/// The program, and the processor that it is pinned to.
#[derive(Debug)]
pub struct Runner {
    binary: PathBuf,
    cpu: String,
}

/// What a contestant took.
#[derive(Debug, Deserialize)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// What it was given.
    pub input: Input,
    ns_per_key: Vec<f64>,
}

/// Where keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Slices that lead to them.
    Slices,
    /// One after the other in a column, whose order is wanted.
    Column,
}

/// What became of a comparison.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Ours first, on slices and on a column, then the others in the order of their table.
    Measured(Vec<Measured>),
    /// Why not: the keys do not fit into this machine.
    LeftOut(String),
}

impl Measured {
    /// Its median.
    pub fn median_ns(&self) -> f64 {
        median(self.ns_per_key.iter().copied())
    }
}

impl Runner {
    /// Builds the program.
    pub fn built(cpu: u32) -> anyhow::Result<Self> {
        shown("cargo", &["build", "--quiet", "--release", "--package", "sortbench"])?;
        let target_dir = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root().join("target"), Into::into);
        Ok(Self { binary: target_dir.join("release/sortbench"), cpu: cpu.to_string() })
    }

    /// The names of the data sets.
    pub fn data_sets(&self) -> anyhow::Result<Vec<String>> {
        let text = self.run(&["data"])?;
        Ok(text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
    }

    /// Every contestant, or those that are named, on a data set.
    pub fn compare(&self, data: &str, keys: usize, repeat: usize, contestants: &[&str]) -> anyhow::Result<Outcome> {
        let (keys, repeat) = (keys.to_string(), repeat.to_string());
        let args = ["compare", "--data", data, "--keys", &keys, "--repeat", &repeat];
        serde_json::from_str(&self.run(&[&args[..], contestants].concat())?).context("sortbench printed no measurement")
    }

    /// Runs it and gives what it printed.
    pub fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let binary = self.binary.to_string_lossy();
        output("taskset", &[&["-c", &self.cpu, &binary][..], args].concat())
    }

    /// The program's path, for a tool that runs it.
    pub fn binary(&self) -> String {
        self.binary.to_string_lossy().into_owned()
    }
}
