//! Runs `sortbench`, the program that measures.

use std::path::PathBuf;

use anyhow::Context as _;
use serde::Deserialize;

use crate::build;
use crate::command::output;
use crate::versus::median;

/// The program, and the processor that it is pinned to.
#[derive(Debug, Clone)]
pub struct Runner {
    binary: PathBuf,
    cpu: String,
}

/// The measurement of a contestant.
#[derive(Debug, Deserialize)]
pub struct Measured {
    pub name: String,
    pub input: Input,
    ns_per_key: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    Slices,
    /// A column, of which the sorted order is wanted.
    Column,
}

/// The result of a comparison.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Ours first, on slices and on a column, then the peers in the order of the table.
    Measured(Vec<Measured>),
    /// The reason: the keys do not fit into this machine's memory.
    LeftOut(String),
}

impl Measured {
    pub fn median_ns(&self) -> f64 {
        median(self.ns_per_key.iter().copied())
    }
}

impl Runner {
    /// Builds the program.
    pub fn built(cpu: u32) -> anyhow::Result<Self> {
        Ok(Self::of(build::sortbench()?, cpu))
    }

    /// The program of another build.
    pub fn of(binary: PathBuf, cpu: u32) -> Self {
        Self { binary, cpu: cpu.to_string() }
    }

    pub fn data_sets(&self) -> anyhow::Result<Vec<String>> {
        let text = self.run(&["data"])?;
        Ok(text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect())
    }

    /// Measures every contestant, or the named ones, on a data set.
    pub fn compare(
        &self,
        data: &str,
        keys: usize,
        repeat: usize,
        contestants: &[&str],
    ) -> anyhow::Result<Outcome> {
        let (keys, repeat) = (keys.to_string(), repeat.to_string());
        let args = ["compare", "--data", data, "--keys", &keys, "--repeat", &repeat];
        serde_json::from_str(&self.run(&[&args[..], contestants].concat())?)
            .context("sortbench printed no measurement")
    }

    /// Runs it and returns its output.
    pub fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let binary = self.binary.to_string_lossy();
        output("taskset", &[&["-c", &self.cpu, &binary][..], args].concat())
    }

    /// The program's path, for a tool that runs it.
    pub fn binary(&self) -> String {
        self.binary.to_string_lossy().into_owned()
    }
}
