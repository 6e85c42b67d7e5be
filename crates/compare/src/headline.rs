//! The test that the answer of a comparison is about.

use crate::comparison::{MetricComparison, TestComparison};
use crate::pairing::Pair;

/// The place of the test that represents all: one commit of 4 KiB at a time, or what resembles it
/// most. Tests that commit come first, then those that can be judged, then those closest to that
/// workload, in the order of the baseline. `None` if there is no test, and where tests are of
/// different OSDs or the system calls of different programs, none of which represents the others.
pub(crate) fn headline(pairs: &[&Pair<'_>], tests: &[TestComparison]) -> Option<usize> {
    if pairs.iter().any(|pair| pair.baseline.first().osd.is_some()) {
        return None;
    }
    let is_program = |pair: &&Pair<'_>| pair.baseline.first().workload.pattern.is_none();
    if pairs.len() > 1 && pairs.iter().all(is_program) {
        return None;
    }
    let is_judged = |figure: &MetricComparison| figure.exact || figure.interval.is_some();
    (0..tests.len()).min_by_key(|&at| {
        let result = pairs[at].baseline.first();
        (
            result.commits_per_s.is_none(),
            !tests[at].leading().is_some_and(is_judged),
            result.distance_from_a_commit(),
        )
    })
}
