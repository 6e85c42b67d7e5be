//! The command-line arguments. Help, man page and completions are generated from these definitions.

pub mod catalogue;
pub mod ceph;
pub mod comparison;
pub mod crash;
pub mod db;
#[cfg(test)]
mod documented;
pub mod emulate;
pub mod export;
pub mod fio;
pub mod fleet;
pub mod group;
pub mod installation;
pub mod report;
pub mod results;
pub mod store;
pub mod target;
pub mod trace;
pub mod verify;
pub mod watch;
pub mod web;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand, ValueEnum};
use measurement::{Grade, Use};
use workload::EngineChoice;

use crate::build_info;
use export::PrintFormat;
use fio::FioOptions;

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  unfit for a use given with --fail-on, (verify check) not proven honest, or
     (results compare) beyond a limit of --fail-if
  2  usage error, or no test of the plan can run here
  3  refused for safety
  4  I/O or system error; what was measured before it is printed
  130, 143  interrupted (Ctrl-C, kill); what was measured before is printed";

/// Measures what commits really cost on your storage, explains why, and proves whether they survive
#[derive(Debug, Parser)]
#[command(name = "flushmark", version, long_version = build_info::LONG_VERSION)]
#[command(after_help = EXIT_CODES, max_term_width = 100)]
pub struct Args {
    /// Colour the output: auto (on a terminal without NO_COLOR), always or never
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        global = true,
        hide_possible_values = true,
        display_order = 900
    )]
    pub color: Option<Color>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Check(CheckArgs),
    Run(RunArgs),
    Db(db::DbArgs),
    Drives(DrivesArgs),
    Cache(CacheArgs),
    Host(HostArgs),
    Trace(trace::TraceArgs),
    Watch(watch::WatchArgs),
    Suites(SuitesArgs),
    Models(ModelsArgs),
    Fit(FitArgs),
    Emulate(emulate::EmulateArgs),
    Crash(crash::CrashArgs),
    Verify(verify::VerifyArgs),
    Results(results::ResultsArgs),
    Report(report::ReportArgs),
    Web(web::WebArgs),
    Ceph(ceph::CephArgs),
    Fleet(fleet::FleetArgs),
    Explain(ExplainArgs),
    Catalogue(catalogue::CatalogueArgs),
    Completions(installation::CompletionsArgs),
    Manual(installation::ManualArgs),
    Reference(ReferenceArgs),
}

/// Write the reference of all verbs as Markdown, for the website
#[derive(Debug, Parser)]
#[command(hide = true)]
pub struct ReferenceArgs {
    /// The directory for one page of each verb
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Adds a hint to clap's error about `flushmark sort`, which is a separate program.
pub fn with_hint(mut error: clap::Error) -> clap::Error {
    let is_sort =
        |verb: &ContextValue| matches!(verb, ContextValue::String(verb) if verb == "sort");
    if error.get(ContextKind::InvalidSubcommand).is_some_and(is_sort) {
        // clap would suggest `report`.
        error.remove(ContextKind::SuggestedSubcommand);
        let hint = "the separate program 'prefixsort' sorts files".into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint]));
    }
    error
}

/// Measure what a commit costs here, in under a minute
///
/// Nothing is destroyed, and root is not needed.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark check
  flushmark check /var/lib/postgresql --label 'after firmware 2.1'
  flushmark check /mnt/new-ssd --fail-on database-log --format json > check.json")]
pub struct CheckArgs {
    #[command(flatten)]
    pub targets: target::TargetArgs,

    /// Exit with 1 if the grade for this use is below GRADE (default: fair)
    #[arg(long, value_name = "USE[=GRADE]", value_parser = parse_fail_on, long_help = "\
Exit with 1 if the grade for this use is below GRADE (default: fair). Can be given several times.
Uses: ceph-osd, zfs-slog, database-log, general. Grades: poor, fair, good, excellent.")]
    pub fail_on: Vec<FailOn>,

    /// Run all tests in seconds to show that everything works; the numbers are meaningless and are
    /// not kept
    #[arg(long, conflicts_with = "fail_on")]
    pub smoke: bool,

    #[command(flatten)]
    pub group: group::GroupArgs,

    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub keep: store::KeepArgs,
}

/// Run a suite, a plan, a fio job file or a fio command
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark run journal /var/lib/ceph
  flushmark run ceph-disk /dev/sdx /dev/sdy --destroy-data
  flushmark run plan.toml /mnt/nfs --group nfs --hosts 8 --store postgres://db1/fleet
  flushmark run slog /dev/sdx --destroy-data --label 'slog candidate'
  flushmark run write-cache sim:micron-5100-eco-960gb
  flushmark run my-plan.toml . --format json > result.json
  flushmark run job.fio /mnt/test
  flushmark run --rw randwrite --bs 4k --fsync 1 --runtime 60 --target .
  flushmark run --destroy-data -- fio -rw=write -bs=4k -sync=1 -runtime=60 -filename=/dev/sdx")]
pub struct RunArgs {
    /// A suite (see `flushmark suites`), a plan (TOML) or a fio job file
    #[arg(value_name = "SUITE")]
    pub plan: Option<String>,

    #[command(flatten)]
    pub targets: target::TargetArgs,

    /// A fio command line, unchanged
    #[arg(value_name = "FIO", last = true)]
    pub fio: Vec<String>,

    #[command(flatten)]
    pub fio_options: FioOptions,

    /// Run every timed test for this long, such as 30s or 4h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Run the tests as long as the suite's source did, with its rests and preconditioning
    #[arg(long, conflicts_with = "time")]
    pub as_published: bool,

    /// Allow tests to switch the write cache of a drive that is in use, until the end of the run
    #[arg(long)]
    pub in_use: bool,

    /// Run the whole suite in seconds to show that everything works; the numbers are meaningless
    /// and are not kept
    #[arg(long)]
    pub smoke: bool,

    #[command(flatten)]
    pub group: group::GroupArgs,

    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub keep: store::KeepArgs,
}

/// Show this machine's drives, their write caches and users
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark drives
  sudo flushmark drives /dev/nvme0n1
  flushmark drives --format json > drives.json")]
pub struct DrivesArgs {
    /// Only these drives, such as /dev/sda [default: all]
    #[arg(value_name = "DEV")]
    pub devices: Vec<PathBuf>,

    #[command(flatten)]
    pub facts: FactsArgs,
}

/// Find what on this host slows or endangers commits
///
/// Each finding comes with what to do about it.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark host
  sudo flushmark host --measure /var/lib/postgresql")]
pub struct HostArgs {
    /// Run depth-1 tests in this directory to show the effect of what can safely be changed, before
    /// and after
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = ".")]
    pub measure: Option<PathBuf>,

    #[command(flatten)]
    pub facts: FactsArgs,
}

/// Options that `drives` and `host` share.
#[derive(Debug, clap::Args)]
pub struct FactsArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Read sysfs and procfs below this directory, such as one captured on another machine
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub system_root: PathBuf,
}

/// Show, switch or restore a drive's volatile write cache
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark cache status
  sudo flushmark cache off /dev/sda
  sudo flushmark cache restore /dev/sda
  sudo flushmark cache off /dev/sda --udev-rule | sudo tee /etc/udev/rules.d/61-write-cache.rules

The state before the change is first saved under /var/lib/flushmark, or in the directory
that FLUSHMARK_STATE_DIR names.")]
pub struct CacheArgs {
    #[command(subcommand)]
    pub action: CacheAction,
}

#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Show what drive, kernel and filesystem report about the cache, and what would be restored
    Status {
        /// Only these drives [default: all]
        #[arg(value_name = "DEV")]
        devices: Vec<PathBuf>,

        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Switch the cache on and check that the drive reports it
    On(SwitchArgs),
    /// Switch the cache off and check that the drive reports it
    Off(SwitchArgs),
    /// Undo the latest change made by `cache on|off` or by a run that was killed
    Restore {
        /// Only this drive [default: every drive with a saved state]
        #[arg(value_name = "DEV")]
        device: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub struct SwitchArgs {
    /// The drive, such as /dev/sda
    #[arg(value_name = "DEV")]
    pub device: PathBuf,

    /// Switch even if the drive is mounted, held by another device or holds data: switching loses no
    /// data. While the cache is on, commits survive a power loss only if every layer passes flushes
    /// on, which `flushmark drives` shows
    #[arg(long)]
    pub in_use: bool,

    /// Change nothing; print a udev rule that sets the cache whenever the drive appears
    #[arg(long)]
    pub udev_rule: bool,
}

/// List the built-in suites, or print one as a plan
///
/// Shows what each suite answers, how long it takes and where it comes from.
#[derive(Debug, Parser)]
pub struct SuitesArgs {
    /// Print this suite as a plan, to start your own from
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
}

/// List the modelled drives, or print one as a model file
///
/// `check` and `run` accept them as sim:MODEL and test them in virtual time, without such a drive.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark models
  flushmark check sim:consumer-nvme,filesystem=ext4
  flushmark models consumer-nvme > mine.toml && flushmark run slog sim:./mine.toml

Settings after the name, each behind a comma: write-cache=on|off, filesystem=ext4|none,
capacity=SIZE, seed=N, raid=0|1|5|6 with members=N, chunk=SIZE and journal=on|off.")]
pub struct ModelsArgs {
    /// Print this model's parameters, to start your own from
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Fit a drive model to a measured result of check or run
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark check /srv --output here.json
  flushmark fit here.json > mine.toml
  flushmark run write-cache sim:./mine.toml

The model goes to stdout, how well it does to stderr.")]
pub struct FitArgs {
    /// The result document (JSON)
    #[arg(value_name = "RESULT.json")]
    pub result: PathBuf,

    /// Start from this model [default: the closest model with the same kind of interface]
    #[arg(long, value_name = "MODEL")]
    pub like: Option<String>,

    /// The model's name
    #[arg(long, value_name = "NAME", default_value = "mine")]
    pub name: String,

    /// Print only the model
    #[arg(long, short)]
    pub quiet: bool,
}

/// Show step by step on models how storage loses data
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
pub struct ExplainArgs {
    /// The failure to explain
    #[arg(value_enum)]
    pub subject: Subject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// RAID 5: a power cut in the middle of a stripe, then a lost drive, and a corrupted block that
    /// nobody wrote
    RaidWriteHole,
}

/// Options that `check` and `run` share.
#[derive(Debug, clap::Args)]
pub struct CommonArgs {
    /// Allow overwriting the content of the target file or device
    #[arg(long)]
    pub destroy_data: bool,

    /// The system interface to test with [default: the one with the least overhead]
    #[arg(long, value_name = "ENGINE",
        value_parser = one_of(EngineChoice::ALL, EngineChoice::name))]
    pub engine: Option<EngineChoice>,

    /// Repeat each test that commits for two seconds under the kernel's tracer, to show where the
    /// time of a commit goes
    #[arg(long)]
    pub trace: bool,

    #[command(flatten)]
    pub detail: DetailArgs,

    #[command(flatten)]
    pub delivery: DeliveryArgs,
}

/// What becomes of a result
#[derive(Debug, clap::Args)]
pub struct DeliveryArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = PrintFormat::Text)]
    pub format: PrintFormat,

    /// Also write the result document (JSON) to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Also write the result as metrics to this file, for node_exporter's textfile collector (it
    /// reads files that end in .prom)
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,

    /// Show no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// When output is coloured. The values have no help, which would lengthen that of every verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> anstream::ColorChoice {
        match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
    }
}

/// The amount of text.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct DetailArgs {
    /// Show everything: distributions, evidence, confidence, and the nearest published drives
    #[arg(long, short)]
    pub verbose: bool,
}

/// A use and the lowest grade that is still accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailOn {
    pub fit_for: Use,
    pub at_least: Grade,
}

fn parse_fail_on(text: &str) -> Result<FailOn, String> {
    let (fit_for, grade) = text.split_once('=').unwrap_or((text, Grade::Fair.name()));
    let uses = || Use::ALL.map(Use::name).join(", ");
    let grades = [Grade::Poor, Grade::Fair, Grade::Good, Grade::Excellent];
    let fit_for = Use::ALL
        .into_iter()
        .find(|candidate| candidate.name() == fit_for)
        .ok_or_else(|| format!("unknown use `{fit_for}`; expected one of {}", uses()))?;
    let at_least =
        grades.into_iter().find(|candidate| candidate.name() == grade).ok_or_else(|| {
            format!(
                "unknown grade `{grade}`; expected one of {}",
                grades.map(Grade::name).join(", ")
            )
        })?;
    Ok(FailOn { fit_for, at_least })
}

/// A parser of the names of these values, which help, completions and errors list.
fn one_of<T, const N: usize>(
    values: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(values.map(name)).try_map(move |given| {
        values.into_iter().find(|value| name(*value) == given).ok_or("unknown")
    })
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a number with ms, s, min or h".to_owned()),
    };
    let number: f64 =
        number.parse().map_err(|_| "expected a number with ms, s, min or h".to_owned())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "expected a time above zero".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn definitions_hold_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn fail_on_names_what_it_takes() {
        assert_eq!(
            parse_fail_on("zfs-slog").unwrap(),
            FailOn { fit_for: Use::ZfsSlog, at_least: Grade::Fair }
        );
        assert_eq!(
            parse_fail_on("ceph-osd=good").unwrap(),
            FailOn { fit_for: Use::CephOsd, at_least: Grade::Good }
        );
        assert_eq!(
            parse_fail_on("slog").unwrap_err(),
            "unknown use `slog`; expected one of ceph-osd, zfs-slog, database-log, general"
        );
        assert_eq!(
            parse_fail_on("general=ok").unwrap_err(),
            "unknown grade `ok`; expected one of poor, fair, good, excellent"
        );
    }

    #[test]
    fn times() {
        assert_eq!(parse_time("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(parse_time("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_time("2min").unwrap(), Duration::from_mins(2));
        for wrong in ["", "s", "0s", "5 parsecs", "-1s", "1e400h"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
