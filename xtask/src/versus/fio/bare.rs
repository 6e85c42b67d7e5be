//! Loops that only keep a queue full: fio's `t/io_uring`, and one on the `io-uring` crate.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::rows::{FullQueue, Row};
use super::{Options, Sample, engine_bench};
use crate::command::output;
use crate::versus::median;

/// The share of a bare loop's rate that the engine must reach.
pub const SHARE_MIN: f64 = 0.98;

/// A bare loop with its settings for a row.
pub enum BareLoop<'a> {
    /// fio's `t/io_uring`, which only reads.
    Fio {
        program: &'a Path,
        depth: u32,
        /// Requests submitted and completions awaited per call.
        batch: u32,
    },
    /// `crates/engine/benches/crate_loop.rs`.
    Crate { depth: u32, writes: bool },
}

/// The loops that are measured on a row: none for rows of depth 1.
pub fn loops<'a>(
    row: &Row,
    target: &str,
    options: &'a Options,
) -> anyhow::Result<Vec<BareLoop<'a>>> {
    let Some(FullQueue { depth, writes }) = row.queue else { return Ok(Vec::new()) };
    let mut loops = vec![BareLoop::Crate { depth, writes }];
    if let Some(program) = options.bare.as_ref().filter(|_| !writes) {
        loops.push(best_batch(program, depth, target, options.cpu)?);
    }
    Ok(loops)
}

/// fio's loop with the batch size that does best in a short trial.
fn best_batch<'a>(
    program: &'a Path,
    depth: u32,
    target: &str,
    cpu: u32,
) -> anyhow::Result<BareLoop<'a>> {
    let mut best = (0.0, depth);
    for batch in [depth, depth / 4, 1] {
        let tried = BareLoop::Fio { program, depth, batch };
        let trials: Vec<Sample> =
            (0..3).map(|_| tried.measure(target, 1, cpu)).collect::<anyhow::Result<_>>()?;
        let iops = median(trials.iter().map(|sample| sample.iops));
        eprintln!("  t/io_uring -s{batch} -c{batch}: {iops:.0} IOPS");
        if iops > best.0 {
            best = (iops, batch);
        }
    }
    Ok(BareLoop::Fio { program, depth, batch: best.1 })
}

impl BareLoop<'_> {
    pub fn name(&self) -> &'static str {
        match self {
            BareLoop::Fio { .. } => "IOPS and t/io_uring's",
            BareLoop::Crate { .. } => "IOPS and io-uring crate's",
        }
    }

    pub fn measure(&self, target: &str, seconds: u32, cpu: u32) -> anyhow::Result<Sample> {
        let cpu = cpu.to_string();
        let iops = match self {
            BareLoop::Fio { program, depth, batch } => {
                let program = program.to_string_lossy();
                let settings = [
                    format!("-d{depth}"),
                    format!("-s{batch}"),
                    format!("-c{batch}"),
                    // It prints nothing for its last second, and the first one is the warm-up.
                    format!("-r{}", seconds + 2),
                ];
                let settings = settings.iter().map(String::as_str);
                let fixed = ["-b4096", "-p0", "-B1", "-F1", "-R1", target];
                let args: Vec<&str> =
                    ["-c", &cpu, &program].into_iter().chain(settings).chain(fixed).collect();
                let text = output("taskset", &args)?;
                let seconds: Vec<f64> = text.lines().filter_map(rate_of_line).skip(1).collect();
                anyhow::ensure!(!seconds.is_empty(), "t/io_uring printed no rate: {}", text.trim());
                seconds.iter().sum::<f64>() / seconds.len() as f64
            }
            BareLoop::Crate { depth, writes } => {
                let (depth, seconds) = (depth.to_string(), seconds.to_string());
                let what = if *writes { "write" } else { "read" };
                let text = engine_bench("crate_loop", &cpu, &[what, target, &seconds, &depth])?;
                let line = text.lines().rev().find(|line| line.starts_with('{'));
                let result: Value =
                    serde_json::from_str(line.context("the crate's loop printed no result")?)?;
                result["iops"].as_f64().context("the crate's loop printed no rate")?
            }
        };
        Ok(Sample { iops, ..Sample::default() })
    }
}

/// Operations per second in a line such as `IOPS=684K, BW=2.61GiB/s, IOS/call=32/31`.
fn rate_of_line(line: &str) -> Option<f64> {
    let rate = line.trim().strip_prefix("IOPS=")?.split(',').next()?;
    let (digits, factor) = match rate.strip_suffix(['K', 'M']) {
        Some(digits) if rate.ends_with('K') => (digits, 1e3),
        Some(digits) => (digits, 1e6),
        None => (rate, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_peer() {
        assert_eq!(rate_of_line("IOPS=684K, BW=2.61GiB/s, IOS/call=32/31"), Some(684_000.0));
        assert_eq!(rate_of_line("IOPS=1.02M, BW=3.98GiB/s, IOS/call=32/31"), Some(1_020_000.0));
        assert_eq!(rate_of_line("IOPS=970, BW=3MiB/s, IOS/call=1/1"), Some(970.0));
        assert_eq!(rate_of_line("Maximum IOPS=684K"), None);
    }
}
