//! Debian packages, and packages of PyPI.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::{output, shown};

/// Installs the Debian packages that are missing.
pub fn install(packages: &[&str]) -> anyhow::Result<()> {
    let missing = missing(packages);
    if missing.is_empty() {
        return Ok(());
    }
    shown("apt-get", &["update", "--quiet"])?;
    install_all(&missing)?;
    // apt removes what was there and conflicts with the new, such as tools of another version of
    // QEMU.
    install_all(&self::missing(packages))
}

fn missing<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    // A package that was removed may have left its configuration files, and then has a status too.
    let query = |package| output("dpkg-query", &["--show", "--showformat=${Status}", package]);
    let is_installed = |package| query(package).is_ok_and(|status| status.ends_with(" installed"));
    packages.iter().copied().filter(|package| !is_installed(package)).collect()
}

fn install_all(packages: &[&str]) -> anyhow::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let options = ["install", "--yes", "--quiet", "--no-install-recommends"];
    shown("apt-get", &[&options[..], packages].concat())
}

/// Installs packages of PyPI, each with its version (`NAME==VERSION`), in a virtual environment of
/// this name below the build directory, unless they are there. Returns the directory of their
/// programs. Needs the Debian package `python3-venv`.
pub fn python(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let environment = crate::build::target_directory().join("python").join(name);
    let (programs, note) = (environment.join("bin"), environment.join("packages"));
    let wanted = packages.join("\n");
    // Written last, so an installation that was interrupted is begun again.
    if std::fs::read_to_string(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    shown("/usr/bin/python3", &["-m", "venv", "--clear", path(&environment)?])?;
    let pip = programs.join("pip");
    let options = ["install", "--quiet", "--disable-pip-version-check", "--no-input"];
    shown(path(&pip)?, &[&options[..], packages].concat())?;
    std::fs::write(&note, wanted).with_context(|| format!("cannot write {}", note.display()))?;
    Ok(programs)
}

fn path(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is not valid UTF-8", path.display()))
}
