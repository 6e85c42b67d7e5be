//! `flushmark ceph`: one file per subcommand.

mod bench;
mod check;
mod choice;
mod cluster;
mod confirm;
mod kept_drives;
mod layout;
mod osds;
mod pool;
mod sizing;
mod tell_bench;

use crate::args::ceph::{CephArgs, CephCommand};
use crate::exit::ExitStatus;

pub fn run(args: &CephArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        CephCommand::Check(check) => check::run(check),
        CephCommand::Sizing(sizing) => sizing::run(sizing),
        CephCommand::Layout(layout) => layout::run(layout),
        CephCommand::Osds(osds) => osds::run(osds),
        CephCommand::TellBench(bench) => tell_bench::run(bench),
        CephCommand::Bench(bench) => bench::run(bench),
    }
}
