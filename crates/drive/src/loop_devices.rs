//! The file or device that backs each loop device.
//!
//! sysfs provides a name, which is valid in the mount namespace where the device was attached, and
//! does not list the file's other names. The kernel reports device and inode number to users who
//! may open the loop device; other users have only the name.

mod status;

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::block::SECTOR_BYTES;
use crate::{DeviceNumber, SystemRoot};
use status::{LoopStatus, Node};

#[derive(Debug, Clone)]
pub(crate) struct LoopDevice {
    /// `loop3`.
    pub(crate) name: String,
    /// Path of its file, from sysfs.
    pub(crate) backing_path: PathBuf,
    /// The kernel's answer; `None` if this user may not ask.
    pub(crate) status: Option<LoopStatus>,
    /// The part of its file that it presents, from sysfs. The end is `u64::MAX` if it presents
    /// everything from the offset on.
    pub(crate) part: Range<u64>,
    /// The size of the device.
    pub(crate) size_bytes: u64,
}

impl LoopDevice {
    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// The block device that backs it; `None` if that is a regular file.
    pub(crate) fn block_device(&self, root: &SystemRoot) -> Option<DeviceNumber> {
        match self.status {
            Some(status) => status.block_device,
            None => root.device_at(&self.backing_path),
        }
    }

    /// Returns whether a file of this size can be the one that it presents.
    pub(crate) fn fits(&self, file_bytes: u64) -> bool {
        let end = self.part.start.saturating_add(self.size_bytes);
        if self.part.end == u64::MAX {
            // The device ends with the last whole sector of the file.
            file_bytes.saturating_sub(self.part.start) / SECTOR_BYTES * SECTOR_BYTES
                == self.size_bytes
        } else {
            file_bytes >= end
        }
    }

    /// Returns whether both present the same file. Without the kernel's answer for both, the paths
    /// decide.
    pub(crate) fn shares_file_with(&self, other: &LoopDevice) -> bool {
        match (self.status, other.status) {
            (Some(own), Some(other)) => own.file == other.file,
            _ => self.backing_path == other.backing_path,
        }
    }
}

pub(crate) fn attached(root: &SystemRoot) -> Vec<LoopDevice> {
    let devices = root.attributes("sys/class/block");
    let names = devices.entries("").into_iter().filter(|name| name.starts_with("loop"));
    let mut attached: Vec<LoopDevice> = names
        .filter_map(|name| {
            let backing_path = devices.text(format!("{name}/loop/backing_file"))?.into();
            let number = |file| devices.parsed(format!("{name}/loop/{file}")).unwrap_or(0);
            let part = part(number("offset"), number("sizelimit"));
            let sectors: u64 = devices.parsed(format!("{name}/size")).unwrap_or(0);
            let size_bytes = sectors.saturating_mul(SECTOR_BYTES);
            Some(LoopDevice { name, backing_path, status: None, part, size_bytes })
        })
        .collect();
    let nodes: Vec<Node> = attached
        .iter()
        .map(|device| Node {
            path: root.path(device.path()),
            number: devices.parsed(format!("{}/dev", device.name)),
        })
        .collect();
    for (device, status) in attached.iter_mut().zip(status::ask(&nodes)) {
        device.status = status;
    }
    attached
}

/// The bytes from an offset, up to a limit if that is not zero.
fn part(offset_bytes: u64, limit_bytes: u64) -> Range<u64> {
    match limit_bytes {
        0 => offset_bytes..u64::MAX,
        limit_bytes => offset_bytes..offset_bytes.saturating_add(limit_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_identity::FileIdentity;

    fn device(inode: u64) -> LoopDevice {
        let file = FileIdentity { device: DeviceNumber { major: 8, minor: 1 }, inode };
        LoopDevice {
            name: "loop0".to_owned(),
            backing_path: "/srv/image".into(),
            status: Some(LoopStatus { file, block_device: None }),
            part: part(0, 0),
            size_bytes: 0,
        }
    }

    #[test]
    fn a_file_is_known_by_its_number_or_else_by_its_path() {
        assert!(device(1).shares_file_with(&device(1)));
        assert!(!device(1).shares_file_with(&device(2)), "another file under the same path");
        let unknown = LoopDevice { status: None, ..device(2) };
        assert!(device(1).shares_file_with(&unknown));
        let elsewhere = LoopDevice { backing_path: "/srv/other".into(), ..unknown };
        assert!(!device(1).shares_file_with(&elsewhere));
    }

    #[test]
    fn a_file_fits_by_its_whole_sectors_or_reaches_the_limit() {
        let whole = LoopDevice { size_bytes: 1024, part: part(512, 0), ..device(1) };
        assert_eq!(
            [1535, 1536, 2047, 2048].map(|bytes| whole.fits(bytes)),
            [false, true, true, false]
        );
        let limited = LoopDevice { part: part(512, 1024), ..whole };
        assert_eq!([1535, 1536, 9999].map(|bytes| limited.fits(bytes)), [false, true, true]);
    }

    #[test]
    fn a_limit_of_zero_is_none() {
        assert_eq!(part(512, 0), 512..u64::MAX);
        assert_eq!(part(512, 1024), 512..1536);
    }
}
