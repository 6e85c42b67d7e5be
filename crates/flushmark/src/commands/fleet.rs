//! `flushmark fleet`: one file per subcommand.

mod chosen;
mod drift;
mod outliers;

use crate::args::fleet::{FleetArgs, FleetCommand};
use crate::exit::ExitStatus;

pub fn run(args: &FleetArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        FleetCommand::Outliers(choice) => outliers::run(choice, &args.store),
        FleetCommand::Drift(choice) => drift::run(choice, &args.store),
    }
}
