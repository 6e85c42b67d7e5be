//! Servers that `flushmark db` must refuse, or give up on, each a real one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::commits::schemas;
use super::drive::EmulatedDrive;
use super::session::Session;
use super::{Database, Durability, PATIENCE, trial};

const WATCHER: &str = "watcher";
/// Smaller than what a run may write.
const FREE_BYTES: u64 = 200 << 20;
/// Exit codes.
const WRONG_USE: i32 = 2;
const REFUSED: i32 = 3;
const FAILED: i32 = 4;

struct Rig<'a> {
    database: &'static dyn Database,
    binary: &'a Path,
    url: String,
}

/// A server with other clients, one that rejects the password, a full drive, a replica, and one that
/// does not answer.
pub fn run(
    database: &'static dyn Database,
    template: &Path,
    binary: &Path,
    seed: u64,
) -> anyhow::Result<String> {
    let directory = super::directory()?;
    let drive = EmulatedDrive::start(binary, directory.path(), None, seed)?;
    let place = trial::lay_out(database, template, &drive, directory.path())?;
    let url = database.url(&place).context("the database has no server")?;
    let rig = Rig { database, binary, url };

    let mut session = Session::open_with(database, &place, Durability::On, database.as_primary())?;
    rig.busy(&mut session).context("a server with other clients")?;
    session.ask(database.make_watcher())?;
    session.ask(&database.give_password(&place, "right")?)?;
    rig.wrong_password().context("a wrong password")?;
    rig.no_space(drive.mounted()).context("a drive with too little space")?;
    session.freeze()?;
    rig.silent().context("a server that does not answer")?;
    session.lose_power();
    drop(session);

    let arguments = database.make_replica(&place)?;
    let _session = Session::open_with(database, &place, Durability::On, arguments)?;
    rig.replica().context("a replica")?;
    Ok("busy, wrong password, too little space, silent, a replica".to_owned())
}

impl Rig<'_> {
    fn command(&self, url: &str, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(["db", verb, url, "--no-store", "--quiet"]).args(arguments);
        command.env_remove("PGPASSWORD").env_remove("MYSQL_PWD");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn busy(&self, session: &mut Session) -> anyhow::Result<()> {
        let mut other =
            self.command(&self.url, "commits", &["--clients", "2", "--time", "30s", "--busy"]);
        let other = other.spawn()?;
        let begun = Instant::now();
        while schemas(self.database, session)?.is_empty() {
            ensure!(begun.elapsed() < PATIENCE, "the other clients do not begin");
            std::thread::sleep(Duration::from_millis(50));
        }
        for verb in ["commits", "bench"] {
            expect(self.command(&self.url, verb, &[]), REFUSED, "is busy: ")?;
        }
        let pid = Pid::from_raw(other.id() as i32).context("flushmark has no process")?;
        kill_process(pid, Signal::INT)?;
        other.wait_with_output()?;
        Ok(())
    }

    fn wrong_password(&self) -> anyhow::Result<()> {
        let (before, after) = self.url.split_once("://").context("no URL")?;
        let (_, place) = after.split_once('@').context("no user in the URL")?;
        let url = format!("{before}://{WATCHER}@{place}");
        let mut wrong = self.command(&url, "commits", &["--clients", "1", "--time", "1s"]);
        wrong.env("PGPASSWORD", "wrong-1234").env("MYSQL_PWD", "wrong-1234");
        let output = wrong.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(WRONG_USE), "{:?}: {said}", output.status);
        ensure!(!said.contains("wrong-1234"), "the password is in {said}");
        // Without a terminal it cannot be asked for.
        let without = self.command(&url, "commits", &["--clients", "1", "--time", "1s"]);
        expect(without, WRONG_USE, "password")?;
        let mut right = self.command(&url, "watch", &["--for", "1s"]);
        right.env("PGPASSWORD", "right").env("MYSQL_PWD", "right");
        expect(right, 0, "")
    }

    fn no_space(&self, mounted: &Path) -> anyhow::Result<()> {
        let space = rustix::fs::statvfs(mounted)?;
        let filler = mounted.join("filler");
        let bytes = (space.f_bavail * space.f_frsize).saturating_sub(FREE_BYTES);
        let file = std::fs::File::create(&filler)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
        for verb in ["commits", "bench"] {
            let command = self.command(&self.url, verb, &["--busy"]);
            expect(command, REFUSED, "but this run may write")?;
        }
        Ok(std::fs::remove_file(&filler)?)
    }

    fn silent(&self) -> anyhow::Result<()> {
        for verb in ["commits", "bench", "watch"] {
            let command = self.command(&self.url, verb, &["--timeout", "1s"]);
            expect(command, FAILED, "")?;
        }
        Ok(())
    }

    fn replica(&self) -> anyhow::Result<()> {
        for verb in ["commits", "bench"] {
            expect(self.command(&self.url, verb, &["--busy"]), REFUSED, "is read-only (")?;
        }
        // A replica can be watched.
        expect(self.command(&self.url, "watch", &["--for", "1s"]), 0, "")
    }
}

/// Runs it, and expects this exit code and these words.
fn expect(mut command: Command, code: i32, words: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    let output = command.output().context("cannot start flushmark")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(code), "{:?}: {said}", output.status);
    ensure!(said.contains(words), "no `{words}` in {said}");
    ensure!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
    Ok(())
}
