//! `flushmark results`: one file a subcommand.

mod compare;
mod merge;

use crate::args::results::{ResultsArgs, ResultsCommand};
use crate::exit::Verdict;

/// Does what the subcommand says.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &ResultsArgs) -> anyhow::Result<Verdict> {
    match &args.command {
        ResultsCommand::Compare(compare) => compare::run(compare),
        ResultsCommand::Merge(merge) => merge::run(merge),
    }
}
