//! Arguments of `flushmark catalogue`.

use std::path::PathBuf;

use catalogue::{Class, PowerLossProtection};
use clap::{Parser, Subcommand, ValueEnum};

use super::store::StoreArgs;
use super::{Format, one_of};

/// List published drive measurements, and add your own
#[derive(Debug, Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  flushmark catalogue
  flushmark catalogue samsung-990-pro-2tb
  flushmark catalogue kingston
  flushmark catalogue --class consumer-nvme --protected no
  flushmark catalogue add last --class enterprise-nvme"
)]
pub struct CatalogueArgs {
    #[command(subcommand)]
    pub action: Option<CatalogueAction>,

    /// A drive's name, or part of the names of several [default: all drives]
    #[arg(value_name = "NAME")]
    pub drive: Option<String>,

    /// Only drives of this class
    #[arg(long, value_parser = one_of(Class::ALL, Class::name))]
    pub class: Option<Class>,

    /// Only drives with this power-loss protection, according to their sources
    #[arg(long, value_enum)]
    pub protected: Option<Protected>,

    #[command(flatten)]
    pub own: OwnCatalogueArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// The directory of the user's entries.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct OwnCatalogueArgs {
    /// The directory of your own entries [default: $FLUSHMARK_CATALOGUE, else
    /// $XDG_DATA_HOME/flushmark/catalogue or ~/.local/share/flushmark/catalogue]
    #[arg(long, value_name = "DIR")]
    pub catalogue: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum CatalogueAction {
    Add(AddArgs),
}

/// Make a catalogue entry of a measured result
///
/// The entry is a file in the format of the built-in catalogue, without serial numbers, host names
/// and paths.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark catalogue add last --class enterprise-nvme
  flushmark catalogue add 12 --class consumer-sata --name my-ssd -o my-ssd.toml
  flushmark catalogue add last --class enterprise-nvme --power-loss-protection yes \\
      --power-loss-protection-source 'the datasheet of May 2026'")]
pub struct AddArgs {
    /// A kept run (12, last, last~1) or a file with a result document
    #[arg(value_name = "RESULT")]
    pub result: String,

    /// The name that commands accept [default: made of the model]
    #[arg(long)]
    pub name: Option<String>,

    /// The name shown to users [default: the model]
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// The vendor [default: as the drive reports it]
    #[arg(long, value_name = "TEXT")]
    pub vendor: Option<String>,

    /// The interface and the market that the drive is made for; known only for rotating disks
    #[arg(long, value_parser = one_of(Class::ALL, Class::name))]
    pub class: Option<Class>,

    /// Capacity in units of 10⁹ bytes [default: as the drive reports it]
    #[arg(long, value_name = "GB")]
    pub capacity_gb: Option<u32>,

    /// Whether a power loss spares the drive's cache, according to the source of the claim
    #[arg(long, value_enum, requires = "power_loss_protection_source")]
    pub power_loss_protection: Option<Claim>,

    /// Where that is written, such as a datasheet
    #[arg(long, value_name = "TEXT", requires = "power_loss_protection")]
    pub power_loss_protection_source: Option<String>,

    /// The title of the publication [default: the version and the month; required for results of
    /// other tools]
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,

    /// The address of the publication [default: that of this project; required for results of
    /// other tools]
    #[arg(long, value_name = "URL")]
    pub source_url: Option<String>,

    #[command(flatten)]
    pub own: OwnCatalogueArgs,

    /// Write this file instead of NAME.toml in the directory of your own entries
    #[arg(long, short, value_name = "FILE", conflicts_with = "catalogue")]
    pub output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long)]
    pub replace: bool,

    #[command(flatten)]
    pub store: StoreArgs,
}

impl AddArgs {
    pub fn power_loss_protection(&self) -> PowerLossProtection {
        match (self.power_loss_protection, &self.power_loss_protection_source) {
            (Some(Claim::Yes), Some(source)) => PowerLossProtection::Yes { source: source.clone() },
            (Some(Claim::No), Some(source)) => PowerLossProtection::No { source: source.clone() },
            _ => PowerLossProtection::Unknown,
        }
    }
}

/// A claim about power-loss protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Claim {
    Yes,
    No,
}

/// Power-loss protection according to the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Protected {
    Yes,
    No,
    /// Called protected, but measured as a drive without protection
    Claimed,
    Unknown,
}

impl Protected {
    pub const fn is(self, protection: &PowerLossProtection) -> bool {
        matches!(
            (self, protection),
            (Protected::Yes, PowerLossProtection::Yes { .. })
                | (Protected::No, PowerLossProtection::No { .. })
                | (Protected::Claimed, PowerLossProtection::Claimed { .. })
                | (Protected::Unknown, PowerLossProtection::Unknown)
        )
    }
}
