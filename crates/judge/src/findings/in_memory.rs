//! The target is memory.

use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::flush_path::FlushPath;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let FlushPath::InMemory { what } = FlushPath::of(case) else { return None };
    Some(Finding {
        id: "target-in-memory".to_owned(),
        title: format!("Nothing written here is durable: {what} keeps everything in memory."),
        evidence: vec![Evidence::fact(format!("what holds {}", case.path()), what)],
        confidence: Confidence::High,
        doubt: None,
        advice: "Name a directory on a drive, such as `flushmark check ~`; these numbers show only what the software on the way costs."
            .to_owned(),
    })
}
