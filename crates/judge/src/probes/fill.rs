//! How much random writes slow down as a drive fills up, and the over-provisioning that follows
//! from it.
//!
//! Flash is erased in large blocks. To free one, its valid pages are moved, so `W` pages are
//! written for each page of the host (write amplification). With greedy garbage collection and
//! uniform random writes, `W = r / (r + W0(-r e^-r))`, where `r` is the amount of flash per byte of
//! data (Xiang and Kurkoski, 2010). A drive filled to the share `f` has `r = (1 + s) / f` with
//! spare flash `s`. Moving a page costs a read as well as a write, so a host write takes `a W + b`;
//! the fitted `s` is the one that makes this a straight line.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::Pattern;
use workload::number::{about_bytes, number};

use super::unsynced_writes::unsynced_writes;

/// Fewer points are too few for a fit.
const POINTS_MIN: usize = 3;
/// A test below this share of the fastest is limited by the flash.
const WAITS_FOR_FLASH: f64 = 0.97;
/// A drive that slows down by less than this factor has too much spare flash to estimate it.
const LOSS_MIN: f64 = 3.0;
/// Range of spare flash, relative to the capacity.
const SPARE: (f64, f64) = (0.01, 1.0);
const SPARE_STEP: f64 = 0.0025;

/// Filled share, and operations per second.
type Point = (f64, f64);

pub(super) fn judge(
    results: &[TestResult],
    label: &str,
    drive_bytes: Option<u64>,
) -> Option<Finding> {
    let mut filled: Vec<&TestResult> = unsynced_writes(results, Pattern::RandWrite).collect();
    let first = filled.first()?.workload.clone();
    filled.retain(|result| {
        (result.workload.block_bytes, result.workload.depth) == (first.block_bytes, first.depth)
    });
    filled.sort_by_key(|result| result.workload.size_bytes);
    filled.dedup_by_key(|result| result.workload.size_bytes);
    if filled.len() < POINTS_MIN {
        return None;
    }
    let (least, most) = (filled.first()?, filled.last()?);
    let (empty, full) = (least.iops_at_the_end(), most.iops_at_the_end());
    let filled_share = |result: &TestResult| {
        drive_bytes.map(|bytes| result.workload.size_bytes as f64 / bytes as f64)
    };
    let points: Option<Vec<Point>> = filled
        .iter()
        .map(|result| Some((filled_share(result)?, result.iops_at_the_end())))
        .collect();
    let spare = points.as_deref().and_then(spare_flash);
    let restless: Vec<&str> = filled
        .iter()
        .filter(|result| result.steady_state.is_none_or(|state| !state.reached))
        .map(|result| result.test.as_str())
        .collect();
    let percent = |result: &TestResult| {
        filled_share(result).map_or_else(
            || about_bytes(result.workload.size_bytes),
            |share| format!("{:.0} % of the drive", share * 100.0),
        )
    };
    let mut evidence: Vec<Evidence> = filled
        .iter()
        .map(|result| {
            let what = format!("on {}, at the end of the test", percent(result));
            Evidence::number(what, result.iops_at_the_end().round(), "IOPS")
        })
        .collect();
    evidence.extend(spare.map(|spare| Evidence::number("spare flash", spare * 100.0, "%")));
    let spare_clause = spare.map_or(String::new(), |spare| {
        format!("; it has about {} % spare flash", number(spare * 100.0))
    });
    let advice = if empty > full * 1.5 {
        format!(
            "Leave a part of the drive unused (a smaller partition, after `blkdiscard`), and let \
             filesystems discard: on {} it writes {} times as fast.",
            percent(least),
            number(empty / full)
        )
    } else {
        "Nothing to do: the drive has enough spare flash, or the test was too short.".to_owned()
    };
    Some(Finding {
        id: "fill".to_owned(),
        title: format!(
            "{label} makes {} random writes/s on {}, {} on {}, each at the end of its \
             test{spare_clause}.",
            number(empty),
            percent(least),
            number(full),
            percent(most)
        ),
        evidence,
        confidence: if restless.is_empty() { Confidence::Medium } else { Confidence::Low },
        doubt: restless.first().map(|test| {
            let more = if restless.len() > 1 {
                format!(" and {} more", restless.len() - 1)
            } else {
                String::new()
            };
            format!(
                "`{test}`{more} did not reach a steady state (SNIA PTS): run it for longer, \
                     `--time 4h` for a drive of 1 TB."
            )
        }),
        advice,
    })
}

/// Spare flash as a share of the capacity. `None` if the flash limits too few points, or if the
/// drive slows down too little to estimate it.
fn spare_flash(points: &[Point]) -> Option<f64> {
    let fastest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let slow: Vec<Point> =
        points.iter().copied().filter(|point| point.1 < fastest * WAITS_FOR_FLASH).collect();
    let slowest = slow.iter().map(|point| point.1).fold(f64::MAX, f64::min);
    if slow.len() < POINTS_MIN || fastest < slowest * LOSS_MIN {
        return None;
    }
    let steps = ((SPARE.1 - SPARE.0) / SPARE_STEP) as u32;
    let candidates = (0..=steps).map(|step| SPARE.0 + f64::from(step) * SPARE_STEP);
    let misfits = candidates.map(|spare| (misfit(&slow, spare), spare));
    misfits.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, spare)| spare)
}

/// Relative deviation of the write times from a straight line over write amplification.
fn misfit(points: &[Point], spare: f64) -> f64 {
    let weighed = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points
            .iter()
            .map(|(full, iops)| {
                iops * iops * of(write_amplification((1.0 + spare) / full), 1.0 / iops)
            })
            .sum()
    };
    let weight = weighed(&|_, _| 1.0);
    let (middle, time) = (weighed(&|w, _| w) / weight, weighed(&|_, time| time) / weight);
    let slope = weighed(&|w, t| (w - middle) * (t - time)) / weighed(&|w, _| (w - middle).powi(2));
    weighed(&|w, t| (t - time - slope * (w - middle)).powi(2))
}

/// `r / (r + W0(-r e^-r))`, for `r` above 1.
fn write_amplification(r: f64) -> f64 {
    // -W0(-r e^-r) is the root below 1 of x e^-x = r e^-r; r itself is the other.
    let (mut low, mut high) = (0.0f64, 1.0f64);
    let goal = r * (-r).exp();
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle * (-middle).exp() < goal { low = middle } else { high = middle }
    }
    r / (r - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_as_published() {
        // The paper's figure for 30 % more flash than data is 2.36.
        assert!((write_amplification(1.3) - 2.36).abs() < 0.01);
        assert!((write_amplification(50.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn spare_flash_is_recovered() {
        for spare in [0.02, 0.07, 0.15, 0.28] {
            for reading in [0.0, 0.7, 1.5] {
                let iops = |full: f64| {
                    let w = write_amplification((1.0 + spare) / full);
                    (1e6 / (10.0 * w + 10.0 * reading * (w - 1.0))).min(90e3)
                };
                let points = [0.25, 0.5, 0.65, 0.8, 0.9, 0.95, 1.0].map(|full| (full, iops(full)));
                match spare_flash(&points) {
                    Some(found) => {
                        assert!((found - spare).abs() < 0.006, "{found} instead of {spare}");
                    }
                    None => {
                        assert!(iops(1.0) * LOSS_MIN > 90e3 || spare > 0.2, "{spare} {reading}");
                    }
                }
            }
        }
    }
}
