//! Matches the tests of the two sides.
//!
//! Tests match if they have the same workload; a name alone is not enough. Two things may differ:
//! the seed, and how many bytes were worked on, which is less than requested if there is little
//! free space (a note reports it). If several tests have the same workload, names decide. Tests of
//! different OSDs never match.
//!
//! Other tools name their tests differently and do not report everything. What an imported listing
//! leaves out does not keep its tests from matching.

use measurement::{FieldDifference, TestResult, WorkloadRecord};
use schemars::JsonSchema;
use serde::Serialize;

use crate::group::{Group, GroupTest};
use crate::metric::Metric;

/// Two tests that match.
#[derive(Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) baseline: GroupTest<'a>,
    pub(crate) candidate: GroupTest<'a>,
}

/// A test without a counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unpaired {
    pub test: String,
    /// Why it has no counterpart.
    #[serde(flatten)]
    pub reason: UnpairedReason,
    /// Figures of the baseline's test that are not compared with anything.
    #[schemars(with = "Vec<String>")]
    pub lost: Vec<Metric>,
}

/// Why a test has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum UnpairedReason {
    /// The candidate has no such test.
    OnlyInBaseline,
    /// The baseline has no such test.
    OnlyInCandidate,
    /// Both have a test of this name, with different workloads.
    DifferentWorkload {
        /// The differences: `depth: 1 and 4`.
        fields: Vec<String>,
    },
}

/// The workload without the fields that may differ.
fn kind(result: &TestResult) -> WorkloadRecord {
    WorkloadRecord { seed: 0, size_bytes: 0, ..result.comparable_workload() }
}

/// The tests of a group, in order of appearance; the same test of several runs is one.
fn tests<'a>(group: &Group<'a>) -> Vec<GroupTest<'a>> {
    let mut tests: Vec<(WorkloadRecord, Vec<&TestResult>)> = Vec::new();
    for (earlier_runs, run) in group.runs.iter().enumerate() {
        // Several equal tests of one run are matched in order with those of earlier runs.
        let mut taken = vec![false; tests.len()];
        for result in &run.results {
            let kind = kind(result);
            let known = (0..taken.len())
                .find(|&at| !taken[at] && tests[at].0 == kind && tests[at].1[0].test == result.test)
                .filter(|_| earlier_runs > 0);
            match known {
                Some(at) => {
                    taken[at] = true;
                    tests[at].1.push(result);
                }
                None => tests.push((kind, vec![result])),
            }
        }
    }
    tests.into_iter().map(|(_, runs)| GroupTest::new(runs)).collect()
}

/// Pairs in the baseline's order, and what remains on either side.
pub(crate) fn pair<'a>(
    baseline: &Group<'a>,
    candidate: &Group<'a>,
) -> (Vec<Pair<'a>>, Vec<Unpaired>) {
    let mut ours: Vec<Option<GroupTest<'a>>> = tests(baseline).into_iter().map(Some).collect();
    let mut theirs: Vec<Option<GroupTest<'a>>> = tests(candidate).into_iter().map(Some).collect();
    let mut pairs: Vec<(usize, Pair<'a>)> = Vec::new();
    let same_name =
        |our: &TestResult, their: &TestResult| our.test == their.test && kind(our) == kind(their);
    // A renamed test must also agree in size: nothing else distinguishes the rows of a suite that
    // varies it.
    let renamed =
        |our: &TestResult, their: &TestResult| our.workload.differences(&their.workload).is_empty();
    let mut runs = baseline.runs.iter().chain(&candidate.runs);
    let imported = runs.any(|run| run.source.is_some());
    let listed = |our: &TestResult, their: &TestResult| {
        imported && our.listed_workload() == their.listed_workload()
    };
    let osd = |result: &TestResult| result.osd.as_ref().map(|osd| osd.id);
    for alike in [&same_name as &dyn Fn(&TestResult, &TestResult) -> bool, &renamed, &listed] {
        for (position, our) in ours.iter_mut().enumerate() {
            let Some(test) = our.as_ref() else { continue };
            let counterpart = theirs.iter_mut().find(|their| {
                their.as_ref().map(GroupTest::first).is_some_and(|their| {
                    osd(test.first()) == osd(their) && alike(test.first(), their)
                })
            });
            if let Some(candidate) = counterpart.and_then(Option::take)
                && let Some(baseline) = our.take()
            {
                pairs.push((position, Pair { baseline, candidate }));
            }
        }
    }
    pairs.sort_by_key(|(position, _)| *position);
    (pairs.into_iter().map(|(_, pair)| pair).collect(), unpaired(&ours, &theirs))
}

fn unpaired(ours: &[Option<GroupTest<'_>>], theirs: &[Option<GroupTest<'_>>]) -> Vec<Unpaired> {
    let mut theirs: Vec<&TestResult> = theirs.iter().flatten().map(GroupTest::first).collect();
    let mut unpaired = Vec::new();
    for test in ours.iter().flatten() {
        let our = test.first();
        let reason = match theirs.iter().position(|their| their.test == our.test) {
            Some(position) => {
                let their = theirs.remove(position);
                let fields =
                    our.workload.differences(&their.workload).iter().map(difference).collect();
                UnpairedReason::DifferentWorkload { fields }
            }
            None => UnpairedReason::OnlyInBaseline,
        };
        unpaired.push(Unpaired { test: our.test.clone(), reason, lost: test.metrics() });
    }
    let only = |their: &TestResult| Unpaired {
        test: their.test.clone(),
        reason: UnpairedReason::OnlyInCandidate,
        lost: Vec::new(),
    };
    unpaired.extend(theirs.into_iter().map(only));
    unpaired
}

fn difference(difference: &FieldDifference) -> String {
    let FieldDifference { field, ours, theirs } = difference;
    format!("{field}: {ours} and {theirs}")
}

#[cfg(test)]
mod tests {
    use measurement::{RunDocument, Source};

    use super::*;
    use samples::series::{result, run};

    fn named(name: &str, us: f64, seed: u64) -> TestResult {
        TestResult { test: name.to_owned(), ..result("write + fsync", us, 3, seed) }
    }

    fn group(runs: &[RunDocument]) -> Group<'_> {
        Group { label: String::new(), runs: runs.iter().collect() }
    }

    /// Name and number of runs of each test of a group.
    fn tests_of(runs: &[RunDocument]) -> Vec<(String, usize)> {
        tests(&group(runs))
            .iter()
            .map(|test| (test.first().test.clone(), test.runs.len()))
            .collect()
    }

    #[test]
    fn tests_of_several_runs_go_together_by_name_and_work_in_order() {
        let of = |tests: &[(&str, usize)]| -> Vec<(String, usize)> {
            tests.iter().map(|&(name, runs)| (name.to_owned(), runs)).collect()
        };
        let pair = |seed: u64| {
            run(vec![
                named("a", 1000.0, seed),
                named("a", 1000.0, seed + 1),
                named("b", 1000.0, seed),
            ])
        };
        // Equal tests of one run are separate; those of another run are matched with them in order.
        assert_eq!(tests_of(&[pair(1)]), of(&[("a", 1), ("a", 1), ("b", 1)]));
        assert_eq!(tests_of(&[pair(1), pair(3)]), of(&[("a", 2), ("a", 2), ("b", 2)]));
        let mut deeper = pair(5);
        deeper.results[2].workload.depth = 4;
        assert_eq!(tests_of(&[pair(1), deeper]), of(&[("a", 2), ("a", 2), ("b", 1), ("b", 1)]));
    }

    #[test]
    fn the_seed_and_how_much_was_worked_on_may_differ_under_one_name() {
        let mut other = named("a", 1000.0, 2);
        (other.workload.seed, other.workload.size_bytes) = (99, 4096);
        let mut renamed = other.clone();
        renamed.test = "b".to_owned();
        let pairs = |candidate: TestResult| {
            let [ours, theirs] = [[run(vec![named("a", 1000.0, 1)])], [run(vec![candidate])]];
            let (pairs, unpaired) = pair(&group(&ours), &group(&theirs));
            (pairs.len(), unpaired.len())
        };
        assert_eq!(pairs(other), (1, 0));
        // Under another name, the size distinguishes it from other rows of its suite.
        assert_eq!(pairs(renamed.clone()), (0, 2));
        renamed.workload.size_bytes = named("a", 1000.0, 1).workload.size_bytes;
        assert_eq!(pairs(renamed), (1, 0));
    }

    #[test]
    fn a_listing_s_test_matches_by_what_it_reports() {
        let own = run(vec![named("write + fsync", 1000.0, 1)]);
        let mut listed = named("journal-test", 1000.0, 1);
        (listed.workload.size_bytes, listed.workload.layout) = (0, None);
        let pairs = |candidate: &RunDocument| {
            let [ours, theirs] = [[own.clone()], [candidate.clone()]];
            pair(&group(&ours), &group(&theirs)).0.len()
        };
        let not_imported = run(vec![listed.clone()]);
        assert_eq!(pairs(&not_imported), 0);
        let imported = RunDocument { source: Some(Source::default()), ..not_imported };
        assert_eq!(pairs(&imported), 1);
        let mut deeper = imported;
        deeper.results[0].workload.depth = 0;
        assert_eq!(pairs(&deeper), 0, "an unknown depth matches no other");
    }
}
