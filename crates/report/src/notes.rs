//! The notes below a table: tests that were skipped, ended early or deviated from the plan.

use measurement::{Ended, Skipped, TestResult};
use workload::number::latency;

use crate::look::Look;

/// One line per remark; a remark on several tests appears once.
pub(crate) fn notes(results: &[TestResult], skipped: &[Skipped], look: &Look) -> String {
    let mut remarks: Vec<(String, Vec<&str>)> = Vec::new();
    let mut remark = |text: String, test| match remarks.iter_mut().find(|(known, _)| *known == text)
    {
        Some((_, tests)) => tests.push(test),
        None => remarks.push((text, vec![test])),
    };
    for skipped in skipped {
        remark(format!("skipped, {}", skipped.because), &skipped.test);
    }
    for result in results {
        let elapsed = || latency(result.elapsed_s * 1e6);
        match &result.ended {
            Ended::Limit => {}
            Ended::Interrupted => remark(format!("interrupted after {}", elapsed()), &result.test),
            Ended::Failed { error } => {
                remark(format!("ended after {}: {error}", elapsed()), &result.test);
            }
        }
        for note in &result.notes {
            remark(note.clone(), &result.test);
        }
    }
    let everything = results.len() + skipped.len();
    remarks
        .iter()
        .map(|(text, tests)| {
            let whose = match tests.as_slice() {
                _ if tests.len() == everything && everything > 1 => "all tests".to_owned(),
                [one] => (*one).to_owned(),
                [first, second] => format!("{first}; {second}"),
                [first, rest @ ..] => format!("{first} and {} more", rest.len()),
                [] => String::new(),
            };
            look.hanging("  ", &format!("{whose}: {text}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_remark_appears_once_with_its_tests() {
        let mut results = samples::check();
        results[0]
            .notes
            .push("the filesystem refuses O_DIRECT, so the page cache was used".to_owned());
        results[1]
            .notes
            .push("the filesystem refuses O_DIRECT, so the page cache was used".to_owned());
        results[2].ended = Ended::Interrupted;
        results[3].ended = Ended::Failed {
            error: "writing 4 KiB at 81920: Input/output error (os error 5)".to_owned(),
        };
        let skipped = [Skipped {
            test: "512 B".to_owned(),
            because: "below the logical block size of 4 KiB".to_owned(),
        }];
        insta::assert_snapshot!(notes(&results, &skipped, &Look::plain()), @"
        512 B: skipped, below the logical block size of 4 KiB
        write; write + fsync: the filesystem refuses O_DIRECT, so the page cache was used
        write + fdatasync: interrupted after 1.72 s
        write O_DSYNC: ended after 1.54 s: writing 4 KiB at 81920: Input/output error (os error 5)
        ");
        for result in &mut results {
            result.ended = Ended::Limit;
            result.notes = vec!["the drive was busy".to_owned()];
        }
        insta::assert_snapshot!(notes(&results, &[], &Look::plain()), @"  all tests: the drive was busy");
        assert_eq!(notes(&samples::check(), &[], &Look::plain()), "");
    }
}
