//! The objects of a run: what it creates in a pool, and removes when it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rados::{Cluster, ObjectName, Pool, RadosError};
use serde::Deserialize;

/// Default size of the objects of images (`rbd_default_order`).
pub const OBJECT_BYTES: u64 = 4 << 20;
/// The most that a run uses of a pool that has more space.
const ROOM_BYTES_MAX: u64 = 16 << 30;
/// The wait for a new pool's free space: OSDs report it every 5 s, and the manager passes it on
/// every 5 s.
const PATIENCE: Duration = Duration::from_secs(12);

/// Objects in a namespace that belongs to this run, as one range of bytes. They are removed when
/// this is dropped.
#[derive(Debug)]
pub struct Objects {
    pool: Pool,
    names: Vec<ObjectName>,
    object_bytes: u64,
    /// Those that exist.
    created: Mutex<Vec<bool>>,
    removed: Arc<AtomicBool>,
}

/// The pool and namespace of a run's objects, recorded so that they can be removed if the run is
/// killed.
#[derive(Debug, Clone)]
pub struct ObjectSpace {
    pub pool: String,
    pub namespace: String,
    removed: Arc<AtomicBool>,
}

impl ObjectSpace {
    /// Returns whether the objects are gone: never before their [`Objects`] have been dropped.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }
}

impl Objects {
    /// Objects for up to this many bytes, distributed over the whole pool.
    ///
    /// # Errors
    /// Never for these names; the error of a name that cannot be used.
    pub fn create(mut pool: Pool, room_bytes: u64) -> Result<Objects, RadosError> {
        pool.set_namespace(&namespace())?;
        let names = (0..room_bytes / OBJECT_BYTES)
            .map(|number| ObjectName::new(format!("object-{number}")))
            .collect::<Result<_, _>>()?;
        Ok(Objects::named(pool, names, OBJECT_BYTES))
    }

    /// Objects with these names. The pool's namespace must be one of this run alone.
    pub fn named(pool: Pool, names: Vec<ObjectName>, object_bytes: u64) -> Objects {
        let created = Mutex::new(vec![false; names.len()]);
        Objects { pool, names, object_bytes, created, removed: Arc::default() }
    }

    pub fn space(&self) -> ObjectSpace {
        ObjectSpace {
            pool: self.pool.name().to_owned(),
            namespace: self.pool.namespace().into_owned(),
            removed: Arc::clone(&self.removed),
        }
    }

    /// Creates the objects between two offsets that do not exist yet: `fill` writes the range that
    /// it gets. Otherwise the first write to each object would be dearer than all others.
    ///
    /// # Errors
    /// As `fill` does.
    pub fn create_missing<E>(
        &self,
        start: u64,
        end: u64,
        mut fill: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = (start / self.object_bytes) as usize;
        let end = self.names.len().min(end.div_ceil(self.object_bytes) as usize);
        for number in first..end {
            // Even a write that fails may have created it.
            let exists = std::mem::replace(&mut self.created()[number], true);
            if !exists {
                fill(number as u64 * self.object_bytes, self.object_bytes)?;
            }
        }
        Ok(())
    }

    fn created(&self) -> std::sync::MutexGuard<'_, Vec<bool>> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    pub const fn object_bytes(&self) -> u64 {
        self.object_bytes
    }

    pub fn size_bytes(&self) -> u64 {
        self.names.len() as u64 * self.object_bytes
    }

    /// The object that contains an offset, the offset within it, and the bytes from there to its
    /// end.
    #[inline]
    pub fn locate(&self, offset: u64) -> Option<(&ObjectName, u64, u64)> {
        let within = offset % self.object_bytes;
        let name = self.names.get((offset / self.object_bytes) as usize)?;
        Some((name, within, self.object_bytes - within))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let created = std::mem::take(&mut *self.created());
        let names =
            self.names.iter().zip(created).filter_map(|(name, exists)| exists.then_some(name));
        for name in names {
            // After one error there will be more, each after its time limit.
            if self.pool.remove(name).is_err() {
                return;
            }
        }
        self.removed.store(true, Ordering::Release);
    }
}

/// The start of the names of all runs' namespaces.
pub const NAMESPACE_PREFIX: &str = "flushmark-";

/// A namespace that no other run has.
pub fn namespace() -> String {
    let mut bytes = [0u8; 16];
    // Without random numbers, the time and the process still distinguish runs on one host.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = since.unwrap_or_default().as_nanos();
        bytes = (nanoseconds ^ u128::from(std::process::id()) << 96).to_le_bytes();
    }
    format!("{NAMESPACE_PREFIX}{:032x}", u128::from_le_bytes(bytes))
}

/// Copies of each object, or the chunks of an erasure-coded pool; `None` if the cluster does not
/// say.
pub fn replicas(cluster: &Cluster, pool: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct Answer {
        size: u32,
    }
    let command = serde_json::json!({
        "prefix": "osd pool get", "pool": pool, "var": "size", "format": "json"
    });
    let answer = cluster.monitor_command(&command.to_string()).ok()?;
    serde_json::from_slice::<Answer>(&answer).ok().map(|answer| answer.size)
}

/// The bytes that a run may use of a pool: half of what is free, up to a limit. The monitors hear of
/// the free space of a new pool some seconds after its creation, which is waited for.
///
/// # Errors
/// If the monitors do not answer.
pub fn room_bytes(cluster: &Cluster, pool: &str) -> Result<u64, RadosError> {
    let begun = Instant::now();
    let free_bytes = loop {
        let free_bytes = free_bytes(cluster, pool)?;
        if free_bytes > 0 || begun.elapsed() >= PATIENCE {
            break free_bytes;
        }
        std::thread::sleep(Duration::from_millis(250));
    };
    Ok((free_bytes / 2).clamp(OBJECT_BYTES, ROOM_BYTES_MAX))
}

/// 0 for a pool that is full, or whose free space the monitors do not know yet.
fn free_bytes(cluster: &Cluster, pool: &str) -> Result<u64, RadosError> {
    #[derive(Deserialize)]
    struct Answer {
        pools: Vec<OnePool>,
    }
    #[derive(Deserialize)]
    struct OnePool {
        name: String,
        stats: Stats,
    }
    #[derive(Deserialize)]
    struct Stats {
        max_avail: u64,
    }
    let answer = cluster.monitor_command(r#"{"prefix": "df", "format": "json"}"#)?;
    let pools = serde_json::from_slice::<Answer>(&answer).map_or(Vec::new(), |answer| answer.pools);
    Ok(pools.into_iter().find(|one| one.name == pool).map_or(0, |one| one.stats.max_avail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_differ() {
        let (one, other) = (namespace(), namespace());
        assert_ne!(one, other);
        assert_eq!(one.len(), NAMESPACE_PREFIX.len() + 32);
    }
}
