//! What may be typed after `flushmark results`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use store::{Filter, RunId, Tag};

use super::Format;
use super::comparison::{CompareArgs, MergeArgs};
use super::export::ExportFormat;
use super::store::StoreArgs;

/// Kept results: list, compare, share
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
    Export(ExportArgs),
}

/// The kept runs, newest first
#[derive(Debug, Parser)]
pub struct ListArgs {
    /// Only of the machine of this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only on drives whose model or serial number contains this
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,

    /// Only of this suite or plan
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,

    /// Only with a test whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub test: Option<String>,

    /// Only from this time on: 2026-11-20, 2026-11-20T18:00:00Z, or 12h, 30d, 4w ago
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub since: Option<Timestamp>,

    /// Only from before this time
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub until: Option<Timestamp>,

    /// Only with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<Tag>,

    /// Only with a note that contains this
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Only on targets whose path or name contains this
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,

    /// At most so many, the newest; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: u32,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

impl ListArgs {
    /// What the options leave, but for the limit.
    pub fn filter(&self) -> Filter {
        Filter {
            host: self.host.clone(),
            drive: self.drive.clone(),
            suite: self.suite.clone(),
            test: self.test.clone(),
            since: self.since,
            until: self.until,
            tag: self.tag.clone(),
            note: self.note.clone(),
            target: self.target.clone(),
            limit: None,
            skip: 0,
        }
    }
}

/// Runs as `check` or `run` printed them
#[derive(Debug, Parser)]
pub struct ShowArgs {
    /// Numbers from `results list`, `last`, `last~2` (this machine's third newest), last@HOST, or @TAG
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// How to print it; as JSON, the result document, or an array of several
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Put tags on a run, or take them off
#[derive(Debug, Parser)]
pub struct TagArgs {
    /// Its number from `results list`, `last`, `last~1`, or @TAG for all with that tag
    #[arg(value_name = "RUN")]
    pub run: String,

    /// The tags
    #[arg(value_name = "TAG", required = true)]
    pub tags: Vec<Tag>,

    /// Take these tags off
    #[arg(long)]
    pub remove: bool,
}

/// Note something about a run; an empty text takes the note away
#[derive(Debug, Parser)]
pub struct NoteArgs {
    /// Its number from `results list`, `last`, `last~1`, or @TAG for all with that tag
    #[arg(value_name = "RUN")]
    pub run: String,

    /// The note; it replaces the one before
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// Delete runs for good
#[derive(Debug, Parser)]
pub struct DeleteArgs {
    /// The runs' numbers
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<RunId>,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// Keep what fio, diskinfo -S, pg_test_fsync or flushmark itself has printed, or another store's runs
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results import fio.json --drive 'Samsung 980 1TB'
  flushmark results import results/
  flushmark results import forum-post.txt --dry-run --format json > result.json
  flushmark results import /mnt/old-host/results.db
  ssh nas diskinfo -wS /dev/ada1 | flushmark results import - --drive 'Intel 710'")]
pub struct ImportArgs {
    /// Files, directories whose files are all read, or - for stdin
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Only read and say what comes out; keep nothing
    #[arg(long)]
    pub dry_run: bool,

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
  flushmark results export last --format fio+ > fio.json
  flushmark results export @before @after --format csv -o both.csv
  flushmark results export result.json --format parquet -o tables/")]
pub struct ExportArgs {
    /// Kept runs (12, last, last~1, @TAG) or result documents' files
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,

    /// The format
    #[arg(long, value_enum)]
    pub format: ExportFormat,

    /// Where to write it (default: stdout); for Parquet a directory, which is made
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

fn parse_moment(text: &str) -> Result<Timestamp, String> {
    moment(text, Timestamp::now()).ok_or_else(|| {
        "write a date (2026-11-20), a time (2026-11-20T18:00:00Z), or how long ago: 12h, 30d, 4w".to_owned()
    })
}

/// Dates are those of UTC, as the list prints them.
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
    now.checked_sub(Duration::from_hours(number.parse::<u64>().ok()?.checked_mul(hours)?.min(u64::from(u32::MAX)))).ok()
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
        for wrong in ["", "d", "3", "3y", "yesterday", "2026-13-01", "99999999999999999999d", "4000000w"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
