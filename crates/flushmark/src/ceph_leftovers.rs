//! The objects that a killed run leaves in a Ceph cluster, and their removal by a later run.
//!
//! A run records its objects' pool and namespace before it creates the first one, and removes the
//! record when they are gone. A record whose lock nobody holds was left by a killed process.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::Target;
use engine::ceph::{NAMESPACE_PREFIX, ObjectSpace};
use rados::{Cluster, PoolError, RadosError};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::exit;

/// The state of the whole system, which root can write.
const SYSTEM_STATE: &str = "/var/lib/flushmark";
/// Not `json`, the ending of a write cache's record: `cache restore` would take this for a damaged
/// one.
const ENDING: &str = "left-in-ceph";
/// The pool that `--make-pool` creates.
pub const CREATED_POOL: &str = "flushmark-bench";

/// Objects of a run, or a pool that it created, to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// The cluster's fsid.
    pub cluster: String,
    pub pool: String,
    pub part: Part,
}

/// The part of a pool that is to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// All objects of this namespace.
    Namespace(String),
    /// The pool itself, by its id: another pool may have got this name since, and ids are never used
    /// again.
    Whole(i64),
}

/// A record. Dropped, it is removed if what it names is gone.
pub struct Recorded {
    path: PathBuf,
    _lock: File,
    gone: Vec<Gone>,
}

enum Gone {
    Objects(ObjectSpace),
    Pool(Arc<AtomicBool>),
}

impl Recorded {
    /// Records the objects of a target, if it has any.
    pub fn of_target(target: &Target) -> Option<Recorded> {
        let cluster = target.record().ceph?.cluster;
        Recorded::of_objects(&cluster, vec![target.object_space()?])
    }

    /// Records objects in one namespace of a pool.
    pub fn of_objects(cluster: &str, spaces: Vec<ObjectSpace>) -> Option<Recorded> {
        let first = spaces.first()?;
        let leftover = Leftover {
            cluster: cluster.to_owned(),
            pool: first.pool.clone(),
            part: Part::Namespace(first.namespace.clone()),
        };
        let name = first.namespace.clone();
        Recorded::write(&leftover, &name, spaces.into_iter().map(Gone::Objects).collect())
    }

    /// Records [`CREATED_POOL`] once it has an id. The caller says when it is gone.
    pub fn of_pool(cluster: &str, id: i64, gone: Arc<AtomicBool>) -> Option<Recorded> {
        let (cluster_name, pool) = (cluster.to_owned(), CREATED_POOL.to_owned());
        let leftover = Leftover { cluster: cluster_name, pool, part: Part::Whole(id) };
        Recorded::write(&leftover, &format!("pool-{cluster}"), vec![Gone::Pool(gone)])
    }

    /// Without a place for records the run is made all the same.
    fn write(leftover: &Leftover, name: &str, gone: Vec<Gone>) -> Option<Recorded> {
        let path = directory()?.join(format!("{name}.{ENDING}"));
        let written = || -> io::Result<File> {
            let mut file = File::options().write(true).create(true).truncate(false).open(&path)?;
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.set_len(0)?;
            serde_json::to_writer(&mut file, leftover)?;
            file.flush()?;
            file.sync_all()?;
            if let Some(parent) = path.parent() {
                File::open(parent)?.sync_all()?;
            }
            Ok(file)
        };
        match written() {
            Ok(lock) => Some(Recorded { path, _lock: lock, gone }),
            Err(error) => {
                exit::complain(&format!(
                    "cannot record what a killed run would leave in the cluster in {}: {error}",
                    path.display()
                ));
                None
            }
        }
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let is_gone = |gone: &Gone| match gone {
            Gone::Objects(space) => space.is_removed(),
            Gone::Pool(gone) => gone.load(Ordering::Acquire),
        };
        if self.gone.iter().all(is_gone) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes what killed runs left in this cluster, and returns a sentence about each.
pub fn remove(cluster: &Cluster) -> Vec<String> {
    let (Ok(fsid), Some(directory)) = (cluster.fsid(), directory()) else { return Vec::new() };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let records = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    records.filter_map(|path| remove_one(cluster, &fsid, &path)).collect()
}

fn remove_one(cluster: &Cluster, fsid: &str, path: &Path) -> Option<String> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let leftover: Leftover = serde_json::from_reader(&file).ok()?;
    if leftover.cluster != fsid {
        return None;
    }
    let removed = match &leftover.part {
        Part::Namespace(namespace) => remove_objects(cluster, &leftover.pool, namespace),
        Part::Whole(id) => remove_pool(cluster, *id),
    };
    match removed {
        Ok(sentence) => {
            let _ = fs::remove_file(path);
            sentence
        }
        Err(error) => Some(format!(
            "a killed run has left objects in the pool {}, which cannot be removed: {error}",
            leftover.pool
        )),
    }
}

fn remove_objects(
    cluster: &Cluster,
    pool: &str,
    namespace: &str,
) -> Result<Option<String>, RadosError> {
    // The record is a file that anybody may have written.
    if !namespace.starts_with(NAMESPACE_PREFIX) {
        return Ok(None);
    }
    let mut handle = match cluster.pool(pool) {
        Err(PoolError::Missing(_)) => return Ok(None),
        handle => handle?,
    };
    handle.set_namespace(namespace)?;
    let objects = handle.objects()?;
    for object in &objects {
        handle.remove(object)?;
    }
    let count = objects.len();
    Ok((count > 0).then(|| {
        format!("{count} objects that a killed run had left in the pool {pool} were removed")
    }))
}

fn remove_pool(cluster: &Cluster, id: i64) -> Result<Option<String>, RadosError> {
    let found = match cluster.pool(CREATED_POOL) {
        Err(PoolError::Missing(_)) => return Ok(None),
        found => found?.id(),
    };
    if found != id {
        return Ok(None);
    }
    cluster.monitor_command(&pool_deletion().to_string())?;
    Ok(Some(format!("the pool {CREATED_POOL}, which a killed run had left, was deleted")))
}

/// The monitor command that deletes [`CREATED_POOL`].
pub fn pool_deletion() -> Value {
    json!({
        "prefix": "osd pool delete", "pool": CREATED_POOL, "pool2": CREATED_POOL,
        "yes_i_really_really_mean_it": true,
    })
}

/// The directory of the records: the system's for root, else the user's own.
fn directory() -> Option<PathBuf> {
    let variable = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let directory = if let Some(named) = variable("FLUSHMARK_STATE_DIR") {
        named
    } else if rustix::process::geteuid().is_root() {
        PathBuf::from(SYSTEM_STATE)
    } else {
        let own = variable("HOME").map(|home| home.join(".local/state"));
        variable("XDG_STATE_HOME").or(own)?.join("flushmark")
    };
    fs::create_dir_all(&directory).ok()?;
    Some(directory)
}
