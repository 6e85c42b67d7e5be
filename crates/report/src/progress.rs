//! The progress line of a running test, and the line of a completed one.

use std::time::Duration;

use measurement::{Ended, TestResult};
use workload::number::{latency, number, span};

use crate::insert_benchmark::step_words;
use crate::look::Look;

/// Live figures next to a progress bar: operations and commit p99 of the last second, and the
/// remaining time of the run.
pub fn live_line(
    iops: Option<f64>,
    commit_p99_us: Option<f64>,
    left: Duration,
    look: &Look,
) -> String {
    let figures = match (iops, commit_p99_us) {
        (Some(iops), Some(p99)) => format!("{} IOPS, p99 {}, ", number(iops), latency(p99)),
        (Some(iops), None) => format!("{} IOPS, ", number(iops)),
        _ => String::new(),
    };
    look.finish(format!("{figures}{} left", span(left)))
}

/// A completed test in one line. `position` is, for example, `[2/8]`.
pub fn done_line(position: &str, result: &TestResult, look: &Look) -> String {
    let rate = match result.commits_per_s {
        Some(commits) => format!("{} commits/s", number(commits)),
        None if result.workload.steps.is_empty() => format!("{} IOPS", number(result.iops)),
        None => format!("{} turns/s, not durable", number(result.iops)),
    };
    let latencies = result
        .headline_us()
        .map(|us| format!(", p50 {}, p99 {}", latency(us.p50), latency(us.p99)))
        .unwrap_or_default();
    let end = match &result.ended {
        Ended::Limit => String::new(),
        Ended::Interrupted => ", interrupted".to_owned(),
        Ended::Failed { error } => format!(", failed: {error}"),
    };
    let words = step_words(result).unwrap_or_else(|| rate + &latencies);
    look.finish(format!("{position} {}: {words}{end}", result.test))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Glyphs;

    #[test]
    fn an_ascii_terminal_gets_ascii() {
        let ascii = Look { glyphs: Glyphs::Ascii, ..Look::plain() };
        insta::assert_snapshot!(live_line(Some(11_980.0), Some(131.2), Duration::from_secs(31), &ascii), @"11,980 IOPS, p99 131 us, 31 s left");
        assert!(done_line("[1/8]", &samples::check()[0], &ascii).is_ascii());
    }

    #[test]
    fn lines() {
        let results = samples::check();
        insta::assert_snapshot!(done_line("[1/8]", &results[0], &Look::plain()), @"[1/8] write: 66,667 IOPS, p50 15 µs, p99 15.6 µs");
        insta::assert_snapshot!(done_line("[2/8]", &results[1], &Look::plain()), @"[2/8] write + fsync: 487 commits/s, p50 2.06 ms, p99 2.14 ms");
        insta::assert_snapshot!(live_line(Some(11_980.0), Some(131.2), Duration::from_secs(31), &Look::plain()), @"11,980 IOPS, p99 131 µs, 31 s left");
        insta::assert_snapshot!(live_line(None, None, Duration::from_secs(75), &Look::plain()), @"1 min 15 s left");
    }
}
