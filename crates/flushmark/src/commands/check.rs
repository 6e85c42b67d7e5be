//! `flushmark check`: what a commit costs here, in under a minute.

use std::time::Duration;

use anyhow::Context as _;
use measurement::{Grade, RunDocument};
use workload::{Plan, suites};

use super::measure::Measurement;
use crate::args::{CheckArgs, FailOn};
use crate::exit::{self, ExitStatus};

/// The part of the minute for preparing the test file. A slower drive is measured on what was
/// written by then.
const PREPARE_TIME_MAX: Duration = Duration::from_secs(6);

/// The target if none is given.
const HERE: &str = ".";

/// Measures, judges and prints each part as soon as it is known.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitStatus> {
    let plan: Plan = suites::named("check").context("the built-in suite `check` is missing")?;
    let plan = if args.smoke { plan.smoke() } else { plan };
    let given = args.targets.all();
    let targets = if given.is_empty() { vec![HERE.to_owned()] } else { given };
    let measurement = Measurement {
        plan: &plan,
        targets: &targets,
        group: &args.group,
        common: &args.common,
        keep: &args.keep,
        smoke: args.smoke,
        in_use: false,
        prepare_time_max: Some(PREPARE_TIME_MAX),
    };
    let (documents, verdict) = measurement.run(report::check_page)?;
    let failed: Vec<String> = documents
        .iter()
        .flat_map(|document| args.fail_on.iter().filter_map(|it| failure(document, *it)))
        .collect();
    if verdict != ExitStatus::Done || failed.is_empty() {
        return Ok(verdict);
    }
    exit::complain(&failed.join("; "));
    Ok(ExitStatus::Unfit)
}

/// The grade that is too low, and its reason; `None` if it suffices. A use with an unknown grade is
/// not known to be fit.
fn failure(document: &RunDocument, FailOn { fit_for, at_least }: FailOn) -> Option<String> {
    let (grade, because) = match document.fitness.get(&fit_for) {
        Some(fitness) => (fitness.grade, fitness.because.trim_end_matches('.')),
        None => (Grade::Unknown, "nothing was graded"),
    };
    let name = fit_for.name();
    (grade < at_least).then(|| {
        format!(
            "the grade for {name} is {}, and --fail-on {name}={} requires {} or better: {because}",
            grade.name(),
            at_least.name(),
            at_least.name()
        )
    })
}

#[cfg(test)]
mod tests {
    use measurement::{Fitness, Use};

    use super::*;

    #[test]
    fn a_failure_names_the_grade_and_its_reason() {
        let mut document = samples::document(Vec::new());
        let required = |at_least| FailOn { fit_for: Use::DatabaseLog, at_least };
        insta::assert_snapshot!(failure(&document, required(Grade::Fair)).unwrap(), @"the grade for database-log is unknown, and --fail-on database-log=fair requires fair or better: nothing was graded");
        let because =
            "One connection makes 71 commits/s (4 KiB write + fsync), p99 21.6 ms.".to_owned();
        document.fitness.insert(Use::DatabaseLog, Fitness { grade: Grade::Poor, because });
        insta::assert_snapshot!(failure(&document, required(Grade::Fair)).unwrap(), @"the grade for database-log is poor, and --fail-on database-log=fair requires fair or better: One connection makes 71 commits/s (4 KiB write + fsync), p99 21.6 ms");
        assert_eq!(failure(&document, required(Grade::Poor)), None);
    }
}
