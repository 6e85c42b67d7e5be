//! A virtual disk acknowledges flushes faster than any unprotected flash could.

use drive::WriteCache;
use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::physics::PROTECTED_COMMIT_US_MAX;
use crate::wording::{flushes, median, rounded};

/// A flush that takes less than this share of a write was not passed on: both reach the host, and
/// the write continues from there. A host whose storage reports that it needs no flush may drop it.
const EMPTY_FLUSH_MAX: f64 = 0.6;

/// The commit on a virtual disk that is too fast for a flush to unprotected flash although flushes
/// are sent.
pub(crate) fn unproven<'a>(case: &Case<'a>) -> Option<&'a TestResult> {
    let sent = match FlushPath::of(case) {
        FlushPath::Counted { .. } => true,
        FlushPath::Unobserved => case.cache_belief() == Some(WriteCache::WriteBack),
        _ => false,
    };
    case.flushing_commit()
        .filter(|commit| sent && case.is_virtual() && commit.p50_us() <= PROTECTED_COMMIT_US_MAX)
}

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let commit = unproven(case)?;
    let mut evidence = vec![median(commit)];
    evidence.extend(flushes(commit));
    evidence.extend(case.control().map(median));
    let write_and_sync = commit.write_us.zip(commit.sync_us);
    let empty = write_and_sync.is_some_and(|(write, sync)| sync.p50 < EMPTY_FLUSH_MAX * write.p50);
    if let Some((_, sync)) = write_and_sync {
        evidence.push(Evidence::number("sync alone p50", rounded(sync.p50), "us"));
    }
    let (title, confidence) = if empty {
        let title = "The virtual disk acknowledges a commit in {}, and flushes faster than it \
                     writes: the host either needs no flushes or ignores them.";
        (title, Confidence::Medium)
    } else {
        let title = "The virtual disk acknowledges a commit in {}: the host either has protected \
                     storage or ignores flushes.";
        (title, Confidence::Low)
    };
    Some(Finding {
        id: "virtual-flush-unproven".to_owned(),
        title: title.replace("{}", &latency(commit.p50_us())),
        evidence,
        confidence,
        doubt: Some(
            "Timing alone cannot distinguish a protected cache from a lie; both look the \
                     same in the guest."
                .to_owned(),
        ),
        advice: "Check the host's configuration: QEMU with `cache=unsafe`, Firecracker with its \
                 default `cache_type` `Unsafe` and VirtualBox by default acknowledge flushes \
                 without doing anything. `flushmark verify` can prove it if you can cut the host's \
                 power."
            .to_owned(),
    })
}
