//! Arguments of `flushmark fleet`.

use clap::{Parser, Subcommand};
use jiff::Timestamp;

use super::results::parse_moment;
use super::store::StoreArgs;

/// Compare the drives of many hosts
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark fleet outliers --store postgres://bench@db1/fleet
  flushmark fleet outliers --model PM9A3 --since 30d
  flushmark fleet drift --since 26w")]
pub struct FleetArgs {
    #[command(subcommand)]
    pub command: FleetCommand,

    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Show drives that are slower than others of their model, and what differs
    ///
    /// Each drive's newest run is compared with those of the same model, suite and filesystem.
    Outliers(ChoiceArgs),
    /// Show drives that became slower than they were, since when, and what changed then
    Drift(ChoiceArgs),
}

/// Which runs to look at.
#[derive(Debug, clap::Args)]
pub struct ChoiceArgs {
    /// Only drives whose model contains this
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,

    /// Only runs of this suite or plan
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,

    /// Only runs from this time on: 2026-11-20, 2026-11-20T18:00:00Z, or 12h, 30d, 4w ago
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub since: Option<Timestamp>,

    /// Only runs before this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub until: Option<Timestamp>,
}
