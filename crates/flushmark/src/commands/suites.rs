//! `flushmark suites`: the built-in suites.

use workload::suites;

use super::{look, print};
use crate::args::SuitesArgs;
use crate::exit::{ExitStatus, WrongUse};

/// Lists the suites, or prints the plan of one.
pub fn run(args: &SuitesArgs) -> anyhow::Result<ExitStatus> {
    match &args.suite {
        None => print(&report::suites(&suites::all(), &look()))?,
        Some(name) => {
            let text = suites::text(name).ok_or_else(|| WrongUse(suites::unknown_message(name)))?;
            print(text)?;
        }
    }
    Ok(ExitStatus::Done)
}
