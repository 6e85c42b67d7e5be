//! Our side of the comparison, through the command that a user types.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::Value;

use super::rows::{Rig, Row};
use super::{Sample, engine_bench, steady_part};
use crate::command::watched_output;

/// Virtual seconds that are simulated in about a second.
const MODEL_SECONDS: u32 = 100;

/// Runs a build of flushmark on the plan of a row.
pub fn measure(
    program: &Path,
    row: &Row,
    target: &str,
    seconds: u32,
    cpu: u32,
) -> anyhow::Result<Sample> {
    let directory = tempfile::tempdir()?;
    let plan = directory.path().join("row.toml");
    let window = steady_part(seconds);
    // A model's seconds are virtual: this many of them take about one real second.
    let seconds = if row.rig == Rig::Model { seconds * MODEL_SECONDS } else { seconds };
    std::fs::write(
        &plan,
        format!(
            "[[test]]\ntime = \"{seconds}s\"\nsize = \"{} GiB\"\n{}\n",
            row.rig.gib(),
            row.plan
        ),
    )?;
    let (plan, cpu) = (plan.to_string_lossy(), cpu.to_string());
    let binary = program.to_string_lossy();
    let args = [
        "-c", &cpu, &binary, "run", &plan, "--target", target, "--destroy-data", "--quiet",
        "--format", "json",
    ];
    let begun = Instant::now();
    let (text, processors) = watched_output("taskset", &args, window)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let document: Value = serde_json::from_str(&text).context("flushmark printed no JSON")?;
    let result = &document["results"][0];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let latency =
        if result["commit_us"].is_null() { &result["write_us"] } else { &result["commit_us"] };
    let (iops, processors) = match row.rig {
        // Virtual time: the rate includes start and end of the program, and the processor is never
        // idle.
        Rig::Model => (number(&result["ops"]) / wall_s, 1.0),
        _ => (number(&result["iops"]), processors),
    };
    Ok(Sample {
        iops,
        p50_us: number(&latency["p50"]),
        cpu_s_per_million: processors / iops * 1e6,
        in_flight: number(&result["in_flight"]),
    })
}

/// Runs the bare loop on the same work.
pub fn bare(arguments: [&str; 2], target: &str, seconds: u32, cpu: u32) -> anyhow::Result<Sample> {
    let [what, content] = arguments;
    let (cpu, seconds) = (cpu.to_string(), seconds.to_string());
    let text = engine_bench("bare_loop", &cpu, &[what, target, &seconds, content])?;
    let line = text
        .lines()
        .rev()
        .find(|line| line.starts_with('{'))
        .context("the bare loop printed no result")?;
    let result: Value = serde_json::from_str(line)?;
    let number = |name: &str| result[name].as_f64().unwrap_or(0.0);
    Ok(Sample { iops: number("iops"), p50_us: number("p50_us"), ..Sample::default() })
}
