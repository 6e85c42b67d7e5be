//! A virtual disk that confirms flushes as fast as only a protected cache, or nothing at all, can.

use drive::WriteCache;
use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::PROTECTED_COMMIT_MOST_US;
use crate::wording::{flushes, median, rounded};

/// A flush that costs less than this share of a write was passed on to nobody: both cross into the host, and the write goes on from
/// there. A host whose own storage needs no flush, and says so, need not pass one on.
const EMPTY_FLUSH_MOST: f64 = 0.6;

/// The commit on a virtual disk that is too fast for a flush to unprotected flash, though flushes are sent.
pub(crate) fn unproven<'a>(case: &Case<'a>) -> Option<&'a TestResult> {
    let sent = match FlushPath::of(case) {
        FlushPath::Counted { .. } => true,
        FlushPath::OutOfSight => case.cache_belief() == Some(WriteCache::WriteBack),
        _ => false,
    };
    case.flushing_commit().filter(|commit| sent && case.is_virtual() && commit.p50_us() <= PROTECTED_COMMIT_MOST_US)
}

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let commit = unproven(case)?;
    let mut evidence = vec![median(commit)];
    evidence.extend(flushes(commit));
    evidence.extend(case.control().map(median));
    let write_and_sync = commit.write_us.zip(commit.sync_us);
    let empty = write_and_sync.is_some_and(|(write, sync)| sync.p50 < EMPTY_FLUSH_MOST * write.p50);
    if let Some((_, sync)) = write_and_sync {
        evidence.push(Evidence::number("the sync alone, p50", rounded(sync.p50), "us"));
    }
    let (title, confidence) = if empty {
        let title = "The virtual disk confirms a commit in {}, the flush faster than a write: its host passes none on, because its storage needs none or because it ignores them.";
        (title, Confidence::Medium)
    } else {
        let title = "The virtual disk confirms a commit in {}: its host has protected storage, or ignores flushes.";
        (title, Confidence::Low)
    };
    Some(Finding {
        id: "virtual-flush-unproven".to_owned(),
        title: title.replace("{}", &latency(commit.p50_us())),
        evidence,
        confidence,
        doubt: Some("Timing alone cannot tell a protected cache from a lie; it looks the same from inside.".to_owned()),
        advice: "Ask the host: QEMU with `cache=unsafe`, Firecracker with its default `cache_type` `Unsafe` and VirtualBox by default confirm flushes and do nothing. `flushmark verify` proves it, if the host's power can be cut."
            .to_owned(),
    })
}
