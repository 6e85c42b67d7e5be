//! Syncs were confirmed, and no flush arrived.

use drive::WriteCache;
use measurement::{Confidence, Evidence, Finding};
use workload::number::number;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::median;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let FlushPath::Vanished { commits, flushes } = FlushPath::of(case) else { return None };
    let mut evidence = vec![
        Evidence::number("commits confirmed", commits as f64, ""),
        Evidence::number("flushes that the device counted", flushes as f64, ""),
    ];
    if case.cache_belief() == Some(WriteCache::WriteBack) {
        evidence.push(Evidence::fact("volatile cache, as the kernel lists it", "write back"));
    }
    evidence.extend(case.flushing_commit().map(median));
    let arrived =
        if flushes == 0 { "not one flush".to_owned() } else { format!("only {} flushes", number(flushes as f64)) };
    Some(Finding {
        id: "flush-vanished".to_owned(),
        title: format!(
            "Syncs are confirmed and lost: {} commits returned, {arrived} reached the device, and the kernel lists a volatile cache.",
            number(commits as f64)
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "Look for what swallows the flush: mount options (`findmnt -no OPTIONS -T {}`), layers between (`lsblk -s {}`); put no database there before it is found.",
            case.path(),
            case.disk_path()
        ),
    })
}
