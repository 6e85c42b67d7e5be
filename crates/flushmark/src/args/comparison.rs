//! Arguments of `flushmark results compare` and `merge`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use compare::Condition;

/// Compare results: which side commits faster, by how much, and how certain that is
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results compare last~1 last
  flushmark results compare last --last 10
  flushmark results compare before.json after.json
  flushmark results compare monday.json,tuesday.json wednesday.json --baseline wednesday.json
  flushmark results compare main.json branch.json --fail-if 'commit_p99 > +10%'
  flushmark results compare before.json after.json --test fsync -v --format markdown

The first result is the baseline; the others are compared with it. Several results joined by commas
count as one side and show how much runs vary.

Exit codes: 0 success; 1 a test exceeded a limit of --fail-if or is missing; 2 usage error, or a
limit that no test could be checked against. docs/compare.md describes the statistics.")]
pub struct CompareArgs {
    /// Kept runs (12, last, last~1, @TAG) or files with result documents; several joined by commas
    /// form one side
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,

    /// The result that the others are compared with [default: the first]
    #[arg(long, value_name = "RESULT")]
    pub baseline: Option<String>,

    /// Compare one kept run with up to N earlier ones (1 to 1000) of the same suite on the same
    /// drives, host and target
    #[arg(long, value_name = "N", conflicts_with = "baseline", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub last: Option<u32>,

    /// Only tests whose name contains this
    #[arg(long, value_name = "PATTERN", default_value = "", hide_default_value = true)]
    pub test: String,

    /// Also show latencies, confidence intervals, remarks and what else differs
    #[arg(long, short)]
    pub verbose: bool,

    /// Like --verbose, with every figure that both sides have, not only those that an application
    /// notices
    #[arg(long)]
    pub all: bool,

    /// Exit with 1 if this holds for a test, such as 'commit_p99 > +10%'
    #[arg(long, value_name = "CONDITION", value_parser = parse_condition, long_help = "\
Exit with 1 if this holds for a test. Can be given several times.

  METRIC > +10%   changed by more than this from the baseline (also < -5%, >=, <=)
  METRIC > 5ms    the candidate's own value

Metrics: iops, mib_per_s, commits_per_s, and commit_, write_, sync_ or read_ with mean, p50, p90, \
p99 or p99_9. Latencies take ns, us, ms, s.

A change fails if the ratio is beyond the limit and its confidence interval excludes 1. Without \
an interval (single runs below 5 s, other tools' results, p99_9) the ratio alone decides, and the \
output says so. An absolute value needs no interval. A test of the baseline also fails if the \
other side lacks it or its figure, or if a run of it was interrupted. A condition that no test \
can be checked against is an error (exit code 2).")]
    pub fail_if: Vec<Condition>,

    /// Output format
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

/// Merge several runs of the same tests into one, with percentiles over all their latencies
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark results merge monday.json tuesday.json --output both.json
  flushmark results merge last~2,last~1,last --keep
  flushmark results merge host-*.json | jq '.results[].commit_us'

Histograms, counts and times are added; nothing is averaged. Results of other workloads are
refused.")]
pub struct MergeArgs {
    /// Kept runs (12, last, last~1, @TAG) or files with result documents
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<String>,

    /// Write the merged document to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Keep the merged run in the store and print its number instead of the document
    #[arg(long)]
    pub keep: bool,
}

fn parse_condition(text: &str) -> Result<Condition, String> {
    text.parse().map_err(|error: compare::ConditionError| error.to_string())
}
