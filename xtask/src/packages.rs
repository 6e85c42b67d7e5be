//! Debian packages.

use crate::command::{is_there, shown};

/// Installs the Debian packages that are missing.
pub fn install(packages: &[&str]) -> anyhow::Result<()> {
    let missing: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|package| !is_there("dpkg-query", &["--status", package]))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    shown("apt-get", &["update", "--quiet"])?;
    let mut args = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    args.extend(missing);
    shown("apt-get", &args)
}
