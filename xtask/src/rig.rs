//! `cargo xtask rig`: real components above drives that the machine at hand does not have.
//!
//! | module | its job |
//! | --- | --- |
//! | `qemu` | Debian's kernel above drives of every kind |
//! | `databases` | databases above an emulated drive that loses its power |

pub mod databases;
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

/// The real binary, as the tests build it.
fn build() -> anyhow::Result<PathBuf> {
    command::shown("cargo", &["build", "--quiet", "--package", "flushmark"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let binary = target.join("debug/flushmark");
    binary.canonicalize().with_context(|| format!("no binary at {}", binary.display()))
}
