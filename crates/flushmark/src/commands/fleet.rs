//! `flushmark fleet`: one file per subcommand.

mod chosen;
mod drift;
mod outliers;
mod report;
mod scaling;
mod summary;
mod table;

use fleet::{Answer, FleetDocument};

use crate::args::Format;
use crate::args::fleet::{FleetArgs, FleetCommand};
use crate::commands::{look, print};
use crate::exit::ExitStatus;

pub fn run(args: &FleetArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        FleetCommand::Summary(choice) => summary::run(choice, &args.store)?,
        FleetCommand::Outliers(choice) => outliers::run(choice, &args.store)?,
        FleetCommand::Drift(choice) => drift::run(choice, &args.store)?,
        FleetCommand::Table(choice) => table::run(choice, &args.store)?,
        FleetCommand::Scaling(choice) => scaling::run(choice, &args.store)?,
        FleetCommand::Report(choice) => return report::run(choice, &args.store),
    }
    Ok(ExitStatus::Done)
}

/// Prints an answer.
fn show(format: Format, answer: Answer) -> anyhow::Result<()> {
    match format {
        Format::Text => print(&::report::fleet_page(&answer, &look())),
        Format::Json => print(&json(answer)?),
    }
}

fn json(answer: Answer) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&FleetDocument::from(answer))? + "\n")
}
