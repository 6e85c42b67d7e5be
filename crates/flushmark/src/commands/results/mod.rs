//! `flushmark results`: one file a subcommand.

mod export;
mod import;

use crate::args::results::{ResultsArgs, ResultsCommand};
use crate::exit::Verdict;

/// Does what the subcommand says.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &ResultsArgs) -> anyhow::Result<Verdict> {
    match &args.command {
        ResultsCommand::Import(import) => import::run(import),
        ResultsCommand::Export(export) => export::run(export),
    }
}
