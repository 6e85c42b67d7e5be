//! A server syncs its log, and the device sees no flushes.

use drive::WriteCache;
use measurement::{Confidence, Evidence, Finding, ServerFile};
use workload::number::number;

use super::watched;
use crate::case::Case;
use crate::flush_path::FlushPath;

const SYNCS_MIN: f64 = 20.0;
/// The syncs of a log follow one another, so each is a separate flush. Flushes of other files
/// that the kernel merges do not make them fewer.
const ARRIVED_MAX: f64 = 0.1;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let (result, activity) = watched(case)?;
    let is_volatile = case.cache_belief() == Some(WriteCache::WriteBack);
    // If the kernel is configured to send no flush, another finding says so.
    if !is_volatile || !matches!(FlushPath::of(case), FlushPath::Unobserved) {
        return None;
    }
    let syncs = activity.syncs(ServerFile::Log)?;
    let from = &syncs.number.from;
    // Writes that are durable by themselves may have FUA instead of a flush.
    if syncs.by_writes && case.drives().iter().any(|drive| drive.queue.fua == Some(true)) {
        return None;
    }
    let flushes = result.proof.device?.flushes? as f64;
    let count = syncs.number.count;
    if count < SYNCS_MIN || flushes > ARRIVED_MAX * count {
        return None;
    }
    Some(Finding {
        id: "database-syncs-lost".to_owned(),
        title: format!(
            "Syncs of the log are lost: the server made {}, and the device counted {} flushes, \
             although the kernel assumes a volatile cache.",
            number(count),
            number(flushes)
        ),
        evidence: vec![
            Evidence::number(format!("syncs of the log ({from})"), count.round(), ""),
            Evidence::number("flushes counted by the device", flushes, ""),
            Evidence::fact("volatile cache (kernel)", "write back"),
        ],
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "Find what drops them between the server and the drive: a preloaded library \
             (LD_PRELOAD in /proc/PID/environ), mount options (`findmnt -no OPTIONS -T {}`), or a \
             layer such as a container's filesystem. Acknowledged commits are not durable until \
             then.",
            case.path()
        ),
    })
}
