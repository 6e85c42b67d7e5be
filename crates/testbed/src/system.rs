//! System programs, and what this machine and its user can do.

use std::path::Path;
use std::process::Command;

/// Runs a system program, and returns its output on success.
///
/// # Errors
/// If it cannot be started, or fails; with what it printed on stderr.
pub fn system(program: &str, args: &[&str]) -> Result<String, String> {
    let output =
        Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!(
            "{program} {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }
}

/// The shell's own `kill`: the program is in a package (procps) that a small system lacks.
pub fn kill(args: &[&str]) -> Result<String, String> {
    system("sh", &[&["-c", "kill \"$@\"", "kill"], args].concat())
}

/// Copies a file so that every user can run it. Another process copies it: a file that this one
/// writes is also open for writing in a child that another test's thread forks meanwhile, and
/// cannot be run until that child has called `exec` (`ETXTBSY`).
pub fn install(file: &Path, place: &Path) {
    system("install", &["-m", "755", file.to_str().unwrap(), place.to_str().unwrap()]).unwrap();
}

pub fn entries(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Returns whether the test runs as root.
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// Returns whether the test runs as root; prints a message if not.
pub fn needs_root(test: &str) -> bool {
    if !is_root() {
        eprintln!("skipped: {test}: needs root");
    }
    is_root()
}

/// Returns whether a program of a Debian package is installed; prints a message if not.
pub fn needs_program(test: &str, program: &str, package: &str) -> bool {
    let there = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join(program).is_file());
    if !there {
        eprintln!("skipped: {test}: {program} is not installed (package {package})");
    }
    there
}
