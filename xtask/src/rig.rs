//! `cargo xtask rig`: real components above drives that the machine at hand does not have.
//!
//! | module | its job |
//! | --- | --- |
//! | `qemu` | Debian's kernel above drives of every kind |
//! | `databases` | databases above an emulated drive that loses its power |
//! | `latency` | emulated drives beside their models and beside what was published |

pub mod databases;
pub mod latency;
pub mod qemu;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;

use crate::command::{self, root};
use crate::test;

/// What can be set up.
#[derive(Debug, Subcommand)]
pub enum Rig {
    /// Debian's kernel in a QEMU machine (software emulation) with NVMe, SATA, SAS, RAID, USB and virtio drives; needs root for the packages only
    Qemu(qemu::Options),
    /// SQLite, PostgreSQL and MariaDB on an emulated drive that loses its power: is what they acknowledged there? Needs root
    Databases(databases::Options),
    /// Emulated drives measured by fio, beside their models and beside published rows. Needs root, and a quiet machine
    Latency(latency::Options),
}

impl Rig {
    /// Installs what it needs, and runs it.
    pub fn run(&self) -> anyhow::Result<Outcome> {
        match self {
            Rig::Qemu(options) => {
                test::install(&qemu::PACKAGES)?;
                qemu::run(options)
            }
            Rig::Databases(options) => {
                test::install(&databases::PACKAGES)?;
                databases::run(options)
            }
            Rig::Latency(options) => {
                test::install(&latency::PACKAGES)?;
                latency::run(options)
            }
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
}

/// The real binary, as the tests build it: with one of them beside it, because what the tests' crates switch on in others holds for the whole build, and without it most
/// crates would be compiled anew.
fn build() -> anyhow::Result<PathBuf> {
    built(&["build", "--quiet", "--workspace", "--bin", "flushmark", "--test", "architecture"], "debug")
}

/// The real binary, as people run it: what is measured.
pub fn build_release() -> anyhow::Result<PathBuf> {
    built(&["build", "--quiet", "--release", "--package", "flushmark"], "release")
}

fn built(cargo: &[&str], profile: &str) -> anyhow::Result<PathBuf> {
    command::shown("cargo", cargo)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let binary = target.join(profile).join("flushmark");
    binary.canonicalize().with_context(|| format!("no binary at {}", binary.display()))
}
