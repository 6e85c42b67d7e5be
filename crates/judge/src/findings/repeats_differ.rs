//! Repeated runs of one test have different results.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::number;

use crate::case::Case;
use crate::wording::{operation_name, rounded};

/// Published repeated runs of one test lie within 11 % of each other (Crucial T500, unsynced 2 MiB
/// writes), synced ones within 4 %.
const RATIO_MIN: f64 = 1.25;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let differing = |first: &TestResult| {
        let is_repeat =
            |run: &&TestResult| run.workload == first.workload && name(run) == name(first);
        let runs: Vec<&TestResult> = case.results.iter().filter(is_repeat).collect();
        let rates = || runs.iter().map(|run| rate(run));
        let (low, high) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
        let known = rates().all(|rate| rate.is_finite() && rate > 0.0);
        (runs.len() > 1 && known).then_some((high / low, runs))
    };
    let worst = case.results.iter().filter_map(differing).max_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, runs) = worst.filter(|(ratio, _)| *ratio >= RATIO_MIN)?;
    let (first, last) = (runs.first()?, runs.last()?);
    let unit = if first.commits_per_s.is_some() { "commits/s" } else { "IOPS" };
    let rates: Vec<String> = runs.iter().map(|run| number(rate(run))).collect();
    let why = if rate(last) * RATIO_MIN <= rate(first) {
        "the first may have been written to a cache (SLC flash, memory) that was full in the last"
    } else if rate(first) * RATIO_MIN <= rate(last) {
        "the first may have been disturbed, or paid for preparing the area"
    } else {
        "something disturbed one of them"
    };
    Some(Finding {
        id: "repeats-differ".to_owned(),
        title: format!(
            "The same test ({}) made {} {unit} in successive runs, {} times apart: {why}.",
            operation_name(first),
            rates.join(" and "),
            number(ratio)
        ),
        evidence: runs
            .iter()
            .map(|run| Evidence::number(run.test.clone(), rounded(rate(run)), unit))
            .collect(),
        confidence: Confidence::High,
        doubt: None,
        advice:
            "Do not compare drives by one of these runs. Run it longer, with rests between the \
                 tests (`rest = \"300s\"` in a plan), until repeats agree."
                .to_owned(),
    })
}

/// The name of the test without the number of the run that `repeat` in a plan adds.
fn name(result: &TestResult) -> &str {
    result.test.rsplit_once(" (run ").map_or(&result.test, |(name, _)| name)
}

fn rate(result: &TestResult) -> f64 {
    result.commits_per_s.unwrap_or(result.iops)
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod::Fsync;

    use super::*;
    use samples::machine::write;

    fn found(sync_us: &[f64]) -> Option<String> {
        let runs = sync_us.iter().zip(1..);
        let results: Vec<TestResult> = runs
            .map(|(&us, run)| {
                let result = write(Fsync, 20.0, us).block(16 << 10).result();
                TestResult { test: format!("{} (run {run})", result.test), ..result }
            })
            .collect();
        let host = drive::HostFacts::default();
        judge(&Case::new(&results, None, &host)).map(|finding| finding.title)
    }

    #[test]
    fn repeats_that_disagree_are_named() {
        insta::assert_snapshot!(found(&[760.0, 2740.0]).unwrap(), @"The same test (16 KiB write + fsync) made 1,282 and 362 commits/s in successive runs, 3.54 times apart: the first may have been written to a cache (SLC flash, memory) that was full in the last.");
        insta::assert_snapshot!(found(&[2740.0, 760.0]).unwrap(), @"The same test (16 KiB write + fsync) made 362 and 1,282 commits/s in successive runs, 3.54 times apart: the first may have been disturbed, or paid for preparing the area.");
        insta::assert_snapshot!(found(&[760.0, 2740.0, 760.0]).unwrap(), @"The same test (16 KiB write + fsync) made 1,282 and 362 and 1,282 commits/s in successive runs, 3.54 times apart: something disturbed one of them.");
    }

    #[test]
    fn repeats_that_agree_and_single_runs_are_not() {
        assert_eq!(found(&[900.0, 980.0]), None);
        assert_eq!(found(&[900.0]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn a_run_without_a_rate_is_not_compared() {
        let run = |commits_per_s| {
            let mut result = write(Fsync, 20.0, 760.0).result();
            result.commits_per_s = Some(commits_per_s);
            result
        };
        let host = drive::HostFacts::default();
        for missing in [0.0, f64::NAN, f64::INFINITY] {
            let results = [run(1282.0), run(missing), run(362.0)];
            assert_eq!(judge(&Case::new(&results, None, &host)), None, "{missing}");
        }
    }
}
