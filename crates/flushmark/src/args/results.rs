//! What may be typed after `flushmark results`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::Format;
use super::export::ExportFormat;

/// Kept results: list, compare, share
#[derive(Debug, Parser)]
pub struct ResultsArgs {
    #[command(subcommand)]
    pub command: ResultsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ResultsCommand {
    Import(ImportArgs),
    Export(ExportArgs),
}

/// Read what fio, diskinfo -S, pg_test_fsync or flushmark itself has printed, and say what came out
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results import fio.json --drive 'Samsung 980 1TB'
  flushmark results import results/
  flushmark results import forum-post.txt --format json > result.json
  ssh nas diskinfo -S /dev/ada1 | flushmark results import - --drive 'Intel 710'")]
pub struct ImportArgs {
    /// Files, directories whose files are all read, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// What the drive is called (default: as the tool calls it)
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,

    /// How to print what was read; json: the result document, of several runs one a line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Write results in a format that other programs read
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results export result.json --format fio+ > fio.json
  flushmark results export before.json after.json --format csv -o both.csv
  flushmark results export result.json --format parquet -o tables/")]
pub struct ExportArgs {
    /// Result documents
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,

    /// The format
    #[arg(long, value_enum)]
    pub format: ExportFormat,

    /// Where to write it (default: stdout); for Parquet a directory, which is made
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
}
