//! The sizes of a drive's caches: the buffer that absorbs bursts, and the SLC cache.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::Pattern;
use workload::number::number;

use super::unsynced_writes::{MIB, unsynced_writes, written_bytes};

/// Fewer bursts are too few to show a knee.
const BURSTS_MIN: usize = 5;
/// The medium is slower than the link if bytes added to a burst are written at less than this share
/// of the first bytes' speed.
const SLOWER: f64 = 0.9;
/// Neighbouring speeds that differ by less than this belong to one state.
const SAME: f64 = 0.06;
/// A long write that ends below this share of its initial speed has overrun a cache.
const FALLEN: f64 = 0.7;
/// Minimum duration of a long write.
const LONG_S: usize = 10;

/// Bytes of a burst and the seconds it took.
type Burst = (f64, f64);

pub(super) fn cache(results: &[TestResult], label: &str) -> Option<Finding> {
    let bursts = bursts(results)?;
    let last = bursts.last()?;
    let finding = |title, evidence, confidence, advice: &str| Finding {
        id: "cache-size".to_owned(),
        title,
        evidence,
        confidence,
        doubt: None,
        advice: advice.to_owned(),
    };
    Some(match knee(&bursts) {
        Some(Knee { cache_bytes, fast, slow }) => finding(
            format!(
                "{label} writes bursts at {} MiB/s until {} MiB fill its cache, then at {} MiB/s.",
                number(fast / MIB),
                number(cache_bytes / MIB),
                number(slow / MIB)
            ),
            vec![
                Evidence::number("cache size", cache_bytes.round(), "bytes"),
                Evidence::number("into the cache", fast / MIB, "MiB/s"),
                Evidence::number("after it is full", slow / MIB, "MiB/s"),
            ],
            Confidence::Medium,
            "Expect the second speed for anything larger. Without power-loss protection, a power \
             cut loses up to a full cache.",
        ),
        None => finding(
            format!(
                "{label} shows no write cache: a burst of {} MiB is as fast as a short one.",
                number(last.0 / MIB)
            ),
            vec![
                Evidence::number("longest burst", last.0, "bytes"),
                Evidence::number("its speed", last.0 / last.1 / MIB, "MiB/s"),
            ],
            Confidence::Medium,
            "The medium keeps up with the link, or there is no cache; `flushmark run flush-cost` \
             shows what a flush costs.",
        ),
    })
}

/// The size of the write cache in bytes, from bursts of several lengths.
pub(super) fn cache_bytes(results: &[TestResult]) -> Option<f64> {
    knee(&bursts(results)?).map(|knee| knee.cache_bytes)
}

/// Bursts of one kind, shortest first.
fn bursts(results: &[TestResult]) -> Option<Vec<Burst>> {
    let rested =
        unsynced_writes(results, Pattern::Write).filter(|result| result.workload.rest_s > 0.0);
    let mut bursts: Vec<(u32, u64, Burst)> = rested
        .map(|result| {
            (
                result.workload.depth,
                result.workload.block_bytes,
                (written_bytes(result), result.elapsed_s),
            )
        })
        .collect();
    let (depth, block, _) = *bursts.first()?;
    bursts.retain(|burst| (burst.0, burst.1) == (depth, block));
    let mut bursts: Vec<Burst> = bursts.into_iter().map(|burst| burst.2).collect();
    bursts.sort_by(|one, other| one.0.total_cmp(&other.0));
    bursts.dedup_by(|one, other| one.0.total_cmp(&other.0).is_eq());
    if bursts.len() < BURSTS_MIN {
        return None;
    }
    Some(bursts)
}

struct Knee {
    cache_bytes: f64,
    /// Bytes per second into the cache.
    fast: f64,
    /// Bytes per second once the cache is full.
    slow: f64,
}

/// After the knee, the bytes written are those that the medium took in that time plus the full
/// cache.
fn knee(bursts: &[Burst]) -> Option<Knee> {
    // The speed of the bytes that each burst adds to the previous one, free of the fixed cost of a
    // burst.
    let speeds: Vec<f64> =
        bursts.windows(2).map(|pair| (pair[1].0 - pair[0].0) / (pair[1].1 - pair[0].1)).collect();
    // A burst that took less time than a shorter one was measured too coarsely.
    if speeds.iter().any(|speed| !(speed.is_finite() && *speed > 0.0)) {
        return None;
    }
    let fast = *speeds.first()?;
    let plateau = (1..speeds.len().saturating_sub(1)).find(|&index| {
        speeds[index + 1] < fast * SLOWER && (speeds[index] / speeds[index + 1] - 1.0).abs() < SAME
    })?;
    let slow = speeds[plateau + 1];
    let (bytes, seconds) = bursts[plateau + 1];
    let cache_bytes = bytes - slow * seconds;
    (cache_bytes > 0.0).then_some(Knee { cache_bytes, fast, slow })
}

pub(super) fn long_write(results: &[TestResult], label: &str) -> Option<Finding> {
    let longest = unsynced_writes(results, Pattern::Write)
        .filter(|result| result.workload.rest_s > 0.0 && result.series.iops.len() >= LONG_S)
        .max_by(|one, other| written_bytes(one).total_cmp(&written_bytes(other)))?;
    let block = longest.workload.block_bytes as f64;
    let speeds: Vec<f64> = longest.series.iops.iter().map(|iops| iops * block).collect();
    let Some((bytes, fast, slow)) = fall(&speeds, longest.series.interval_s) else {
        return Some(steady(label, written_bytes(longest), at_first(&speeds), at_the_end(&speeds)));
    };
    Some(Finding {
        id: "one-bit-cache".to_owned(),
        title: format!(
            "A long write on {label} falls from {} to {} MiB/s after {} GiB.",
            number(fast / MIB),
            number(slow / MIB),
            number(bytes / MIB / 1024.0)
        ),
        evidence: vec![
            Evidence::number("written until then", bytes.round(), "bytes"),
            Evidence::number("before", fast / MIB, "MiB/s"),
            Evidence::number("after", slow / MIB, "MiB/s"),
        ],
        confidence: Confidence::Medium,
        doubt: Some(
            "The free part of such a cache depends on how full the drive is and how long \
                     it rested; heat also slows drives down."
                .to_owned(),
        ),
        advice: "Plan with the second speed: most consumer drives first write to an SLC cache and \
                 move the data to denser cells later, and a nearly full drive has hardly any of \
                 that cache."
            .to_owned(),
    })
}

fn steady(label: &str, bytes: f64, first: f64, last: f64) -> Finding {
    Finding {
        id: "steady-long-write".to_owned(),
        title: format!(
            "A long write on {label} keeps its speed: {} MiB/s at first, {} at the end of {} GiB.",
            number(first / MIB),
            number(last / MIB),
            number(bytes / MIB / 1024.0)
        ),
        evidence: vec![
            Evidence::number("written", bytes.round(), "bytes"),
            Evidence::number("at first", first / MIB, "MiB/s"),
            Evidence::number("at the end", last / MIB, "MiB/s"),
        ],
        confidence: Confidence::Medium,
        doubt: Some("An SLC cache that is larger than this would not show.".to_owned()),
        advice: "Plan with this speed; `flushmark run fill` shows whether it stays as the drive \
                 fills up."
            .to_owned(),
    }
}

/// Bytes after which the speed drops permanently, and the speeds before and after.
fn fall(speeds: &[f64], interval_s: f64) -> Option<(f64, f64, f64)> {
    let (fast, slow) = (at_first(speeds), at_the_end(speeds));
    if slow >= fast * FALLEN {
        return None;
    }
    let middle = f64::midpoint(fast, slow);
    let at = speeds.iter().position(|speed| *speed < middle)?;
    // The interval of the drop was fast for a part of it.
    let fast_s: f64 =
        speeds[..=at].iter().map(|speed| ((speed - slow) / (fast - slow)).clamp(0.0, 1.0)).sum();
    Some((fast_s * interval_s * fast, fast, slow))
}

fn at_first(speeds: &[f64]) -> f64 {
    median(&speeds[..3])
}

fn at_the_end(speeds: &[f64]) -> f64 {
    median(&speeds[speeds.len() * 3 / 4..])
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_gives_the_cache_size() {
        let (cache, fast, slow) = (8.0 * MIB, 6e9, 2.5e9);
        let seconds = |bytes: f64| {
            let full = cache / (1.0 - slow / fast);
            1e-4 + if bytes < full { bytes / fast } else { full / fast + (bytes - full) / slow }
        };
        let bursts: Vec<Burst> =
            (20..30).map(|power| f64::from(1u32 << power)).map(|b| (b, seconds(b))).collect();
        let knee = knee(&bursts).unwrap();
        assert!((knee.cache_bytes / cache - 1.0).abs() < 0.05, "{}", knee.cache_bytes / MIB);
        assert!((knee.slow / slow - 1.0).abs() < 0.01);
        let straight: Vec<Burst> = bursts.iter().map(|(bytes, _)| (*bytes, bytes / fast)).collect();
        assert!(super::knee(&straight).is_none());
    }

    #[test]
    fn a_fall_within_a_second() {
        let (bytes, fast, slow) =
            fall(&[5.0, 5.0, 5.0, 5.0, 3.5, 2.0, 2.0, 2.0, 2.0, 2.0], 1.0).unwrap();
        assert_eq!((bytes, fast, slow), (22.5, 5.0, 2.0));
        assert_eq!(fall(&[5.0; 12], 1.0), None);
    }
}
