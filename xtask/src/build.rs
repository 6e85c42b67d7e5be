//! The project's own programs, built for measurements and rigs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context as _;

use crate::command::{root, shown};

/// A profile of `Cargo.toml`, which is also the name of its directory below `target`.
const DIST: &str = "dist";

/// `flushmark` as packages contain it, built at the first call.
pub fn flushmark() -> anyhow::Result<&'static Path> {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    if let Some(program) = PROGRAM.get() {
        return Ok(program);
    }
    let program = built(&["--profile", DIST, "--package", "flushmark"], DIST, "flushmark")?;
    Ok(PROGRAM.get_or_init(|| program))
}

/// `prefixsort` as packages contain it.
pub fn prefixsort() -> anyhow::Result<PathBuf> {
    built(&["--profile", DIST, "--package", "prefixsort-cli"], DIST, "prefixsort")
}

/// The program that runs the benchmarks of the sort.
pub fn sortbench() -> anyhow::Result<PathBuf> {
    built(&["--profile", DIST, "--package", "sortbench"], DIST, "sortbench")
}

/// `flushmark` as tests build it. It is built together with a test, because features that test
/// crates enable in others apply to the whole build; without that, most crates would be compiled
/// again.
pub fn flushmark_of_tests() -> anyhow::Result<PathBuf> {
    built(&["--workspace", "--bin", "flushmark", "--test", "architecture"], "debug", "flushmark")
}

fn built(options: &[&str], directory: &str, program: &str) -> anyhow::Result<PathBuf> {
    shown("cargo", &[&["build", "--quiet"], options].concat())?;
    let binary = target_directory().join(directory).join(program);
    binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))
}

/// The directory in which Cargo puts what it builds.
pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
