//! The pool that `--make-pool` creates, and deletes again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rados::{Cluster, CommandError, RadosError};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::cluster;
use super::confirm::confirm;
use crate::args::ceph::PlaceArgs;
use crate::ceph_leftovers::{CREATED_POOL, Recorded, pool_deletion};
use crate::exit::{self, WrongUse};

const NAME: &str = CREATED_POOL;
/// Placement groups per OSD: with fewer, an OSD might be the primary of none.
const PGS_PER_OSD: u32 = 16;
/// From the creation of the pool until it serves.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pool; dropping it deletes it.
pub struct Made<'a> {
    cluster: &'a Cluster,
    is_deleted: Arc<AtomicBool>,
    /// Held until the pool is deleted.
    recorded: Option<Recorded>,
}

impl<'a> Made<'a> {
    /// Creates the pool if the user asked for it, after showing the commands and asking.
    pub fn by(args: &PlaceArgs, cluster: &'a Cluster) -> anyhow::Result<Option<Made<'a>>> {
        if !args.make_pool {
            return Ok(None);
        }
        match cluster.pool(NAME) {
            Err(rados::PoolError::Missing(_)) => {}
            Ok(_) => {
                return Err(WrongUse(format!(
                    "the pool {NAME} exists already, so it is not created or deleted; use it with \
                     --pool {NAME}, or delete it"
                ))
                .into());
            }
            Err(error) => return Err(RadosError::from(error).into()),
        }
        let osds = cluster
            .monitor_command(r#"{"prefix": "osd ls", "format": "json"}"#)
            .map_err(RadosError::from)?;
        let osds: Vec<u32> =
            serde_json::from_slice(&osds).context("the list of OSDs is no JSON")?;
        let pgs = (osds.len() as u32 * PGS_PER_OSD).next_power_of_two();
        let create = create(pgs);
        if !args.yes {
            confirm(
                "--make-pool changes the cluster",
                "These commands go to the monitors, the last one at the end:",
                &create.iter().chain([&pool_deletion()]).map(Value::to_string).collect::<Vec<_>>(),
            )?;
        }
        let is_deleted = Arc::new(AtomicBool::new(false));
        let fsid = cluster.fsid().map_err(RadosError::from)?;
        let [creation, settings @ ..] = &create;
        let mut made = Made { cluster, is_deleted: Arc::clone(&is_deleted), recorded: None };
        made.send(creation).map_err(RadosError::from)?;
        let id = cluster.pool(NAME).map_err(RadosError::from)?.id();
        made.recorded = Recorded::of_pool(&fsid, id, is_deleted);
        for command in settings {
            made.send(command).map_err(RadosError::from)?;
        }
        made.wait()?;
        Ok(Some(made))
    }

    /// Waits until all placement groups serve.
    fn wait(&self) -> anyhow::Result<()> {
        let placement = cluster::placement(self.cluster, NAME, PATIENCE)?;
        ensure!(
            !placement.primaries().contains(&None),
            "the placement groups of the new pool {NAME} do not all become active within {} s; \
             `ceph pg dump_stuck` says why",
            PATIENCE.as_secs()
        );
        Ok(())
    }

    fn send(&self, command: &Value) -> Result<(), CommandError> {
        self.cluster.monitor_command(&command.to_string()).map(drop)
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        let deleted = self.send(&pool_deletion());
        self.is_deleted.store(deleted.is_ok(), Ordering::Release);
        if let Err(error) = deleted {
            let because = if error.errno == Errno::PERM {
                "; allow it with `ceph config set mon mon_allow_pool_delete true`"
            } else {
                ""
            };
            exit::complain(&format!("the pool {NAME} is left: {error}{because}"));
        }
    }
}

fn create(pgs: u32) -> [Value; 4] {
    [
        json!({
            "prefix": "osd pool create", "pool": NAME, "pg_num": pgs, "pgp_num": pgs,
            "pool_type": "replicated", "autoscale_mode": "off",
        }),
        json!({
            "prefix": "osd pool set", "pool": NAME, "var": "size", "val": "1",
            "yes_i_really_mean_it": true,
        }),
        json!({"prefix": "osd pool set", "pool": NAME, "var": "min_size", "val": "1"}),
        json!({"prefix": "osd pool application enable", "pool": NAME, "app": "rados"}),
    ]
}
