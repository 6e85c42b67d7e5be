//! `flushmark suites`: what can be run.

use workload::suites;

use super::{look, print};
use crate::args::SuitesArgs;
use crate::exit::{Verdict, WrongUse};

/// Lists the suites, or prints the plan of one.
///
/// # Errors
/// When there is no suite of that name.
pub fn run(args: &SuitesArgs) -> anyhow::Result<Verdict> {
    match &args.suite {
        None => print(&report::suites(&suites::all(), &look()))?,
        Some(name) => {
            let text = suites::text(name).ok_or_else(|| WrongUse(suites::unknown_message(name)))?;
            print(text)?;
        }
    }
    Ok(Verdict::Done)
}
