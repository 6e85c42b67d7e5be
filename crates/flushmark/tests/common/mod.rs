//! Shared by the end-to-end tests of flushmark. What the tests of other programs use as well is in
//! the crate `testbed`.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod cluster;
pub mod python;
pub mod served;
pub mod turn;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use testbed::*;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_flushmark");

/// The program under test.
pub fn flushmark() -> Command {
    let mut command = Command::new(PROGRAM);
    // Tests must neither write to a developer's own store nor read their catalogue.
    command.env("FLUSHMARK_STORE", "none").env("FLUSHMARK_CATALOGUE", "/nonexistent");
    command
}

/// Copies the program to this directory, where every user can run it.
pub fn install_program(directory: &Path) -> PathBuf {
    testbed::install_program(Path::new(PROGRAM), directory)
}

/// Runs of the program as an ordinary user; `None`, with a message, without root.
pub fn nobody(test: &str) -> Option<Nobody> {
    Nobody::new(test, Path::new(PROGRAM))
}

/// Runs the program with these arguments.
pub fn run(args: &[&str]) -> Run {
    Run::of(flushmark().args(args).output().unwrap())
}

/// A plan in a separate file.
pub fn plan(directory: &Path, text: &str) -> String {
    let path = directory.join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

/// Returns whether this machine can mount FUSE; prints a message if not.
pub fn needs_fuse(test: &str) -> bool {
    let there = Path::new("/dev/fuse").exists();
    if !there {
        eprintln!("skipped: {test}: the kernel has no FUSE");
    }
    there
}

/// Returns whether ordinary users can mount FUSE here; prints a message if not.
pub fn needs_fusermount(test: &str) -> bool {
    needs_fuse(test) && needs_program(test, "fusermount3", "fuse3")
}

/// Returns whether a filesystem can be created here; prints a message if not.
pub fn needs_mkfs(test: &str, filesystem: &str) -> bool {
    let package = match filesystem {
        "xfs" => "xfsprogs",
        "btrfs" => "btrfs-progs",
        _ => "e2fsprogs",
    };
    needs_program(test, &format!("mkfs.{filesystem}"), package)
}

/// Returns whether emulated drives can be mounted here; prints a message if not.
pub fn needs_mounts(test: &str) -> bool {
    needs_root(test) && needs_fuse(test)
}

/// A directory in memory, like a user's runtime directory; prints a message if there is none.
pub fn memory(test: &str) -> Option<tempfile::TempDir> {
    let made = tempfile::tempdir_in("/dev/shm");
    if let Err(reason) = &made {
        eprintln!("skipped: {test}: no directory in memory: /dev/shm: {reason}");
    }
    made.ok()
}

/// Returns whether tests with real components from packages may run; prints a message if not.
pub fn needs_rigs(test: &str) -> bool {
    let rigs = std::env::var_os("FLUSHMARK_RIGS").is_some();
    if !rigs {
        eprintln!("skipped: {test}: needs packages that `cargo xtask test --rigs` installs");
    }
    rigs && needs_root(test)
}

/// A real Chromium; `None`, with a message, if it is not installed.
pub fn browser(test: &str) -> Option<chromium::Browser> {
    match chromium::Browser::start() {
        Ok(browser) => Some(browser),
        Err(chromium::ChromiumError::NotInstalled) => {
            eprintln!("skipped: {test}: {}", chromium::ChromiumError::NotInstalled);
            None
        }
        Err(error) => panic!("{error}"),
    }
}
