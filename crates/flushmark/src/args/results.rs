//! What may be typed after `flushmark results`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use compare::Condition;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use store::{Filter, RunId, Tag};

use super::Format;
use super::store::StoreArgs;

/// Kept results: list, compare, share
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results list --drive 980 --since 30d
  flushmark results show last
  flushmark results tag 12 before-firmware-update
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
    /// Numbers from `results list`, `last`, `last~2` (the third newest), or @TAG
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// How to print it; as JSON, the result document, or an array of several
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Put tags on a run, or take them off
#[derive(Debug, Parser)]
pub struct TagArgs {
    /// The run's number
    #[arg(value_name = "RUN")]
    pub run: RunId,

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
    /// The run's number
    #[arg(value_name = "RUN")]
    pub run: RunId,

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

/// Results against results: ratios with confidence intervals, and a verdict only where it is more than noise
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results compare before.json after.json
  flushmark results compare monday.json,tuesday.json wednesday.json --baseline wednesday.json
  flushmark results compare main.json branch.json --fail-if 'commit_p99 > +10%' --fail-if 'iops < -5%'
  flushmark results compare before.json after.json --test fsync --all --format markdown

The first is the baseline, the others are compared with it. Several results joined by commas count
as one side, and tell how much runs differ from each other.

Exit codes: 0 done, 1 a test exceeded a limit of --fail-if, 2 wrong use, or a limit that no test
could be held against. docs/compare.md has the statistics.")]
pub struct CompareArgs {
    /// Numbers from `results list`, last, last~1, @TAG, or files; several joined by commas are one side
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,

    /// The one that the others are compared with (default: the first)
    #[arg(long, value_name = "RESULT")]
    pub baseline: Option<String>,

    /// Only tests whose name contains this
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub test: String,

    /// Every figure that both sides have, not only those that an application feels
    #[arg(long)]
    pub all: bool,

    /// Exit with 1 when this holds for a test, such as 'commit_p99 > +10%'
    #[arg(long, value_name = "CONDITION", value_parser = parse_condition, long_help = "\
Exit with 1 when this holds for a test. May be given several times.

  METRIC > +10%   changed by more than this from the baseline (also < -5%, >=, <=)
  METRIC > 5ms    the candidate's own value

Metrics: iops, mib_per_s, commits_per_s, and commit_, write_, sync_ or read_ with mean, p50, p90,
p99 or p99_9. Latencies take ns, us, ms, s.

A change fails when the ratio is beyond the limit and its confidence interval excludes 1. Where
there is no interval (short single runs, other tools' results, p99_9), the ratio alone decides, and
the sentence says so. A value fails by itself. A condition that no test can be held against is an
error (2).")]
    pub fail_if: Vec<Condition>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = ComparisonFormat::Text)]
    pub format: ComparisonFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ComparisonFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For tickets and pull requests
    Markdown,
}

/// Several runs of the same tests as one: percentiles are those of all latencies together
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results merge monday.json tuesday.json --output both.json
  flushmark results merge host-*.json | jq '.results[].commit_us'

Histograms, counts and times add up; nothing is averaged. Results of another workload are refused.")]
pub struct MergeArgs {
    /// Numbers from `results list`, last, last~1, @TAG, or files written by --output
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,

    /// Write the merged document to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

fn parse_condition(text: &str) -> Result<Condition, String> {
    text.parse().map_err(|error: compare::ConditionError| error.to_string())
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
