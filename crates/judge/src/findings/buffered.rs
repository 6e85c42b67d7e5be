//! The target refused `O_DIRECT`.

use drive::DirectIo;
use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::operation_name;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    // A target in memory has nothing under the page cache, and `in_memory` reports that.
    if matches!(FlushPath::of(case), FlushPath::InMemory { .. }) {
        return None;
    }
    let refused = case.place?.direct_io == Some(DirectIo::Unsupported);
    // A test that requested the page cache has no note about `O_DIRECT`.
    let noted = |notes: &[String]| notes.iter().any(|note| note.contains("O_DIRECT"));
    let fell_back = |result: &&measurement::TestResult| {
        !result.workload.direct && (refused || noted(&result.notes))
    };
    let result = case.results.iter().find(fell_back)?;
    let mut evidence =
        vec![Evidence::fact(format!("{}: O_DIRECT", operation_name(result)), "refused")];
    evidence.extend(case.place?.fs_type().map(|fs_type| Evidence::fact("filesystem", fs_type)));
    Some(Finding {
        id: "no-direct-io".to_owned(),
        title:
            "The target refuses O_DIRECT: only the synced tests measure the storage, all others \
                the page cache."
                .to_owned(),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Compare only synced tests; for the others, measure on a filesystem that supports \
             O_DIRECT (ext4, xfs)."
            .to_owned(),
    })
}
