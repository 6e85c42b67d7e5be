//! The attachment of a disk: its path through the buses, its PCI device, its NUMA node.

use std::fs;
use std::path::{Path, PathBuf};

use crate::SystemRoot;
use crate::block::BlockDevice;
use crate::system_root::Attributes;

/// A disk and its sysfs directory, links followed.
pub(crate) struct Attached {
    pub(crate) device: BlockDevice,
    pub(crate) place: PathBuf,
}

impl Attached {
    pub(crate) fn new(root: &SystemRoot, device: BlockDevice) -> Option<Self> {
        let own = fs::canonicalize(root.path(format!("sys/dev/block/{}", device.device))).ok()?;
        Some(Attached { place: below_controller(&own).unwrap_or(own), device })
    }

    /// NUMA node of the nearest device above that reports one; -1 in sysfs means unknown.
    pub(crate) fn numa_node(&self) -> Option<u32> {
        let number = self
            .place
            .ancestors()
            .find_map(|above| fs::read_to_string(above.join("numa_node")).ok())?;
        number.trim().parse().ok()
    }

    /// The innermost PCI device on the path to the disk.
    pub(crate) fn pci_device(&self) -> Option<Attributes> {
        let above = self.place.ancestors().find(|above| is_pci_address(&name(above)))?;
        Some(Attributes { directory: above.to_owned() })
    }

    /// PCI address of [`pci_device`](Self::pci_device).
    pub(crate) fn pci_address(&self) -> Option<String> {
        self.pci_device().map(|device| name(&device.directory))
    }

    /// The part of the sysfs path that consists of `word` and a number: `virtio3`.
    pub(crate) fn numbered_part(&self, word: &str) -> Option<&str> {
        let mut parts = self.place.iter().filter_map(|part| part.to_str());
        parts.rfind(|part| part.strip_prefix(word).is_some_and(|rest| rest.parse::<u32>().is_ok()))
    }
}

/// An NVMe drive with several ports is attached to its subsystem, which is on no bus. One of the
/// controllers that the subsystem links to represents them all (drivers/nvme/host/multipath.c).
fn below_controller(disk: &Path) -> Option<PathBuf> {
    let subsystem = disk.parent().filter(|parent| name(parent).starts_with("nvme-subsys"))?;
    let links = Attributes { directory: subsystem.to_owned() }.entries("");
    let controller = links
        .iter()
        .find(|name| name.strip_prefix("nvme").is_some_and(|n| n.parse::<u32>().is_ok()))?;
    fs::canonicalize(subsystem.join(controller)).ok()
}

/// Name of the driver bound to `device` in this directory.
pub(crate) fn driver(directory: &Attributes, device: &str) -> Option<String> {
    let link = fs::read_link(directory.directory.join(device).join("driver")).ok()?;
    Some(name(&link)).filter(|name| !name.is_empty())
}

pub(crate) fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `0000:03:00.0`; behind Intel's Volume Management Device the domain has five digits.
fn is_pci_address(text: &str) -> bool {
    let hex = |part: &str, from: usize, to: usize| {
        (from..=to).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut parts = text.split([':', '.']);
    let sound = [(4, 8), (2, 2), (2, 2), (1, 1)]
        .iter()
        .all(|&(from, to)| parts.next().is_some_and(|part| hex(part, from, to)));
    sound
        && parts.next().is_none()
        && text.matches('.').count() == 1
        && text.rfind('.') > text.rfind(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_recognised() {
        for (text, expected) in [
            ("0000:03:00.0", true),
            ("10000:e1:00.0", true),
            ("pci0000:00", false),
            ("0:0:0:0", false),
            ("0000.03:00:0", false),
            ("0000:03:00.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_pci_address(text), expected, "{text}");
        }
    }
}
