//! `cargo xtask package`: what users install, in `target/packages`.
//!
//! Every package contains the same tree of files. The date in packages and in their files is that of
//! the commit, so building them again gives the same bytes.
//!
//! | module | content |
//! | --- | --- |
//! | `portable` | the programs, built for old distributions |
//! | `dependencies` | the crates that are compiled into them |
//! | `licences` | the licences of those crates |
//! | `bom` | the list of those crates for scanners (CycloneDX) |
//! | `tree` | the files of a package, as they are installed |
//! | `debian`, `rpm` | packages of the two families of distributions |

mod bom;
mod debian;
mod dependencies;
mod licences;
mod portable;
mod rpm;
mod tree;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;

use crate::build::target_directory;
use crate::command::output;
use dependencies::Dependencies;

pub use portable::Programs;

/// The Debian packages that packages are made with.
pub const PACKAGES: [&str; 4] = ["binutils", "dpkg-dev", "python3-venv", "rpm"];

/// The file with the checksums.
const SUMS: &str = "SHA256SUMS";

/// The crates of the programs.
const PROGRAMS: [&str; 2] = ["flushmark", "prefixsort-cli"];

/// The version to package.
#[derive(Debug, Clone)]
pub struct Release {
    pub version: String,
    /// The time of the commit.
    pub date: Timestamp,
}

/// The packages of a release.
#[derive(Debug)]
pub struct Packages {
    pub deb: PathBuf,
    pub rpm: PathBuf,
    pub archive: PathBuf,
    /// The checksums of all of them, as `sha256sum` prints them.
    pub sums: String,
}

impl Release {
    /// The release that this source would be.
    pub fn of_source() -> anyhow::Result<Release> {
        let seconds = output("git", &["log", "-1", "--format=%ct"])?;
        let seconds = seconds.trim().parse().context("cannot read the time of the commit")?;
        let date = Timestamp::from_second(seconds).context("the time of the commit is invalid")?;
        Ok(Release { version: env!("CARGO_PKG_VERSION").to_owned(), date })
    }

    /// Makes the packages in a directory, which is emptied first.
    pub fn pack(&self, programs: &Programs, directory: &Path) -> anyhow::Result<Packages> {
        if directory.exists() {
            std::fs::remove_dir_all(directory)
                .with_context(|| format!("cannot empty {}", directory.display()))?;
        }
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let dependencies = Dependencies::of(&PROGRAMS)?;
        let bom = directory.join(self.bom_name());
        write(&bom, &bom::document(&dependencies, self)?)?;
        let work = work()?;
        let root = tree::stage(work.path(), programs, &dependencies, self)?;
        let deb = debian::pack(&root, self, directory)?;
        let rpm = rpm::pack(&root, work.path(), self, directory)?;
        let archive = self.archive(&root, directory)?;
        let names = [&bom, &deb, &rpm, &archive].map(|path| name(path));
        let sums = in_directory(directory, "sha256sum", &names)?;
        write(&directory.join(SUMS), &sums)?;
        Ok(Packages { deb, rpm, archive, sums })
    }

    /// The packages that [`Release::pack`] has made in a directory. An error if they are of another
    /// version, or not as they were made.
    pub fn packed(&self, directory: &Path) -> anyhow::Result<Packages> {
        in_directory(directory, "sha256sum", &["--check", "--quiet", SUMS])?;
        let sums = std::fs::read_to_string(directory.join(SUMS))
            .with_context(|| format!("cannot read {SUMS}"))?;
        let file = |name: String| {
            anyhow::ensure!(sums.contains(&name), "{SUMS} lists no {name}");
            Ok(directory.join(name))
        };
        Ok(Packages {
            deb: file(debian::file_name(self))?,
            rpm: file(rpm::file_name(self))?,
            archive: file(format!("{}.tar.gz", self.archive_name()))?,
            sums,
        })
    }

    /// Makes only the package for Debian.
    pub fn pack_deb(&self, programs: &Programs, directory: &Path) -> anyhow::Result<PathBuf> {
        let dependencies = Dependencies::of(&PROGRAMS)?;
        let work = work()?;
        let root = tree::stage(work.path(), programs, &dependencies, self)?;
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        debian::pack(&root, self, directory)
    }

    /// The list of crates for scanners.
    pub fn bom_name(&self) -> String {
        format!("flushmark-{}.cdx.json", self.version)
    }

    /// The archive, and the directory in it.
    fn archive_name(&self) -> String {
        format!("flushmark-{}-{}", self.version, portable::TARGET)
    }

    /// The programs and their files without a package manager: unpacked into `/usr/local`, it works.
    fn archive(&self, root: &Path, directory: &Path) -> anyhow::Result<PathBuf> {
        let name = self.archive_name();
        let archive = directory.join(format!("{name}.tar.gz"));
        let (date, renamed) =
            (format!("--mtime=@{}", self.date.as_second()), format!("--transform=s,^\\.,{name},"));
        let root = root.join("usr");
        let options = [
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--format=gnu",
            &date,
            &renamed,
            "--use-compress-program=gzip --best --no-name",
            "--create",
            "--file",
            path(&archive)?,
            "--directory",
            path(&root)?,
            ".",
        ];
        output("tar", &options)?;
        Ok(archive)
    }
}

/// Builds the programs and packs them.
pub fn run() -> anyhow::Result<()> {
    crate::packages::install(&PACKAGES)?;
    let release = Release::of_source()?;
    let programs = Programs::build()?;
    let directory = target_directory().join("packages");
    let packages = release.pack(&programs, &directory)?;
    print!("{}", packages.sums);
    println!("in {}", directory.display());
    Ok(())
}

/// A directory for files that are needed only while packages are made.
fn work() -> anyhow::Result<tempfile::TempDir> {
    tempfile::tempdir().context("cannot make a directory for the packages")
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn path(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is not valid UTF-8", path.display()))
}

/// The stdout of a program that runs in a directory, such as one that prints names of files as it
/// gets them.
fn in_directory(directory: &Path, program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = std::process::Command::new(program)
        .args(args)
        .current_dir(directory)
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    anyhow::ensure!(
        output.status.success(),
        "{program} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
