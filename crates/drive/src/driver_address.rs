//! The names by which drivers call drives in the kernel's tracepoints.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::block::{disk_place, sysfs_place};
use crate::{DeviceNumber, SystemRoot};

/// The name by which a driver's tracepoints call a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum DriverAddress {
    /// `nvme0n1`; `nvme0c1n1` is the way to it through one of several controllers.
    Nvme { subsystem: u32, controller: Option<u32>, namespace: u32 },
    /// `2:0:0:0`. Tracepoints have the lower half of a LUN.
    Scsi { host: u32, channel: u32, target: u32, lun: u32 },
}

impl DriverAddress {
    /// The addresses of a disk: none if its driver has no tracepoints for commands, several for an
    /// NVMe drive with several controllers.
    pub fn of_disk(root: &SystemRoot, disk: DeviceNumber) -> Vec<DriverAddress> {
        let place = sysfs_place(root, disk);
        place.map_or_else(Vec::new, |place| DriverAddress::at(root, disk_place(&place)))
    }

    /// The addresses of the disk with this sysfs directory.
    pub(crate) fn at(root: &SystemRoot, disk: &Path) -> Vec<DriverAddress> {
        let parsed = |path: &Path| path.file_name()?.to_str()?.parse::<DriverAddress>().ok();
        if let Some(own) = parsed(disk) {
            let paths = root.attributes("sys/block").entries("").into_iter();
            let paths = paths.filter_map(|name| name.parse().ok());
            return [own].into_iter().chain(paths.filter(|path| own.is_head_of(path))).collect();
        }
        let device = std::fs::canonicalize(disk.join("device")).ok();
        device.and_then(|device| parsed(&device)).into_iter().collect()
    }

    /// True if a drive with this address is reached through a controller as `path`.
    pub(crate) fn is_head_of(&self, path: &DriverAddress) -> bool {
        match (*self, *path) {
            (
                DriverAddress::Nvme { subsystem, controller: None, namespace },
                DriverAddress::Nvme { subsystem: of, controller: Some(_), namespace: same },
            ) => subsystem == of && namespace == same,
            _ => false,
        }
    }
}

impl fmt::Display for DriverAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverAddress::Nvme { subsystem, controller: None, namespace } => {
                write!(f, "nvme{subsystem}n{namespace}")
            }
            DriverAddress::Nvme { subsystem, controller: Some(controller), namespace } => {
                write!(f, "nvme{subsystem}c{controller}n{namespace}")
            }
            DriverAddress::Scsi { host, channel, target, lun } => {
                write!(f, "{host}:{channel}:{target}:{lun}")
            }
        }
    }
}

impl From<DriverAddress> for String {
    fn from(address: DriverAddress) -> Self {
        address.to_string()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid address of a drive `{0}`; expected one such as `nvme0n1` or `2:0:0:0`")]
pub struct NotADriverAddress(String);

impl FromStr for DriverAddress {
    type Err = NotADriverAddress;

    fn from_str(text: &str) -> Result<Self, NotADriverAddress> {
        let address = match text.strip_prefix("nvme") {
            Some(numbers) => nvme(numbers),
            None => scsi(text),
        };
        address.ok_or_else(|| NotADriverAddress(text.to_owned()))
    }
}

fn nvme(numbers: &str) -> Option<DriverAddress> {
    let (subsystem, namespace) = numbers.split_once('n')?;
    let (subsystem, controller) = match subsystem.split_once('c') {
        Some((subsystem, controller)) => (subsystem, Some(controller.parse().ok()?)),
        None => (subsystem, None),
    };
    let (subsystem, namespace) = (subsystem.parse().ok()?, namespace.parse().ok()?);
    Some(DriverAddress::Nvme { subsystem, controller, namespace })
}

fn scsi(numbers: &str) -> Option<DriverAddress> {
    let mut numbers = numbers.split(':').map(|number| number.parse::<u64>().ok());
    let mut small = || u32::try_from(numbers.next()??).ok();
    let (host, channel, target) = (small()?, small()?, small()?);
    let lun = numbers.next()?? as u32;
    numbers.next().is_none().then_some(DriverAddress::Scsi { host, channel, target, lun })
}

impl TryFrom<String> for DriverAddress {
    type Error = NotADriverAddress;

    fn try_from(text: String) -> Result<Self, NotADriverAddress> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use captures::{Machine, built};

    use super::*;

    fn addresses(machine: &Machine, disk: &str) -> Vec<String> {
        let root = SystemRoot::new(machine.path());
        let found = DriverAddress::of_disk(&root, disk.parse().unwrap());
        found.iter().map(DriverAddress::to_string).collect()
    }

    #[test]
    fn travels_as_text() {
        for text in ["nvme0n1", "nvme10c2n3", "2:0:0:0", "12:1:3:16384"] {
            let address: DriverAddress = text.parse().unwrap();
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<DriverAddress>(&json).unwrap(), address);
        }
        let wide: DriverAddress = "0:0:0:4294967299".parse().unwrap();
        assert_eq!(wide.to_string(), "0:0:0:3");
    }

    #[test]
    fn refuses_other_names() {
        for text in
            ["", "sda", "nvme", "nvme0", "nvme0n", "nvme0n1p2", "nvme0c1", "0:0:0", "0:0:0:0:0"]
        {
            assert!(text.parse::<DriverAddress>().is_err(), "{text:?}");
        }
        insta::assert_snapshot!("sda".parse::<DriverAddress>().unwrap_err(), @"invalid address of a drive `sda`; expected one such as `nvme0n1` or `2:0:0:0`");
    }

    #[test]
    fn a_partition_has_the_address_of_its_disk() {
        assert_eq!(addresses(&built::laptop(), "259:0"), ["nvme0n1"]);
        assert_eq!(addresses(&built::laptop(), "259:2"), ["nvme0n1"]);
    }

    #[test]
    fn an_nvme_drive_with_several_controllers_has_one_for_each() {
        let machine = Machine::new();
        machine.disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0", &[]);
        for path in ["nvme0c0n1", "nvme0c1n1", "nvme0c0n2", "nvme1c0n1"] {
            machine.disk(&format!("pci0000:00/nvme/nvme0/{path}"), &format!("0:{path}"), &[]);
        }
        assert_eq!(addresses(&machine, "259:0"), ["nvme0n1", "nvme0c0n1", "nvme0c1n1"]);
    }

    #[test]
    fn a_scsi_disk_has_the_address_of_its_device() {
        let machine = Machine::new();
        let device = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
        machine.disk(&format!("{device}/block/sda"), "8:0", &[]);
        machine.link(
            &format!("sys/devices/{device}/block/sda/device"),
            &format!("sys/devices/{device}"),
        );
        machine.disk("virtual/block/loop0", "7:0", &[]);
        assert_eq!(addresses(&machine, "8:0"), ["2:0:0:0"]);
        assert_eq!(addresses(&machine, "7:0"), Vec::<String>::new());
        assert_eq!(addresses(&machine, "7:1"), Vec::<String>::new());
    }
}
