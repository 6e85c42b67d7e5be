//! A pool of the cluster, and images in it, for measurements.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::cluster::Cluster;

/// Placement groups per OSD, as many as `ceph osds --make-pool` makes.
const PGS_PER_OSD: u32 = 16;
/// Size of an image: as much as `ceph osds` writes to on three OSDs.
pub const IMAGE_SIZE: &str = "192M";
const PATIENCE: Duration = Duration::from_mins(2);

/// A pool.
pub struct Place<'a> {
    pub cluster: &'a Cluster,
    pub pool: &'a str,
}

impl<'a> Place<'a> {
    /// Creates a pool, and waits until it is usable.
    pub fn new(cluster: &'a Cluster, pool: &'a str, copies: u32) -> anyhow::Result<Place<'a>> {
        let pgs = (cluster.osds() as u32 * PGS_PER_OSD).next_power_of_two().to_string();
        let size = copies.to_string();
        let ceph = |args: &[&str]| cluster.run("ceph", args);
        ceph(&["osd", "pool", "create", pool, &pgs, &pgs])?;
        ceph(&["osd", "pool", "set", pool, "size", &size, "--yes-i-really-mean-it"])?;
        ceph(&["osd", "pool", "set", pool, "min_size", "1"])?;
        ceph(&["osd", "pool", "application", "enable", pool, "rbd"])?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let listed = ceph(&["pg", "ls-by-pool", pool, "--format", "json"])?;
            let listed: Value = serde_json::from_str(&listed)?;
            let states = listed["pg_stats"].as_array().context("a list without PGs")?;
            if !states.is_empty() && states.iter().all(|pg| pg["state"] == "active+clean") {
                return Ok(Place { cluster, pool });
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        bail!("the pool {pool} did not become clean within {PATIENCE:?}")
    }

    /// Makes an image whose objects exist.
    pub fn make_image(&self, image: &str) -> anyhow::Result<()> {
        let path = format!("{}/{image}", self.pool);
        self.cluster.run("rbd", &["create", &path, "--size", IMAGE_SIZE])?;
        let fill = ["bench", &path, "--io-type", "write", "--io-size", "4M", "--io-total"];
        self.cluster.run("rbd", &[&fill[..], &[IMAGE_SIZE, "--io-pattern", "seq"]].concat())?;
        Ok(())
    }

    /// A word for `env`, by which Ceph's clients find the cluster.
    pub fn environment(&self) -> String {
        format!("CEPH_CONF={}", self.cluster.conf().display())
    }
}
