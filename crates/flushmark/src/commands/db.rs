//! `flushmark db`: one file per subcommand, and what they share.

mod commits;
mod connect;
mod created;
mod log_device;
mod log_directory;
mod storage;
mod watch;

use crate::args::db::{DbArgs, DbCommand};
use crate::exit::ExitStatus;

pub fn run(args: &DbArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        DbCommand::Commits(commits) => commits::run(commits),
        DbCommand::Watch(watch) => watch::run(watch),
    }
}
