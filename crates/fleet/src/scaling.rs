//! The gain from more hosts: the rates of groups of different sizes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use measurement::{GroupTotal, LatencySummary, RunDocument, TestResult};
use schemars::JsonSchema;
use serde::Serialize;

/// More hosts that add less than this part of the rate add nothing.
const GAIN_MIN: f64 = 0.1;

/// A group with so many hosts, in one test.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    pub hosts: usize,
    /// When its first run began.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Commits per second of all hosts together, or operations if there are none.
    pub per_second: f64,
    pub mib_per_s: f64,
    /// Headline latency of all operations together, in microseconds; `null` if a run did not keep
    /// its distribution.
    pub latency_us: Option<LatencySummary>,
}

/// One test with different numbers of hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Scaling {
    /// The name that the user gave the groups.
    pub group: String,
    pub suite: String,
    pub test: String,
    /// Fewest hosts first; of several groups with the same number of hosts, the newest.
    pub steps: Vec<Step>,
    /// The number of hosts above which the rate rises by less than a tenth; `null` if it rises to
    /// the end, or only one number of hosts was tried.
    pub saturated_at: Option<usize>,
}

/// The runs of one group.
#[derive(Debug, Clone)]
pub struct Together {
    pub name: String,
    pub hosts: usize,
    pub at: Timestamp,
    pub suite: String,
    pub documents: Vec<RunDocument>,
}

/// The rate of each test with each number of hosts. A group counts as large as the hosts that have
/// stored a run of it.
pub fn scaling(groups: &[Together]) -> Vec<Scaling> {
    let mut series: BTreeMap<(&str, &str), Vec<&Together>> = BTreeMap::new();
    for group in groups {
        series.entry((&group.name, &group.suite)).or_default().push(group);
    }
    let mut found = Vec::new();
    for ((name, suite), mut groups) in series {
        groups.sort_by_key(|group| (group.hosts, std::cmp::Reverse(group.at)));
        groups.dedup_by_key(|group| group.hosts);
        let mut tests: Vec<(String, Vec<Step>)> = Vec::new();
        for group in groups {
            let results: Vec<&[TestResult]> =
                group.documents.iter().map(|document| document.results.as_slice()).collect();
            for total in GroupTotal::of(&results) {
                // A test that some hosts did not measure is not the rate of all of them.
                if total.runs < group.documents.len() {
                    continue;
                }
                let step = Step {
                    hosts: group.hosts,
                    at: group.at,
                    per_second: total.commits_per_s.unwrap_or(total.iops),
                    mib_per_s: total.mib_per_s,
                    latency_us: total.latency_us,
                };
                match tests.iter_mut().find(|(test, _)| *test == total.test) {
                    Some((_, steps)) => steps.push(step),
                    None => tests.push((total.test, vec![step])),
                }
            }
        }
        found.extend(tests.into_iter().map(|(test, steps)| Scaling {
            group: name.to_owned(),
            suite: suite.to_owned(),
            test,
            saturated_at: saturated_at(&steps),
            steps,
        }));
    }
    found
}

fn saturated_at(steps: &[Step]) -> Option<usize> {
    let (_, smaller) = steps.split_last()?;
    let is_last_gain = |at: usize| {
        let most = steps[at + 1..].iter().map(|step| step.per_second).fold(0.0, f64::max);
        most < steps[at].per_second * (1.0 + GAIN_MIN)
    };
    (0..smaller.len()).find(|&at| is_last_gain(at)).map(|at| steps[at].hosts)
}

#[cfg(test)]
mod tests {
    use samples::machine::write;
    use workload::SyncMethod::Fsync;

    use super::*;

    /// A group in which each host needs this long for a flush.
    fn group(name: &str, hosts: usize, day: i64, flush_us: f64) -> Together {
        let document = samples::document(vec![write(Fsync, 20.0, flush_us).result()]);
        Together {
            name: name.to_owned(),
            hosts,
            at: Timestamp::from_second(1_790_000_000 + day * 86_400).unwrap(),
            suite: "check".to_owned(),
            documents: vec![document; hosts],
        }
    }

    #[test]
    fn rates_of_all_hosts_are_sums_and_the_newest_of_a_size_counts() {
        let found = scaling(&[
            group("nfs", 4, 0, 2_000.0),
            group("nfs", 1, 0, 400.0),
            group("nfs", 2, 0, 9_000.0),
            group("nfs", 2, 1, 480.0),
            group("another", 2, 0, 480.0),
        ]);
        assert_eq!(found.len(), 2);
        let nfs = found.iter().find(|scaling| scaling.group == "nfs").unwrap();
        let rates: Vec<(usize, f64)> =
            nfs.steps.iter().map(|step| (step.hosts, (step.per_second / 10.0).round())).collect();
        assert_eq!(rates, [(1, 238.0), (2, 400.0), (4, 198.0)]);
        // Four hosts make less than two.
        assert_eq!(nfs.saturated_at, Some(2));
        assert_eq!(found[0].saturated_at, None, "one size shows nothing");
    }

    #[test]
    fn a_rate_that_rises_to_the_end_is_not_saturated() {
        let steps = |rates: &[f64]| -> Option<usize> {
            let steps: Vec<Step> = rates
                .iter()
                .enumerate()
                .map(|(at, &per_second)| Step {
                    hosts: at + 1,
                    at: Timestamp::UNIX_EPOCH,
                    per_second,
                    mib_per_s: 0.0,
                    latency_us: None,
                })
                .collect();
            saturated_at(&steps)
        };
        assert_eq!(steps(&[]), None);
        assert_eq!(steps(&[100.0]), None);
        assert_eq!(steps(&[100.0, 190.0, 280.0]), None);
        assert_eq!(steps(&[100.0, 190.0, 195.0, 200.0]), Some(2));
        // A dip is not the end.
        assert_eq!(steps(&[100.0, 190.0, 180.0, 280.0]), None);
        assert_eq!(steps(&[100.0, 105.0]), Some(1));
    }

    #[test]
    fn a_test_that_a_host_did_not_measure_has_no_total() {
        let mut group = group("nfs", 2, 0, 400.0);
        group.documents[1].results.clear();
        assert_eq!(scaling(&[group]), []);
    }
}
