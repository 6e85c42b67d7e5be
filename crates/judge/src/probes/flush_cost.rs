//! The fixed cost of a flush, and the cost that each preceding write adds.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::{Layout, Pattern, format_bytes};

use workload::number::latency;

/// Fewer points are too few to show a slope.
const POINTS_MIN: usize = 4;
/// Fewer flushes per sync mean that the kernel sent none; others on the drive may have caused some.
const FLUSHED_MIN: f64 = 0.5;
/// A flush that takes less than this regardless of the writes before it costs practically nothing.
const FREE_US_MAX: f64 = 200.0;
/// A flush has a fixed cost if it takes less than this many times as long after many writes as
/// after few.
const FIXED_MAX: f64 = 1.5;
/// The cost of a scattered write is computed from bursts of about this many writes: enough to be
/// measurable, too few to hit a page of the mapping table twice.
const SCATTERED: u32 = 64;

/// Writes before a flush, and its mean time in microseconds.
type Point = (u32, f64);

pub(super) fn judge(results: &[TestResult], label: &str) -> Option<Finding> {
    let (row, block_bytes) = points(results, Pattern::Write)?;
    let scattered = points(results, Pattern::RandWrite).map(|(scattered, _)| scattered);
    let (first, last) = (row.first()?, row.last()?);
    let slowest =
        row.iter().chain(scattered.iter().flatten()).map(|point| point.1).fold(0.0, f64::max);
    let each_us = scattered.as_deref().and_then(|scattered| each_scattered_us(&row, scattered));
    let after = |(writes, _): &Point| match u64::from(*writes) * block_bytes {
        bytes if *writes == 1 => format!("one write of {}", format_bytes(bytes)),
        bytes => format!("{} in a row", format_bytes(bytes)),
    };
    let mut evidence = vec![
        Evidence::number(format!("flush after {}", after(first)), first.1, "us"),
        Evidence::number(format!("flush after {}", after(last)), last.1, "us"),
    ];
    if let Some(last) = scattered.as_ref().and_then(|scattered| scattered.last()) {
        evidence.push(Evidence::number(
            format!("flush after {} scattered writes", last.0),
            last.1,
            "us",
        ));
    }
    evidence.extend(each_us.map(|us| Evidence::number("each scattered write adds", us, "us")));
    let (title, advice) = if slowest < FREE_US_MAX {
        (
            format!(
                "A flush on {label} takes at most {}, regardless of how much was written before \
                 it.",
                latency(slowest)
            ),
            "Nothing to do: protected drives behave this way. If the datasheet does not promise \
             protection, run `flushmark verify` to find out.",
        )
    } else if slowest < first.1 * FIXED_MAX {
        (
            format!(
                "A flush on {label} costs {}, almost regardless of how much was written before it.",
                latency(first.1)
            ),
            "Commit more at once: a flush for many transactions costs hardly more than for one \
             (group commit, `commit_delay`, larger batches).",
        )
    } else {
        (
            format!(
                "A flush on {label} costs {} after {} and {} after the largest amount tested.",
                latency(first.1),
                after(first),
                latency(slowest)
            ),
            "Keep little data unflushed: other writes to this drive delay each commit, so let them \
             write through or flush often.",
        )
    };
    Some(Finding {
        id: "flush-cost".to_owned(),
        title,
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: advice.to_owned(),
    })
}

/// Tests with one job and one write at a time that differ only in the number of writes per sync,
/// and their block size.
fn points(results: &[TestResult], pattern: Pattern) -> Option<(Vec<Point>, u64)> {
    let fits = |result: &&TestResult| {
        let work = &result.workload;
        work.pattern == Some(pattern)
            && work.sync.is_some_and(|sync| sync.call().is_some())
            && (work.depth, work.jobs, work.streams) == (1, 1, 1)
            && work.direct
            && work.rate.is_none()
            && matches!(work.layout, None | Some(Layout::Overwrite))
    };
    let mut of_pattern = results.iter().filter(fits);
    let first = &of_pattern.clone().next()?.workload;
    let mut points: Vec<Point> = of_pattern
        .by_ref()
        .filter(|result| {
            let work = &result.workload;
            (work.block_bytes, work.sync, work.write_cache)
                == (first.block_bytes, first.sync, first.write_cache)
        })
        // A sync that sent no flush shows the cost of a system call.
        .filter(|result| result.flushes_per_commit().is_none_or(|flushes| flushes >= FLUSHED_MIN))
        .filter_map(|result| Some((result.workload.sync_every, result.sync_us?.mean)))
        .collect();
    points.sort_by_key(|(writes, _)| *writes);
    points.dedup_by_key(|(writes, _)| *writes);
    (points.len() >= POINTS_MIN).then_some((points, first.block_bytes))
}

/// The additional cost of scattering, per write.
fn each_scattered_us(row: &[Point], scattered: &[Point]) -> Option<f64> {
    let at = |points: &[Point]| points.iter().find(|point| point.0 >= SCATTERED).copied();
    let (row, scattered) = (at(row)?, at(scattered)?);
    let each = (scattered.1 - row.1) / f64::from(scattered.0 - 1);
    (row.0 == scattered.0 && each > 0.0).then_some(each)
}
