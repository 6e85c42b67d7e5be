//! `cargo xtask rig installation`: packages, installed on fresh systems.
//!
//! The .deb is installed, upgraded and purged in a minimal Debian of each release, where the programs
//! must run, `man` must show their pages, and a real shell must complete their arguments. The .rpm
//! must contain the same files. The sort's library must be ready for the registry of crates.
//!
//! | module | content |
//! | --- | --- |
//! | `debian_root` | a minimal Debian in a directory |
//! | `shells` | what Tab does in a real shell |

mod debian_root;
mod shells;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};

use super::Outcome;
use crate::build::target_directory;
use crate::command::output;
use crate::packages;
use crate::release::{self, Packages, Programs, Release};
use debian_root::Root;

/// Debian packages of the rig.
pub const PACKAGES: [&str; 6] =
    ["debootstrap", "lintian", "mount", "util-linux", "groff", "bsdutils"];

/// Reads the list of crates as a scanner would.
const SCANNER: [&str; 1] = ["cyclonedx-python-lib[json-validation]==11.5.0"];

/// The packages to install in each release of Debian besides those of every system. `man` shows the
/// pages; completions are tested in each installed shell.
const RELEASES: [(&str, &[&str]); 2] = [
    ("bookworm", &["man-db", "bash-completion", "zsh", "fish"]),
    ("bullseye", &["man-db", "bash-completion"]),
];

/// Older than any release.
const OLDER: &str = "0.0.1";

#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Test the packages in this directory, made of this commit by `cargo xtask package`, instead of
    /// making them
    #[arg(long, value_name = "DIR")]
    pub packages: Option<PathBuf>,

    /// Only tests whose names contain this, such as `rpm` or `bookworm`
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,
}

/// Builds the packages and tests them.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    packages::install(&release::PACKAGES)?;
    let release = Release::of_source()?;
    let work = tempfile::tempdir().context("cannot make a directory for the rig")?;
    let (programs, packages, directory) = if let Some(directory) = &options.packages {
        let packages = release.packed(directory)?;
        let programs = unpacked(&packages, &work.path().join("programs"))?;
        (programs, packages, directory.clone())
    } else {
        let directory = target_directory().join("packages");
        let programs = Programs::build()?;
        let packages = release.pack(&programs, &directory)?;
        (programs, packages, directory)
    };
    let older = Release { version: OLDER.to_owned(), ..release.clone() };
    let older = older.pack_deb(&programs, &work.path().join("older"))?;
    let mut outcome = Outcome::default();
    let mut test = |name: &str, test: &mut dyn FnMut() -> anyhow::Result<()>| {
        if !options.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str())) {
            return;
        }
        let begun = Instant::now();
        let result = test();
        let seconds = begun.elapsed().as_secs();
        match result {
            Ok(()) => {
                println!("passed  {name} ({seconds} s)");
                outcome.passed += 1;
            }
            Err(error) => {
                println!("FAILED  {name} ({seconds} s): {error:#}");
                outcome.failed += 1;
            }
        }
    };
    test("packing again gives the same bytes", &mut || {
        let again = release.pack(&programs, &work.path().join("again"))?;
        ensure!(again.sums == packages.sums, "{}\nthen\n{}", packages.sums, again.sums);
        Ok(())
    });
    test("lintian finds no error", &mut || lint(&packages));
    test("manual pages are clean", &mut || check_pages(&packages, work.path()));
    test("a scanner reads the list of crates", &mut || scan(&directory, &release));
    test("the rpm has the files of the deb", &mut || compare_files(&packages));
    test("the rpm installs, and leaves nothing", &mut || install_rpm(&packages, work.path()));
    test("the archive runs where it is unpacked", &mut || run_unpacked(&packages, work.path()));
    test("prefixsort is ready for the registry of crates", &mut || {
        let options =
            ["publish", "--dry-run", "--quiet", "--allow-dirty", "--package", "prefixsort"];
        output("cargo", &options).map(drop)
    });
    for (suite, programs) in RELEASES {
        let name = |what: &str| format!("{suite}: {what}");
        let root = Root::prepare(suite, programs)?;
        test(&name("the deb installs, runs and is purged"), &mut || {
            install_deb(&root, &older, &packages, &release)
        });
        let root = root.again()?;
        root.install(&packages.deb)?;
        test(&name("man shows the pages"), &mut || show_pages(&root));
        for shell in shells::ALL {
            if root.has(shell.program()) {
                test(&name(&format!("Tab in {}", shell.program())), &mut || shell.test(&root));
            }
        }
    }
    Ok(outcome)
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is not valid UTF-8", path.display()))
}

/// Errors only: a warning may be a matter of taste.
fn lint(packages: &Packages) -> anyhow::Result<()> {
    output("lintian", &["--allow-root", "--fail-on", "error", text(&packages.deb)?]).map(drop)
}

/// Every page, by the checks of groff, which prints what it does not understand.
fn check_pages(packages: &Packages, work: &Path) -> anyhow::Result<()> {
    let unpacked = work.join("pages");
    output("dpkg-deb", &["--extract", text(&packages.deb)?, text(&unpacked)?])?;
    let script = "cd \"$0\"; n=0; for page in *.1.gz; do \
                  zcat \"$page\" | groff -man -Tutf8 -Kutf8 -ww -z || exit 1; n=$((n+1)); done; \
                  echo $n";
    let pages = unpacked.join("usr/share/man/man1");
    let command = std::process::Command::new("sh")
        .args(["-c", script, text(&pages)?])
        .output()
        .context("cannot start sh")?;
    let said = String::from_utf8_lossy(&command.stderr);
    ensure!(command.status.success() && said.is_empty(), "groff: {said}");
    let count: usize = String::from_utf8_lossy(&command.stdout).trim().parse()?;
    ensure!(count > 40, "only {count} pages");
    Ok(())
}

fn scan(directory: &Path, release: &Release) -> anyhow::Result<()> {
    let python = packages::python("scanner", &SCANNER)?.join("python");
    let list = directory.join(release.bom_name());
    let script = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(str(error) if error else 0)";
    output(text(&python)?, &["-c", script, text(&list)?]).map(drop)
}

/// The files of a package, without directories.
fn files_of(list: &str) -> BTreeSet<String> {
    list.lines().filter(|line| !line.ends_with('/')).map(str::to_owned).collect()
}

fn compare_files(packages: &Packages) -> anyhow::Result<()> {
    let deb = output("dpkg-deb", &["--contents", text(&packages.deb)?])?;
    // Mode, owner, size, date, time, and the path from the dot on; a link has its target after it.
    let path = |line: &str| {
        let path = line.split_once(" ./").map(|(_, path)| format!("/{path}"))?;
        Some(path.split(" -> ").next().unwrap_or_default().to_owned())
    };
    let deb = files_of(&deb.lines().filter_map(path).collect::<Vec<_>>().join("\n"));
    let rpm = output(
        "rpm",
        &[
            "--query",
            "--package",
            "--queryformat",
            "[%{FILEMODES:perms} %{FILENAMES}\n]",
            text(&packages.rpm)?,
        ],
    )?;
    let rpm: BTreeSet<String> = rpm
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(mode, _)| !mode.starts_with('d'))
        .map(|(_, path)| path.to_owned())
        .collect();
    ensure!(deb.len() > 50, "only {} files", deb.len());
    let differ: Vec<&String> = deb.symmetric_difference(&rpm).collect();
    ensure!(differ.is_empty(), "only one of them has {differ:?}");
    Ok(())
}

fn install_rpm(packages: &Packages, work: &Path) -> anyhow::Result<()> {
    let root = work.join("rpm-root");
    std::fs::create_dir_all(&root)?;
    let root = text(&root)?;
    let requires = output("rpm", &["--query", "--package", "--requires", text(&packages.rpm)?])?;
    ensure!(requires.contains("libc.so.6(GLIBC_2."), "it requires no C library: {requires}");
    // The root has no C library and no shell for scripts.
    let options = ["--root", root, "--nodeps", "--noscripts"];
    output("rpm", &[&["--install"], &options[..], &[text(&packages.rpm)?]].concat())?;
    output("rpm", &["--root", root, "--verify", "--nodeps", "flushmark"])?;
    let program = format!("{root}/usr/bin/flushmark");
    output(&program, &["check", "sim:consumer-nvme", "--quiet"])?;
    output("rpm", &[&["--erase"], &options[..], &["flushmark"]].concat())?;
    // The list of packages is in one of these, depending on the distribution.
    let lists = ["-not", "-path", "*/rpm/*", "-not", "-path", "*/.rpmdb/*"];
    let files = [&[root, "-not", "-type", "d"], &lists[..]].concat();
    let left = output("find", &files)? + &output("find", &[root, "-name", "flushmark*"])?;
    ensure!(left.is_empty(), "left behind: {left}");
    Ok(())
}

/// Unpacks the archive, as a user does into `/usr/local`.
fn unpacked(packages: &Packages, directory: &Path) -> anyhow::Result<Programs> {
    std::fs::create_dir_all(directory)?;
    let options = ["--strip-components=1", "--directory", text(directory)?, "--extract", "--file"];
    output("tar", &[&options[..], &[text(&packages.archive)?]].concat())?;
    let program = |name: &str| directory.join("bin").join(name);
    Ok(Programs { flushmark: program("flushmark"), prefixsort: program("prefixsort") })
}

fn run_unpacked(packages: &Packages, work: &Path) -> anyhow::Result<()> {
    let directory = work.join("local");
    let programs = unpacked(packages, &directory)?;
    let check = output(text(&programs.flushmark)?, &["check", "sim:consumer-nvme", "--quiet"])?;
    ensure!(check.contains("sim:consumer-nvme"), "{check}");
    let page = directory.join("share/man/man1/flushmark-check.1.gz");
    ensure!(page.is_file(), "{} is missing", page.display());
    Ok(())
}

/// Installs an older version, then this one, uses it and removes it with all that it has left.
fn install_deb(
    root: &Root,
    older: &Path,
    packages: &Packages,
    release: &Release,
) -> anyhow::Result<()> {
    let before = root.files()?;
    root.install(older)?;
    let installed = || root.run("dpkg-query --show --showformat='${Version} ${Status}' flushmark");
    let expect = |version: &str| {
        let found = installed()?;
        ensure!(found == format!("{version}-1 install ok installed"), "{found}");
        Ok(())
    };
    expect(OLDER)?;
    // Settings of the administrator survive an upgrade.
    root.run("echo FLUSHMARK_TARGETS=/srv > /etc/flushmark/check.conf")?;
    root.install(&packages.deb)?;
    expect(&release.version)?;
    let settings =
        root.run("cat /etc/flushmark/check.conf; stat -c %a /etc/flushmark/check.conf")?;
    ensure!(settings == "FLUSHMARK_TARGETS=/srv\n600", "the settings are now {settings:?}");
    let version = root.run("flushmark --version")?;
    let first = version.lines().next().unwrap_or_default();
    ensure!(first == format!("flushmark {}", release.version), "{version}");
    ensure!(version.contains("commit: "), "{version}");
    let check = root.run("flushmark check sim:consumer-nvme --quiet")?;
    ensure!(check.contains("Fit for\n"), "{check}");
    let sorted = root.run("printf 'b\\na\\n' | prefixsort")?;
    ensure!(sorted == "a\nb", "{sorted}");
    let smoke = root.run("flushmark check /srv --smoke --quiet")?;
    ensure!(smoke.contains("write + fsync"), "{smoke}");
    root.run("mkdir -p /var/lib/flushmark && touch /var/lib/flushmark/results.db")?;
    root.run("dpkg --purge flushmark")?;
    let after = root.files()?;
    let left: Vec<&String> = after.difference(&before).collect();
    ensure!(left.is_empty(), "left behind: {left:?}");
    let lost: Vec<&String> = before.difference(&after).collect();
    ensure!(lost.is_empty(), "files of others were removed: {lost:?}");
    Ok(())
}

fn show_pages(root: &Root) -> anyhow::Result<()> {
    let page = |name: &str| root.run(&format!("MANWIDTH=80 man {name} | col --no-backspaces"));
    let check = page("flushmark-check")?;
    for expected in ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "--fail-on"] {
        ensure!(check.contains(expected), "flushmark-check(1) has no {expected}: {check}");
    }
    ensure!(page("flushmark-results-list")?.contains("--since"), "flushmark-results-list(1)");
    ensure!(page("flushmark")?.contains("flushmark-check(1)"), "flushmark(1)");
    ensure!(page("prefixsort")?.contains("--buffer-size"), "prefixsort(1)");
    let found = root.run("mandb --quiet; man --whatis flushmark-check")?;
    ensure!(found.contains("commit"), "whatis: {found}");
    Ok(())
}
