//! Debian packages.

use crate::command::{is_there, shown};

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
    let is_missing = |package: &&str| !is_there("dpkg-query", &["--status", package]);
    packages.iter().copied().filter(is_missing).collect()
}

fn install_all(packages: &[&str]) -> anyhow::Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let options = ["install", "--yes", "--quiet", "--no-install-recommends"];
    shown("apt-get", &[&options[..], packages].concat())
}
