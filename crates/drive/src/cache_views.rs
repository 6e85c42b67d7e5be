//! Three views of one volatile write cache, side by side: what the drive says, what the kernel believes, what the filesystems do.
//!
//! Only together do they say what an `fsync` is worth. A drive that caches under a kernel that believes in "write through" gets no flushes; a filesystem mounted
//! without barriers sends none whatever the kernel believes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, BlockDevice, CacheReading, Usage, WriteCache};

/// The three views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheViews {
    /// The drive's own word.
    pub drive: Answer<CacheReading>,
    /// The kernel's belief.
    pub kernel: KernelView,
    /// What the mounted filesystems on it do.
    pub filesystems: Vec<FilesystemView>,
}

/// Walks up from the disk to every mounted filesystem. `stopped_by` is the lowest layer on the way that lets no flushes through.
fn look_up(on: &Usage, caches: bool, stopped_by: Option<&str>, found: &mut Vec<FilesystemView>) {
    // A loop device has no layer: its belief is about its file, whose filesystem stands for itself.
    let stops = caches && on.layer.is_some() && on.write_cache == Some(WriteCache::WriteThrough);
    let stopped_by = stopped_by.or_else(|| stops.then_some(on.name.as_str()));
    found.extend(on.mounts.iter().map(|mount| FilesystemView {
        mount_point: mount.mount_point.clone(),
        fs_type: mount.fs_type.clone(),
        flushes_disabled_by: mount.flushes_disabled_by.clone(),
        stopped_by: stopped_by.map(str::to_owned),
    }));
    for part in &on.parts {
        look_up(part, caches, stopped_by, found);
    }
}

/// What the kernel believes; see [`crate::Queue`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelView {
    /// Whether it sends flushes (`queue/write_cache`).
    pub write_cache: Option<WriteCache>,
    /// Whether it sends single writes past the cache (`queue/fua`).
    pub fua: Option<bool>,
    /// What the drive told its driver, or somebody overrode (`scsi_disk/*/cache_type`, virtio's `cache_type`).
    pub cache_type: Option<String>,
}

/// What one filesystem does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesystemView {
    /// Where it is mounted.
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub mount_point: PathBuf,
    /// Its type.
    pub fs_type: String,
    /// The option that keeps it from sending flushes; `None` where it sends them.
    pub flushes_disabled_by: Option<String>,
    /// Kernel name of a layer between it and the drive that lets no flushes through, because its queue says `write through` while the drive's says
    /// `write back`.
    pub stopped_by: Option<String>,
}

/// A disagreement between the views.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Disagreement {
    /// The drive caches, and the kernel sends it no flushes: an fsync is a lie.
    KernelSendsNoFlushes,
    /// The drive told its driver that it caches, and the kernel was made to believe otherwise; the drive itself was not asked.
    BeliefOverridden,
    /// The drive's cache is off, and the kernel flushes it all the same: harmless.
    FlushesInVain,
    /// A filesystem keeps its flushes from a drive that caches.
    FilesystemSendsNoFlushes {
        /// Where it is mounted.
        mount_point: String,
        /// The option.
        option: String,
    },
    /// A layer keeps flushes from a drive that caches.
    LayerStopsFlushes {
        /// The filesystem above it.
        mount_point: String,
        /// The layer.
        layer: String,
    },
}

impl CacheViews {
    /// Of a disk. The drive itself is asked only on this machine, with root's rights.
    pub fn of(disk: &BlockDevice, usage: Option<&Usage>, drive: Answer<CacheReading>) -> CacheViews {
        let kernel = KernelView {
            write_cache: disk.queue.write_cache,
            fua: disk.queue.fua,
            cache_type: disk.cache_type.clone(),
        };
        let caches = kernel.write_cache == Some(WriteCache::WriteBack);
        let mut filesystems = Vec::new();
        if let Some(usage) = usage {
            look_up(usage, caches, None, &mut filesystems);
        }
        CacheViews { drive, kernel, filesystems }
    }

    /// Whether the drive's cache is on, as far as anybody says: the drive itself, else what it told its driver, else the kernel.
    pub fn is_on(&self) -> Option<bool> {
        match self.drive.told() {
            Some(reading) => Some(reading.enabled),
            None => match self.kernel.cache_type.as_deref() {
                Some(told) if told.starts_with("write back") => Some(true),
                Some("write through" | "none") => Some(false),
                _ => Some(self.kernel.write_cache? == WriteCache::WriteBack),
            },
        }
    }

    /// Everything in which the views contradict each other.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let on = self.is_on();
        let mut found = Vec::new();
        match (self.drive.told(), on, self.kernel.write_cache) {
            (Some(_), Some(true), Some(WriteCache::WriteThrough)) => {
                found.push(Disagreement::KernelSendsNoFlushes);
            }
            (_, Some(true), Some(WriteCache::WriteThrough)) => found.push(Disagreement::BeliefOverridden),
            (Some(_), Some(false), Some(WriteCache::WriteBack)) => {
                found.push(Disagreement::FlushesInVain);
            }
            _ => {}
        }
        if on == Some(true) {
            for view in &self.filesystems {
                let mount_point = view.mount_point.display().to_string();
                if let Some(option) = &view.flushes_disabled_by {
                    let option = option.clone();
                    found.push(Disagreement::FilesystemSendsNoFlushes { mount_point, option });
                } else if let Some(layer) = &view.stopped_by {
                    found.push(Disagreement::LayerStopsFlushes { mount_point, layer: layer.clone() });
                }
            }
        }
        found
    }
}
