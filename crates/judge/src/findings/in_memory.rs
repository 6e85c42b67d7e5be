//! The target is in memory.

use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::flush_path::FlushPath;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let FlushPath::InMemory { what } = FlushPath::of(case) else { return None };
    Some(Finding {
        id: "target-in-memory".to_owned(),
        title: format!(
            "Nothing written to this target is durable: {what} keeps everything in \
                        memory."
        ),
        evidence: vec![Evidence::fact(format!("storage of {}", case.path()), what)],
        confidence: Confidence::High,
        doubt: None,
        advice: "Measure a directory on a drive, for example `flushmark check ~`; these numbers \
                 show only the cost of the software."
            .to_owned(),
    })
}
