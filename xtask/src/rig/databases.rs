//! `cargo xtask rig databases`: databases on an emulated drive that loses power under them, and
//! traces of them.
//!
//! A client commits numbered transactions one after the other, and the rig remembers each one that
//! was acknowledged. At a random moment the drive loses power, every process of the database is
//! killed, and the kernel's memory is lost. Then power returns, the filesystem is mounted, the
//! database recovers, and the rows are counted. On an honest drive nothing acknowledged may be
//! missing. On a drive that lies about flushes, and in a database configured not to sync, something
//! must be missing, or the test could not fail.
//!
//! Then several clients commit at the same time while `flushmark trace` runs. It must name the
//! database's processes and their calls, and count the flushes that the drive counts.
//!
//! | module | content |
//! | --- | --- |
//! | `drive` | the emulated drive, and the evidence that its power was really cut |
//! | `machine` | processes that end as if their machine lost power |
//! | `session` | a running database, and the shell connected to it |
//! | `ledger` | the acknowledged transactions, and which of them survived |
//! | `trial` | one database under a series of power cuts |
//! | `commits` | one database server under `flushmark db commits` |
//! | `encrypted` | database servers that encrypt connections |
//! | `insert_benchmark` | one database server under `flushmark db bench` |
//! | `refused` | database servers that `flushmark db` must refuse, or give up on |
//! | `running` | a server on files in memory, for comparisons |
//! | `patterns` | the calls of database servers, compared with the suite `commits` |
//! | `predicted` | servers on one drive after the other, compared with `flushmark db predict` |
//! | `traced` | one database under load from several clients, traced |
//! | `watched` | one database server under `flushmark db watch` |
//! | `sqlite`, `postgres`, `mariadb` | the specifics of each database |

mod commits;
mod drive;
mod encrypted;
mod insert_benchmark;
mod ledger;
mod machine;
mod mariadb;
mod patterns;
mod postgres;
pub mod predicted;
mod refused;
pub mod running;
mod session;
mod sqlite;
mod traced;
mod trial;
mod watched;

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;

use testbed::Certificate;

use super::Outcome;
use crate::build;
use encrypted::Verification;
use machine::Account;
use patterns::LogPattern;
use session::Client;
use trial::{Findings, Trial};

/// Debian packages of the databases, and of what they run on.
pub const PACKAGES: [&str; 9] = [
    "sqlite3", "postgresql-15", "mariadb-server", "e2fsprogs", "mount", "strace", "util-linux",
    "openssl", "bsdutils",
];

/// Limit on any single step of a database.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only databases or variants whose name contains this, such as `mariadb` or `ignore-flush`
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,

    /// Power cuts per database on the honest drive; at most as many where losses are expected
    #[arg(long, value_name = "N", default_value_t = CUTS, value_parser = clap::value_parser!(u32).range(1..))]
    pub cuts: u32,

    /// Seed for the moments of the cuts, and for what the drive's cache loses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// After this many clean cuts, the chance of a loss per cut is below one in nine at 95 %: 1 −
/// 0.05^(1/25) = 0.11.
const CUTS: u32 = 25;

impl Default for Options {
    fn default() -> Options {
        Options { filter: None, cuts: CUTS, seed: 1 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// An acknowledged transaction is on the drive.
    On,
    /// An acknowledged transaction may be lost.
    Off,
}

/// The size of a server's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSize {
    /// The smallest possible, so that power cuts fall on checkpoints.
    Smallest,
    /// As in production, so that checkpoints are rare.
    Usual,
}

/// The expected result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Every acknowledged transaction is there, and the database's check is clean.
    NothingLost,
    /// Something is lost or damaged.
    LossesFound,
}

/// A drive, and the durability setting of the database on it.
#[derive(Debug)]
pub struct Variant {
    /// A value of `flushmark emulate --lie`.
    lie: Option<&'static str>,
    durability: Durability,
    expectation: Expectation,
}

const VARIANTS: [Variant; 3] = [
    Variant { lie: None, durability: Durability::On, expectation: Expectation::NothingLost },
    Variant {
        lie: Some("ignore-flush"),
        durability: Durability::On,
        expectation: Expectation::LossesFound,
    },
    Variant { lie: None, durability: Durability::Off, expectation: Expectation::LossesFound },
];

impl Variant {
    fn label(&self, database: &dyn Database) -> String {
        let drive =
            self.lie.map_or_else(|| "honest drive".to_owned(), |lie| format!("drive with {lie}"));
        match self.durability {
            Durability::On => drive,
            Durability::Off => format!("{drive}, {}", database.without_durability()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Place {
    /// On the drive.
    data: PathBuf,
    /// Not on the drive: sockets, temporary files.
    elsewhere: PathBuf,
    /// A port of 127.0.0.1 on which the server listens as well.
    port: Option<u16>,
}

pub struct Server {
    words: Vec<String>,
    /// The message with which it reports that it has recovered and accepts clients.
    ready: &'static str,
}

/// The sync that makes transactions durable.
pub struct LogSync {
    /// The system call.
    call: &'static str,
    /// Parts of the titles of the processes that make it.
    by: &'static [&'static str],
}

pub trait Database: Sync {
    fn name(&self) -> &'static str;
    /// The user that it runs as.
    fn account(&self) -> Account;
    /// The setting that disables syncing.
    fn without_durability(&self) -> &'static str;
    /// Initialises a new data directory.
    fn lay_out(&self, directory: &Path, log: LogSize) -> anyhow::Result<()>;
    /// Its server, if it has one.
    fn server(&self, place: &Place, durability: Durability) -> Option<Server>;
    /// The command of its shell, which reads statements and stops at the first error.
    fn shell(&self, place: &Place) -> Vec<String>;
    /// The sync of its log; `None` if it has only one client.
    fn log_sync(&self) -> Option<LogSync>;
    /// The first statements in a shell.
    fn greeting(&self, durability: Durability) -> &'static str;
    fn table(&self) -> &'static str;
    fn make_table(&self) -> &'static str;
    /// A statement that makes the shell print a word once everything before it is done.
    fn say(&self, word: &str) -> String;
    /// Its server as `flushmark db` names it, if it has one; a database's name may follow.
    fn url(&self, place: &Place) -> Option<String>;
    /// Arguments with which its server encrypts.
    fn encrypting(&self, certificate: &Certificate) -> Vec<String>;
    /// Its server, if it has one that listens on a port.
    fn url_over_tls(
        &self,
        place: &Place,
        host: &str,
        verification: Verification,
        authority: &Path,
    ) -> Option<String>;
    /// A statement that lists the schemas of `flushmark db`.
    fn schemas(&self) -> &'static str;
    /// A statement that drops such a schema.
    fn drop_schema(&self, name: &str) -> String;
    /// Arguments with which its server keeps more statistics than by default.
    fn more_statistics(&self) -> &'static [&'static str];
    /// Statements that create the user `watcher`, without privileges.
    fn make_watcher(&self) -> &'static str;
    /// A statement that grants that user what `flushmark db watch` needs.
    fn grant_watcher(&self) -> &'static str;
    /// Makes the user `watcher`, who exists, log in with this password. Returns the statements.
    fn give_password(&self, place: &Place, password: &str) -> anyhow::Result<String>;
    /// Arguments of a server that can become a replica.
    fn as_primary(&self) -> &'static [&'static str];
    /// Arguments with which its server says that it is an old release, if it can.
    fn as_old_release(&self) -> &'static [&'static str];
    /// Makes a server that is not running a replica. Returns its arguments.
    fn make_replica(&self, place: &Place) -> anyhow::Result<&'static [&'static str]>;
    /// The suite's test of its log, if there is one.
    fn log_pattern(&self) -> Option<LogPattern>;
    /// Arguments that decide how pages are flushed, each with whether tables are synced.
    fn page_flushing(&self) -> &'static [(&'static str, bool)];
    /// A statement that resets statistics which are read.
    fn reset_statistics(&self) -> &'static str;
    /// Runs its consistency check; `client` is connected.
    fn check(&self, place: &Place, client: &mut Client) -> anyhow::Result<()>;
}

const DATABASES: [&dyn Database; 3] = [&sqlite::Sqlite, &postgres::Postgres, &mariadb::Mariadb];

/// The arguments of a command, as strings.
macro_rules! words {
    ($($word:expr),* $(,)?) => { [$($word.to_string()),*] };
}
use words;

/// A trial of each database that has a server.
struct Observation {
    name: &'static str,
    /// With a data directory to copy, flushmark and a seed; returns what was seen, in words.
    observe: fn(&'static dyn Database, &Path, &Path, u64) -> anyhow::Result<String>,
}

const OBSERVATIONS: [Observation; 7] = [
    Observation { name: "db commits", observe: commits::run },
    Observation { name: "db watch", observe: watched::run },
    Observation { name: "db bench", observe: insert_benchmark::run },
    Observation { name: "db refused", observe: refused::run },
    Observation { name: "db encrypted", observe: encrypted::run },
    Observation { name: "patterns", observe: patterns::run },
    Observation { name: "traced", observe: traced::run },
];

/// Runs every variant of every database, and prints the table.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "mounting the emulated drive needs root; run it as root"
    );
    let begun = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    // On Ctrl-C everything that was set up is taken down in order.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let binary = build::flushmark_of_tests()?;
    let templates = directory()?;
    let mut outcome = Outcome::default();
    let mut table = Vec::new();
    let wanted =
        |name: &str| options.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()));
    for database in DATABASES {
        let name = database.name();
        let mut variants =
            VARIANTS.iter().map(|variant| (variant, variant.label(database))).collect::<Vec<_>>();
        variants.retain(|(_, label)| wanted(&format!("{name}, {label}")));
        let is_server = database.log_sync().is_some();
        let observations: Vec<&Observation> = OBSERVATIONS
            .iter()
            .filter(|observation| is_server && wanted(&format!("{name}, {}", observation.name)))
            .collect();
        if variants.is_empty() && observations.is_empty() {
            continue;
        }
        let template = trial::template(database, templates.path(), LogSize::Smallest)?;
        for (variant, label) in variants {
            let begun = Instant::now();
            let trial =
                Trial { database, variant, template: &template, binary: &binary, stop: &stop };
            let found = trial.run(options.cuts, options.seed);
            let time = begun.elapsed().as_secs_f64();
            let findings = match found {
                Ok(findings) => findings,
                Err(error) => {
                    ensure!(!stop.load(Ordering::Relaxed), "interrupted");
                    outcome.failed += 1;
                    println!("rig {name}, {label} ... FAILED ({time:.1} s)\n{error:?}");
                    continue;
                }
            };
            let row = Row { name, label, findings, expected: variant.expectation };
            let (verdict, recovery) = (row.verdict(), row.findings.recovery_longest.as_secs_f64());
            println!(
                "rig {name}, {} ... {verdict} ({time:.1} s, back after {recovery:.1} s at most)",
                row.label
            );
            if let Some(damage) = &row.findings.damage {
                println!("  {}", damage.replace('\n', "\n  "));
            }
            *(if matches!(verdict, Verdict::Ok(_)) {
                &mut outcome.passed
            } else {
                &mut outcome.failed
            }) += 1;
            table.push(row);
        }
        for Observation { name: what, observe } in observations {
            let begun = Instant::now();
            let observed = observe(database, &template, &binary, options.seed);
            note(&format!("{name}, {what}"), begun, observed, &stop, &mut outcome)?;
        }
    }
    ensure!(
        outcome.passed + outcome.failed > 0,
        "no trial has that name; expected part of sqlite, postgresql or mariadb, of a variant, \
         traced, commits, watch, bench, patterns, refused or encrypted"
    );
    if !table.is_empty() {
        print!("\n{}", page(&table));
    }
    let time = begun.elapsed().as_secs_f64();
    println!(
        "\nrig: {} passed, {} failed, {time:.0} s, seed {}",
        outcome.passed, outcome.failed, options.seed
    );
    Ok(outcome)
}

/// Prints and counts what was observed.
fn note(
    what: &str,
    begun: Instant,
    observed: anyhow::Result<String>,
    stop: &AtomicBool,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let time = begun.elapsed().as_secs_f64();
    match observed {
        Ok(observed) => {
            outcome.passed += 1;
            println!("rig {what} ... ok: {observed} ({time:.1} s)");
        }
        Err(error) => {
            ensure!(!stop.load(Ordering::Relaxed), "interrupted");
            outcome.failed += 1;
            println!("rig {what} ... FAILED ({time:.1} s)\n{error:?}");
        }
    }
    Ok(())
}

/// A directory that every user can traverse, not on the emulated drive.
fn directory() -> anyhow::Result<tempfile::TempDir> {
    directory_in(&std::env::temp_dir())
}

fn directory_in(parent: &Path) -> anyhow::Result<tempfile::TempDir> {
    let all_may_pass = std::fs::Permissions::from_mode(0o755);
    Ok(tempfile::Builder::new()
        .prefix("flushmark-rig-")
        .permissions(all_may_pass)
        .tempdir_in(parent)?)
}

struct Row {
    name: &'static str,
    label: String,
    findings: Findings,
    expected: Expectation,
}

impl Row {
    fn verdict(&self) -> Verdict {
        let Findings { lost, cuts_felt, .. } = self.findings;
        match (self.expected, self.findings.anything()) {
            (Expectation::NothingLost, true) => Verdict::Failed("this must not happen"),
            (Expectation::NothingLost, false) if cuts_felt == 0 => {
                Verdict::Failed("void: the drive lost nothing that it may lose; use more --cuts")
            }
            (Expectation::NothingLost, false) => Verdict::Ok("nothing is lost"),
            (Expectation::LossesFound, true) if lost > 0 => Verdict::Ok("losses are found"),
            (Expectation::LossesFound, true) => Verdict::Ok("damage is found"),
            (Expectation::LossesFound, false) => {
                Verdict::Failed("nothing was found: the test cannot fail")
            }
        }
    }
}

/// The verdict on a variant, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok(&'static str),
    Failed(&'static str),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Ok(why) => write!(f, "ok: {why}"),
            Verdict::Failed(why) => write!(f, "FAILED: {why}"),
        }
    }
}

fn page(rows: &[Row]) -> String {
    let wide = rows.iter().map(|row| row.label.len()).max().unwrap_or_default();
    let mut page = format!(
        "{:10}  {:wide$}  cuts  felt  commits/s  acknowledged   lost  verdict\n",
        "database", "variant"
    );
    for row in rows {
        let Findings { cuts, cuts_felt, commits_per_s, acknowledged, lost, .. } = row.findings;
        page += &format!(
            "{:10}  {:wide$}  {cuts:>4}  {cuts_felt:>4}  {commits_per_s:>9.0}  {acknowledged:>12}  \
             {lost:>5}  {}\n",
            row.name,
            row.label,
            row.verdict()
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(expected: Expectation, cuts_felt: u32, lost: usize, damage: Option<&str>) -> Row {
        let findings = Findings {
            cuts: 25,
            cuts_felt,
            acknowledged: 4000,
            lost,
            damage: damage.map(str::to_owned),
            ..Findings::default()
        };
        Row { name: "sqlite", label: "honest drive".to_owned(), findings, expected }
    }

    #[test]
    fn a_variant_passes_when_it_came_out_as_it_has_to_and_proves_something() {
        let verdict =
            |expected, took, lost, damage| row(expected, took, lost, damage).verdict().to_string();
        let (clean, losses) = (Expectation::NothingLost, Expectation::LossesFound);
        assert_eq!(verdict(clean, 7, 0, None), "ok: nothing is lost");
        assert_eq!(verdict(clean, 7, 1, None), "FAILED: this must not happen");
        assert_eq!(verdict(clean, 7, 0, Some("it does not start")), "FAILED: this must not happen");
        assert_eq!(
            verdict(clean, 0, 0, None),
            "FAILED: void: the drive lost nothing that it may lose; use more --cuts"
        );
        assert_eq!(verdict(losses, 7, 1, None), "ok: losses are found");
        assert_eq!(verdict(losses, 7, 0, Some("it does not start")), "ok: damage is found");
        assert_eq!(verdict(losses, 7, 0, None), "FAILED: nothing was found: the test cannot fail");
    }

    #[test]
    fn the_table_is_aligned() {
        let page = page(&[row(Expectation::NothingLost, 7, 0, None)]);
        assert_eq!(
            page,
            "database    variant       cuts  felt  commits/s  acknowledged   lost  verdict\n\
             sqlite      honest drive    25     7          0          4000      0  ok: nothing is \
             lost\n"
        );
    }
}
