//! A program that ends, with everything it started, as if its machine had lost power.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::PATIENCE;

/// An unprivileged user of this system.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub user: &'static str,
    pub group: &'static str,
}

impl Account {
    /// A command that runs as this user, without the rig's environment.
    fn command(self, starter: &[&str], words: &[String]) -> Command {
        let (user, group) = (format!("--reuid={}", self.user), format!("--regid={}", self.group));
        // Changing the user clears the signal for the parent's death, so it is set afterwards.
        let changes = ["setpriv", &user, &group, "--clear-groups", "--pdeathsig=KILL", "--"];
        let mut all =
            starter.iter().chain(&changes).copied().chain(words.iter().map(String::as_str));
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all).current_dir("/").env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        command
    }

    /// Runs a command to completion as this user.
    pub fn run(self, words: &[String]) -> anyhow::Result<()> {
        let output = self
            .command(&[], words)
            .stdin(Stdio::null())
            .output()
            .context("cannot start setpriv")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            bail!("`{}` ended with {}: {}", words.join(" "), output.status, said.trim());
        }
        Ok(())
    }
}

/// A running program, killed when dropped.
pub struct Machine {
    name: String,
    /// `unshare`; its death kills all others.
    outside: Child,
    said: Arc<Mutex<String>>,
    listener: Option<JoinHandle<()>>,
}

pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
}

impl Machine {
    /// Starts a command as that user, as the first process of a PID namespace. When it is killed,
    /// the kernel kills every process in the namespace at once, even those that made new sessions,
    /// as PostgreSQL's processes do. A separate IPC namespace keeps shared memory from outliving
    /// it.
    pub fn start(account: Account, words: &[String]) -> anyhow::Result<(Machine, Pipes)> {
        let starter = ["unshare", "--pid", "--ipc", "--fork", "--kill-child=KILL", "--"];
        let mut command = account.command(&starter, words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is handled by the rig.
        command.process_group(0);
        let mut outside = command.spawn().context("cannot start unshare")?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (outside.stdin.take(), outside.stdout.take(), outside.stderr.take())
        else {
            bail!("a pipe is missing");
        };
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let listener = std::thread::spawn(move || {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            while stderr.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                heard
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        let name = words.first().cloned().unwrap_or_default();
        Ok((Machine { name, outside, said, listener: Some(listener) }, Pipes { stdin, stdout }))
    }

    /// The stderr output so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has printed `word` on stderr.
    pub fn wait_for(&mut self, word: &str) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !self.said().contains(word) {
            if let Some(status) = self.outside.try_wait()? {
                // All processes have ended, so nothing more will come.
                self.listener.take().map(JoinHandle::join);
                bail!("`{}` ended with {status}: {}", self.name, end_of(&self.said()));
            }
            if begun.elapsed() > PATIENCE {
                bail!(
                    "`{}` did not print `{word}` within {PATIENCE:?}: {}",
                    self.name,
                    end_of(&self.said())
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The program itself, the first process of its namespace.
    pub fn first_process(&self) -> anyhow::Result<u32> {
        children(self.outside.id())?.first().copied().context("it has ended")
    }

    /// Stops everything that it started, until it is switched off.
    pub fn freeze(&self) -> anyhow::Result<()> {
        let mut parents = vec![self.outside.id()];
        while let Some(parent) = parents.pop() {
            for child in children(parent)? {
                let pid = Pid::from_raw(child as i32).context("a process has no number")?;
                kill_process(pid, Signal::STOP)?;
                parents.push(child);
            }
        }
        Ok(())
    }

    /// Kills it and everything that it started, without warning. They are gone when this returns.
    pub fn switch_off(&mut self) {
        let _ = self.outside.kill();
        let _ = self.outside.wait();
        // Each of them holds stderr, which therefore ends with the last one.
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.switch_off();
    }
}

/// The processes that a process started.
fn children(parent: u32) -> anyhow::Result<Vec<u32>> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(&path).context(path)?;
    children.split_whitespace().map(|child| Ok(child.parse()?)).collect()
}

/// The last lines of a log.
pub fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// Reads and discards, so a full pipe never blocks the writer.
pub fn drain(mut stdout: ChildStdout) {
    std::thread::spawn(move || {
        let mut sink = [0; 4096];
        while stdout.read(&mut sink).is_ok_and(|bytes| bytes > 0) {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_ends_at_once() {
        const TEST: &str = "everything_ends_at_once";
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: {TEST}: needs root");
            return;
        }
        let nobody = Account { user: "nobody", group: "nogroup" };
        // A process that made a new session, as those of a server do, and holds stderr.
        let script = "setsid sleep 1000 & id -un >&2; wait";
        let (mut machine, _pipes) =
            Machine::start(nobody, &["sh", "-c", script].map(str::to_owned)).unwrap();
        machine.wait_for("nobody").unwrap();
        let begun = Instant::now();
        machine.switch_off();
        assert!(begun.elapsed() < Duration::from_secs(10));
        // A program that ended by itself is reported.
        let (mut machine, _pipes) =
            Machine::start(nobody, &["sh", "-c", "echo no >&2"].map(str::to_owned)).unwrap();
        let error = machine.wait_for("ready").unwrap_err().to_string();
        assert!(error.starts_with("`sh` ended with exit status: 0: no"), "{error}");
    }
}
