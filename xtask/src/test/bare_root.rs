//! Runs tests on a root filesystem with the toolchain and little else, whatever is installed on
//! this machine.
//!
//! In a mount namespace, the directories of programs are replaced by copies that contain only what
//! Debian's essential and required packages provide (what `debootstrap --variant=minbase`
//! installs), and the C compiler that Rust's toolchain links with. Libraries stay. `PATH` stays,
//! too, because changing it would make build scripts run again; other programs in it are hidden in
//! place.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustix::mount::{MountFlags, mount, mount_bind};

use crate::command::{command, is_there, output};

/// Directories of Debian's programs, as `dpkg` and the tests know them.
const SYSTEM: [&str; 2] = ["/usr/bin", "/usr/sbin"];
/// Programs and data that packages keep elsewhere.
const ELSEWHERE: [&str; 5] =
    ["/usr/local/bin", "/usr/local/sbin", "/usr/lib/postgresql", "/usr/lib/chromium", "/opt"];
/// Rust links with the C compiler, which calls the others; Debian packages Rust, too.
const TOOLCHAIN: [&str; 8] = ["cargo", "rustc", "rustdoc", "cc", "gcc", "as", "ld", "ar"];

/// Why a bare root is impossible here; `None` if it is possible.
pub fn unavailable() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        Some("a mount namespace requires root")
    } else if !is_there("dpkg-query", &["--version"]) {
        Some("dpkg-query is missing, which lists the programs of a small system")
    } else if !is_there("unshare", &["--mount", "true"]) {
        Some("mount namespaces are not allowed here")
    } else {
        None
    }
}

/// A command of this program that enters a bare root and runs another command there.
pub fn wrapped(inner: &[&str]) -> Command {
    // This very program, even if a build has replaced its file.
    let this = format!("/proc/{}/exe", std::process::id());
    let outer = ["--mount", "--propagation", "private", "--", &this, "bare-root", "--"];
    command("unshare", &[&outer[..], inner].concat())
}

/// Makes the root of this mount namespace bare and replaces this process by a command.
///
/// # Errors
/// If that is impossible, or if this is the mount namespace of the whole system.
pub fn enter(inner: &[OsString]) -> anyhow::Result<()> {
    let (program, args) = inner.split_first().context("no command to run in the bare root")?;
    let namespace = |process: &str| {
        let path = format!("/proc/{process}/ns/mnt");
        fs::read_link(&path).with_context(|| format!("cannot read {path}"))
    };
    // Paths that are hidden here must not be hidden from the parent process.
    let parent = rustix::process::getppid().context("the parent process is gone")?;
    ensure!(
        namespace("self")? != namespace(&parent.as_raw_nonzero().to_string())?,
        "this mount namespace is shared with other processes: start the command with `unshare \
         --mount`"
    );
    hide()?;
    // Returns only on error.
    let error = Command::new(program).args(args).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

fn hide() -> anyhow::Result<()> {
    let kept = kept()?;
    let stage = tempfile::tempdir().context("cannot make a directory to mount on")?;
    for directory in SYSTEM {
        let stage = stage.path();
        mount_tmpfs(stage)?;
        for path in kept.iter().filter(|path| path.parent() == Some(Path::new(directory))) {
            let copy = stage.join(path.file_name().unwrap_or_default());
            let copied = match fs::read_link(path) {
                Ok(target) => symlink(target, &copy),
                Err(_) => fs::copy(path, &copy).map(drop),
            };
            copied.with_context(|| format!("cannot copy {}", path.display()))?;
        }
        mount_bind(stage, directory).with_context(|| format!("cannot mount on {directory}"))?;
        rustix::mount::unmount(stage, rustix::mount::UnmountFlags::DETACH)
            .with_context(|| format!("cannot unmount {}", stage.display()))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path);
    let system: Vec<PathBuf> =
        SYSTEM.iter().filter_map(|directory| fs::canonicalize(directory).ok()).collect();
    for directory in ELSEWHERE.iter().map(PathBuf::from).chain(others) {
        // Missing, or a link to something hidden already.
        let Ok(directory) = fs::canonicalize(&directory) else { continue };
        if directory.is_dir() && !system.contains(&directory) && !holds_toolchain(&directory) {
            mount_tmpfs(&directory)?;
        }
    }
    Ok(())
}

fn holds_toolchain(directory: &Path) -> bool {
    ["cargo", "rustc"].iter().any(|program| directory.join(program).exists())
}

fn mount_tmpfs(at: &Path) -> anyhow::Result<()> {
    mount("flushmark-bare", at, "tmpfs", MountFlags::empty(), None)
        .with_context(|| format!("cannot mount a tmpfs on {}", at.display()))
}

/// The programs that stay, as canonical paths.
fn kept() -> anyhow::Result<BTreeSet<PathBuf>> {
    let format = "--showformat=${Package}\t${Essential}\t${Priority}\n";
    let packages = output("dpkg-query", &["--show", format])?;
    let packages = small_system(&packages);
    let files = output("dpkg-query", &[&["--listfiles"], &packages[..]].concat())?;
    let mut kept = BTreeSet::new();
    for file in files.lines().filter(|line| line.contains("bin/")) {
        keep(Path::new(file), &mut kept);
    }
    for program in TOOLCHAIN {
        keep(&Path::new("/usr/bin").join(program), &mut kept);
    }
    // Alternatives, such as awk, do not belong to any package.
    for directory in SYSTEM {
        for entry in fs::read_dir(directory).with_context(|| format!("cannot list {directory}"))? {
            let path = entry?.path();
            if path.is_symlink()
                && fs::canonicalize(&path).is_ok_and(|target| kept.contains(&target))
            {
                keep(&path, &mut kept);
            }
        }
    }
    Ok(kept)
}

/// The packages that every Debian system has.
fn small_system(packages: &str) -> Vec<&str> {
    packages
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let (package, essential, priority) = (fields.next()?, fields.next()?, fields.next()?);
            (essential == "yes" || priority == "required").then_some(package)
        })
        .collect()
}

/// Keeps a program and, if it is a link, everything that it leads to.
fn keep(path: &Path, kept: &mut BTreeSet<PathBuf>) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(directory) = fs::canonicalize(directory) else { return };
    let path = directory.join(name);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() => drop(kept.insert(path)),
        Ok(metadata) if metadata.is_symlink() => {
            if let Ok(target) = fs::read_link(&path)
                && kept.insert(path)
            {
                keep(&directory.join(target), kept);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_what_is_essential_or_required() {
        let packages = "bash\tyes\trequired\nmount\tno\trequired\nxfsprogs\tno\toptional\nfuse3\tno\toptional\nx\n";
        assert_eq!(small_system(packages), ["bash", "mount"]);
    }

    #[test]
    fn links_are_kept_with_all_that_they_lead_to() {
        let directory = tempfile::tempdir().unwrap();
        let directory = fs::canonicalize(directory.path()).unwrap();
        let path = |name: &str| directory.join(name);
        fs::create_dir(path("alternatives")).unwrap();
        fs::write(path("gcc-12"), "").unwrap();
        fs::write(path("fio"), "").unwrap();
        symlink("gcc-12", path("gcc")).unwrap();
        symlink(path("gcc"), path("alternatives/cc")).unwrap();
        symlink("alternatives/cc", path("cc")).unwrap();
        symlink("itself", path("itself")).unwrap();
        let mut kept = BTreeSet::new();
        for name in ["cc", "itself", "missing"] {
            keep(&path(name), &mut kept);
        }
        let names = ["alternatives/cc", "cc", "gcc", "gcc-12", "itself"].map(path);
        assert_eq!(kept, BTreeSet::from(names));
    }
}
