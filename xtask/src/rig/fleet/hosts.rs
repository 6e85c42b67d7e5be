//! The hosts, laid out by `fleet/tests/hosts.sh`, with their drives.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use rustix::fs::{FlockOperation, flock};

use super::{Interruption, LAYOUT, Layout, PATIENCE, Running, server};
use crate::command::root;

/// Capacity of each drive. Its cache of fast cells shrinks with it, and must outlast the rig.
const CAPACITY: &str = "64GiB";

/// The names of all hosts.
pub fn names() -> Vec<&'static str> {
    LAYOUT.iter().map(|layout| layout.host).collect()
}

fn script() -> PathBuf {
    root().join("fleet/tests/hosts.sh")
}

/// The directory of the hosts and everything else of the rig, in memory. Only one rig at a time has it.
pub struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Removes what a rig that was killed has left.
    pub fn create() -> anyhow::Result<Directory> {
        let path = std::env::temp_dir().join("flushmark-rig-fleet");
        let lock = path.with_extension("lock");
        let lock =
            File::create(&lock).with_context(|| format!("cannot create {}", lock.display()))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another fleet rig runs on this machine, and there is one bridge for its hosts");
        }
        let directory = Directory { path, _lock: lock };
        if directory.path.exists() {
            directory.remove();
        }
        ensure!(!directory.path.exists(), "cannot remove {}", directory.path.display());
        Ok(directory)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn remove(&self) {
        let stopped = Command::new(script()).arg("stop").arg(&self.path).status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("{} stop {} failed", script().display(), self.path.display());
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Running hosts. Their drives are stopped when it is dropped, the hosts with their directory.
pub struct Hosts {
    directory: PathBuf,
    interruption: Interruption,
}

impl Hosts {
    pub fn start(directory: &Path, interruption: &Interruption) -> anyhow::Result<Hosts> {
        let mut start = Command::new(script());
        interruption.text(start.arg("start").arg(directory).args(names()))?;
        let hosts = Hosts { directory: directory.to_owned(), interruption: interruption.clone() };
        let password = server::PASSWORD.replace('\\', r"\\").replace(':', r"\:");
        let write = format!("umask 077; cat >.pgpass <<'END'\n*:*:*:*:{password}\nEND");
        hosts.on_all(|_| write.clone())?;
        Ok(hosts)
    }

    /// A shell of the ordinary user of a host.
    pub fn command(&self, host: &str, script: &str) -> anyhow::Result<Command> {
        let mut command = Command::new("ssh");
        let known_hosts = self.directory.join("known_hosts");
        command.arg("-i").arg(self.directory.join("key")).args([
            "-o",
            &format!("UserKnownHostsFile={}", known_hosts.display()),
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=10",
            &format!("bench@{}", self.address(host)?),
            script,
        ]);
        Ok(command)
    }

    /// Runs a script on a host, which must succeed, and returns its stdout.
    pub fn on(&self, host: &str, script: &str) -> anyhow::Result<String> {
        let text = self.interruption.text(&mut self.command(host, script)?);
        text.with_context(|| format!("on {host}"))
    }

    /// Runs a script on every host at once, and returns what each printed.
    pub fn on_all(&self, script: impl Fn(&str) -> String) -> anyhow::Result<Vec<String>> {
        let running: Vec<Running> = names()
            .into_iter()
            .map(|host| Running::start(&mut self.command(host, &script(host))?))
            .collect::<anyhow::Result<_>>()?;
        running
            .into_iter()
            .zip(names())
            .map(|(running, host)| {
                let output = running.wait(&self.interruption)?;
                ensure!(output.status.success(), "on {host}: {}", super::said(&output));
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            })
            .collect()
    }

    /// The address in the inventory that `hosts.sh` wrote.
    pub fn address(&self, host: &str) -> anyhow::Result<String> {
        let inventory = std::fs::read_to_string(self.directory.join("inventory.ini"))?;
        let line =
            |line: &str| line.strip_prefix(host)?.strip_prefix(" ansible_host=").map(str::to_owned);
        inventory.lines().find_map(line).with_context(|| format!("{host} has no address"))
    }

    /// Starts a drive on a host, with ext4 that its user may write to.
    pub fn serve(&self, host: &str, letter: char, model: &str, cache: &str) -> anyhow::Result<()> {
        let unit = format!("drive-{letter}");
        let drive = format!("{model},write-cache={cache},capacity={CAPACITY}");
        let seconds = PATIENCE.as_secs();
        self.on(
            host,
            &format!(
                "set -e
                sudo mkdir -p /srv/{letter}
                sudo systemd-run --quiet --unit={unit} /home/bench/.local/bin/flushmark \
                    emulate {drive} --mount /srv/{letter} --quiet
                for attempt in $(seq {seconds}0); do
                    if mountpoint --quiet /srv/{letter}; then
                        sudo chown bench /srv/{letter}
                        exit 0
                    fi
                    systemctl is-active --quiet {unit} || break
                    sleep 0.1
                done
                sudo journalctl --quiet --unit {unit} >&2
                exit 1"
            ),
        )?;
        Ok(())
    }

    /// Takes the network link of a host down or up.
    pub fn link(&self, order: &str, host: &str) -> anyhow::Result<()> {
        let mut command = Command::new(script());
        self.interruption.text(command.arg(order).arg(&self.directory).arg(host)).map(drop)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for Layout { host, .. } in LAYOUT {
            let stop = "sudo systemctl stop 'fio-server*' 'drive-*'";
            let Ok(mut command) = self.command(host, stop) else { continue };
            // Waits even if the rig was interrupted: drives end in the right order, or leave loop
            // devices behind, which only then are detached by force.
            let stopped = command.stdin(std::process::Stdio::null()).output();
            if !stopped.is_ok_and(|output| output.status.success()) {
                eprintln!("the drives of {host} could not be stopped");
            }
        }
    }
}
