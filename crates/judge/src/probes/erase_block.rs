//! The size of the blocks that a drive maps, from random writes of increasing size.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::number;
use workload::{Pattern, format_bytes};

use super::unsynced_writes::unsynced_writes;

/// Fewer sizes are too few to show a step.
const POINTS_MIN: usize = 6;
/// Writes of at least an erase block reach this share of the best speed.
const REACHED: f64 = 0.85;
/// Half an erase block is slower than this share of a whole one, because the other half is copied.
/// If commands have a fixed cost and nothing is copied, the speed approaches its best so slowly
/// that half a size reaches at least 0.87 of a size at [`REACHED`].
const HALF: f64 = 0.75;
/// Copying takes at least as long as flash takes to program a page. What is faster copied nothing,
/// and its step is that from the cost of a command to the limit of the interface or of the flash.
const COPY_US_MIN: f64 = 200.0;

pub(super) fn judge(results: &[TestResult], label: &str) -> Option<Finding> {
    let mut points: Vec<(u64, f64)> = unsynced_writes(results, Pattern::RandWrite)
        .filter(|result| result.workload.depth == 1)
        .map(|result| (result.workload.block_bytes, result.mib_per_s))
        .collect();
    points.sort_by_key(|(bytes, _)| *bytes);
    points.dedup_by_key(|(bytes, _)| *bytes);
    if points.len() < POINTS_MIN {
        return None;
    }
    let evidence = |(bytes, mib): &(u64, f64)| {
        Evidence::number(format!("random {}", format_bytes(*bytes)), *mib, "MiB/s")
    };
    let (first, last) = (points.first()?, points.last()?);
    let Some(step) = step(&points) else {
        return Some(Finding {
            id: "erase-block".to_owned(),
            title: format!(
                "{label} shows no erase block: random writes get faster gradually with their size."
            ),
            evidence: vec![evidence(first), evidence(last)],
            confidence: Confidence::Medium,
            doubt: Some(
                "A drive may show its blocks only after it has been written to for a long time."
                    .to_owned(),
            ),
            advice: "Align partitions to 1 MiB, as partitioning programs do by default.".to_owned(),
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
        evidence: vec![
            Evidence::number("erase block", block.0 as f64, "bytes"),
            evidence(below),
            evidence(block),
        ],
        confidence: Confidence::High,
        doubt: Some(format!(
            "Sizes between {} and {size} were not tested: it may be one of them.",
            format_bytes(below.0)
        )),
        advice: format!(
            "Align partitions to {size}, and write in units of that size where speed matters; each \
             small random write copies the rest of its block."
        ),
    })
}

/// The first size that reaches the best speed, if half of it is much slower.
fn step(points: &[(u64, f64)]) -> Option<usize> {
    let best = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let step = (0..points.len())
        .find(|&step| points[step..].iter().all(|point| point.1 >= best * REACHED))?;
    let (bytes, mib_per_s) = points[step.checked_sub(1)?];
    let us = bytes as f64 / f64::from(1 << 20) / mib_per_s * 1e6;
    (us >= COPY_US_MIN && mib_per_s <= points[step].1 * HALF).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(speed: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        (14..=25).map(|power| (1 << power, speed(f64::from(1u32 << power)))).collect()
    }

    #[test]
    fn copying_makes_a_step_and_command_overhead_does_not() {
        let block = 2097152.0;
        let copying = points(|bytes| bytes / (bytes / 15.0 + (block - bytes).max(0.0) / 20.0));
        assert_eq!(step(&copying).map(|step| copying[step].0), Some(2 << 20));
        for fixed in [1e4, 1e5, 1e6, 1e7] {
            assert_eq!(step(&points(|bytes| bytes / (fixed + bytes))), None, "{fixed}");
        }
        assert_eq!(step(&points(|_| 100.0)), None);
        // 18 µs for each command, and a flash that takes 2,500 MiB/s.
        let limited = |bytes: f64| {
            let mib = bytes / f64::from(1 << 20);
            mib / (18e-6 + mib / 6250.0).max(mib / 2500.0)
        };
        assert_eq!(step(&points(limited)), None);
    }
}
