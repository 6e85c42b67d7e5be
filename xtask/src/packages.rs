//! Debian packages.

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
