//! `cargo xtask rig`: real components on drives that this machine does not have.
//!
//! | module | content |
//! | --- | --- |
//! | `qemu` | Debian's kernel on drives of every kind |
//! | `ceph` | a real Ceph cluster |
//! | `databases` | databases on an emulated drive that loses power |
//! | `fleet` | three hosts, measured with Ansible and collected in PostgreSQL |
//! | `installation` | packages, installed on fresh systems |
//! | `latency` | emulated drives compared with their models and with published figures |

pub mod ceph;
pub mod databases;
pub mod fleet;
pub mod installation;
pub mod latency;
pub mod qemu;

use clap::Subcommand;

use crate::packages;
use crate::test::Tally;

#[derive(Debug, Subcommand)]
pub enum Rig {
    /// Debian's kernel in a QEMU machine (software emulation) with NVMe, SATA, SAS, RAID, USB and
    /// virtio drives; needs root only for installing packages
    Qemu(qemu::Options),
    /// SQLite, PostgreSQL and MariaDB on an emulated drive that loses power: does everything they
    /// acknowledged survive? And what does a trace of them show? Needs root
    Databases(databases::Options),
    /// A real Ceph cluster on this machine, and the tests that need one. Needs root only for
    /// installing packages
    Ceph(ceph::Options),
    /// PostgreSQL and MariaDB on one emulated drive after the other, compared with what `flushmark
    /// db predict` predicts from the first. Needs root, and a quiet machine of two processors
    Predict(databases::predicted::Options),
    /// Three hosts on this machine with emulated drives, measured with Ansible, collected in
    /// PostgreSQL, and compared with fio's clients. Needs root, and a quiet machine
    Fleet(fleet::Options),
    /// Packages: made twice, checked, and installed, upgraded and removed on fresh systems, with
    /// manual pages and completions. Needs root, and Debian's packages
    Installation(installation::Options),
    /// Emulated drives measured by fio, compared with their models and with published rows. Needs
    /// root, and a quiet machine
    Latency(latency::Options),
}

impl Rig {
    /// Installs the packages that the rig needs, and runs it. The tests that it hands on to
    /// `cargo test` are counted there.
    pub fn run(&self, tally: &mut Tally) -> anyhow::Result<Outcome> {
        match self {
            Rig::Ceph(options) => {
                packages::install(&ceph::PACKAGES)?;
                ceph::run(options, tally)
            }
            Rig::Qemu(options) => {
                packages::install(&qemu::PACKAGES)?;
                qemu::run(options)
            }
            Rig::Databases(options) => {
                packages::install(&databases::PACKAGES)?;
                databases::run(options)
            }
            Rig::Predict(options) => {
                packages::install(&databases::PACKAGES)?;
                databases::predicted::run(options)
            }
            Rig::Fleet(options) => {
                packages::install(&fleet::PACKAGES)?;
                fleet::run(options, tally)
            }
            Rig::Installation(options) => {
                packages::install(&installation::PACKAGES)?;
                installation::run(options)
            }
            Rig::Latency(options) => {
                packages::install(&latency::PACKAGES)?;
                latency::run(options)
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
}
