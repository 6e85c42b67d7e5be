//! `flushmark check`: what a commit costs here, in under a minute.

use std::time::Duration;

use anyhow::Context as _;
use measurement::{Grade, RunDocument};
use workload::{Plan, suites};

use super::measure::Measurement;
use crate::args::{CheckArgs, FailOn};
use crate::exit::ExitStatus;

/// The part of the minute for preparing the test file. A slower drive is measured on what was
/// written by then.
const PREPARE_TIME_MAX: Duration = Duration::from_secs(6);

/// Measures, judges and prints each part as soon as it is known.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitStatus> {
    let plan: Plan = suites::named("quick").context("the built-in suite `quick` is missing")?;
    let measurement = Measurement {
        plan: &plan,
        target: &args.path,
        common: &args.common,
        keep: &args.keep,
        smoke: false,
        in_use: false,
        prepare_time_max: Some(PREPARE_TIME_MAX),
    };
    let (document, verdict) = measurement.run(report::check_page)?;
    let unfit = args.fail_on.iter().any(|fail_on| is_below(&document, *fail_on));
    Ok(if verdict == ExitStatus::Done && unfit { ExitStatus::Unfit } else { verdict })
}

/// A use with an unknown grade is not known to be fit.
fn is_below(document: &RunDocument, fail_on: FailOn) -> bool {
    document.fitness.get(&fail_on.fit_for).map_or(Grade::Unknown, |fitness| fitness.grade)
        < fail_on.at_least
}
