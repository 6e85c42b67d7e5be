//! Servers that `flushmark db` must refuse, or give up on, each a real one.

use std::io::{Read as _, Write as _};
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

/// A server with other clients, one that wants a password, a full drive, one that does not answer, a
/// replica, and an old release.
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
    rig.asked_for().context("a password that is asked for")?;
    rig.no_space(drive.mounted()).context("a drive with too little space")?;
    session.freeze()?;
    rig.silent().context("a server that does not answer")?;
    session.lose_power();
    drop(session);

    let arguments = database.make_replica(&place)?;
    let session = Session::open_with(database, &place, Durability::On, arguments)?;
    rig.replica().context("a replica")?;
    drop(session);

    let arguments = database.as_old_release();
    if !arguments.is_empty() {
        let _session = Session::open_with(database, &place, Durability::On, arguments)?;
        rig.too_old().context("an old release")?;
    }
    let old = if arguments.is_empty() { "" } else { ", an old release" };
    Ok(format!("busy, wrong password, too little space, silent, a replica{old}"))
}

impl Rig<'_> {
    fn command(&self, url: &str, verb: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(["db", verb, url, "--store", "none", "--quiet"]).args(arguments);
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

    fn watchers_url(&self) -> anyhow::Result<String> {
        let (before, after) = self.url.split_once("://").context("no URL")?;
        let (_, place) = after.split_once('@').context("no user in the URL")?;
        Ok(format!("{before}://{WATCHER}@{place}"))
    }

    fn wrong_password(&self) -> anyhow::Result<()> {
        let url = self.watchers_url()?;
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

    /// At a terminal. Ctrl-C is an answer, too.
    fn asked_for(&self) -> anyhow::Result<()> {
        let url = self.watchers_url()?;
        for (typed, code, words) in [
            ("right\n", 0, "commits"),
            ("wrong-1234\n", WRONG_USE, "rejected the login"),
            ("\u{3}", 130, "Password for"),
        ] {
            let mut script = Command::new("timeout");
            let line =
                format!("'{}' db watch '{url}' --store none --for 1s", self.binary.display());
            script.args(["--foreground", "60", "script", "--quiet", "--return", "--command"]);
            script.args([&line, "/dev/null"]);
            script.env_remove("PGPASSWORD").env_remove("MYSQL_PWD");
            script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = script.spawn().context("cannot start script")?;
            let mut screen = child.stdout.take().context("script has no output")?;
            let mut said = Vec::new();
            let mut byte = [0];
            while !said.ends_with(format!("Password for {url}: ").as_bytes()) {
                let read = screen.read(&mut byte)?;
                ensure!(read > 0, "it does not ask: {}", String::from_utf8_lossy(&said));
                said.extend(byte);
            }
            let mut keyboard = child.stdin.take().context("script has no input")?;
            keyboard.write_all(typed.as_bytes())?;
            screen.read_to_end(&mut said)?;
            let (status, said) = (child.wait()?, String::from_utf8_lossy(&said));
            ensure!(status.code() == Some(code), "{status:?}: {said}");
            ensure!(said.contains(words), "no `{words}` in {said}");
            ensure!(!said.contains(typed.trim_end()), "the password can be read: {said}");
        }
        Ok(())
    }

    fn too_old(&self) -> anyhow::Result<()> {
        for verb in ["commits", "bench", "watch"] {
            expect(self.command(&self.url, verb, &[]), WRONG_USE, "which is too old: expected")?;
        }
        Ok(())
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
