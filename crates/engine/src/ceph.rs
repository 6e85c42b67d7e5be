//! Ceph as a target, reached through Ceph's client libraries in this process: a block device image,
//! or objects of a pool.
//!
//! All jobs share one connection, as the threads of a virtual machine or a database do. An image is
//! opened once: a second opening in the same process would take the exclusive lock away from the
//! first at each write. Objects are in a namespace that belongs to the run, and are removed with it.

mod disk;
mod objects;

use measurement::CephRecord;
use rados::{Access, Cluster, Image, OpenMode, RadosError};
use rustix::io::Errno;
use workload::{EngineChoice, Operation, SpaceCall, Workload, format_bytes};

use crate::error::EngineError;
use crate::target::Intent;

pub use disk::{CephDisk, CephQueue};
pub use objects::{NAMESPACE_PREFIX, OBJECT_BYTES, ObjectSpace, Objects, namespace};

/// The start of the cookie of a lock that librbd manages.
const AUTOMATIC_LOCK: &str = "auto ";

/// The storage of a target's data in the cluster.
#[derive(Debug)]
pub enum Storage {
    Image(Image),
    Objects(Objects),
}

/// An opened image or pool.
#[derive(Debug)]
pub struct CephTarget {
    storage: Storage,
    record: CephRecord,
}

impl CephTarget {
    /// Opens the image `POOL/IMAGE` or `POOL/NAMESPACE/IMAGE`, followed by options in QEMU's
    /// notation, `:KEY=VALUE`.
    ///
    /// # Errors
    /// If the cluster, the pool or the image cannot be used, or the plan writes and the image may
    /// not be overwritten.
    pub fn image(given: &str, name: &str, intent: Intent) -> Result<CephTarget, EngineError> {
        let failed = |source: RadosError| EngineError::Ceph { given: given.to_owned(), source };
        let (name, access) = options(given, name)?;
        let (path, image) = name.rsplit_once('/').unwrap_or_default();
        let (pool, namespace) = path.split_once('/').unwrap_or((path, ""));
        if pool.is_empty() || image.is_empty() || namespace.contains('/') {
            return Err(EngineError::CephName {
                given: given.to_owned(),
                expected: "rbd:POOL/IMAGE or rbd:POOL/NAMESPACE/IMAGE",
            });
        }
        // Without a choice, the cache would be as the configuration has it, and acknowledge writes
        // before they are durable.
        let cached = access.rbd_cache.unwrap_or(false);
        let access = Access { rbd_cache: Some(cached), ..access };
        let opened = || -> Result<_, RadosError> {
            rados::load_librbd()?;
            let cluster = Cluster::connect(&access)?;
            let mut pool = cluster.pool(pool)?;
            pool.set_namespace(namespace)?;
            let mode = if intent.writes { OpenMode::ReadWrite } else { OpenMode::ReadOnly };
            let image = Image::open(&pool, image, mode)?;
            let (users, lock) = (image.other_watchers()?, image.lock()?);
            Ok((cluster, pool, image, users, lock))
        };
        let (cluster, pool, image, users, lock) = opened().map_err(failed)?;
        if intent.writes {
            // librbd takes over the lock of a client that has crashed, but not one that was set by
            // hand.
            let set = |locker: &rados::Locker| !locker.cookie.starts_with(AUTOMATIC_LOCK);
            let lockers = lock.lockers.into_iter().filter(set).map(|locker| locker.address);
            let users: Vec<String> =
                users.into_iter().map(|user| user.address).chain(lockers).collect();
            if !users.is_empty() {
                return Err(EngineError::ImageInUse { given: given.to_owned(), users });
            }
            if !intent.destroy_data {
                return Err(EngineError::WouldOverwriteImage { given: given.to_owned() });
            }
        }
        let record = CephRecord {
            cluster: cluster.fsid().map_err(|error| failed(error.into()))?,
            pool: pool.name().to_owned(),
            image: Some(name[pool.name().len() + 1..].to_owned()),
            size_bytes: image.size(),
            object_bytes: image.object_size(),
            replicas: objects::replicas(&cluster, pool.name()),
            cached,
        };
        Ok(CephTarget { storage: Storage::Image(image), record })
    }

    /// Opens a pool, in which the run creates objects. The name may be followed by options, as that
    /// of an image.
    ///
    /// # Errors
    /// If the cluster or the pool cannot be used.
    pub fn pool(given: &str, name: &str) -> Result<CephTarget, EngineError> {
        let failed = |source: RadosError| EngineError::Ceph { given: given.to_owned(), source };
        let (name, access) = options(given, name)?;
        if name.is_empty() || name.contains('/') {
            return Err(EngineError::CephName { given: given.to_owned(), expected: "rados:POOL" });
        }
        let cluster = Cluster::connect(&access).map_err(|error| failed(error.into()))?;
        let pool = cluster.pool(name).map_err(|error| failed(error.into()))?;
        let room_bytes = objects::room_bytes(&cluster, name).map_err(failed)?;
        let objects = Objects::create(pool, room_bytes).map_err(failed)?;
        CephTarget::objects(&cluster, objects).map_err(failed)
    }

    /// The objects of a run, chosen by the caller.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub fn objects(cluster: &Cluster, objects: Objects) -> Result<CephTarget, RadosError> {
        let record = CephRecord {
            cluster: cluster.fsid()?,
            pool: objects.pool().name().to_owned(),
            image: None,
            size_bytes: objects.size_bytes(),
            object_bytes: objects.object_bytes(),
            replicas: objects::replicas(cluster, objects.pool().name()),
            cached: false,
        };
        Ok(CephTarget { storage: Storage::Objects(objects), record })
    }

    pub const fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The facts for result documents.
    pub const fn record(&self) -> &CephRecord {
        &self.record
    }

    /// Every write is durable when it is acknowledged.
    pub const fn writes_are_durable(&self) -> bool {
        !self.record.cached
    }

    /// The reason why a workload cannot run here.
    ///
    /// # Errors
    /// That reason.
    pub fn check(&self, workload: &Workload) -> Result<(), String> {
        let is_image = matches!(self.storage, Storage::Image(_));
        match workload.pattern.operation() {
            Operation::Transfer | Operation::Compute => {}
            Operation::Space(SpaceCall::Discard) if is_image => {}
            Operation::Space(SpaceCall::Discard) => {
                return Err("it discards blocks, which objects do not have".to_owned());
            }
            Operation::Space(_) | Operation::Entry(..) => {
                return Err("it changes files, which a Ceph cluster does not have here".to_owned());
            }
        }
        if workload.sync.linked_call().is_some() {
            return Err("it links a sync to each write, which only io_uring can do".to_owned());
        }
        if self.record.cached && workload.sync.is_write_flag() {
            return Err(format!(
                "{} makes each write durable by itself, which librbd's cache does not; use fsync, \
                 or cache=off",
                workload.sync.name()
            ));
        }
        if workload.atomic {
            return Err(
                "atomic: the kernel's interface for atomic writes does not exist here".to_owned()
            );
        }
        if !workload.priorities.is_default() {
            return Err(
                "it sets I/O priorities, which Ceph's client libraries do not transfer".to_owned()
            );
        }
        let block = u64::from(workload.largest_bytes());
        if !is_image && workload.pattern.transfers() && block > self.record.object_bytes {
            return Err(format!(
                "its blocks of {} exceed an object, {}",
                format_bytes(block),
                format_bytes(self.record.object_bytes)
            ));
        }
        if !is_image && !self.record.object_bytes.is_multiple_of(workload.unit_bytes()) {
            return Err(format!(
                "an object of {} is not a multiple of its blocks of {}",
                format_bytes(self.record.object_bytes),
                format_bytes(workload.unit_bytes())
            ));
        }
        Ok(())
    }

    /// A sentence on how the run differs from the workload's request.
    pub fn note(&self, workload: &Workload) -> Option<String> {
        let library = match self.storage {
            Storage::Image(_) => "librbd",
            Storage::Objects(_) => "librados",
        };
        let mut differences = Vec::new();
        match workload.engine {
            EngineChoice::Auto => {}
            EngineChoice::Psync | EngineChoice::IoUring | EngineChoice::Libaio => {
                differences.push(format!(
                    "requests go through {library} instead of {}",
                    workload.engine.name()
                ));
            }
        }
        if !workload.direct && workload.pattern.transfers() {
            differences.push("no page cache is involved, as with O_DIRECT".to_owned());
        }
        if workload.pattern.writes() && self.writes_are_durable() && !workload.sync.is_durable() {
            differences.push("each write is durable when it is acknowledged".to_owned());
        }
        (!differences.is_empty()).then(|| format!("on Ceph, {}", differences.join(", and ")))
    }
}

/// Splits the options off a name, in QEMU's notation: `NAME[:KEY=VALUE]...`. `id`, `conf`,
/// `keyring` and `cluster` are those of Ceph's tools, `cache` is `on` or `off`, and any other key is
/// an option of Ceph.
fn options<'a>(given: &str, name: &'a str) -> Result<(&'a str, Access), EngineError> {
    let invalid = |expected| EngineError::CephName { given: given.to_owned(), expected };
    let mut words = name.split(':');
    let name = words.next().unwrap_or_default();
    // A value may contain colons, as addresses do: what has no `=` continues the previous word.
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in words {
        match (word.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => pairs.push((key.to_owned(), value.to_owned())),
            (None, Some((_, value))) => {
                value.push(':');
                value.push_str(word);
            }
            (None, None) => return Err(invalid("options as :KEY=VALUE after the name")),
        }
    }
    let mut access = Access::default();
    for (key, value) in pairs {
        match (key.as_str(), value.as_str()) {
            ("id", _) => access.id = Some(value),
            ("conf", _) => access.conf = Some(value.into()),
            ("keyring", _) => access.keyring = Some(value.into()),
            ("cluster", _) => access.cluster_name = Some(value),
            ("cache", "on") => access.rbd_cache = Some(true),
            ("cache", "off") => access.rbd_cache = Some(false),
            ("cache", _) => return Err(invalid("cache=on or cache=off")),
            _ => access.options.push((key, value)),
        }
    }
    Ok((name, access))
}

/// The system's error of a failed call, for the loops.
pub(crate) fn errno(error: rados::OpError) -> Errno {
    error.errno
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_the_name_as_in_qemu() {
        let given = "p/i:id=bench:conf=/c:mon_host=10.0.0.1:3300:cache=on";
        let (name, access) = options("", given).unwrap();
        assert_eq!((name, access.id.as_deref()), ("p/i", Some("bench")));
        assert_eq!((access.conf, access.rbd_cache), (Some("/c".into()), Some(true)));
        assert_eq!(access.options, [("mon_host".to_owned(), "10.0.0.1:3300".to_owned())]);
        assert_eq!(options("", "p").unwrap(), ("p", Access::default()));
        let refused = |name: &str| options(&format!("rbd:{name}"), name).unwrap_err().to_string();
        insta::assert_snapshot!(refused("p/i:x"), @"invalid target `rbd:p/i:x`: expected options as :KEY=VALUE after the name");
        insta::assert_snapshot!(refused("p/i:cache=maybe"), @"invalid target `rbd:p/i:cache=maybe`: expected cache=on or cache=off");
    }

    #[test]
    fn a_name_that_is_incomplete_is_refused_before_anything_is_opened() {
        let intent = Intent { writes: false, destroy_data: false };
        for name in ["", "p", "/i", "p/", "p/n/m/i"] {
            let refused = CephTarget::image("x", name, intent).unwrap_err();
            assert!(matches!(refused, EngineError::CephName { .. }), "{name}: {refused}");
        }
        for name in ["", "p/i"] {
            let refused = CephTarget::pool("x", name).unwrap_err();
            assert!(matches!(refused, EngineError::CephName { .. }), "{name}: {refused}");
        }
    }
}
