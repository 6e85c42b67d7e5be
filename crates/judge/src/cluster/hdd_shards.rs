//! Several queues of operations on a hard disk.
//!
//! mClock schedules each shard by itself. With five shards of one thread, each is given a fifth of
//! the drive's capacity, and a busy shard cannot use what the others leave. Ceph changed the
//! default for hard disks to one shard with five threads (tracker 66289, pull request 58509).

use ceph::{ClusterFacts, Medium, OsdFacts};
use measurement::{Confidence, Evidence, Finding};

use super::words::{osds, verb};

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let divided = |osd: &&OsdFacts| {
        osd.uses_mclock()
            && osd.medium() == Some(Medium::Hdd)
            && osd.shards().is_some_and(|shards| shards > 1)
            // Its settings change once it is recognised as flash.
            && !osd.data.is_flash_by_name()
    };
    let found: Vec<&OsdFacts> = facts.osds.iter().filter(divided).collect();
    let first = found.first()?;
    let (shards, threads) = (first.shards()?, first.threads_per_shard().unwrap_or(1));
    let is_overridden = |osd: &&OsdFacts| {
        osd.settings.number("osd_op_num_shards").is_some_and(|shards| shards != 0.0)
    };
    let first_of_all = if found.iter().any(is_overridden) {
        "osd_op_num_shards and osd_op_num_threads_per_shard override the settings for hard disks: \
         remove them first, with `ceph config rm` or from ceph.conf. "
    } else {
        ""
    };
    Some(Finding {
        id: "ceph-hdd-shards".to_owned(),
        title: format!(
            "{} {} operations of a hard disk into {shards} queues, of which mClock schedules each \
             by itself.",
            osds(&found),
            verb(found.len(), "divides the", "divide the")
        ),
        evidence: vec![
            Evidence::number(format!("queues of {}", first.name()), f64::from(shards), ""),
            Evidence::number("threads per queue", f64::from(threads), ""),
        ],
        confidence: Confidence::Medium,
        doubt: Some(
            "It costs most during recovery with several clients; a single client at depth 1 uses \
             one queue at a time."
                .to_owned(),
        ),
        advice: format!(
            "{first_of_all}Use one queue with five threads, the default since 18.2.5 (Reef) and \
             19.2.1 (Squid): `ceph config set osd osd_op_num_shards_hdd 1` and `ceph config set osd \
             osd_op_num_threads_per_shard_hdd 5`, then restart the OSDs one failure domain at a \
             time."
        ),
    })
}
