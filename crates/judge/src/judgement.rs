//! The judgement of a run: all findings and grades, combined in one place.

use std::collections::BTreeMap;

use measurement::{Finding, Fitness, TestResult, Use};
use workload::WriteCache;

use crate::cache_setting::cache_setting;
use crate::case::Case;
use crate::findings::findings;
use crate::fitness::fitness;
use crate::probes::probes;

/// Findings and grades, as stored in the result document.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Most serious first.
    pub findings: Vec<Finding>,
    pub fitness: BTreeMap<Use, Fitness>,
}

/// Judges a case. Findings and grades are based on the results under the write-cache setting that
/// is in effect after the run; only the comparison of the two settings uses the results of both.
pub fn judge(case: &Case<'_>) -> Judgement {
    let current = results_under_current_setting(case);
    let now = Case { results: &current, ..*case };
    let mut findings = findings(&now);
    findings.extend(cache_setting(case.results, &case.drive_label(), &case.disk_paths()));
    findings.extend(probes(&now));
    Judgement { findings, fitness: fitness(&now) }
}

/// The results under the setting that the write caches had before the run and have again after it,
/// that is, how the storage behaves from now on. Tests that ran concurrently with others are left
/// out: they show the bandwidth that the others left, not what the storage can do.
fn results_under_current_setting(case: &Case<'_>) -> Vec<TestResult> {
    let is_current = |setting: WriteCache| {
        setting.requires_on().is_none_or(|on| Some(on) == case.caches_found_on)
    };
    let results = case.results.iter().filter(|result| result.workload.beside.is_empty());
    results.filter(|result| is_current(result.workload.write_cache)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use drive::HostFacts;
    use measurement::Grade;
    use workload::SyncMethod::{Fsync, None as NoSync};

    use super::*;
    use samples::machine::{Run, write};

    /// A commit takes 10 ms with the cache on and 50 µs with it off.
    fn under_both_settings() -> Vec<TestResult> {
        let tests = [(WriteCache::On, 9950.0), (WriteCache::Off, 0.0)].map(|(setting, sync_us)| {
            let runs = [write(NoSync, 50.0, 0.0), write(Fsync, 50.0, sync_us)].map(Run::result);
            runs.map(|mut result| {
                result.workload.write_cache = setting;
                result
            })
        });
        tests.concat()
    }

    #[test]
    fn the_restored_cache_setting_decides_the_grades() {
        let (results, host) = (under_both_settings(), HostFacts::default());
        let graded = |found_on: Option<bool>| {
            let judged = judge(&Case::new(&results, None, &host).with_caches_found(found_on));
            let settings =
                judged.findings.iter().filter(|finding| finding.id == "write-cache-better-off");
            assert_eq!(settings.count(), 1, "both settings are compared, whichever is in effect");
            judged.fitness[&Use::ZfsSlog].grade
        };
        assert!(graded(Some(false)) > graded(Some(true)));
        assert_eq!(graded(None), Grade::Unknown, "the setting in effect is unknown");
    }

    #[test]
    fn a_concurrent_test_grades_nothing() {
        let mut results = vec![write(Fsync, 50.0, 1000.0).result()];
        let host = HostFacts::default();
        let grade = |results: &[TestResult]| {
            judge(&Case::new(results, None, &host)).fitness[&Use::DatabaseLog].grade
        };
        assert_ne!(grade(&results), Grade::Unknown);
        results[0].workload.beside = vec!["another".to_owned()];
        assert_eq!(grade(&results), Grade::Unknown);
    }
}
