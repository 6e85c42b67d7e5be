//! Syncs were acknowledged, but no flush reached the device.

use drive::WriteCache;
use measurement::{Confidence, Evidence, Finding};
use workload::number::number;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::median;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let FlushPath::Vanished { commits, flushes } = FlushPath::of(case) else { return None };
    let mut evidence = vec![
        Evidence::number("commits acknowledged", commits as f64, ""),
        Evidence::number("flushes counted by the device", flushes as f64, ""),
    ];
    if case.cache_belief() == Some(WriteCache::WriteBack) {
        evidence.push(Evidence::fact("volatile cache (kernel)", "write back"));
    }
    evidence.extend(case.flushing_commit().map(median));
    let arrived = if flushes == 0 {
        "not one flush".to_owned()
    } else {
        format!("only {} flushes", number(flushes as f64))
    };
    Some(Finding {
        id: "flush-vanished".to_owned(),
        title: format!(
            "Flushes are lost: {} commits were acknowledged, {arrived} reached the device, and the \
             kernel assumes a volatile cache.",
            number(commits as f64)
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "Find what drops the flush: mount options (`findmnt -no OPTIONS -T {}`) or layers in \
             between (`lsblk -s {}`). Do not put a database there until you know.",
            case.path(),
            case.disk_path()
        ),
    })
}
