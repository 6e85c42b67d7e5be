//! The tests covered too small a part of the drive.

use measurement::{Confidence, Evidence, Finding};
use workload::format_bytes;
use workload::number::number;

use crate::case::Case;
use crate::probes::cache_bytes;

/// An area this small fits into the DRAM of many drives (1 MiB for each GB) and certainly into
/// their SLC cache.
const SMALL_BYTES: u64 = 256 << 20;
/// A test uses at most half of the free space: an area this close to it has been limited.
const CUT_SHARE: f64 = 0.45;
/// On less than this share, a rotating disk hardly moves its heads, and the mapping of a flash
/// drive without DRAM stays in its controller.
const SMALL_SHARE: f64 = 0.1;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    match (case.place, case.export) {
        (Some(place), _) if place.space.is_some() => cut_by_free_space(case),
        (Some(place), _) => part_of_device(case, place.size_bytes?),
        (None, Some(export)) => part_of_device(case, export.size_bytes),
        (None, None) => None,
    }
}

/// Little free space limited the test file.
fn cut_by_free_space(case: &Case<'_>) -> Option<Finding> {
    let space = case.place?.space?;
    let size_bytes = case
        .small_commits()
        .chain(case.control())
        .map(|result| result.workload.size_bytes)
        .max()?;
    let cut = size_bytes as f64 >= CUT_SHARE * space.available_bytes as f64;
    if !cut || size_bytes >= SMALL_BYTES {
        return None;
    }
    Some(Finding {
        id: "small-test-area".to_owned(),
        title: format!(
            "The tests wrote to only {}, half of the free space: a drive may be faster there than \
             on its full capacity.",
            format_bytes(size_bytes >> 20 << 20)
        ),
        evidence: vec![
            Evidence::number("test area", megabytes(size_bytes), "MiB"),
            Evidence::number("free for this user", megabytes(space.available_bytes), "MiB"),
        ],
        confidence: Confidence::Medium,
        doubt: None,
        advice: "Free some space and measure again, or use a larger filesystem on the same drive."
            .to_owned(),
    })
}

/// The plan requested a small part of a device, an existing file or an export.
fn part_of_device(case: &Case<'_>, device_bytes: u64) -> Option<Finding> {
    let tested = case.results.iter().filter(|result| result.workload.pattern.is_some());
    let size_bytes = tested.map(|result| result.workload.size_bytes).max()?;
    let share = size_bytes as f64 / device_bytes as f64;
    let cache_bytes =
        cache_bytes(case.results).filter(|&cache_bytes| (size_bytes as f64) < cache_bytes);
    if share >= SMALL_SHARE && cache_bytes.is_none() {
        return None;
    }
    let mut evidence = vec![
        Evidence::number("test area", megabytes(size_bytes), "MiB"),
        Evidence::number("size of the target", megabytes(device_bytes), "MiB"),
    ];
    evidence.extend(
        cache_bytes.map(|bytes| Evidence::number("cache size", megabytes(bytes as u64), "MiB")),
    );
    let than_cache = if cache_bytes.is_some() { ", less than its cache" } else { "" };
    Some(Finding {
        id: "small-test-area".to_owned(),
        title: format!(
            "The tests used {} % of {}{than_cache}: a drive is often faster there than on its full \
             capacity.",
            number(share * 100.0),
            case.drive_label(),
        ),
        evidence,
        confidence: Confidence::Medium,
        doubt: None,
        advice: "Omit `size` to test the whole drive.".to_owned(),
    })
}

fn megabytes(bytes: u64) -> f64 {
    (bytes as f64 / f64::from(1 << 20)).round()
}
