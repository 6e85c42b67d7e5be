//! One commit sends more than one flush.

use measurement::{Confidence, Finding};
use workload::SyncMethod;
use workload::number::number;

use crate::case::Case;
use crate::wording::{flushes, median};

/// The device also counts other programs' flushes: below this they may be the whole surplus.
const SEVERAL_MIN: f64 = 1.5;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let by_call = [SyncMethod::Fsync, SyncMethod::Fdatasync].map(|sync| case.small_write(sync));
    let commit = by_call
        .into_iter()
        .flatten()
        .find(|commit| commit.flushes_per_commit() >= Some(SEVERAL_MIN))?;
    let per_commit = commit.flushes_per_commit()?;
    let call = commit.workload.sync.map_or("sync", crate::wording::sync_name);
    let mut evidence = vec![median(commit)];
    evidence.extend(flushes(commit));
    let (why, advice) = match case.place.and_then(|place| place.mount.as_ref()) {
        Some(mount) => (
            format!("{} writes its journal between the two", mount.fs_type),
            "Compare with fdatasync on a file that does not grow, which needs one flush; a \
             preallocated log that was written once keeps it that way.",
        ),
        None => (
            "another program flushes the same device".to_owned(),
            "Measure again while nothing else uses the device.",
        ),
    };
    Some(Finding {
        id: "several-flushes-per-commit".to_owned(),
        title: format!("One {call} sends {} flushes: {why}.", number(per_commit)),
        evidence,
        confidence: Confidence::Medium,
        doubt: Some("The device's count includes flushes of other programs.".to_owned()),
        advice: advice.to_owned(),
    })
}
