//! The file or device that backs each loop device.
//!
//! sysfs provides a name, which is valid in the mount namespace where the device was attached, and
//! does not list the file's other names. The kernel reports device and inode number to users who
//! may open the loop device; other users have only the name.

mod status;

use std::path::{Path, PathBuf};

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
}

impl LoopDevice {
    pub(crate) fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// Returns whether this block device backs it.
    pub(crate) fn shows_device(&self, root: &SystemRoot, device: DeviceNumber) -> bool {
        match self.status {
            Some(status) => status.block_device == Some(device),
            None => root.device_at(&self.backing_path) == Some(device),
        }
    }

    /// Returns whether a write to one of the two changes the content of the other.
    pub(crate) fn overlaps(&self, other: &LoopDevice) -> bool {
        let (Some(own), Some(other)) = (self.status, other.status) else { return false };
        own.file == other.file && own.end() > other.offset_bytes && other.end() > own.offset_bytes
    }
}

pub(crate) fn attached(root: &SystemRoot) -> Vec<LoopDevice> {
    let devices = root.attributes("sys/class/block");
    let names = devices.entries("").into_iter().filter(|name| name.starts_with("loop"));
    let mut attached: Vec<LoopDevice> = names
        .filter_map(|name| {
            let backing_path = devices.text(format!("{name}/loop/backing_file"))?.into();
            Some(LoopDevice { name, backing_path, status: None })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_identity::FileIdentity;

    fn device(inode: u64, offset_bytes: u64, limit_bytes: u64) -> LoopDevice {
        let file = FileIdentity { device: DeviceNumber { major: 8, minor: 1 }, inode };
        let status = LoopStatus { file, block_device: None, offset_bytes, limit_bytes };
        LoopDevice {
            name: "loop0".to_owned(),
            backing_path: "/srv/image".into(),
            status: Some(status),
        }
    }

    #[test]
    fn two_parts_of_one_file_do_not_overlap() {
        let whole = device(1, 0, 0);
        let (first, second) = (device(1, 1 << 20, 1 << 20), device(1, 2 << 20, 0));
        assert!(whole.overlaps(&first) && second.overlaps(&whole));
        assert!(!first.overlaps(&second) && !second.overlaps(&first));
        assert!(!whole.overlaps(&device(2, 0, 0)), "another file");
        let unknown = LoopDevice { status: None, ..whole.clone() };
        assert!(!whole.overlaps(&unknown));
    }
}
