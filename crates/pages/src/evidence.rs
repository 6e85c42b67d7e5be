//! Links the evidence of a finding to the place on the page that shows it.

use measurement::{Evidence, TestResult};

/// The test that a piece of evidence comes from: the one whose description the evidence begins
/// with. `4 KiB write + fsync, 4 jobs p50` comes from the test with four jobs and not from the one
/// with a single job, so the longest match counts; of repetitions, the first.
pub(crate) fn test_of(evidence: &Evidence, results: &[TestResult]) -> Option<usize> {
    evidence.value.as_f64()?;
    let mut found: Option<(usize, usize)> = None;
    for (index, result) in results.iter().enumerate() {
        // Tests of OSDs all do the same; their names show which OSD did it.
        let did = match result.osd {
            Some(_) => result.test.clone(),
            None => judge::operation_name(result),
        };
        let names_it =
            evidence.what.strip_prefix(&did).is_some_and(|rest| rest.starts_with([' ', ',', ':']));
        if names_it && found.is_none_or(|(_, length)| did.len() > length) {
            found = Some((index, did.len()));
        }
    }
    found.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
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
