//! Little free space made the test file small.

use measurement::{Confidence, Evidence, Finding};
use workload::format_bytes;

use crate::Case;

/// An area as small as this fits into the DRAM of many drives (1 MiB for each GB) and surely into their fast first zone of flash.
const SMALL_BYTES: u64 = 256 << 20;
/// A test takes at most half of what is free: an area this near to it has been cut.
const CUT_SHARE: f64 = 0.45;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let space = case.place?.space?;
    let size_bytes = case.small_commits().chain(case.control()).map(|result| result.workload.size_bytes).max()?;
    let cut = size_bytes as f64 >= CUT_SHARE * space.available_bytes as f64;
    if !cut || size_bytes >= SMALL_BYTES {
        return None;
    }
    let megabytes = |bytes: u64| (bytes as f64 / f64::from(1 << 20)).round();
    Some(Finding {
        id: "small-test-area".to_owned(),
        title: format!(
            "Only {} were written to, half of what is free: a drive may be faster there than on all of its space.",
            format_bytes(size_bytes >> 20 << 20)
        ),
        evidence: vec![
            Evidence::number("test area", megabytes(size_bytes), "MiB"),
            Evidence::number("free for this user", megabytes(space.available_bytes), "MiB"),
        ],
        confidence: Confidence::Medium,
        doubt: None,
        advice: "Free some space and measure again, or name a larger filesystem on the same drive.".to_owned(),
    })
}
