//! `cargo xtask rig databases`: databases on an emulated drive that loses its power under them.
//!
//! A client commits numbered transactions one after the other, and the rig remembers each one that was acknowledged. At a random moment the drive loses its power, every process of the
//! database is killed, and what the kernel held in memory is gone. Then the power comes back, the filesystem is mounted, the database recovers, and the rows are counted. On an honest
//! drive nothing acknowledged may be missing. On a drive that lies about flushes, and in a database that was told not to sync, something has to be: else the test could not fail.
//!
//! | module | its job |
//! | --- | --- |
//! | `drive` | the emulated drive, and the proof that a cut of its power takes the kernel's memory with it |
//! | `machine` | processes that end as with a power cut |
//! | `session` | a database that runs, and the shell that talks to it |
//! | `ledger` | what was acknowledged, and what of it is there |
//! | `trial` | one database under cut after cut |
//! | `sqlite`, `postgres`, `mariadb` | what is each database's own |

mod drive;
mod ledger;
mod machine;
mod mariadb;
mod postgres;
mod session;
mod sqlite;
mod trial;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::Outcome;
use machine::Account;
use session::Client;
use trial::{Findings, Trial};

/// Debian packages with the databases, and with what stands below them.
pub const PACKAGES: [&str; 6] = ["sqlite3", "postgresql-15", "mariadb-server", "e2fsprogs", "mount", "util-linux"];

/// How long a database may take for anything.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the rig is asked for.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only databases whose names contain this
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,

    /// Power cuts of each database on the honest drive; at most as many where losses are looked for
    #[arg(long, value_name = "N", default_value_t = CUTS, value_parser = clap::value_parser!(u32).range(1..))]
    pub cuts: u32,

    /// Decides the moments of the cuts, and what the drive's cache loses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// With so many clean cuts, a loss in more than one cut of nine would have been seen with a chance of 95 %: 1 − 0.05^(1/25) = 0.11.
const CUTS: u32 = 25;

impl Default for Options {
    fn default() -> Options {
        Options { filter: None, cuts: CUTS, seed: 1 }
    }
}

/// What a database promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// An acknowledged transaction is on the drive.
    On,
    /// It may be.
    Off,
}

/// What has to come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Everything acknowledged is there, and the database's own check is clean.
    Nothing,
    /// Something is lost or broken.
    Found,
}

/// A drive, and what the database on it is asked for.
#[derive(Debug)]
pub struct Variant {
    /// As `flushmark emulate --lie` takes it.
    lie: Option<&'static str>,
    durability: Durability,
    expectation: Expectation,
}

const VARIANTS: [Variant; 3] = [
    Variant { lie: None, durability: Durability::On, expectation: Expectation::Nothing },
    Variant { lie: Some("ignore-flush"), durability: Durability::On, expectation: Expectation::Found },
    Variant { lie: None, durability: Durability::Off, expectation: Expectation::Found },
];

impl Variant {
    fn label(&self, database: &dyn Database) -> String {
        let drive = self.lie.map_or_else(|| "honest drive".to_owned(), |lie| format!("drive with {lie}"));
        match self.durability {
            Durability::On => drive,
            Durability::Off => format!("{drive}, {}", database.without_durability()),
        }
    }
}

/// Where a database's files are.
#[derive(Debug, Clone)]
pub struct Place {
    /// On the drive.
    data: PathBuf,
    /// Not on the drive: sockets, temporary files.
    elsewhere: PathBuf,
}

/// A database's server.
pub struct Server {
    /// Its command.
    words: Vec<String>,
    /// What it says when it has recovered and takes clients.
    ready: &'static str,
}

/// What is each database's own.
pub trait Database: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// The user that it runs as.
    fn account(&self) -> Account;
    /// The setting by which it does not sync.
    fn without_durability(&self) -> &'static str;
    /// Fills a new data directory.
    fn lay_out(&self, directory: &Path) -> anyhow::Result<()>;
    /// Its server, where it has one.
    fn server(&self, place: &Place, durability: Durability) -> Option<Server>;
    /// The command of its shell, which reads statements and ends at the first error.
    fn shell(&self, place: &Place) -> Vec<String>;
    /// The first statements in a shell.
    fn greeting(&self, durability: Durability) -> &'static str;
    /// The table with the transactions.
    fn table(&self) -> &'static str;
    /// Makes it.
    fn make_table(&self) -> &'static str;
    /// Lets the shell print a word, when everything before it is done.
    fn say(&self, word: &str) -> String;
    /// Its own check of itself; a session with this client is open.
    fn check(&self, place: &Place, client: &mut Client) -> anyhow::Result<()>;
}

/// All of them.
const DATABASES: [&dyn Database; 3] = [&sqlite::Sqlite, &postgres::Postgres, &mariadb::Mariadb];

/// A command's words, from whatever can be printed.
macro_rules! words {
    ($($word:expr),* $(,)?) => { [$($word.to_string()),*] };
}
use words;

/// Runs every variant of every database, and prints the table.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    ensure!(rustix::process::geteuid().is_root(), "mounting the emulated drive needs root; run it as root");
    let begun = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    // Ctrl-C: everything that was set up is taken down in its order.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let binary = super::build()?;
    let templates = directory()?;
    let mut outcome = Outcome::default();
    let mut table = Vec::new();
    let wanted = |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
    for database in DATABASES.into_iter().filter(|database| wanted(database.name())) {
        let template = trial::template(database, templates.path())?;
        for variant in &VARIANTS {
            let begun = Instant::now();
            let trial = Trial { database, variant, template: &template, binary: &binary, stop: &stop };
            let (name, label) = (database.name(), variant.label(database));
            let row =
                Row { name, label, findings: trial.run(options.cuts, options.seed)?, expected: variant.expectation };
            let passed = row.is_as_expected();
            *(if passed { &mut outcome.passed } else { &mut outcome.failed }) += 1;
            let ended = if passed { "ok" } else { "FAILED" };
            let recovery = row.findings.recovery_longest.as_secs_f64();
            let time = begun.elapsed().as_secs_f64();
            println!("rig {name}, {} ... {ended} ({time:.1} s, back after {recovery:.1} s at most)", row.label);
            if let Some(damage) = &row.findings.damage {
                println!("  {}", damage.replace('\n', "\n  "));
            }
            table.push(row);
        }
    }
    ensure!(!table.is_empty(), "no database is called so; they are sqlite, postgresql and mariadb");
    print!("\n{}", page(&table));
    let time = begun.elapsed().as_secs_f64();
    println!("\nrig: {} passed, {} failed, {time:.0} s, seed {}", outcome.passed, outcome.failed, options.seed);
    Ok(outcome)
}

/// A directory that every user may go through, and where nothing is on the drive.
fn directory() -> anyhow::Result<tempfile::TempDir> {
    let all_may_pass = std::fs::Permissions::from_mode(0o755);
    Ok(tempfile::Builder::new().prefix("flushmark-rig-").permissions(all_may_pass).tempdir()?)
}

/// A line of the table.
struct Row {
    name: &'static str,
    label: String,
    findings: Findings,
    expected: Expectation,
}

impl Row {
    fn is_as_expected(&self) -> bool {
        self.findings.anything() == (self.expected == Expectation::Found)
    }

    fn verdict(&self) -> &'static str {
        match (self.expected, self.is_as_expected()) {
            (Expectation::Nothing, true) => "ok: nothing is lost",
            (Expectation::Nothing, false) => "FAILED: this must not happen",
            (Expectation::Found, true) if self.findings.lost > 0 => "ok: losses are found",
            (Expectation::Found, true) => "ok: damage is found",
            (Expectation::Found, false) => "FAILED: nothing was found",
        }
    }
}

fn page(rows: &[Row]) -> String {
    let wide = rows.iter().map(|row| row.label.len()).max().unwrap_or_default();
    let mut page = format!("{:10}  {:wide$}  cuts  commits/s  acknowledged   lost  verdict\n", "database", "variant");
    for row in rows {
        let Findings { cuts, commits_per_s, acknowledged, lost, .. } = row.findings;
        page += &format!(
            "{:10}  {:wide$}  {cuts:>4}  {commits_per_s:>9.0}  {acknowledged:>12}  {lost:>5}  {}\n",
            row.name,
            row.label,
            row.verdict()
        );
    }
    page
}
