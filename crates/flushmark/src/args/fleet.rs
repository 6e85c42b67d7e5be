//! Arguments of `flushmark fleet`.

use clap::{Parser, Subcommand, ValueEnum};
use fleet::DriveChoice;

use super::Format;
use super::report::PageArgs;
use super::results::FilterArgs;
use super::store::StoreArgs;

/// Add up, compare and follow the runs of many hosts
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark fleet summary --by model --since 30d
  flushmark fleet outliers --store postgres://bench@db1/fleet
  flushmark fleet outliers --model PM9A3 --since 30d
  flushmark fleet drift --since 26w
  flushmark fleet table --format markdown
  flushmark fleet scaling --suite check
  flushmark fleet report --since 30d -o fleet.html")]
pub struct FleetArgs {
    #[command(subcommand)]
    pub command: FleetCommand,

    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Show percentiles of each test over all hosts
    ///
    /// Each host's newest run of each suite on each target is added up: percentiles are those of all
    /// operations together, from the whole distributions.
    Summary(SummaryArgs),
    /// Show drives that are slower than others of their model, and what differs
    ///
    /// Each drive's newest run is compared with those of the same model, suite and filesystem.
    Outliers(ChoiceArgs),
    /// Show drives that became slower than they were, since when, and what changed then
    Drift(ChoiceArgs),
    /// Show the mean latency of fsync and fdatasync after 16 KiB and 2 MiB, host by host
    ///
    /// Looks at tests with one job, such as those of `fsync-study` and `check`, and takes the newest
    /// run of each filesystem that has one.
    Table(TableArgs),
    /// Show what each test made with one, two and more hosts at once
    ///
    /// Looks at runs with --group. Of groups with the same name and number of hosts, the newest
    /// counts.
    Scaling(ChoiceArgs),
    /// Write all of this as one self-contained HTML page, with every drive in every test
    Report(FleetReportArgs),
}

#[derive(Debug, clap::Args)]
pub struct FleetReportArgs {
    #[command(flatten)]
    pub runs: RunsArgs,

    #[command(flatten)]
    pub page: PageArgs,
}

#[derive(Debug, clap::Args)]
pub struct SummaryArgs {
    /// Add up all hosts, the drives of each model, or each host
    #[arg(long, value_enum, default_value_t = By::All)]
    pub by: By,

    #[command(flatten)]
    pub choice: ChoiceArgs,
}

/// The values of `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    All,
    Model,
    Host,
}

impl From<By> for fleet::By {
    fn from(by: By) -> fleet::By {
        match by {
            By::All => fleet::By::All,
            By::Model => fleet::By::Model,
            By::Host => fleet::By::Host,
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct TableArgs {
    #[command(flatten)]
    pub runs: RunsArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    Text,
    Markdown,
    Json,
}

/// A choice of runs, and the output format.
#[derive(Debug, clap::Args)]
pub struct ChoiceArgs {
    #[command(flatten)]
    pub runs: RunsArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A choice of runs.
#[derive(Debug, clap::Args)]
pub struct RunsArgs {
    /// Only drives whose model contains this
    #[arg(long, value_name = "TEXT")]
    pub model: Option<String>,

    /// Only drives with this firmware
    #[arg(long, value_name = "VERSION")]
    pub firmware: Option<String>,

    #[command(flatten)]
    pub filter: FilterArgs,
}

impl RunsArgs {
    /// The part of these options that the store cannot check.
    pub fn drives(&self) -> DriveChoice {
        DriveChoice { model: self.model.clone(), firmware: self.firmware.clone() }
    }
}
