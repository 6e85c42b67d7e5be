//! `flushmark db`: one file per subcommand, and what they share.

mod bench;
mod commits;
mod connect;
mod created;
mod here;
mod host_meter;
mod log_device;
mod predict;
mod refusals;
mod server_cpu;
mod storage;
mod watch;

use crate::args::db::{DbArgs, DbCommand};
use crate::exit::ExitStatus;

pub fn run(args: &DbArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        DbCommand::Bench(bench) => bench::run(bench),
        DbCommand::Commits(commits) => commits::run(commits),
        DbCommand::Predict(predict) => predict::run(predict),
        DbCommand::Watch(watch) => watch::run(watch),
    }
}
