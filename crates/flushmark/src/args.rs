//! What a person may type. Help, and later man page and completions, come from these definitions.

pub mod comparison;
pub mod crash;
pub mod emulate;
pub mod export;
pub mod fio;
pub mod report;
pub mod results;
pub mod sort;
pub mod store;
pub mod verify;
pub mod web;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use measurement::{Grade, Use};
use workload::EngineChoice;

use export::PrintFormat;
use fio::FioOptions;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  unfit for a use named with --fail-on, (verify check) not proven to keep its word, or
     (results compare) beyond a limit of --fail-if, or (sort --check) not sorted
  2  wrong use, or no test of the plan can run here
  3  refused for safety
  4  I/O or system error; what was measured until then has been printed
  130, 143  interrupted (Ctrl-C, kill); what was measured until then has been printed";

/// What a durable write really costs on your storage, why, and whether it is really durable.
#[derive(Debug, Parser)]
#[command(name = "flushmark", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Check(CheckArgs),
    Run(RunArgs),
    Drives(DrivesArgs),
    Cache(CacheArgs),
    Host(HostArgs),
    Suites(SuitesArgs),
    Models(ModelsArgs),
    Fit(FitArgs),
    Emulate(emulate::EmulateArgs),
    Crash(crash::CrashArgs),
    Verify(verify::VerifyArgs),
    Results(results::ResultsArgs),
    Report(report::ReportArgs),
    Web(web::WebArgs),
    Sort(sort::SortArgs),
    Explain(ExplainArgs),
    Catalogue(CatalogueArgs),
}

/// What a commit costs here, in under a minute, with nothing destroyed and no root
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark check
  flushmark check /var/lib/postgresql
  flushmark check /mnt/new-ssd --fail-on database-log --format json > check.json")]
pub struct CheckArgs {
    /// A directory (a test file is made there and removed), a file, a device under /dev, a modelled drive sim:MODEL, or null:
    #[arg(default_value = ".")]
    pub path: String,

    /// Exit with 1 when a use gets a grade below this one (default: fair)
    #[arg(long, value_name = "USE[=GRADE]", value_parser = parse_fail_on, long_help = "\
Exit with 1 when a use gets a grade below this one (default: fair). May be given several times.
Uses: ceph-osd, zfs-slog, database-log, general. Grades: poor, fair, good, excellent.")]
    pub fail_on: Vec<FailOn>,

    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub keep: store::KeepArgs,
}

/// Run a built-in suite, a plan (TOML), a fio job file or a fio command line
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark run journal --target /var/lib/ceph
  flushmark run slog --target /dev/sdx --destroy-data
  flushmark run write-cache --target sim:micron-5100-eco-960gb
  flushmark run my-plan.toml --target . --format json > result.json
  flushmark run job.fio --target /mnt/test
  flushmark run --rw randwrite --bs 4k --fsync 1 --runtime 60 --target .
  flushmark run --destroy-data -- fio -rw=write -bs=4k -sync=1 -runtime=60 -filename=/dev/sdx")]
pub struct RunArgs {
    /// A suite's name (see `flushmark suites`), a plan.toml, or a fio job file
    #[arg(value_name = "SUITE")]
    pub plan: Option<String>,

    /// A fio command line, as it is
    #[arg(value_name = "FIO", last = true)]
    pub fio: Vec<String>,

    #[command(flatten)]
    pub fio_options: FioOptions,

    /// Where to run: a directory, a file, a device under /dev, a modelled drive sim:MODEL (see `flushmark models`), or null:
    #[arg(long, short, value_name = "TARGET")]
    pub target: Option<String>,

    /// Cut every timed test to this, such as 30s or 250ms
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Let tests that ask for it switch the write cache of a drive that is in use, until the end of the run
    #[arg(long)]
    pub in_use: bool,

    /// Seconds for the whole suite: shows that everything works here; the numbers mean nothing, and are not kept
    #[arg(long, conflicts_with = "store")]
    pub smoke: bool,

    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub keep: store::KeepArgs,
}

/// What this machine's drives are, how their write caches stand, and where they are used
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark drives
  sudo flushmark drives /dev/nvme0n1
  flushmark drives --format json > drives.json")]
pub struct DrivesArgs {
    /// Only these, such as /dev/sda; default: all
    #[arg(value_name = "DEV")]
    pub devices: Vec<PathBuf>,

    #[command(flatten)]
    pub facts: FactsArgs,
}

/// What of this host slows a commit or endangers it, and what to do
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark host
  sudo flushmark host --measure /var/lib/postgresql")]
pub struct HostArgs {
    /// Show the effect of what may be changed without harm, before and after, by a depth-1 test in this directory
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = ".")]
    pub measure: Option<PathBuf>,

    #[command(flatten)]
    pub facts: FactsArgs,
}

/// What `drives` and `host` have in common.
#[derive(Debug, clap::Args)]
pub struct FactsArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Read sysfs and procfs below this directory: a captured tree of another machine
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub system_root: PathBuf,
}

/// The volatile write cache of a drive: seen, switched, put back
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark cache status
  sudo flushmark cache off /dev/sda
  sudo flushmark cache restore /dev/sda
  sudo flushmark cache off /dev/sda --udev-rule | sudo tee /etc/udev/rules.d/61-write-cache.rules

The old state is written down under /var/lib/flushmark (FLUSHMARK_STATE_DIR names another
directory) before anything is changed.")]
pub struct CacheArgs {
    #[command(subcommand)]
    pub action: CacheAction,
}

#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// What drive, kernel and filesystem say of the cache, and what would be put back
    Status {
        /// Only these; default: all drives
        #[arg(value_name = "DEV")]
        devices: Vec<PathBuf>,

        /// How to print it
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Switch the cache on, and have the drive confirm it
    On(SwitchArgs),
    /// Switch the cache off, and have the drive confirm it
    Off(SwitchArgs),
    /// Put back what was there before the latest change: by `cache on|off`, or by a run that was killed
    Restore {
        /// Only this drive; default: every drive on record
        #[arg(value_name = "DEV")]
        device: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
pub struct SwitchArgs {
    /// The drive, such as /dev/sda
    #[arg(value_name = "DEV")]
    pub device: PathBuf,

    /// Although it is mounted, held by another device, or holds data: no data is lost, but commits cost something else from now on
    #[arg(long)]
    pub in_use: bool,

    /// Change nothing: print the udev rule that sets it each time the drive appears
    #[arg(long)]
    pub udev_rule: bool,
}

/// List the built-in suites: what each answers, how long it takes, where it comes from
#[derive(Debug, Parser)]
pub struct SuitesArgs {
    /// Print this suite's plan, to start one of your own from
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
}

/// Modelled drives: check and run take them as sim:MODEL, in virtual time, where no such drive is at hand
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark models
  flushmark check sim:consumer-nvme,filesystem=ext4
  flushmark models consumer-nvme > mine.toml && flushmark run slog --target sim:./mine.toml

Settings after the name, each behind a comma: write-cache=on|off, filesystem=ext4|none,
capacity=SIZE, seed=N, raid=0|1|5|6 with members=N, chunk=SIZE and journal=on|off.")]
pub struct ModelsArgs {
    /// Print this model's parameters, to start one of your own from
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Make a model of a drive from a measured result of check or run
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark check /srv --output here.json
  flushmark fit here.json > mine.toml
  flushmark run write-cache --target sim:./mine.toml

The model goes to stdout, how well it does to stderr.")]
pub struct FitArgs {
    /// The result document (JSON)
    #[arg(value_name = "RESULT.json")]
    pub result: PathBuf,

    /// Start from this model (default: the one that comes nearest of those that are attached in the same way)
    #[arg(long, value_name = "MODEL")]
    pub like: Option<String>,

    /// The model's name
    #[arg(long, value_name = "NAME", default_value = "mine")]
    pub name: String,

    /// Only the model
    #[arg(long, short)]
    pub quiet: bool,
}

/// Play through on models what goes wrong in storage, step by step
#[derive(Debug, Parser)]
pub struct ExplainArgs {
    /// What to explain
    #[arg(value_enum)]
    pub subject: Subject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// A power cut in the middle of a stripe of RAID 5, a lost disk, and a ruined block that nobody wrote
    RaidWriteHole,
}

/// Published measurements of drives, with their sources
#[derive(Debug, Parser)]
pub struct CatalogueArgs {
    /// A drive's name; without one, all drives are listed
    pub drive: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What `check` and `run` have in common.
#[derive(Debug, clap::Args)]
pub struct CommonArgs {
    /// Allow the content of the target, a file or a device, to be overwritten
    #[arg(long)]
    pub destroy_data: bool,

    /// The system interface that carries the tests (default: the one that adds the least)
    #[arg(long, value_name = "ENGINE", value_parser = parse_engine)]
    pub engine: Option<EngineChoice>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = PrintFormat::Text)]
    pub format: PrintFormat,

    /// Write the result document (JSON) to this file, too
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write the result as metrics to this file, too: for node_exporter's textfile collector, which takes files that end in .prom
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,

    /// No progress on stderr
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
        .ok_or_else(|| format!("`{fit_for}` is no use; uses are {}", uses()))?;
    let at_least = grades
        .into_iter()
        .find(|candidate| candidate.name() == grade)
        .ok_or_else(|| format!("`{grade}` is no grade; grades are {}", grades.map(Grade::name).join(", ")))?;
    Ok(FailOn { fit_for, at_least })
}

fn parse_engine(text: &str) -> Result<EngineChoice, String> {
    EngineChoice::from_name(text)
        .ok_or_else(|| format!("engines are {}", EngineChoice::ALL.map(EngineChoice::name).join(", ")))
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a number with ms, s, min or h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "write a number with ms, s, min or h".to_owned())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write a time above zero".to_owned())
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
        assert_eq!(parse_fail_on("zfs-slog").unwrap(), FailOn { fit_for: Use::ZfsSlog, at_least: Grade::Fair });
        assert_eq!(parse_fail_on("ceph-osd=good").unwrap(), FailOn { fit_for: Use::CephOsd, at_least: Grade::Good });
        assert_eq!(
            parse_fail_on("slog").unwrap_err(),
            "`slog` is no use; uses are ceph-osd, zfs-slog, database-log, general"
        );
        assert_eq!(
            parse_fail_on("general=ok").unwrap_err(),
            "`ok` is no grade; grades are poor, fair, good, excellent"
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
