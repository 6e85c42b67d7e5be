//! Three views of one volatile write cache: what the drive reports, what the kernel believes, what
//! the filesystems do.
//!
//! Only together do they show what an `fsync` is worth. A drive that caches under a kernel that
//! believes in "write through" gets no flushes; a filesystem mounted without barriers sends none,
//! whatever the kernel believes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, BlockDevice, CacheReading, Usage, WriteCache};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheViews {
    pub drive: Answer<CacheReading>,
    /// The kernel's belief.
    pub kernel: KernelView,
    /// The mounted filesystems on the drive.
    pub filesystems: Vec<FilesystemView>,
}

/// Walks up from the disk to every mounted filesystem. `stopped_by` is the lowest layer on the way
/// that drops flushes.
fn look_up(on: &Usage, caches: bool, stopped_by: Option<&str>, found: &mut Vec<FilesystemView>) {
    // A loop device has no layer: its belief is about its file, whose filesystem is listed
    // separately.
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

/// The kernel's view: the settings of the block device's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelView {
    /// Its belief about the cache (`queue/write_cache`): it sends flushes only to a write-back
    /// cache.
    pub write_cache: Option<WriteCache>,
    /// True if it sends single writes that bypass the cache (`queue/fua`).
    pub fua: Option<bool>,
    /// What the drive reported to its driver, or an override (`scsi_disk/*/cache_type`, virtio's
    /// `cache_type`).
    pub cache_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesystemView {
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub mount_point: PathBuf,
    pub fs_type: String,
    /// The mount option that suppresses flushes; `None` where it sends them.
    pub flushes_disabled_by: Option<String>,
    /// Kernel name of a layer between the filesystem and the drive that drops flushes, because its
    /// queue says `write through` while the drive's says `write back`.
    pub stopped_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Disagreement {
    /// The drive caches, but the kernel sends it no flushes: an fsync does not make data durable.
    KernelSendsNoFlushes,
    /// The drive reported a cache to its driver, and the kernel's view was overridden; the drive
    /// itself was not asked.
    BeliefOverridden,
    /// The drive's cache is off, but the kernel still sends flushes: harmless.
    FlushesInVain,
    /// A filesystem sends no flushes to a drive that caches.
    FilesystemSendsNoFlushes {
        mount_point: String,
        /// The mount option that suppresses flushes.
        option: String,
    },
    /// A layer drops the flushes to a drive that caches.
    LayerStopsFlushes {
        /// Mount point of the filesystem above the layer.
        mount_point: String,
        /// Kernel name of the layer.
        layer: String,
    },
}

impl CacheViews {
    /// Combines the views of a disk. Only root can ask the drive, and only on this machine.
    pub fn of(
        disk: &BlockDevice,
        usage: Option<&Usage>,
        drive: Answer<CacheReading>,
    ) -> CacheViews {
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

    /// Returns whether the drive's cache is on, by the best available source: the drive, else what
    /// it reported to its driver, else the kernel.
    pub fn is_on(&self) -> Option<bool> {
        match self.drive.told() {
            Some(reading) => Some(reading.enabled),
            None => match self.kernel.cache_type.as_deref() {
                Some(cache_type) if cache_type.starts_with("write back") => Some(true),
                Some("write through" | "none") => Some(false),
                _ => Some(self.kernel.write_cache? == WriteCache::WriteBack),
            },
        }
    }

    /// All contradictions between the views.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let on = self.is_on();
        let mut found = Vec::new();
        match (self.drive.told(), on, self.kernel.write_cache) {
            (Some(_), Some(true), Some(WriteCache::WriteThrough)) => {
                found.push(Disagreement::KernelSendsNoFlushes);
            }
            (_, Some(true), Some(WriteCache::WriteThrough)) => {
                found.push(Disagreement::BeliefOverridden);
            }
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
                    found.push(Disagreement::LayerStopsFlushes {
                        mount_point,
                        layer: layer.clone(),
                    });
                }
            }
        }
        found
    }
}
