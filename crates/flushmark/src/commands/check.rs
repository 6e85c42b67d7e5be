//! `flushmark check`: what a commit costs here, in under a minute.

use std::time::Duration;

use anyhow::Context as _;
use measurement::{Grade, RunDocument};
use workload::{Plan, suites};

use super::measure::Measurement;
use crate::args::{CheckArgs, FailOn};
use crate::exit::Verdict;

/// Writing the test file through may take this much of the minute; a slower drive is measured on what was written until then.
const PREPARE_TIME_MAX: Duration = Duration::from_secs(6);

/// Measures, judges and prints, each part as soon as it is known.
///
/// # Errors
/// When the target is wrong, or the system does not do its part.
pub fn run(args: &CheckArgs) -> anyhow::Result<Verdict> {
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
    Ok(if verdict == Verdict::Done && unfit { Verdict::Unfit } else { verdict })
}

/// A use whose grade could not be told is not known to be fit.
fn is_below(document: &RunDocument, fail_on: FailOn) -> bool {
    document.fitness.get(&fail_on.fit_for).map_or(Grade::Unknown, |fitness| fitness.grade) < fail_on.at_least
}
