//! virtio-blk, whose driver negotiates the cache and publishes it in sysfs.
//!
//! Reading the attribute `cache_type` asks the host each time (drivers/block/virtio_blk.c,
//! `virtblk_get_cache_mode`). It can be written only where the host offers VIRTIO_BLK_F_CONFIG_WCE:
//! its mode is then 0644, else 0444 (`virtblk_attrs_are_visible`).

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{CacheReading, CommandError};
use crate::{AfterPowerCycle, ToldBy};

/// The attribute of one disk.
#[derive(Debug)]
pub struct VirtioConfig {
    pub device: PathBuf,
    pub cache_type: PathBuf,
}

const READING: &str = "a read of its cache_type";
const SWITCHING: &str = "a write to its cache_type";

impl VirtioConfig {
    pub fn write_cache(&self) -> Result<CacheReading, CommandError> {
        const OWNER_WRITES: u32 = 0o200;

        let text =
            fs::read_to_string(&self.cache_type).map_err(|source| self.failed(READING, source))?;
        let mode = fs::metadata(&self.cache_type)
            .map_err(|source| self.failed(READING, source))?
            .permissions()
            .mode();
        let enabled = match text.trim() {
            "write back" => true,
            "write through" => false,
            other => {
                let what = format!("`{}`", other.escape_debug());
                return Err(CommandError::InvalidAnswer {
                    device: self.device.clone(),
                    command: READING,
                    what,
                });
            }
        };
        let switchable = mode & OWNER_WRITES != 0;
        Ok(CacheReading {
            present: enabled || switchable,
            enabled,
            switchable,
            // The host starts every boot from its configuration (QEMU: `write-cache` of the device,
            // restored by `virtio_blk_reset`).
            after_power_cycle: if switchable {
                AfterPowerCycle::Reverts
            } else {
                AfterPowerCycle::Unknown
            },
            told_by: ToldBy::VirtioConfig,
        })
    }

    pub fn set_write_cache(&self, on: bool) -> Result<(), CommandError> {
        if !self.write_cache()?.switchable {
            let because = "its host does not allow its cache to be switched".to_owned();
            return Err(CommandError::NotSupported { device: self.device.clone(), because });
        }
        let text = if on { "write back" } else { "write through" };
        // Opened without creating it: a file that has vanished must not come back.
        let write = || {
            let mut attribute = fs::OpenOptions::new().write(true).open(&self.cache_type)?;
            io::Write::write_all(&mut attribute, text.as_bytes())
        };
        write().map_err(|source| self.failed(SWITCHING, source))
    }

    fn failed(&self, command: &'static str, source: io::Error) -> CommandError {
        let device = self.device.clone();
        match source.kind() {
            io::ErrorKind::PermissionDenied => CommandError::NeedsRoot { device },
            io::ErrorKind::NotFound => CommandError::Gone { device },
            _ => CommandError::Io { device, command, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn attribute(directory: &Path, content: &[u8], mode: u32) -> VirtioConfig {
        let cache_type = directory.join("cache_type");
        fs::write(&cache_type, content).unwrap();
        fs::set_permissions(&cache_type, fs::Permissions::from_mode(mode)).unwrap();
        VirtioConfig { device: "/dev/vda".into(), cache_type }
    }

    #[test]
    fn writable_is_switchable() {
        let directory = tempfile::tempdir().unwrap();
        for (content, mode, expected) in [
            ("write back\n", 0o644, (true, true, true, AfterPowerCycle::Reverts)),
            ("write through\n", 0o644, (true, false, true, AfterPowerCycle::Reverts)),
            ("write back\n", 0o444, (true, true, false, AfterPowerCycle::Unknown)),
            ("write through\n", 0o444, (false, false, false, AfterPowerCycle::Unknown)),
        ] {
            let _ = fs::remove_file(directory.path().join("cache_type"));
            let CacheReading { present, enabled, switchable, after_power_cycle, told_by } =
                attribute(directory.path(), content.as_bytes(), mode).write_cache().unwrap();
            assert_eq!(
                (present, enabled, switchable, after_power_cycle),
                expected,
                "{content} {mode:o}"
            );
            assert_eq!(told_by, ToldBy::VirtioConfig);
        }
    }

    #[test]
    fn a_switch_writes_the_attribute() {
        let directory = tempfile::tempdir().unwrap();
        let virtio = attribute(directory.path(), b"write back\n", 0o644);
        virtio.set_write_cache(false).unwrap();
        assert_eq!(fs::read_to_string(&virtio.cache_type).unwrap().trim(), "write through");
    }

    #[test]
    fn what_the_host_has_fixed_is_refused_and_needs_no_root() {
        let directory = tempfile::tempdir().unwrap();
        let fixed = attribute(directory.path(), b"write back\n", 0o444);
        insta::assert_snapshot!(fixed.set_write_cache(false).unwrap_err(), @"/dev/vda does not support that: its host does not allow its cache to be switched");
    }

    #[test]
    fn nonsense_and_absence() {
        let directory = tempfile::tempdir().unwrap();
        let virtio = attribute(directory.path(), b"\x1b[2Jmaybe", 0o644);
        insta::assert_snapshot!(virtio.write_cache().unwrap_err(), @r"/dev/vda gave an invalid answer to a read of its cache_type: `\u{1b}[2Jmaybe`");
        fs::remove_file(&virtio.cache_type).unwrap();
        insta::assert_snapshot!(virtio.write_cache().unwrap_err(), @"/dev/vda is gone: it was unplugged, or its driver gave up on it");
        insta::assert_snapshot!(virtio.set_write_cache(true).unwrap_err(), @"/dev/vda is gone: it was unplugged, or its driver gave up on it");
    }
}
