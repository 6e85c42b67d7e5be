//! What a drive shows of its inside when it is asked the right way: one file a probe, each a suite of that name. Each looks for results that differ in the one thing that
//! it varies, and so reads any plan that varies it.

mod cache_size;
mod erase_block;
mod fill;
mod flush_cost;
mod open_blocks;
mod unsynced_writes;

use measurement::{Finding, TestResult};

use crate::case::Case;

/// What the results of probes tell. Empty where nothing was varied.
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

/// Bytes that the drive's write cache holds, where bursts of several lengths show it.
pub(crate) fn cache_bytes(results: &[TestResult]) -> Option<f64> {
    cache_size::cache_bytes(results)
}

/// The capacity of the drive beneath, where it is one drive and the target is all of it.
fn drive_bytes(case: &Case<'_>) -> Option<u64> {
    let device = case.device().filter(|device| device.layers.is_empty() && device.partition.is_none())?;
    case.is_raw_device().then_some(device.size_bytes)?
}
