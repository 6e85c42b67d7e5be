//! Finds out whether a document is already stored, completely or as the part that an interrupted
//! run left.
//!
//! If the store becomes unreachable during a run, the run is saved to a file, and the store keeps
//! what it had of it. The file needs no reference to that part: a document begins like its part
//! does, with the same facts of the same second and the same first tests, histograms included.

use measurement::RunDocument;
use sha2::{Digest as _, Sha256};

use crate::engine::Engine;
use crate::error::Problem;
use crate::list;
use crate::reading::get;
use crate::run::RunId;
use crate::writing::Entry;

/// A document as a store has it.
pub(crate) enum Known {
    No,
    /// All of it, as this run.
    Whole(RunId),
    /// The first part of it, as this run, which is no longer being measured.
    Half(RunId),
}

/// Equal for two documents if one may be the other, or its first part: processes that insert
/// documents with one key take turns.
pub(crate) fn key(document: &RunDocument, entry: &Entry<'_>) -> i32 {
    let began = document.began().map(|at| format!("{at} {}", document.suite));
    let text = began.as_deref().or(entry.digest.as_deref()).unwrap_or_default();
    let digest = Sha256::digest(text);
    i32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Looks for the document with this digest.
pub(crate) fn find(
    engine: &mut dyn Engine,
    document: &RunDocument,
    digest: &str,
) -> Result<Known, Problem> {
    let same = engine.one("SELECT id FROM runs WHERE digest = $1 ORDER BY id", &[digest.into()])?;
    if let Some(row) = same {
        return Ok(Known::Whole(RunId(row.integer(0)?)));
    }
    let Some(at) = document.began() else { return Ok(Known::No) };
    let candidates = engine.query(
        "SELECT id, state, writer FROM runs WHERE at_us = $1 AND suite = $2 AND state <> \
         'complete' ORDER BY id",
        &[at.as_microsecond().into(), document.suite.as_str().into()],
    )?;
    for row in candidates {
        let run = RunId(row.integer(0)?);
        if list::is_running(engine, run.0, row.text(1)?, row.maybe_text(2)?)? {
            continue;
        }
        let kept = get(engine, run)?.document;
        if kept == *document {
            return Ok(Known::Whole(run));
        }
        if is_half(&kept, document) {
            return Ok(Known::Half(run));
        }
    }
    Ok(Known::No)
}

/// Returns whether a stored run is an earlier state of this document: without conclusions, and
/// perhaps with fewer tests.
fn is_half(kept: &RunDocument, document: &RunDocument) -> bool {
    let begun = RunDocument {
        results: kept.results.clone(),
        skipped: Vec::new(),
        findings: Vec::new(),
        fitness: std::collections::BTreeMap::new(),
        fitness_under_each_setting: None,
        ..document.clone()
    };
    *kept == begun && document.results.starts_with(&kept.results)
}

#[cfg(test)]
mod tests {
    use measurement::{Confidence, Evidence, Finding, Fitness, Grade, Skipped, Use};

    use super::*;

    #[test]
    fn a_half_is_the_same_run_without_its_end() {
        let mut whole = samples::document::checked();
        whole.skipped =
            vec![Skipped { test: "512 B".to_owned(), because: "no such blocks".to_owned() }];
        whole.findings = vec![Finding {
            id: "x".to_owned(),
            title: "X.".to_owned(),
            evidence: vec![Evidence::fact("a", "b")],
            confidence: Confidence::Low,
            doubt: None,
            advice: String::new(),
        }];
        whole
            .fitness
            .insert(Use::General, Fitness { grade: Grade::Good, because: "it is".to_owned() });
        let half = |tests: usize| RunDocument {
            results: whole.results[..tests].to_vec(),
            skipped: Vec::new(),
            findings: Vec::new(),
            fitness: std::collections::BTreeMap::new(),
            fitness_under_each_setting: None,
            ..whole.clone()
        };
        for tests in [0, 2, whole.results.len()] {
            assert!(is_half(&half(tests), &whole), "{tests}");
        }
        let mut other_test = half(2);
        other_test.results[1].ops += 1;
        assert!(!is_half(&other_test, &whole));
        assert!(!is_half(&RunDocument { smoke: true, ..half(2) }, &whole));
        assert!(!is_half(&whole, &whole), "it is complete");
    }
}
