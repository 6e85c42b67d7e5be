//! The cache of a real disk.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use crate::block::sysfs_place;
use crate::cache_switch::CacheControl;
use crate::system_root::Attributes;
use crate::{
    BlockDevice, CacheReading, CommandError, DeviceNumber, OpenDrive, SystemRoot, WriteCache,
};

/// A disk that takes commands, with its attributes in sysfs.
#[derive(Debug)]
pub struct DiskCache {
    drive: OpenDrive,
    root: SystemRoot,
    number: DeviceNumber,
    disk: Attributes,
    node: PathBuf,
}

impl DiskCache {
    pub fn open(root: &SystemRoot, disk: &BlockDevice) -> Result<DiskCache, CommandError> {
        let drive = OpenDrive::open(root, disk)?;
        let place = sysfs_place(root, disk.device)
            .ok_or_else(|| CommandError::Gone { device: disk.path.clone() })?;
        Ok(DiskCache {
            drive,
            root: root.clone(),
            number: disk.device,
            disk: Attributes { directory: place },
            node: disk.path.clone(),
        })
    }

    /// The kernel's switch: the SCSI disk driver sends MODE SELECT (which libata turns into SET
    /// FEATURES) and reads the page again; virtio negotiates with the host. Both then inform the
    /// block layer.
    fn kernel_switch(&self) -> Option<PathBuf> {
        let scsi = self.disk.entries("device/scsi_disk").into_iter().next();
        let scsi = scsi.map(|address| format!("device/scsi_disk/{address}/cache_type"));
        [scsi.as_deref().unwrap_or_default(), "cache_type"]
            .into_iter()
            .filter(|file| !file.is_empty() && self.disk.exists(file))
            .map(|file| self.disk.directory.join(file))
            .next()
    }

    fn write(&self, path: &PathBuf, text: &str) -> Result<(), CommandError> {
        fs::write(path, text).map_err(|source| self.sysfs_error(source))
    }

    fn sysfs_error(&self, source: io::Error) -> CommandError {
        let device = self.node.clone();
        match source.kind() {
            io::ErrorKind::PermissionDenied => CommandError::NeedsRoot { device },
            io::ErrorKind::NotFound => CommandError::Gone { device },
            _ => CommandError::Io { device, command: "the kernel's cache_type switch", source },
        }
    }

    fn by_device_command(&mut self, on: bool) -> Result<(), CommandError> {
        self.drive.set_write_cache(on)?;
        // The SCSI disk driver does not notice a command that bypassed it; a rescan makes it read
        // the caching page again.
        let rescan = self.disk.directory.join("device/rescan");
        if rescan.exists() {
            // If it fails, the kernel keeps its old belief; callers that switch a cache on check
            // that belief.
            let _ = self.write(&rescan, "1");
        }
        Ok(())
    }
}

/// The value of `cache_type` that changes the write cache and keeps the read cache: sd writes WCE
/// and RCD together (drivers/scsi/sd.c, `sd_cache_types`).
fn cache_type(now: &str, on: bool) -> &'static str {
    let reads_uncached = matches!(now, "none" | "write back, no read (daft)");
    match (on, reads_uncached) {
        (true, false) => "write back",
        (true, true) => "write back, no read (daft)",
        (false, false) => "write through",
        (false, true) => "none",
    }
}

impl CacheControl for DiskCache {
    fn reading(&mut self) -> Result<CacheReading, CommandError> {
        self.drive.write_cache()
    }

    fn switch(&mut self, on: bool) -> Result<(), CommandError> {
        if !on {
            // ACS and SBC require the drive to write its cache out when it is switched off. Relying
            // on that would be rash when the drive's cache is in question; a flush costs
            // milliseconds.
            let flushed = File::open(&self.node).and_then(|node| node.sync_all());
            flushed.map_err(|source| CommandError::Io {
                device: self.node.clone(),
                command: "a flush",
                source,
            })?;
        }
        if let Some(path) = self.kernel_switch() {
            let now = fs::read_to_string(&path).map_err(|source| self.sysfs_error(source))?;
            match self.write(&path, cache_type(now.trim(), on)) {
                Ok(()) => return Ok(()),
                Err(error @ (CommandError::NeedsRoot { .. } | CommandError::Gone { .. })) => {
                    return Err(error);
                }
                // Bridges without a caching page: sd answers EINVAL, but the drive behind the
                // bridge may still take its own command.
                Err(_) => {}
            }
        }
        self.by_device_command(on)
    }

    fn kernel_believes(&self) -> Option<WriteCache> {
        BlockDevice::read(&self.root, self.number).ok()?.queue.write_cache
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_cache_stays_as_it_is() {
        assert_eq!(cache_type("write back", false), "write through");
        assert_eq!(cache_type("write through", true), "write back");
        assert_eq!(cache_type("none", true), "write back, no read (daft)");
        assert_eq!(cache_type("write back, no read (daft)", false), "none");
    }
}
