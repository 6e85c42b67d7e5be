//! Links the evidence of a finding to the place on the page that shows it.

use measurement::{Evidence, TestResult};

/// The test that a piece of evidence comes from: the one whose description the evidence begins
/// with. `4 KiB write + fsync, 4 jobs p50` comes from the test with four jobs and not from the one
/// with a single job, so the longest match counts; of repetitions, the first.
pub(crate) fn test_of(evidence: &Evidence, results: &[TestResult]) -> Option<usize> {
    evidence.value.as_f64()?;
    let mut found: Option<(usize, usize)> = None;
    for (index, result) in results.iter().enumerate() {
        let names_it = |did: &String| {
            let rest = evidence.what.strip_prefix(did);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', ':']))
        };
        let Some(did) = descriptions(result).into_iter().rfind(names_it) else {
            continue;
        };
        if found.is_none_or(|(_, length)| did.len() > length) {
            found = Some((index, did.len()));
        }
    }
    found.map(|(index, _)| index)
}

/// The words by which findings call a test, the longest last.
fn descriptions(result: &TestResult) -> Vec<String> {
    // Tests of OSDs all do the same; their names show which OSD did it.
    if result.osd.is_some() {
        return vec![result.test.clone()];
    }
    let mut all = vec![judge::operation_name(result)];
    all.extend(judge::name_under_setting(result));
    all
}

#[cfg(test)]
mod tests {
    use workload::WriteCache::{Off, On};

    use super::*;

    #[test]
    fn evidence_of_an_osd_links_to_the_test_of_that_osd() {
        let results = samples::osds(1, 13);
        let of = |what: &str| test_of(&Evidence::number(what, 1.0, "us"), &results);
        assert_eq!(of("osd.1: write p50"), Some(2));
        assert_eq!(of("osd.12: write p50"), Some(24));
        assert_eq!(of("4 KiB write p50"), None);
    }

    #[test]
    fn evidence_about_the_write_cache_links_to_the_test_under_that_setting() {
        let results = samples::suite("write-cache", 15.0, 1700.0);
        let of = |what: &str| {
            let index = test_of(&Evidence::number(what, 1.0, "IOPS"), &results)?;
            Some((results[index].workload.write_cache, results[index].workload.depth))
        };
        assert_eq!(of("4 KiB write + fsync, cache on"), Some((On, 1)));
        assert_eq!(of("4 KiB write + fsync, cache off"), Some((Off, 1)));
        assert_eq!(of("4 KiB write + fsync, depth 128, cache on"), Some((On, 128)));
    }

    #[test]
    fn evidence_links_to_the_test_that_it_names() {
        let results = samples::check();
        let of = |what: &str| {
            let index = test_of(&Evidence::number(what, 1.0, "us"), &results)?;
            Some(results[index].test.clone())
        };
        assert_eq!(of("4 KiB write + fsync p50").as_deref(), Some("write + fsync"));
        assert_eq!(
            of("4 KiB write + fdatasync, 4 jobs p50").as_deref(),
            Some("write + fdatasync, 4 jobs")
        );
        assert_eq!(of("4 KiB write p50").as_deref(), Some("write"));
        assert_eq!(of("endurance used"), None);
        assert_eq!(
            test_of(&Evidence::fact("4 KiB write + fsync: O_DIRECT", "refused"), &results),
            None
        );
    }
}
