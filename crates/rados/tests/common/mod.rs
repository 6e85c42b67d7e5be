//! The cluster of the environment, for tests.
//!
//! `FLUSHMARK_TEST_CEPH` is the path of the ceph.conf of a cluster that may be spoilt: tests create
//! and delete pools, and stop its daemons, whose files `NAME.pid` lie beside it.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rados::{Access, Cluster, Pool};

pub(crate) const CLUSTER_VARIABLE: &str = "FLUSHMARK_TEST_CEPH";

/// Returns whether librados is installed; prints a message if not.
pub(crate) fn needs_librados(test: &str) -> bool {
    let there = rados::library_version().is_ok();
    if !there {
        eprintln!("skipped: {test}: librados is not installed (package librados2)");
    }
    there
}

/// Returns the cluster's ceph.conf, or prints a message.
pub(crate) fn conf(test: &str) -> Option<PathBuf> {
    let conf = std::env::var_os(CLUSTER_VARIABLE).map(PathBuf::from);
    if conf.is_none() {
        eprintln!("skipped: {test}: no Ceph cluster ({CLUSTER_VARIABLE} names no ceph.conf)");
    }
    conf
}

/// Returns an access with short limits.
pub(crate) fn access(conf: &Path) -> Access {
    Access {
        conf: Some(conf.to_owned()),
        connect_timeout: Duration::from_secs(5),
        monitor_timeout: Duration::from_secs(3),
        osd_timeout: Duration::from_secs(10),
        rbd_cache: Some(false),
        ..Access::default()
    }
}

/// A connection to the cluster, and a pool of one replica that is deleted in the end.
pub(crate) struct Rig {
    pub(crate) cluster: Cluster,
    pub(crate) pool: Pool,
    pub(crate) conf: PathBuf,
}

impl Rig {
    pub(crate) fn new(test: &str, pg_count: u32) -> Option<Rig> {
        let conf = conf(test)?;
        Some(Rig::connected(&conf, &access(&conf), pg_count))
    }

    pub(crate) fn connected(conf: &Path, access: &Access, pg_count: u32) -> Rig {
        static POOLS: AtomicU32 = AtomicU32::new(0);
        let cluster = Cluster::connect(access).expect("a connection");
        let number = POOLS.fetch_add(1, Ordering::Relaxed);
        let name = format!("flushmark-test-{}-{number}", std::process::id());
        // A size that is set later makes the placement groups peer again, which takes a monitor.
        monitor(
            &cluster,
            &format!(
                r#"{{"prefix": "osd pool create", "pool": "{name}", "pg_num": {pg_count},
                    "pgp_num": {pg_count}, "size": 1, "autoscale_mode": "off"}}"#
            ),
        );
        let pool = cluster.pool(&name).expect("the new pool");
        Rig { cluster, pool, conf: conf.to_owned() }
    }

    pub(crate) fn delete_pool(&self) {
        let name = self.pool.name();
        monitor(
            &self.cluster,
            &format!(
                r#"{{"prefix": "osd pool delete", "pool": "{name}", "pool2": "{name}",
                    "yes_i_really_really_mean_it": true}}"#
            ),
        );
    }

    /// Runs Ceph's own `rbd` on the cluster.
    pub(crate) fn rbd(&self, arguments: &[&str]) -> String {
        let conf = self.conf.to_str().expect("a path");
        let all = [&["-c", conf], arguments].concat();
        testbed::system("rbd", &all).expect("a command that succeeds")
    }

    /// Creates an image of 64 MiB.
    pub(crate) fn create_image(&self, name: &str) {
        let image = format!("{}/{name}", self.pool.name());
        self.rbd(&["create", "--size", "64M", &image]);
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.delete_pool();
        }
    }
}

pub(crate) fn monitor(cluster: &Cluster, json: &str) -> Vec<u8> {
    cluster.monitor_command(json).expect("a command that succeeds")
}
