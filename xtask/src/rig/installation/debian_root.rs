//! A minimal Debian in a directory, without a running system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::text;
use crate::build::target_directory;
use crate::command::output;

/// Changes by itself: logs, indices and the lists of the package manager.
const VOLATILE: [&str; 5] = ["/dev/", "/proc/", "/run/", "/tmp/", "/var/"];

/// The mirror from which this machine installs Debian's packages.
fn mirror() -> anyhow::Result<String> {
    let sites = output("apt-get", &["indextargets", "--format", "$(REPO_URI)"])?;
    let is_main = |site: &&str| site.trim_end_matches('/').ends_with("/debian");
    let mirror = sites.lines().find(is_main);
    mirror
        .map(str::to_owned)
        .context("apt has no mirror of Debian's packages; run `apt-get update`")
}

/// A copy of a fresh system, removed on drop.
pub struct Root {
    fresh: PathBuf,
    copy: tempfile::TempDir,
}

impl Root {
    /// Makes a system of this release, with further packages. Kept below the build directory,
    /// because it takes a minute.
    pub fn prepare(suite: &str, packages: &[&str]) -> anyhow::Result<Root> {
        let fresh = target_directory().join("debootstrap").join(suite);
        let done = fresh.join("var/lib/flushmark-rig");
        let wanted = packages.join(" ");
        if !std::fs::read_to_string(&done).is_ok_and(|packages| packages == wanted) {
            if fresh.exists() {
                std::fs::remove_dir_all(&fresh)?;
            }
            std::fs::create_dir_all(&fresh)?;
            let include = format!("--include={}", packages.join(","));
            let options = ["--variant=minbase", &include, suite, text(&fresh)?, &mirror()?];
            output("debootstrap", &options).context("cannot make a minimal Debian")?;
            // Written last, so a system that is not complete is made again.
            std::fs::write(&done, wanted)?;
        }
        Root::copy_of(fresh)
    }

    /// Another copy of the same fresh system.
    pub fn again(&self) -> anyhow::Result<Root> {
        Root::copy_of(self.fresh.clone())
    }

    fn copy_of(fresh: PathBuf) -> anyhow::Result<Root> {
        let copy = tempfile::tempdir_in(target_directory())?;
        output("cp", &["--archive", &format!("{}/.", text(&fresh)?), text(copy.path())?])?;
        Ok(Root { fresh, copy })
    }

    pub fn path(&self) -> &Path {
        self.copy.path()
    }

    pub fn has(&self, program: &str) -> bool {
        ["usr/bin", "bin"]
            .iter()
            .any(|directory| self.path().join(directory).join(program).exists())
    }

    /// A command of a shell in this system, with its own processes and mounts, which end with it.
    pub fn command(&self, script: &str) -> anyhow::Result<Command> {
        let mut command = Command::new("unshare");
        // Mounted on itself, because flushmark looks for the mount of its target, and there is none
        // in a plain directory. `script` needs terminals.
        let enter = "mount --bind \"$0\" \"$0\" && cd \"$0\" && mount -t proc proc proc && \
                     mount -t tmpfs tmpfs tmp && mount -t devpts -o ptmxmode=666 devpts dev/pts && \
                     mount --bind dev/pts/ptmx dev/ptmx && exec chroot . sh -c \"$1\"";
        command
            .args(["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"])
            .args(["sh", "-c", enter, text(self.path())?, script])
            .env_clear()
            .envs([
                ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
                ("HOME", "/root"),
                ("LC_ALL", "C.UTF-8"),
                ("TERM", "dumb"),
                ("DEBIAN_FRONTEND", "noninteractive"),
            ])
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs a command of a shell that must succeed; returns what it prints, without the last line
    /// break.
    pub fn run(&self, script: &str) -> anyhow::Result<String> {
        let output = self.command(script)?.output().context("cannot start unshare")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`{script}` ended with {}: {}",
            output.status,
            said.trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Installs a package, or upgrades to it.
    pub fn install(&self, package: &Path) -> anyhow::Result<()> {
        let file = package.file_name().and_then(|name| name.to_str()).context("no file")?;
        let copy = self.path().join("root").join(file);
        std::fs::copy(package, &copy).with_context(|| format!("cannot copy {file}"))?;
        let installed = self.run(&format!("dpkg --force-confold --install /root/{file}"));
        std::fs::remove_file(&copy)?;
        installed.map(drop)
    }

    /// All files but those that change by themselves.
    pub fn files(&self) -> anyhow::Result<BTreeSet<String>> {
        let list = self.run("find / -xdev")?;
        // Written by the rig, or by the programs under test.
        let is_ours = |path: &str| path.starts_with("/var/lib/flushmark");
        let changes =
            |path: &str| VOLATILE.iter().any(|begin| path.starts_with(begin)) && !is_ours(path);
        Ok(list.lines().filter(|path| !changes(path)).map(str::to_owned).collect())
    }
}
