//! The size of the blocks that a drive maps, from random writes of growing size.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::number;
use workload::{Pattern, format_bytes};

use super::unsynced_writes::unsynced_writes;

/// Fewer sizes show no step.
const POINTS_LEAST: usize = 6;
/// From the erase block on, nothing is gained by larger writes: this share of the best is reached.
const REACHED: f64 = 0.85;
/// Half an erase block is slower than this share of a whole one, because the other half is copied. Where each command costs something and nothing is copied, speed approaches its
/// best so slowly that half a size is at least 0.87 of a size at [`REACHED`].
const HALF: f64 = 0.75;

pub(super) fn judge(results: &[TestResult], label: &str) -> Option<Finding> {
    let mut points: Vec<(u64, f64)> = unsynced_writes(results, Pattern::RandWrite)
        .filter(|result| result.workload.depth == 1)
        .map(|result| (result.workload.block_bytes, result.mib_per_s))
        .collect();
    points.sort_by_key(|(bytes, _)| *bytes);
    points.dedup_by_key(|(bytes, _)| *bytes);
    if points.len() < POINTS_LEAST {
        return None;
    }
    let evidence =
        |(bytes, mib): &(u64, f64)| Evidence::number(format!("random {}", format_bytes(*bytes)), *mib, "MiB/s");
    let (first, last) = (points.first()?, points.last()?);
    let Some(step) = step(&points) else {
        return Some(Finding {
            id: "erase-block".to_owned(),
            title: format!("Random writes on {label} get faster with their size by and by: no erase block shows."),
            evidence: vec![evidence(first), evidence(last)],
            confidence: Confidence::Medium,
            doubt: Some("A drive that was written to for long may show its blocks only then.".to_owned()),
            advice: "Align partitions to 1 MiB, as partitioning programs do by themselves.".to_owned(),
        });
    };
    let (below, block) = (&points[step - 1], &points[step]);
    let size = format_bytes(block.0);
    Some(Finding {
        id: "erase-block".to_owned(),
        title: format!(
            "{label} maps blocks of {size}: random writes of {} run at {} MiB/s, of {size} at {}.",
            format_bytes(below.0),
            number(below.1),
            number(block.1)
        ),
        evidence: vec![Evidence::number("erase block", block.0 as f64, "bytes"), evidence(below), evidence(block)],
        confidence: Confidence::High,
        doubt: Some(format!("Only these sizes were tried: it may be anything above {}.", format_bytes(below.0))),
        advice: format!(
            "Align partitions to {size}, and write in pieces of that size where speed counts; small random writes copy the rest of a block each time."
        ),
    })
}

/// The first size from which on the best speed is reached, if half of it is much slower.
fn step(points: &[(u64, f64)]) -> Option<usize> {
    let best = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let step = (0..points.len()).find(|&step| points[step..].iter().all(|point| point.1 >= best * REACHED))?;
    (step > 0 && points[step - 1].1 <= points[step].1 * HALF).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(speed: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        (14..=25).map(|power| (1 << power, speed(f64::from(1u32 << power)))).collect()
    }

    #[test]
    fn copying_makes_a_step_and_the_cost_of_commands_none() {
        let block = 2097152.0;
        let copying = points(|bytes| bytes / (bytes / 15.0 + (block - bytes).max(0.0) / 20.0));
        assert_eq!(step(&copying).map(|step| copying[step].0), Some(2 << 20));
        for fixed in [1e4, 1e5, 1e6, 1e7] {
            assert_eq!(step(&points(|bytes| bytes / (fixed + bytes))), None, "{fixed}");
        }
        assert_eq!(step(&points(|_| 100.0)), None);
    }
}
