//! Findings about a Ceph cluster, from its facts, one file each. First what falsifies a
//! measurement, then what endangers data, then what costs latency or space.
//!
//! The thresholds are those of Ceph's documentation and source, named where they are used.

mod bluefs_spillover;
mod db_on_hard_disk;
mod filestore;
mod flags_set;
mod flash_as_hard_disk;
mod full;
mod hdd_shards;
mod mclock_capacity;
mod measured;
mod memory_target;
mod min_alloc_size;
mod mixed_classes;
mod mixed_versions;
mod osd_rows;
mod osds_down;
mod pgs_inactive;
mod pool_copies;
mod recovery_running;
mod scrub_running;
mod slow_osds;
#[cfg(test)]
mod tests;
mod unprotected;
mod words;
mod write_time;

use ceph::ClusterFacts;
use measurement::Finding;

pub use measured::measured_osds;
pub use osd_rows::{OsdRow, osd_rows};
pub use slow_osds::{Standing, standings};

const RULES: &[fn(&ClusterFacts) -> Option<Finding>] = &[
    pgs_inactive::judge,
    osds_down::judge,
    recovery_running::judge,
    scrub_running::judge,
    full::judge,
    flags_set::judge,
    mixed_versions::judge,
    pool_copies::too_few,
    pool_copies::chunks_without_reserve,
    mclock_capacity::implausible,
    mclock_capacity::copied,
    unprotected::judge,
    bluefs_spillover::judge,
    db_on_hard_disk::judge,
    flash_as_hard_disk::judge,
    mixed_classes::judge,
    hdd_shards::judge,
    memory_target::judge,
    min_alloc_size::judge,
    filestore::judge,
];

/// What is wrong with the cluster's state and layout, most serious first. What is unknown is not
/// judged.
///
/// ```
/// assert!(judge::cluster(&ceph::ClusterFacts::default()).is_empty());
/// ```
pub fn cluster(facts: &ClusterFacts) -> Vec<Finding> {
    RULES.iter().filter_map(|judge| judge(facts)).collect()
}

/// The findings because of which a measurement would not show the cluster as it usually is.
pub fn falsifies_measurement(finding: &Finding) -> bool {
    let ids = [
        "ceph-pgs-inactive", "ceph-osds-down", "ceph-recovery-running", "ceph-scrub-running",
        "ceph-full",
    ];
    ids.contains(&finding.id.as_str())
}
