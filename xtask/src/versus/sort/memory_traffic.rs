//! The reasons why one sort is faster than another: their instructions, cache misses and reads.
//!
//! valgrind runs one sort of a few keys. cachegrind counts instructions, and the misses of caches
//! like this machine's first-level and last-level caches. lackey lists each load; those within the
//! arena of the keys are counted as key bytes read. What a process does in addition to its sort
//! (generating the keys) is counted in a process that sorts nothing, and subtracted.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::Options;
use super::runner::Runner;
use crate::command::{command, is_there};

/// cachegrind is some fifty times slower than the processor.
const KEYS: usize = 200_000;
/// lackey prints a line for each instruction.
const KEYS_TRACED: usize = 20_000;
const CONTESTANTS: [&str; 4] = ["prefixsort", "std-unstable", "sketch", "published"];
/// The data sets whose targets need an explanation.
const DATA: [&str; 4] = ["urls", "composite-binary", "prefix-48", "genome"];

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counts {
    instructions: f64,
    first_level_misses: f64,
    last_level_misses: f64,
}

/// Runs both tools on each data set and contestant, and prints the counts per key.
pub fn run(runner: &Runner, options: &Options) -> anyhow::Result<()> {
    if !is_there("valgrind", &["--version"]) {
        bail!("valgrind is missing; install it (apt-get install valgrind)");
    }
    let asked: Vec<&str> = options.data.iter().map(String::as_str).collect();
    let sets = if asked.is_empty() { &DATA[..] } else { &asked };
    println!("per key: counted for {KEYS} keys, key bytes and reads for {KEYS_TRACED}");
    println!(
        "{:<17} {:<13} {:>12} {:>10} {:>10} {:>10} {:>10}",
        "data set", "sort", "instructions", "D1 misses", "LL misses", "key bytes", "key reads"
    );
    for data in sets {
        let idle = cache_misses(runner, data, "none")?;
        for contestant in CONTESTANTS {
            let counts = cache_misses(runner, data, contestant)?;
            let reads = key_reads(runner, data, contestant)?;
            let (few, many) = (KEYS_TRACED as f64, KEYS as f64);
            println!(
                "{data:<17} {contestant:<13} {:>12.0} {:>10.2} {:>10.2} {:>10.1} {:>10.2}",
                (counts.instructions - idle.instructions) / many,
                (counts.first_level_misses - idle.first_level_misses) / many,
                (counts.last_level_misses - idle.last_level_misses) / many,
                reads.bytes as f64 / few,
                reads.reads as f64 / few,
            );
        }
    }
    Ok(())
}

fn cache_misses(runner: &Runner, data: &str, contestant: &str) -> anyhow::Result<Counts> {
    let (binary, keys) = (runner.binary(), KEYS.to_string());
    let tool = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"];
    let sort = [&binary, "once", "--data", data, "--keys", &keys, contestant];
    let output = command("valgrind", &[&tool[..], &sort].concat())
        .output()
        .context("cannot start valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "valgrind --tool=cachegrind ended with {}: {}",
        output.status,
        text.trim()
    );
    counts(&text)
        .with_context(|| format!("cachegrind printed no summary of its counts: {}", text.trim()))
}

/// The counts in cachegrind's summary; misses of loads and stores together.
fn counts(summary: &str) -> Option<Counts> {
    let figure = |wanted: &str| {
        let line = summary.lines().find_map(|line| {
            // ==PID== D1  misses:      1,234  (  900 rd   +   334 wr)
            let line = line.split_once("== ")?.1;
            let (name, rest) = line.split_once(':')?;
            (name.split_whitespace().eq(wanted.split(' '))).then_some(rest)
        })?;
        line.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    Some(Counts {
        instructions: figure("I refs")?,
        first_level_misses: figure("D1 misses")?,
        last_level_misses: figure("LLd misses")?,
    })
}

/// The addresses of the keys.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Arena {
    start: u64,
    end: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct KeyReads {
    bytes: u64,
    reads: u64,
}

impl KeyReads {
    /// Counts a line of lackey's trace: ` L address,size` is a load, ` M address,size` one followed
    /// by a store.
    fn count(&mut self, line: &[u8], arena: &Arena) {
        let Some(load) = line.strip_prefix(b" L ").or_else(|| line.strip_prefix(b" M ")) else {
            return;
        };
        let Some((address, size)) =
            str::from_utf8(load).ok().and_then(|load| load.trim_end().split_once(','))
        else {
            return;
        };
        if let (Ok(address), Ok(size)) = (u64::from_str_radix(address, 16), size.parse::<u64>())
            && (arena.start..arena.end).contains(&address)
        {
            self.reads += 1;
            self.bytes += size;
        }
    }
}

/// Counts what one sort loads from the keys.
fn key_reads(runner: &Runner, data: &str, contestant: &str) -> anyhow::Result<KeyReads> {
    // valgrind gives a program the same addresses each time, so a run without the trace shows where
    // the keys will be.
    let arena = Arena::of(
        lackey(runner, data, contestant, "--trace-mem=no").stderr(Stdio::null()).spawn(),
    )?;
    let mut traced =
        lackey(runner, data, contestant, "--trace-mem=yes").stderr(Stdio::piped()).spawn();
    let trace = traced.as_mut().ok().and_then(|child| child.stderr.take());
    let mut reads = KeyReads::default();
    if let Some(trace) = trace {
        let mut trace = BufReader::with_capacity(1 << 20, trace);
        let mut line = Vec::new();
        while trace.read_until(b'\n', &mut line)? > 0 {
            reads.count(&line, &arena);
            line.clear();
        }
    }
    ensure!(
        Arena::of(traced)? == arena,
        "the keys of {data} had other addresses while their reads were traced; try again"
    );
    Ok(reads)
}

fn lackey(runner: &Runner, data: &str, contestant: &str, trace: &str) -> Command {
    let (binary, keys) = (runner.binary(), KEYS_TRACED.to_string());
    let tool = ["--tool=lackey", trace, "--basic-counts=no"];
    let sort = [&binary, "once", "--data", data, "--keys", &keys, contestant];
    let mut lackey = command("valgrind", &[&tool[..], &sort].concat());
    lackey.stdout(Stdio::piped());
    lackey
}

impl Arena {
    /// Waits for the program, and parses the addresses of its keys.
    fn of(child: std::io::Result<Child>) -> anyhow::Result<Self> {
        let output = child.context("cannot start valgrind")?.wait_with_output()?;
        ensure!(output.status.success(), "valgrind --tool=lackey ended with {}", output.status);
        serde_json::from_slice(&output.stdout)
            .context("sortbench did not print the addresses of its keys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cachegrinds_summary_is_read() {
        let summary = "==7== Cachegrind, a cache and branch-prediction profiler\n\
                       ==7== I   refs:      1,234,567\n\
                       ==7== I1  misses:        2,001\n\
                       ==7== D   refs:        400,000  (300,000 rd   + 100,000 wr)\n\
                       ==7== D1  misses:       12,345  ( 10,000 rd   +   2,345 wr)\n\
                       ==7== LLd misses:          678  (    600 rd   +      78 wr)\n\
                       ==7== LL misses:         1,000  (    900 rd   +     100 wr)\n";
        let read = Counts {
            instructions: 1_234_567.0,
            first_level_misses: 12_345.0,
            last_level_misses: 678.0,
        };
        assert_eq!(counts(summary), Some(read));
        assert_eq!(counts("==7== I   refs:      1,234,567\n"), None);
    }

    #[test]
    fn loads_from_the_keys_are_counted_and_no_others() {
        let arena = Arena { start: 0x5a00_0000, end: 0x5a00_1000 };
        let mut reads = KeyReads::default();
        let trace = [
            "I  0405c000,3\n", " L 5a000000,8\n", " L 5a000fff,1\n", " L 5a001000,8\n",
            " S 5a000010,8\n", " M 5a000020,4\n", "==7== lackey\n", " L nonsense\n",
        ];
        trace.iter().for_each(|line| reads.count(line.as_bytes(), &arena));
        assert_eq!(reads, KeyReads { bytes: 13, reads: 3 });
    }
}
