//! The page cache could not be bypassed.

use drive::DirectIo;
use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::did;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    // Of memory there is nothing to bypass the page cache to, and `in_memory` has said so.
    if matches!(FlushPath::of(case), FlushPath::InMemory { .. }) {
        return None;
    }
    let refused = case.place?.direct_io == Some(DirectIo::Unsupported);
    // A test that asked for the page cache has no note about `O_DIRECT`.
    let noted = |notes: &[String]| notes.iter().any(|note| note.contains("O_DIRECT"));
    let fell_back = |result: &&measurement::TestResult| !result.workload.direct && (refused || noted(&result.notes));
    let result = case.results.iter().find(fell_back)?;
    let mut evidence = vec![Evidence::fact(format!("{}: O_DIRECT", did(result)), "refused")];
    evidence.extend(case.place?.fs_type().map(|fs_type| Evidence::fact("filesystem", fs_type)));
    Some(Finding {
        id: "no-direct-io".to_owned(),
        title: "O_DIRECT is refused here, so that writes and reads went through the page cache: only the synced rows tell of the storage."
            .to_owned(),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Compare synced rows alone; for the rest measure on a filesystem that takes O_DIRECT (ext4, xfs).".to_owned(),
    })
}
