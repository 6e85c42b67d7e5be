//! The files of a package, as they are installed. Every package has the same.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::dependencies::Dependencies;
use super::portable::Programs;
use super::{Release, debian, licences, path};
use crate::command::{output, root};

pub const DOCS: &str = "usr/share/doc/flushmark";

/// The settings of the unit, which an administrator edits.
pub const SETTINGS: &str = "etc/flushmark/check.conf";

/// Documents of the repository, with their links among each other. `fleet` has files for other
/// tools, which are copied from there.
const DOCUMENTS: [&str; 7] =
    ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "docs", "schemas", "fleet"];

/// Puts the files below `work`, and returns their root.
pub fn stage(
    work: &Path,
    programs: &Programs,
    dependencies: &Dependencies,
    release: &Release,
) -> anyhow::Result<PathBuf> {
    let root = work.join("root");
    let tree = Tree { root: &root };
    for (name, program) in
        [("flushmark", &programs.flushmark), ("prefixsort", &programs.prefixsort)]
    {
        tree.copy(program, &format!("usr/bin/{name}"))?;
    }
    tree.manual(programs)?;
    tree.completions("flushmark", |shell| {
        output(path(&programs.flushmark)?, &["completions", shell])
    })?;
    tree.completions("prefixsort", |shell| {
        output(path(&programs.prefixsort)?, &["--generate", shell])
    })?;
    let units = source("fleet/systemd");
    for unit in ["flushmark-check.service", "flushmark-check.timer"] {
        tree.copy(&units.join(unit), &format!("usr/lib/systemd/system/{unit}"))?;
    }
    tree.copy(&units.join("check.conf"), SETTINGS)?;
    tree.documents(dependencies, release)?;
    tree.set_modes()?;
    Ok(root)
}

fn source(name: &str) -> PathBuf {
    root().join(name)
}

struct Tree<'a> {
    root: &'a Path,
}

impl Tree<'_> {
    /// The path of a file, whose directory is created.
    fn at(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.root.join(name);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
        }
        Ok(path)
    }

    fn copy(&self, from: &Path, name: &str) -> anyhow::Result<()> {
        fs::copy(from, self.at(name)?)
            .with_context(|| format!("cannot copy {}", from.display()))
            .map(drop)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        fs::write(self.at(name)?, text).with_context(|| format!("cannot write {name}"))
    }

    /// Writes a text, compressed without a date.
    fn write_compressed(&self, name: &str, text: &str) -> anyhow::Result<()> {
        self.write(name, text)?;
        output("gzip", &["--best", "--no-name", "--force", path(&self.root.join(name))?]).map(drop)
    }

    fn manual(&self, programs: &Programs) -> anyhow::Result<()> {
        let pages = self.at("usr/share/man/man1/flushmark.1")?;
        let directory = pages.parent().unwrap_or(self.root);
        output(path(&programs.flushmark)?, &["manual", path(directory)?])?;
        let page = output(path(&programs.prefixsort)?, &["--generate", "manual"])?;
        self.write("usr/share/man/man1/prefixsort.1", &page)?;
        let pages = files(directory)?;
        let pages: Vec<&str> = pages.iter().map(|page| path(page)).collect::<Result<_, _>>()?;
        output("gzip", &[&["--best", "--no-name", "--force"][..], &pages].concat()).map(drop)
    }

    fn completions(
        &self,
        program: &str,
        script: impl Fn(&str) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        self.write(&format!("usr/share/bash-completion/completions/{program}"), &script("bash")?)?;
        self.write(
            &format!("usr/share/fish/vendor_completions.d/{program}.fish"),
            &script("fish")?,
        )?;
        self.write(&format!("usr/share/zsh/site-functions/_{program}"), &script("zsh")?)?;
        // Debian's zsh looks here, Fedora's there.
        let debian = self.at(&format!("usr/share/zsh/vendor-completions/_{program}"))?;
        symlink(format!("../site-functions/_{program}"), debian).context("cannot make a link")
    }

    fn documents(&self, dependencies: &Dependencies, release: &Release) -> anyhow::Result<()> {
        for name in DOCUMENTS {
            let target = self.at(&format!("{DOCS}/{name}"))?;
            // Only what belongs to the repository, and no tests.
            let list = output("git", &["ls-files", "--", name])?;
            for file in list.lines().filter(|file| !file.starts_with("fleet/tests")) {
                self.copy(&source(file), &format!("{DOCS}/{file}"))?;
            }
            anyhow::ensure!(target.exists(), "{name} is not in the repository");
        }
        self.write_compressed(
            &format!("{DOCS}/third-party-licences.txt"),
            &licences::page(dependencies)?,
        )?;
        let changes = fs::read_to_string(source("CHANGELOG.md")).context("no CHANGELOG.md")?;
        self.write_compressed(&format!("{DOCS}/changelog"), &changes)?;
        self.write_compressed(&format!("{DOCS}/changelog.Debian"), &debian::changelog(release))?;
        self.write(&format!("{DOCS}/copyright"), &debian::copyright())?;
        self.write("usr/share/lintian/overrides/flushmark", debian::OVERRIDES)
    }

    /// Those of a fresh installation, whatever the umask here is.
    fn set_modes(&self) -> anyhow::Result<()> {
        let mut waiting = vec![self.root.to_owned()];
        while let Some(path) = waiting.pop() {
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_symlink() {
                continue;
            }
            let is_program = path.parent().is_some_and(|directory| directory.ends_with("usr/bin"));
            let mode = if metadata.is_dir() {
                for entry in fs::read_dir(&path)? {
                    waiting.push(entry?.path());
                }
                0o755
            } else if is_program {
                0o755
            } else if path.ends_with(SETTINGS) {
                // It may come to contain a password.
                0o600
            } else {
                0o644
            };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }
}

/// All files and links below a directory, sorted.
pub fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}
