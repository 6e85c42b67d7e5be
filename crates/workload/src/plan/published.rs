//! The published form of a plan whose tests are a short form of its source's.

use std::time::Duration;

use super::{Plan, Test, Work};
use crate::number::span;

impl Plan {
    /// The plan with the tests of its source instead of their short form; `None` if they are not
    /// distinguished.
    #[must_use]
    pub fn as_published(self) -> Option<Plan> {
        let tests = self.published?;
        Some(Plan { tests, published: None, ..self })
    }

    /// A sentence on how the tests differ from the published form; `None` if there is no such form.
    pub fn short_form(&self) -> Option<String> {
        self.published.as_ref().map(|published| short_form(&self.tests, published))
    }
}

/// The first test stands for all.
fn short_form(short: &[Test], published: &[Test]) -> String {
    let time = |tests: &[Test]| tests.first().and_then(|test| test.work.limit().time());
    let rest = |tests: &[Test]| tests.first().map_or(Duration::ZERO, |test| test.work.rest());
    let preconditions = |tests: &[Test]| {
        tests
            .iter()
            .any(|test| matches!(&test.work, Work::Blocks(workload) if workload.precondition))
    };
    let mut differences = Vec::new();
    if let (Some(own), Some(long)) = (time(short), time(published))
        && own != long
    {
        differences.push(format!("{} a test instead of {}", span(own), span(long)));
    }
    if rest(short) != rest(published) {
        differences.push(format!(
            "{} before each, in which a drive empties its SLC cache",
            match rest(short) {
                Duration::ZERO => format!("no rest of {}", span(rest(published))),
                own => format!("a rest of {} instead of {}", span(own), span(rest(published))),
            }
        ));
    }
    if preconditions(published) && !preconditions(short) {
        differences
            .push("a device is tested as found, not overwritten completely beforehand".to_owned());
    }
    format!("short form: {}; --as-published tests like the source", differences.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(published: &str) -> Plan {
        let text = format!(
            "[defaults]\ntime = \"2s\"\n{published}\n[[test]]\npattern = \"write\"\ntime = \"5s\"\n\
             [[test]]\npattern = \"randwrite\"\n"
        );
        Plan::from_toml("plan.toml", &text).unwrap()
    }

    #[test]
    fn fields_of_the_published_form_replace_those_of_tests() {
        let short = plan("[published]\ntime = \"5min\"\nrest = \"5min\"");
        let names =
            |plan: &Plan| plan.tests.iter().map(|test| test.name.clone()).collect::<Vec<_>>();
        assert_eq!(short.requested_time(), Duration::from_secs(8));
        let long = short.clone().as_published().unwrap();
        assert_eq!(names(&long), names(&short));
        assert_eq!(long.requested_time(), Duration::from_secs(2 * 600 + 1));
        assert!(long.short_form().is_none() && long.as_published().is_none());
        assert_eq!(plan("").as_published(), None);
        assert_eq!(plan("").short_form(), None);
    }

    #[test]
    fn a_short_form_says_how_it_differs() {
        let note = |published: &str| plan(published).short_form().unwrap();
        insta::assert_snapshot!(note("[published]\ntime = \"5min\"\nrest = \"5min\""), @"short form: 5 s a test instead of 5 min, no rest of 5 min before each, in which a drive empties its SLC cache; --as-published tests like the source");
        insta::assert_snapshot!(note("[published]\nprecondition = true"), @"short form: a device is tested as found, not overwritten completely beforehand; --as-published tests like the source");
    }

    #[test]
    fn an_invalid_published_form_is_refused() {
        let error = |text: &str| Plan::from_toml("plan.toml", text).unwrap_err().to_string();
        let test = "[[test]]\npattern = \"write\"\n";
        insta::assert_snapshot!(error(&format!("published = 3\n{test}")), @"plan.toml:1: published: 3 is invalid: expected a table of fields of tests, such as [defaults]");
        insta::assert_snapshot!(error(&format!("[published]\ntime = \"0s\"\n{test}")), @r#"plan.toml:2: time: "0s" is invalid: expected a time above zero, up to a year, such as "5s", "250ms" or "1h30min""#);
    }
}
