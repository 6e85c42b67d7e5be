//! How many locations a drive can append to at once before its speed collapses.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::Pattern;
use workload::number::number;

use super::unsynced_writes::unsynced_writes;

/// Fewer points are too few to show a knee.
const POINTS_MIN: usize = 4;
/// A speed below this share of the previous ones has collapsed; noise and request sizes make a
/// smaller difference.
const COLLAPSED: f64 = 0.6;

pub(super) fn judge(results: &[TestResult], label: &str) -> Option<Finding> {
    let mut points: Vec<(u32, f64)> = unsynced_writes(results, Pattern::Write)
        .filter(|result| result.workload.depth == 1 && result.workload.rest_s == 0.0)
        .map(|result| (result.workload.streams, result.mib_per_s))
        .collect();
    points.sort_by_key(|(places, _)| *places);
    points.dedup_by_key(|(places, _)| *places);
    let (most, slowest) =
        (points.last()?.0, points.iter().map(|point| point.1).fold(f64::MAX, f64::min));
    if points.len() < POINTS_MIN {
        return None;
    }
    let finding = |title, evidence, confidence, advice: &str| Finding {
        id: "open-blocks".to_owned(),
        title,
        evidence,
        confidence,
        doubt: None,
        advice: advice.to_owned(),
    };
    let Some(knee) = knee(&points) else {
        return Some(finding(
            format!(
                "{label} appends to {most} locations at once without slowing down: its translation \
                 layer maps pages."
            ),
            vec![
                Evidence::number("at 1 location", points[0].1, "MiB/s"),
                Evidence::number("slowest at any number of locations", slowest, "MiB/s"),
            ],
            Confidence::Medium,
            "Nothing to do: filesystems and databases append to fewer locations.",
        ));
    };
    let (before, after) = (points[knee - 1], points[knee]);
    let up_to =
        if after.0 == before.0 + 1 { String::new() } else { format!(" to {}", after.0 - 1) };
    Some(finding(
        format!(
            "{label} appends to {}{up_to} locations at once; at {} it falls from {} to {} MiB/s.",
            before.0,
            after.0,
            number(before.1),
            number(after.1)
        ),
        vec![
            Evidence::number("open blocks", before.0.into(), ""),
            Evidence::number(format!("at {} locations", before.0), before.1, "MiB/s"),
            Evidence::number(format!("at {} locations", after.0), after.1, "MiB/s"),
        ],
        if after.0 == before.0 + 1 { Confidence::High } else { Confidence::Medium },
        "Write to fewer locations at once: use a filesystem with a configurable number of logs \
         (F2FS, `active_logs=`), and no database.",
    ))
}

/// The first point from which all points are collapsed, with none collapsed before it.
fn knee(points: &[(u32, f64)]) -> Option<usize> {
    (1..points.len()).find(|&knee| {
        let (before, after) = points.split_at(knee);
        let fast = before.iter().map(|point| point.1).fold(f64::MAX, f64::min);
        after.iter().all(|point| point.1 < fast * COLLAPSED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_after_the_knee_is_slow() {
        let speeds = |speeds: &[f64]| {
            knee(&speeds.iter().enumerate().map(|(n, v)| (n as u32 + 1, *v)).collect::<Vec<_>>())
        };
        assert_eq!(speeds(&[12.0, 11.0, 12.0, 0.6, 0.5, 0.6]), Some(3));
        assert_eq!(
            speeds(&[12.0, 11.0, 3.0, 12.0, 11.0]),
            None,
            "a single slow point is not a knee"
        );
        assert_eq!(speeds(&[500.0, 480.0, 450.0, 420.0]), None);
        assert_eq!(speeds(&[12.0, 0.5]), Some(1));
    }
}
