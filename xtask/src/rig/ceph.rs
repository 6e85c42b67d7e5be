//! `cargo xtask rig ceph`: a real Ceph cluster on this machine, for the tests that need one.
//!
//! One monitor, one manager and four BlueStore OSDs, without containers. The OSDs are on emulated
//! drives, so the truth about each is known: one has no power-loss protection, the others have it.
//! The tests find the cluster by [`CLUSTER_VARIABLE`]; some stop and restart its daemons.

pub mod cluster;
pub mod drive;
pub mod place;

use super::Outcome;
use crate::build;
use crate::test::{Tally, cluster_tests};
use cluster::{Cluster, Storage};

/// Debian packages of the cluster and of the client libraries.
pub const PACKAGES: [&str; 8] = [
    "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-common", "librados2", "librbd1", "fuse3", "nftables",
];

/// The path of the cluster's ceph.conf, for tests.
const CLUSTER_VARIABLE: &str = "FLUSHMARK_TEST_CEPH";

/// The number of the OSD whose drive has no power-loss protection.
const SLOW_OSD_VARIABLE: &str = "FLUSHMARK_TEST_CEPH_SLOW_OSD";

/// Above that of other programs (`nice`).
const PRIORITY: i32 = -10;

/// The drive of each OSD. One has no power-loss protection, so it must be found to be slow; the
/// others are equal.
const DRIVES: [&str; 4] =
    ["enterprise-nvme", "enterprise-nvme", "consumer-nvme", "enterprise-nvme"];
const SLOW_OSD: &str = "2";

#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Only tests whose names contain this
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,

    /// Run no test: print how to reach the cluster, and stop it when a line or the end of stdin is
    /// read
    #[arg(long)]
    pub hold: bool,
}

/// Starts the cluster, and runs the tests that need one.
pub fn run(options: &Options, tally: &mut Tally) -> anyhow::Result<Outcome> {
    let binary = build::flushmark_of_tests()?;
    // For this thread and what it starts. An OSD without a processor is a slow one, and other rigs
    // may run beside this one. An ordinary user may not, and goes on.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    let cluster = Cluster::start(Storage::Emulated { binary: &binary, models: &DRIVES })?;
    println!("Ceph cluster with OSDs on {}", DRIVES.join(", "));
    if options.hold {
        println!("export CEPH_CONF={}", cluster.conf().display());
        std::io::stdin().read_line(&mut String::new())?;
        return Ok(Outcome::default());
    }
    let variables = [(CLUSTER_VARIABLE, cluster.conf()), (SLOW_OSD_VARIABLE, SLOW_OSD.into())];
    cluster_tests(&variables, options.filter.as_deref(), tally)?;
    Ok(Outcome::default())
}
