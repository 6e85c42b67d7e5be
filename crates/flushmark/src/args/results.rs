//! What may be typed after `flushmark results`.

use clap::{Parser, Subcommand};

/// Kept results: list, compare, share
#[derive(Debug, Parser)]
pub struct ResultsArgs {
    #[command(subcommand)]
    pub command: ResultsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ResultsCommand {}
