//! `flushmark run`: a suite, a plan or a fio job file on a target.

use std::path::Path;

use anyhow::Context as _;
use engine::Options;
use workload::{Plan, suites};

use super::{deliver, expect_output, look, print};
use crate::args::RunArgs;
use crate::args::export::PrintFormat;
use crate::bench::Wishes;
use crate::exit::{Verdict, WrongUse};
use crate::keeping::Keeping;
use crate::live::Live;
use crate::progress::Progress;
use crate::session::Session;
use crate::signals;

/// Runs the tests and prints their table.
///
/// # Errors
/// When the plan or the target is wrong, or the system does not do its part.
pub fn run(args: &RunArgs) -> anyhow::Result<Verdict> {
    let mut plan = load(&args.plan)?;
    if let Some(time) = args.time {
        plan = plan.with_time(time);
    }
    if args.smoke {
        plan = plan.smoke();
    }
    let target = args.target.clone().or_else(|| plan.target.clone()).ok_or_else(|| {
        WrongUse(
            "name where to run: --target DIRECTORY, --target /dev/..., --target sim:MODEL or --target null:".to_owned(),
        )
    })?;
    expect_output(&args.common)?;
    signals::listen().context("cannot listen to signals")?;
    let options = Options { engine: args.common.engine, ..Options::default() };
    let wishes = Wishes { destroy_data: args.common.destroy_data, in_use: args.in_use, options };
    let mut keeping = if args.smoke { Keeping::off() } else { Keeping::open(&args.keep, &target)? };
    let session = Session::open(&plan, &target, wishes, args.smoke)?;
    let look = look();
    let mut progress = Progress::new(args.common.quiet, &look);
    if args.common.format == PrintFormat::Text {
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
    let delivered = deliver(&completed.document, &args.common, |document| report::run_page(&plan, document, &look));
    kept.say(&progress);
    let verdict = completed.end()?;
    delivered.map(|()| verdict)
}

/// A built-in suite by its name, else a file: TOML by its ending, a fio job otherwise.
fn load(name: &str) -> anyhow::Result<Plan> {
    if let Some(plan) = suites::named(name) {
        return Ok(plan);
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(WrongUse(suites::unknown(name)).into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let plan = if is_toml {
        Plan::from_toml(name, &text).map_err(|error| WrongUse(error.to_string()))
    } else {
        Plan::from_fio(name, &text).map_err(|error| WrongUse(error.to_string()))
    };
    Ok(plan?)
}
