//! One database on one drive under a series of power cuts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::drive::{Cut, EmulatedDrive, Plug, Testimony};
use super::ledger::Ledger;
use super::session::Session;
use super::{Database, Expectation, LogSize, PATIENCE, Place, Variant};
use crate::command;

/// Time from the first transaction to the power cut: evenly distributed, and long enough for some
/// dozens of transactions on this drive and an occasional checkpoint.
const LOAD_MS: std::ops::Range<u64> = 20..500;

#[derive(Debug, Default)]
pub struct Findings {
    pub cuts: u32,
    /// Cuts at which the drive's cache had something to lose, and lost it.
    pub cuts_felt: u32,
    pub acknowledged: usize,
    /// Acknowledged transactions that are missing.
    pub lost: usize,
    /// Why the database or the filesystem did not start, or started damaged.
    pub damage: Option<String>,
    /// Transactions acknowledged per second of load.
    pub commits_per_s: f64,
    pub recovery_longest: Duration,
}

impl Findings {
    /// True if a user of this database would have been deceived.
    pub const fn anything(&self) -> bool {
        self.lost > 0 || self.damage.is_some()
    }
}

pub struct Trial<'a> {
    pub database: &'static dyn Database,
    /// The drive, and the durability setting of the database.
    pub variant: &'static Variant,
    /// A data directory to copy.
    pub template: &'a Path,
    pub binary: &'a Path,
    /// Set when the user wants the rig to stop.
    pub stop: &'a AtomicBool,
}

impl Trial<'_> {
    /// Cuts the power this many times. Where losses are expected, it stops at the first one.
    pub fn run(&self, cuts: u32, seed: u64) -> anyhow::Result<Findings> {
        let directory = super::directory()?;
        let drive = EmulatedDrive::start(self.binary, directory.path(), self.variant.lie, seed)?;
        let place = lay_out(self.database, self.template, &drive, directory.path())?;
        let mut session = Session::open(self.database, &place, self.variant.durability)?;
        session.make_table()?;
        // As if the table had been created long ago: its existence is not under test.
        drive.sync()?;

        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut ledger = Ledger::default();
        let mut findings = Findings::default();
        let mut under_load = Duration::ZERO;
        while findings.cuts < cuts {
            self.ensure_wanted()?;
            let load = Duration::from_millis(
                LOAD_MS.start + chance.next_u64() % (LOAD_MS.end - LOAD_MS.start),
            );
            let plug = drive.plug(findings.cuts)?;
            let (lasted, cut) = self.cut(&mut session, &mut ledger, load, plug)?;
            under_load += lasted;
            findings.cuts += 1;
            let begun = Instant::now();
            let checked = self.come_back(&drive, &place, &mut session, &mut ledger, &cut);
            findings.recovery_longest = findings.recovery_longest.max(begun.elapsed());
            (findings.acknowledged, findings.lost) = (ledger.acknowledged(), ledger.lost());
            findings.commits_per_s = ledger.acknowledged() as f64 / under_load.as_secs_f64();
            match checked {
                Ok(felt) => findings.cuts_felt += u32::from(felt),
                Err(error) => {
                    ensure!(!error.is::<MemorySurvived>(), error);
                    // The commands run meanwhile have received a Ctrl-C, too.
                    self.ensure_wanted()?;
                    findings.damage = Some(format!("{error:#}"));
                    break;
                }
            }
            if self.variant.expectation == Expectation::LossesFound && findings.anything() {
                break;
            }
        }
        Ok(findings)
    }

    fn ensure_wanted(&self) -> anyhow::Result<()> {
        ensure!(!self.stop.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Commits for this long, then cuts the power. Whatever was acknowledged before the cut is an
    /// obligation; what a process prints afterwards, before it is killed, is not.
    fn cut(
        &self,
        session: &mut Session,
        ledger: &mut Ledger,
        load: Duration,
        plug: Plug,
    ) -> anyhow::Result<(Duration, Cut)> {
        let (sender, under_way) = channel();
        let begun = Instant::now();
        let outcome = session.commit_until_gone(ledger.next(), sender)?;
        if under_way.recv_timeout(PATIENCE).is_err() {
            session.lose_power();
            bail!("{} commits nothing: {}", self.database.name(), session.logs());
        }
        std::thread::sleep(load);
        let cut = plug.pull()?;
        session.lose_power();
        let is_honest = self.variant.lie.is_none();
        ensure!(
            !is_honest || cut.promised == 0,
            "the honest drive lost {} flushed writes",
            cut.promised
        );
        let outcome = outcome();
        let in_time = outcome.acknowledged.iter().filter(|(_, at)| *at < cut.ordered);
        ledger.enter(outcome.sent, in_time.map(|(number, _)| *number));
        Ok((cut.ordered - begun, cut))
    }

    /// Power on, mount, start, recover, count, check. Returns whether the drive had something to
    /// lose.
    fn come_back(
        &self,
        drive: &EmulatedDrive,
        place: &Place,
        session: &mut Session,
        ledger: &mut Ledger,
        cut: &Cut,
    ) -> anyhow::Result<bool> {
        drive.power_on()?;
        let felt = match drive.hear(cut)? {
            Testimony::CacheLost => true,
            Testimony::CacheSurvived => false,
            Testimony::MemorySurvived => return Err(MemorySurvived.into()),
            Testimony::Damaged => bail!("a file that was synced long ago is damaged"),
        };
        *session = Session::open(self.database, place, self.variant.durability)
            .context("it does not start")?;
        ledger.compare(&session.rows().context("its rows cannot be read")?)?;
        session.check().context("its consistency check fails")?;
        Ok(felt)
    }
}

/// The only result of a cut that says nothing about the database: the rig itself is broken.
#[derive(Debug)]
struct MemorySurvived;

impl std::fmt::Display for MemorySurvived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "data that was only in the kernel's memory survived: the power was not cut, \
                     and nothing here proves anything",
        )
    }
}

impl std::error::Error for MemorySurvived {}

/// A new data directory of that database, to be copied.
pub fn template(
    database: &'static dyn Database,
    directory: &Path,
    log: LogSize,
) -> anyhow::Result<PathBuf> {
    let template = directory.join(database.name());
    std::fs::create_dir(&template)?;
    give(database, &template)?;
    database
        .lay_out(&template, log)
        .with_context(|| format!("{} cannot be set up", database.name()))?;
    Ok(template)
}

/// The data directory on the drive, as if the database had been installed some time ago.
pub fn lay_out(
    database: &dyn Database,
    template: &Path,
    drive: &EmulatedDrive,
    directory: &Path,
) -> anyhow::Result<Place> {
    let place = Place {
        data: drive.mounted().join("data"),
        elsewhere: directory.join("elsewhere"),
        port: None,
    };
    make_elsewhere(database, &place)?;
    // Every block is written, as in a log that has been used once: ext4 has nothing to add to its
    // journal when such a block is overwritten.
    command::output(
        "cp",
        &["--archive", "--sparse=never", "--", &text(template), &text(&place.data)],
    )?;
    drive.lay_out()?;
    Ok(place)
}

/// Creates the directory of sockets and temporary files.
pub fn make_elsewhere(database: &dyn Database, place: &Place) -> anyhow::Result<()> {
    std::fs::create_dir(&place.elsewhere)?;
    give(database, &place.elsewhere)
}

/// Makes the database's user the owner of a directory and of all that is in it.
pub fn give(database: &dyn Database, directory: &Path) -> anyhow::Result<()> {
    let account = database.account();
    let owner = format!("{}:{}", account.user, account.group);
    command::output("chown", &["--recursive", &owner, "--", &text(directory)])?;
    // PostgreSQL refuses a data directory that others can read.
    command::output("chmod", &["700", "--", &text(directory)]).map(drop)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
