//! Arguments of `flushmark results`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use formats::lake::{InvalidPartitioning, Partitioning};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use store::{Filter, RunId, Tag};

use super::comparison::{CompareArgs, MergeArgs};
use super::export::ExportFormat;
use super::store::StoreArgs;
use super::{DetailArgs, Format};

/// List, compare, merge, import and export kept runs
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results list --drive 980 --since 30d
  flushmark results show last
  flushmark results tag last before-firmware-update
  flushmark results list --store postgres://bench@db1/flushmark --format json")]
pub struct ResultsArgs {
    #[command(subcommand)]
    pub command: ResultsCommand,

    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Subcommand)]
pub enum ResultsCommand {
    List(ListArgs),
    Show(ShowArgs),
    Tag(TagArgs),
    Note(NoteArgs),
    Delete(DeleteArgs),
    Compare(CompareArgs),
    Merge(MergeArgs),
    Import(ImportArgs),
    /// Keep the runs of this host that their store did not accept at the time
    ///
    /// `check` and `run` save such a run in $XDG_STATE_HOME/flushmark or ~/.local/state/flushmark.
    /// Each file is removed once its run is kept.
    Push,
    Export(ExportArgs),
}

/// List kept runs, newest first
#[derive(Debug, Parser)]
pub struct ListArgs {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Show at most this many, the newest; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: u32,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Conditions for kept runs, all of which must hold.
#[derive(Debug, Clone, clap::Args)]
pub struct FilterArgs {
    /// Only runs of this machine
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only runs on drives whose model or serial number contains this
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,

    /// Only runs of this suite or plan
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,

    /// Only runs with a test whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub test: Option<String>,

    /// Only runs from this time on: 2026-11-20, 2026-11-20T18:00:00Z, or 12h, 30d, 4w ago
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub since: Option<Timestamp>,

    /// Only runs before this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub until: Option<Timestamp>,

    /// Only runs with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<Tag>,

    /// Only runs whose label contains this
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// Only runs whose note contains this
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Only runs on targets whose path or name contains this
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,
}

impl FilterArgs {
    /// The filter of these options, without a limit.
    pub fn filter(&self) -> Filter {
        Filter {
            host: self.host.clone(),
            drive: self.drive.clone(),
            suite: self.suite.clone(),
            test: self.test.clone(),
            since: self.since,
            until: self.until,
            tag: self.tag.clone(),
            label: self.label.clone(),
            note: self.note.clone(),
            target: self.target.clone(),
            limit: None,
            skip: 0,
        }
    }
}

/// Show runs as `check` or `run` printed them
#[derive(Debug, Parser)]
pub struct ShowArgs {
    /// Numbers from `results list`, `last`, `last~2` (this machine's third newest), last@HOST, or
    /// @TAG
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// Output format; JSON is the result document, or an array of several
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    #[command(flatten)]
    pub detail: DetailArgs,
}

/// Add tags to a run, or remove them
#[derive(Debug, Parser)]
pub struct TagArgs {
    /// Its number from `results list`, `last`, `last~1`, or @TAG for all runs with that tag
    #[arg(value_name = "RUN")]
    pub run: String,

    /// The tags
    #[arg(value_name = "TAG", required = true)]
    pub tags: Vec<Tag>,

    /// Remove these tags
    #[arg(long)]
    pub remove: bool,
}

/// Set the note of a run; an empty text removes it
#[derive(Debug, Parser)]
pub struct NoteArgs {
    /// Its number from `results list`, `last`, `last~1`, or @TAG for all runs with that tag
    #[arg(value_name = "RUN")]
    pub run: String,

    /// The note; it replaces an earlier one
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// Delete runs permanently
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results delete 12 13
  flushmark results delete --until 104w --suite check --yes")]
pub struct DeleteArgs {
    /// Numbers of the runs
    #[arg(value_name = "RUN")]
    pub runs: Vec<RunId>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Import results of fio, diskinfo, pg_test_fsync, sysbench or flushmark, or another store's runs
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results import fio.json --drive 'Samsung 980 1TB'
  flushmark results import results/
  flushmark results import collected/db7/ --host db7 --store postgres://bench@db1/flushmark
  flushmark results import forum-post.txt --dry-run --format json > result.json
  flushmark results import /mnt/old-host/results.db
  ssh nas diskinfo -wS /dev/ada1 | flushmark results import - --drive 'Intel 710'")]
pub struct ImportArgs {
    /// Files, directories (all files below are read), or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Read and print, but keep nothing
    #[arg(long)]
    pub dry_run: bool,

    /// The drive's name [default: as the tool reports it]
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,

    /// The host that measured, for results that do not come from another store
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Output format; JSON prints result documents, one per line if there are several
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Export results in a format that other programs read
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results export last --format fio+ > fio.json
  flushmark results export @before @after --format csv -o both.csv
  flushmark results export last --anonymous --format json > result-to-share.json
  flushmark results export result.json --format parquet -o tables/
  flushmark results export --since 30d --format parquet --partition-by month,host -o lake/")]
pub struct ExportArgs {
    /// Kept runs (12, last, last~1, @TAG) or files with result documents
    #[arg(value_name = "RESULT")]
    pub results: Vec<String>,

    /// All kept runs. To select those that meet conditions, use the options that `results list`
    /// has: --host, --drive, --suite, --test, --since, --until, --tag, --label, --note and --target
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// The format
    #[arg(long, value_enum)]
    pub format: ExportFormat,

    /// For Parquet: add each run to the tables `tests` and `bins` in this directory, in
    /// subdirectories by month, host, or both
    #[arg(long, value_name = "KEYS", value_parser = parse_partitioning)]
    pub partition_by: Option<Partitioning>,

    /// Leave out serial numbers, host names, identities of filesystems and clusters, and paths
    #[arg(long)]
    pub anonymous: bool,

    /// Where to write it [default: stdout]; for Parquet, a directory that is created
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

fn parse_partitioning(text: &str) -> Result<Partitioning, String> {
    text.parse().map_err(|error: InvalidPartitioning| error.to_string())
}

pub fn parse_moment(text: &str) -> Result<Timestamp, String> {
    moment(text, Timestamp::now()).ok_or_else(|| {
        "expected a date (2026-11-20), a time (2026-11-20T18:00:00Z), or an age: 12h, 30d, 4w"
            .to_owned()
    })
}

/// Dates are in UTC, as `results list` prints them.
fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    if let Ok(date) = text.parse::<Date>() {
        return Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return None,
    };
    now.checked_sub(Duration::from_hours(
        number.parse::<u64>().ok()?.checked_mul(hours)?.min(u64::from(u32::MAX)),
    ))
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let at = |text| moment(text, now).map(|time| time.to_string());
        assert_eq!(at("2026-11-20").as_deref(), Some("2026-11-20T00:00:00Z"));
        assert_eq!(at("2026-11-20T18:00:00+01:00").as_deref(), Some("2026-11-20T17:00:00Z"));
        assert_eq!(at("12h").as_deref(), Some("2026-11-21T00:00:00Z"));
        assert_eq!(at("2w").as_deref(), Some("2026-11-07T12:00:00Z"));
        for wrong in
            ["", "d", "3", "3y", "yesterday", "2026-13-01", "99999999999999999999d", "4000000w"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
