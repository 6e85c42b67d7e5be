//! Starting other programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A program to be run at the root of the repository.
pub fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs it with its output shown.
pub fn shown(program: &str, args: &[&str]) -> anyhow::Result<()> {
    eprintln!("$ {program} {}", args.join(" "));
    let status = command(program, args).status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} ended with {status}", args.join(" "));
    }
    Ok(())
}

/// Runs it and returns what it printed.
pub fn output(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = command(program, args).output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!(
            "{program} {} ended with {}: {}",
            args.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program of that name is there and starts.
pub fn is_there(program: &str, args: &[&str]) -> bool {
    let mut command = command(program, args);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
