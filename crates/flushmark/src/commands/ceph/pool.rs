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
/// Settings without which the monitors refuse the size of the pool, and its deletion; both are off
/// by default.
const NEEDED: [&str; 2] = ["mon_allow_pool_size_one", "mon_allow_pool_delete"];
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
        // Otherwise the pool would be left.
        let off = needed_and_off(cluster);
        if !off.is_empty() {
            return Err(WrongUse(not_allowed(&off)).into());
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

/// Needed settings that are off, as far as the cluster says. Releases before Octopus do not.
fn needed_and_off(cluster: &Cluster) -> Vec<&'static str> {
    let Some(leader) = leader(cluster) else { return Vec::new() };
    let is_off = |setting: &&str| {
        let question = json!({"prefix": "config get", "var": setting, "format": "json"});
        let answer = cluster.one_monitor_command(&leader, &question.to_string()).ok();
        let answer = answer.and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        answer.is_some_and(|answer| answer[setting] == "false")
    };
    NEEDED.into_iter().filter(is_off).collect()
}

/// The monitor that decides.
fn leader(cluster: &Cluster) -> Option<String> {
    let status =
        cluster.monitor_command(r#"{"prefix": "quorum_status", "format": "json"}"#).ok()?;
    let status: Value = serde_json::from_slice(&status).ok()?;
    Some(status["quorum_leader_name"].as_str()?.to_owned())
}

fn not_allowed(off: &[&str]) -> String {
    let each = |command: fn(&str) -> String| {
        off.iter().map(|setting| command(setting)).collect::<Vec<_>>().join(" and ")
    };
    format!(
        "the monitors would refuse to create or delete the pool of --make-pool, because {} {} off, \
         which is Ceph's default; allow it with {}, and take that back afterwards with {}; or \
         measure in an existing pool with --pool",
        off.join(" and "),
        if off.len() == 1 { "is" } else { "are" },
        each(|setting| format!("`ceph config set mon {setting} true`")),
        each(|setting| format!("`ceph config rm mon {setting}`")),
    )
}

/// The pool has its size from the beginning, because its placement groups would peer again
/// otherwise; releases before Octopus ignore that size.
fn create(pgs: u32) -> [Value; 4] {
    [
        json!({
            "prefix": "osd pool create", "pool": NAME, "pg_num": pgs, "pgp_num": pgs,
            "pool_type": "replicated", "size": 1, "autoscale_mode": "off",
            "yes_i_really_mean_it": true,
        }),
        json!({
            "prefix": "osd pool set", "pool": NAME, "var": "size", "val": "1",
            "yes_i_really_mean_it": true,
        }),
        json!({"prefix": "osd pool set", "pool": NAME, "var": "min_size", "val": "1"}),
        json!({"prefix": "osd pool application enable", "pool": NAME, "app": "rados"}),
    ]
}
