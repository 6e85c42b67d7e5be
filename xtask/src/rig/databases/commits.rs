//! One database server under `flushmark db commits`, and what can go wrong meanwhile.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use measurement::RunDocument;
use rustix::process::{Pid, Signal, kill_process};

use super::drive::EmulatedDrive;
use super::session::Session;
use super::{Database, Durability, PATIENCE, Place, trial};

/// The observations of a rig, in words.
pub type Observed = String;

/// A finding that a server without durability must have.
const NOT_DURABLE: &str = "database-commits-not-durable";
/// From the creation of the schema until a test has measured something: its table, its clients, and
/// a second of warm-up.
const UNDER_WAY: Duration = Duration::from_secs(3);

struct Rig<'a> {
    binary: &'a Path,
    url: String,
}

/// Runs the command against a server on an emulated drive: a whole run, a signal, a killed run, a
/// server that loses power meanwhile, and one that is not durable.
pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<Observed> {
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let place = trial::lay_out(database, template, &drive, directory.path())?;
    let mut session = Session::open(database, &place, Durability::On)?;
    let url = database.url(&place).context("the database has no server")?;
    let rig = Rig { binary, url };

    let observed = rig.whole_run().context("a whole run")?;
    ensure!(schemas(database, &mut session)?.is_empty(), "a run left its schema");
    rig.interrupted(database, &mut session).context("interrupted")?;
    ensure!(schemas(database, &mut session)?.is_empty(), "an interrupted run left its schema");
    rig.killed(database, &mut session).context("killed")?;
    rig.wrong_database().context("a database that does not exist")?;
    rig.limit_reached().context("more clients than the server accepts")?;
    rig.server_dies(database, &mut session).context("the server loses power")?;
    drop(session);

    rig.not_durable(database, &place).context("without durability")?;
    Ok(observed)
}

impl Rig<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(["db", "commits", &self.url, "--store", "none", "--quiet"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        self.command(arguments).output().context("cannot start flushmark")
    }

    /// Two numbers of clients, and the storage alone.
    fn whole_run(&self) -> anyhow::Result<Observed> {
        const LABEL: &str = "after the update";
        let clients = ["--clients", "1,4", "--time", "1s", "--label", LABEL];
        let output = self.output(&[&clients[..], &["--format", "json", "--busy"]].concat())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(0), "{:?}: {said}", output.status);
        let document = RunDocument::from_json(&String::from_utf8_lossy(&output.stdout))?;
        let rate = |name: &str| {
            let result = document.results.iter().find(|result| result.test.starts_with(name));
            let rate = result.and_then(|result| result.commits_per_s);
            rate.filter(|&rate| rate > 0.0).with_context(|| format!("`{name}` was not measured"))
        };
        let (storage, one, four) = (rate("storage")?, rate("1 client")?, rate("4 clients")?);
        // A commit of the server contains one of the storage.
        ensure!(one < storage * 1.5, "{one:.0} commits/s, but the storage makes {storage:.0}");
        ensure!(document.target.database.is_some(), "the server is not described");
        ensure!(document.label.as_deref() == Some(LABEL), "the label is {:?}", document.label);
        let not_durable = document.findings.iter().any(|finding| finding.id == NOT_DURABLE);
        ensure!(!not_durable, "a durable server has the finding {NOT_DURABLE}");
        Ok(format!("{one:.0} and {four:.0} commits/s (1 and 4 clients), storage {storage:.0}"))
    }

    /// Starts a run of ten seconds, and waits until its schema exists.
    fn started(
        &self,
        database: &'static dyn Database,
        session: &mut Session,
    ) -> anyhow::Result<Child> {
        let child = self.command(&["--clients", "2", "--time", "10s", "--busy"]).spawn()?;
        let begun = Instant::now();
        while schemas(database, session)?.is_empty() {
            ensure!(begun.elapsed() < PATIENCE, "flushmark does not create its schema");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(child)
    }

    fn interrupted(
        &self,
        database: &'static dyn Database,
        session: &mut Session,
    ) -> anyhow::Result<()> {
        let child = self.started(database, session)?;
        std::thread::sleep(UNDER_WAY);
        signal(&child, Signal::INT)?;
        let output = child.wait_with_output()?;
        let (printed, said) = texts(&output);
        ensure!(output.status.code() == Some(130), "{:?}: {said}", output.status);
        ensure!(printed.contains("interrupted after"), "{printed}");
        Ok(())
    }

    fn killed(&self, database: &'static dyn Database, session: &mut Session) -> anyhow::Result<()> {
        let child = self.started(database, session)?;
        signal(&child, Signal::KILL)?;
        child.wait_with_output()?;
        let begun = Instant::now();
        // The server first notices that the clients are gone.
        let name = loop {
            let left = schemas(database, session)?;
            let output = self.output(&["--clients", "1", "--time", "100ms", "--busy"])?;
            let (_, said) = texts(&output);
            if let Some(name) = left.iter().find(|name| said.contains(&format!("{name} on this"))) {
                ensure!(output.status.code() == Some(0), "{said}");
                ensure!(said.contains("remove it with `DROP "), "{said}");
                break name.clone();
            }
            ensure!(begun.elapsed() < PATIENCE, "{left:?} is left, but not named: {said}");
        };
        let left = schemas(database, session)?;
        ensure!(left == [name.as_str()], "{left:?} instead of {name}, which the user removes");
        session.ask(&database.drop_schema(&name)).map(drop)
    }

    fn wrong_database(&self) -> anyhow::Result<()> {
        let wrong = Rig { binary: self.binary, url: format!("{}nothing", self.url) };
        let output = wrong.output(&[])?;
        let (_, said) = texts(&output);
        ensure!(output.status.code() == Some(2), "{:?}: {said}", output.status);
        ensure!(said.contains("has no such database"), "{said}");
        Ok(())
    }

    fn limit_reached(&self) -> anyhow::Result<()> {
        let output = self.output(&["--clients", "1000", "--time", "1s", "--busy"])?;
        let (_, said) = texts(&output);
        ensure!(output.status.code() == Some(2), "{:?}: {said}", output.status);
        ensure!(said.contains("1000 clients: the server's max_connections is"), "{said}");
        Ok(())
    }

    fn server_dies(
        &self,
        database: &'static dyn Database,
        session: &mut Session,
    ) -> anyhow::Result<()> {
        let child = self.started(database, session)?;
        std::thread::sleep(UNDER_WAY);
        session.lose_power();
        let output = child.wait_with_output()?;
        let (_, said) = texts(&output);
        ensure!(output.status.code() == Some(4), "{:?}: {said}", output.status);
        ensure!(said.contains("closed the connection"), "{said}");
        ensure!(said.contains("could not be removed"), "{said}");
        Ok(())
    }

    fn not_durable(&self, database: &'static dyn Database, place: &Place) -> anyhow::Result<()> {
        let _session = Session::open(database, place, Durability::Off)?;
        let arguments = ["--clients", "1", "--time", "100ms", "--format", "json", "--busy"];
        let output = self.output(&arguments)?;
        let (printed, said) = texts(&output);
        ensure!(output.status.code() == Some(0), "{:?}: {said}", output.status);
        let document = RunDocument::from_json(&printed)?;
        let found = document.findings.iter().any(|finding| finding.id == NOT_DURABLE);
        ensure!(found, "the finding {NOT_DURABLE} is missing");
        Ok(())
    }
}

/// The schemas of runs that exist.
pub fn schemas(
    database: &'static dyn Database,
    session: &mut Session,
) -> anyhow::Result<Vec<String>> {
    session.ask(database.schemas())
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn signal(child: &Child, signal: Signal) -> anyhow::Result<()> {
    let pid = Pid::from_raw(child.id() as i32).context("flushmark has no process")?;
    Ok(kill_process(pid, signal)?)
}
