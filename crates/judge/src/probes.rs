//! Findings of probes about a drive's internals: one file per probe, each for the suite of that
//! name. A probe looks for results that differ only in the parameter it varies, and so works on any
//! plan that varies it.

mod cache_size;
mod erase_block;
mod fill;
mod flush_cost;
mod open_blocks;
mod unsynced_writes;

use measurement::{Finding, TestResult};

use crate::case::Case;

/// The findings of all probes. Empty if no parameter was varied.
pub(crate) fn probes(case: &Case<'_>) -> Vec<Finding> {
    let label = &case.drive_label();
    let results = case.results;
    let found = [
        open_blocks::judge(results, label),
        erase_block::judge(results, label),
        cache_size::cache(results, label),
        cache_size::long_write(results, label),
        flush_cost::judge(results, label),
        fill::judge(results, label, drive_bytes(case)),
    ];
    found.into_iter().flatten().collect()
}

/// Size of the drive's write cache in bytes, if bursts of several lengths show it.
pub(crate) fn cache_bytes(results: &[TestResult]) -> Option<f64> {
    cache_size::cache_bytes(results)
}

/// The drive's capacity, if the target is one whole drive.
fn drive_bytes(case: &Case<'_>) -> Option<u64> {
    let device =
        case.device().filter(|device| device.layers.is_empty() && device.partition.is_none())?;
    case.is_raw_device().then_some(device.size_bytes)?
}
