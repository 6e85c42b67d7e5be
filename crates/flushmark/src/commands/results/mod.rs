//! `flushmark results`: one file a subcommand.

use crate::args::results::ResultsArgs;
use crate::exit::Verdict;

/// Does what the subcommand says.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &ResultsArgs) -> anyhow::Result<Verdict> {
    match args.command {}
}
