//! One commit costs more than one flush.

use measurement::{Confidence, Finding};
use workload::SyncMethod;
use workload::number::number;

use crate::case::Case;
use crate::wording::{flushes, median};

/// Other programs' flushes are in the device's count, too: below this they may be all of the surplus.
const SEVERAL_LEAST: f64 = 1.5;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let by_call = [SyncMethod::Fsync, SyncMethod::Fdatasync].map(|sync| case.small_write(sync));
    let commit = by_call.into_iter().flatten().find(|commit| commit.flushes_per_commit() >= Some(SEVERAL_LEAST))?;
    let per_commit = commit.flushes_per_commit()?;
    let call = commit.workload.sync.map_or("sync", crate::wording::sync_name);
    let mut evidence = vec![median(commit)];
    evidence.extend(flushes(commit));
    let (why, advice) = match case.place.and_then(|place| place.mount.as_ref()) {
        Some(mount) => (
            format!("{} writes its journal between them", mount.fs_type),
            "Compare with fdatasync on a file that does not grow, which needs one; a preallocated and once written log keeps it so.",
        ),
        None => {
            ("another program flushes the same device".to_owned(), "Measure again while nothing else uses the device.")
        }
    };
    Some(Finding {
        id: "several-flushes-per-commit".to_owned(),
        title: format!("One {call} sends {} flushes: {why}.", number(per_commit)),
        evidence,
        confidence: Confidence::Medium,
        doubt: Some("The device counts for everybody: other programs' flushes are in it.".to_owned()),
        advice: advice.to_owned(),
    })
}
