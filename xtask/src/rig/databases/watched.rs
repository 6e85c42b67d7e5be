//! One database server under `flushmark db watch`, compared with what its clients and its drive
//! counted.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use measurement::{Ended, RunDocument, ServerFile, TestResult};
use rustix::process::{Pid, Signal, kill_process};

use super::drive::EmulatedDrive;
use super::session::{Client, Session};
use super::{Database, Durability, Place, trial};
use crate::command;

/// The counts of a rig, in words.
pub type Observed = String;

const CLIENTS: u64 = 4;
/// Transactions of each client.
const EACH: u64 = 150;
/// InnoDB's identifiers, which transactions of the server itself have as well.
const COMMITS_ERROR_MAX: f64 = 0.03;
/// Flushes of the filesystem's journal and of data files, beside those of the log.
const FLUSHES_ERROR_MAX: f64 = 0.15;
const NOT_DURABLE: &str = "database-commits-not-durable";
const SWITCHED_OFF: &str = "flushes-switched-off";
/// A user without privileges.
const WATCHER: &str = "watcher";

struct Rig<'a> {
    database: &'static dyn Database,
    binary: &'a Path,
    place: &'a Place,
    drive: &'a EmulatedDrive,
    output: PathBuf,
    url: String,
}

/// Watches a server on an emulated drive: a known load, a user without privileges, counters that
/// are reset, a filesystem that drops flushes, a restart, a server that stays away, and one that
/// is not durable.
pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<Observed> {
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let place = trial::lay_out(database, template, &drive, directory.path())?;
    let url = database.url(&place).context("the database has no server")?;
    let output = directory.path().join("watch.json");
    let rig = Rig { database, binary, place: &place, drive: &drive, output, url };

    let mut session = Session::open(database, &place, Durability::On)?;
    session.make_table()?;
    rig.load(1).context("a load with the usual statistics")?;
    session.lose_power();
    let mut session =
        Session::open_with(database, &place, Durability::On, database.more_statistics())?;
    let observed = rig.load(2).context("a load with more statistics")?;
    rig.without_privileges(&mut session).context("a user without privileges")?;
    rig.reset(&mut session).context("counters that are reset")?;
    rig.flushes_dropped().context("a filesystem that drops flushes")?;
    let session = rig.restarted(session).context("a restart")?;
    rig.stays_away(session).context("a server that stays away")?;
    rig.not_durable().context("without durability")?;
    Ok(observed)
}

/// A running watch that has printed its first line.
struct Watch {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Rig<'_> {
    fn command(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(["db", "watch", url, "--store", "none", "--output"]).arg(&self.output);
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn started(&self, arguments: &[&str]) -> anyhow::Result<Watch> {
        let mut child = self.command(&self.url, arguments).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut line = String::new();
        while !line.starts_with("time ") {
            line.clear();
            if stdout.read_line(&mut line)? == 0 {
                let said = child.wait_with_output()?;
                bail!("the watch did not begin: {}", String::from_utf8_lossy(&said.stderr));
            }
        }
        Ok(Watch { child, stdout })
    }

    /// Ends a watch with a signal, if one is given. Returns its result and what it complained of.
    fn ended(
        &self,
        mut watch: Watch,
        signal: Option<Signal>,
        code: i32,
    ) -> anyhow::Result<(RunDocument, String)> {
        if let Some(signal) = signal {
            let pid = Pid::from_raw(watch.child.id() as i32).context("no process")?;
            kill_process(pid, signal)?;
        }
        // It must not wait for the reader of its lines.
        std::io::copy(&mut watch.stdout, &mut std::io::sink())?;
        self.document(&watch.child.wait_with_output()?, code)
    }

    fn document(&self, output: &Output, code: i32) -> anyhow::Result<(RunDocument, String)> {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(code), "{:?}: {said}", output.status);
        let text = std::fs::read_to_string(&self.output)?;
        Ok((RunDocument::from_json(&text)?, said))
    }

    /// Transactions of several clients, each of which then disconnects.
    fn commit(&self, round: u64, each: u64) -> anyhow::Result<()> {
        let commit = |client: u64| -> anyhow::Result<()> {
            let (_shell, mut shell) = Client::connect(self.database, self.place, Durability::On)?;
            let first = (round * CLIENTS + client) * 1_000_000;
            (first..first + each).try_for_each(|number| shell.commit(number))
        };
        std::thread::scope(|scope| {
            let running: Vec<_> =
                (0..CLIENTS).map(|client| scope.spawn(move || commit(client))).collect();
            running
                .into_iter()
                .try_for_each(|one| one.join().unwrap_or_else(|_| bail!("a client panicked")))
        })
    }

    /// The watch agrees with the clients about commits, and with the drive about flushes.
    fn load(&self, round: u64) -> anyhow::Result<Observed> {
        // The server also syncs by itself, before and after the transactions.
        let before = self.drive.flushes()?;
        let watch = self.started(&[])?;
        self.commit(round, EACH)?;
        // The processes of the clients hand over their counters when they end.
        std::thread::sleep(Duration::from_millis(1500));
        let (document, said) = self.ended(watch, Some(Signal::INT), 0)?;
        let flushes = self.drive.flushes()? - before;
        let result = result(&document)?;
        let activity = result.server.as_ref().context("no activity")?;
        let commits = activity.commits.as_ref().context("no commits")?.count;
        let made = (CLIENTS * EACH) as f64;
        ensure!(is_near(commits, made, COMMITS_ERROR_MAX), "{commits} commits instead of {made}");
        let log = activity.syncs(ServerFile::Log).context("no syncs of the log")?;
        let (syncs, all) = (log.number.count, activity.syncs_in_total().unwrap_or(0.0));
        let flushes = flushes as f64;
        ensure!(
            is_near(all, flushes, FLUSHES_ERROR_MAX),
            "{syncs} syncs of the log, {all} in total, but the drive served {flushes} flushes"
        );
        let counted = result.proof.device.and_then(|device| device.flushes);
        let counted = counted.context("the flushes of the device are unknown")? as f64;
        ensure!(is_near(counted, flushes, 0.05), "{counted} flushes, the drive says {flushes}");
        // Clients that commit at the same time share syncs.
        ensure!(activity.group_size() > Some(1.0), "groups of {:?}", activity.group_size());
        ensure!(document.findings.iter().all(|finding| finding.id != NOT_DURABLE), "{said}");
        Ok(format!(
            "{made} transactions, {syncs:.0} syncs of the log, {flushes} flushes of the drive"
        ))
    }

    fn without_privileges(&self, session: &mut Session) -> anyhow::Result<()> {
        session.ask(self.database.make_watcher())?;
        let (scheme, rest) = self.url.split_once("://").context("no scheme")?;
        let (_, rest) = rest.split_once('@').context("no user")?;
        let url = format!("{scheme}://{WATCHER}@{rest}");
        let grants = |rig: &Rig<'_>| -> anyhow::Result<bool> {
            let output = rig.command(&url, &["--for", "1s", "--quiet"]).output()?;
            let (document, _) = rig.document(&output, 0)?;
            let activity = result(&document)?.server.clone().context("no activity")?;
            Ok(activity.unknown.iter().any(|why| why.contains("GRANT ")))
        };
        ensure!(grants(self)?, "nothing is said to be missing");
        session.ask(self.database.grant_watcher())?;
        ensure!(!grants(self)?, "privileges are said to be missing that the user has");
        Ok(())
    }

    fn reset(&self, session: &mut Session) -> anyhow::Result<()> {
        let watch = self.started(&[])?;
        session.ask(self.database.reset_statistics())?;
        std::thread::sleep(Duration::from_millis(1200));
        let (document, said) = self.ended(watch, Some(Signal::INT), 0)?;
        ensure!(said.contains("reset; the time since the last line is left out"), "{said}");
        let series = result(&document)?.server.as_ref().and_then(|server| server.series.clone());
        let commits = series.context("no series")?.commits_per_s;
        ensure!(commits.contains(&None), "no second is left out of {commits:?}");
        Ok(())
    }

    fn flushes_dropped(&self) -> anyhow::Result<()> {
        let mounted = self.drive.mounted().to_string_lossy().into_owned();
        let remount = |option: &str| {
            command::output("mount", &["-o", &format!("remount,{option}"), &mounted]).map(drop)
        };
        remount("barrier=0")?;
        let watch = self.started(&[])?;
        self.commit(3, EACH)?;
        std::thread::sleep(Duration::from_millis(1500));
        let (document, said) = self.ended(watch, Some(Signal::INT), 0)?;
        remount("barrier=1")?;
        let found = document.findings.iter().any(|finding| finding.id == SWITCHED_OFF);
        ensure!(found, "the finding {SWITCHED_OFF} is missing: {said}");
        let result = result(&document)?;
        let flushes = result.proof.device.and_then(|device| device.flushes).unwrap_or(u64::MAX);
        let syncs = result.proof.syncs;
        ensure!(flushes * 10 < syncs, "{flushes} flushes for {syncs} syncs without barriers");
        Ok(())
    }

    fn restarted(&self, mut session: Session) -> anyhow::Result<Session> {
        let watch = self.started(&[])?;
        session.lose_power();
        drop(session);
        let session = Session::open(self.database, self.place, Durability::On)?;
        std::thread::sleep(Duration::from_secs(2));
        let (_, said) = self.ended(watch, Some(Signal::INT), 0)?;
        ensure!(said.contains("waiting for it to come back"), "{said}");
        ensure!(said.contains("connected again after"), "{said}");
        ensure!(said.contains("the server was restarted"), "{said}");
        Ok(session)
    }

    fn stays_away(&self, mut session: Session) -> anyhow::Result<()> {
        let watch = self.started(&["--for", "30s", "--timeout", "1s"])?;
        session.lose_power();
        let (document, said) = self.ended(watch, None, 4)?;
        ensure!(said.contains("cannot be reached"), "{said}");
        let ended = &result(&document)?.ended;
        ensure!(matches!(ended, Ended::Failed { .. }), "{ended:?}");
        Ok(())
    }

    fn not_durable(&self) -> anyhow::Result<()> {
        let _session = Session::open(self.database, self.place, Durability::Off)?;
        let watch = self.started(&["--for", "30s"])?;
        let (document, said) = self.ended(watch, Some(Signal::INT), 130)?;
        let found = document.findings.iter().any(|finding| finding.id == NOT_DURABLE);
        ensure!(found, "the finding {NOT_DURABLE} is missing: {said}");
        Ok(())
    }
}

fn result(document: &RunDocument) -> anyhow::Result<&TestResult> {
    document.results.first().context("nothing was watched")
}

fn is_near(value: f64, expected: f64, error_max: f64) -> bool {
    (value - expected).abs() <= error_max * expected
}
