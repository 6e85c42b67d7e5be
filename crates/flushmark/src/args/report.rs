//! Arguments of `flushmark report`.

use std::path::PathBuf;

use clap::Parser;

use super::store::StoreArgs;

/// Render results or traces as one self-contained HTML page
///
/// The page has the verdict, charts, numbers and findings; of a trace, the stages of commits.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark check /srv && flushmark report last --open
  flushmark report last --card drive.svg
  flushmark report before.json after.json -o comparison.html
  flushmark trace --output trace.json -- ./my-program && flushmark report trace.json
  flushmark report check.json -o - | ssh www.example.org 'cat > report.html'

The page needs no network and no server, supports light and dark themes, and prints on A4.")]
pub struct ReportArgs {
    /// The results: numbers from `results list`, last, last~1, @TAG, or files written by --output;
    /// or files with traces. Several are shown side by side
    #[arg(value_name = "RESULT", required = true)]
    pub words: Vec<String>,

    #[command(flatten)]
    pub page: PageArgs,

    /// Write a picture of one result instead of the page, for a forum or a ticket: 1200 x 630, SVG;
    /// - for stdout
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "open"])]
    pub card: Option<PathBuf>,

    #[command(flatten)]
    pub store: StoreArgs,
}

/// Where a page goes.
#[derive(Debug, clap::Args)]
pub struct PageArgs {
    /// The file to write; - for stdout
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,

    /// Open the page in a browser: $BROWSER, or else the desktop's default
    #[arg(long)]
    pub open: bool,

    /// Overwrite the file even if it is not a flushmark report
    #[arg(long)]
    pub force: bool,
}
