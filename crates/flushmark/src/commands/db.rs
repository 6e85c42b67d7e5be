//! `flushmark db`: one file per subcommand, and what they share.

mod commits;
mod connect;
mod created;
mod storage;

use crate::args::db::{DbArgs, DbCommand};
use crate::exit::ExitStatus;

pub fn run(args: &DbArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        DbCommand::Commits(commits) => commits::run(commits),
    }
}
