//! `flushmark check`: what a commit costs here, in under a minute.

use std::time::Duration;

use anyhow::Context as _;
use engine::Options;
use measurement::{Grade, RunDocument};
use workload::{Plan, suites};

use super::{deliver, expect_output, look, print};
use crate::args::export::PrintFormat;
use crate::args::{CheckArgs, FailOn};
use crate::bench::Wishes;
use crate::exit::Verdict;
use crate::keeping::Keeping;
use crate::live::Live;
use crate::progress::Progress;
use crate::session::Session;
use crate::signals;

/// Writing the test file through may take this much of the minute; a slower drive is measured on what was written until then.
const PREPARE_TIME_MAX: Duration = Duration::from_secs(6);

/// Measures, judges and prints, each part as soon as it is known.
///
/// # Errors
/// When the target is wrong, or the system does not do its part.
pub fn run(args: &CheckArgs) -> anyhow::Result<Verdict> {
    let plan: Plan = suites::named("quick").context("the built-in suite `quick` is missing")?;
    expect_output(&args.common)?;
    signals::listen().context("cannot listen to signals")?;
    let options =
        Options { engine: args.common.engine, prepare_time_max: Some(PREPARE_TIME_MAX), ..Options::default() };
    let wishes = Wishes { destroy_data: args.common.destroy_data, in_use: false, options };
    let mut keeping = Keeping::open(&args.keep, &args.path)?;
    let session = Session::open(&plan, &args.path, wishes, false)?;
    let text = args.common.format == PrintFormat::Text;
    let look = look();
    let mut progress = Progress::new(args.common.quiet, &look);
    if text {
        let document = session.document();
        print(&report::target_header(document, session.tested_bytes(&plan), &look))?;
    }
    for note in session.notes() {
        progress.line(&note);
    }
    keeping.begin(session.document())?;
    let live = Live::of(session.document(), keeping.run());
    let completed = session.run(&plan, &mut progress, live, |result| {
        keeping.append(result);
        Ok(())
    })?;
    let kept = keeping.finish(&completed);
    let delivered = deliver(&completed.document, &args.common, |document| report::check_page(document, &look));
    kept.say(&progress);
    let unfit = args.fail_on.iter().any(|fail_on| is_below(&completed.document, *fail_on));
    let verdict = match completed.end()? {
        Verdict::Done if unfit => Verdict::Unfit,
        verdict => verdict,
    };
    delivered.map(|()| verdict)
}

/// A use whose grade could not be told is not known to be fit.
fn is_below(document: &RunDocument, fail_on: FailOn) -> bool {
    document.fitness.get(&fail_on.fit_for).map_or(Grade::Unknown, |fitness| fitness.grade) < fail_on.at_least
}
