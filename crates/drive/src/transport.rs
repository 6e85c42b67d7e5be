//! The transport by which a block device is attached.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bus, or the driver that provides the device. Derived from the device's path in sysfs: a best
/// guess, and `unknown` where the path gives no hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Transport {
    /// NVMe, on PCIe.
    Nvme,
    /// NVMe over TCP, RDMA or Fibre Channel.
    NvmeFabrics,
    /// Serial (or parallel) ATA through libata.
    Sata,
    /// Serial Attached SCSI; the drive itself may be SATA.
    Sas,
    /// SCSI of any other kind: RAID controllers, iSCSI, Fibre Channel.
    Scsi,
    /// USB mass storage.
    Usb,
    /// SD card or eMMC.
    Mmc,
    /// A hypervisor's virtio-blk or virtio-scsi disk.
    Virtio,
    /// A disk of Microsoft Hyper-V or Azure.
    HyperV,
    Xen,
    /// Persistent memory (`/dev/pmem0`).
    Pmem,
    /// A file presented as a disk.
    Loop,
    /// Compressed memory.
    Zram,
    /// Plain memory (`/dev/ram0`).
    Ram,
    /// Device mapper: LVM, dm-crypt, multipath...
    DeviceMapper,
    /// Software RAID.
    Md,
    Bcache,
    Drbd,
    /// A network block device.
    Nbd,
    /// A Ceph image.
    Rbd,
    /// A ZFS volume.
    Zvol,
    /// A driver in user space.
    Ublk,
    /// The kernel's test device.
    NullBlk,
    /// None of the above.
    Unknown,
}

/// Devices that are on no bus, by the start of their kernel name.
const VIRTUAL: &[(&str, Transport)] = &[
    ("loop", Transport::Loop),
    ("zram", Transport::Zram),
    ("ram", Transport::Ram),
    ("dm-", Transport::DeviceMapper),
    ("md", Transport::Md),
    ("bcache", Transport::Bcache),
    ("drbd", Transport::Drbd),
    ("nbd", Transport::Nbd),
    ("rbd", Transport::Rbd),
    ("zd", Transport::Zvol),
    ("ublkb", Transport::Ublk),
    ("nullb", Transport::NullBlk),
    ("pmem", Transport::Pmem),
];

impl Transport {
    /// Derives the transport from the sysfs path of a whole disk, links followed.
    ///
    /// ```
    /// use drive::Transport;
    ///
    /// let place = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
    /// assert_eq!(Transport::of_sysfs_path(place.as_ref()), Transport::Sata);
    /// ```
    pub fn of_sysfs_path(path: &Path) -> Self {
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let name = parts.last().copied().unwrap_or_default();
        // `ata3`, but not `ata` or `atapi`: the word followed by a number.
        let numbered = |word: &str| {
            parts.iter().any(|part| {
                part.strip_prefix(word).is_some_and(|rest| {
                    !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
                })
            })
        };
        let starting = |word: &str| parts.iter().any(|part| part.starts_with(word));

        if let Some((_, transport)) = VIRTUAL.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            return *transport;
        }
        if name.starts_with("nvme") {
            return if starting("nvme-fabrics") { Transport::NvmeFabrics } else { Transport::Nvme };
        }
        // Outermost bus first: a USB bridge shows a SCSI host, a virtio-scsi disk a SCSI target.
        if numbered("usb") {
            Transport::Usb
        } else if numbered("virtio") {
            Transport::Virtio
        } else if starting("VMBUS") || starting("vmbus_") {
            Transport::HyperV
        } else if starting("vbd-") {
            Transport::Xen
        } else if name.starts_with("mmcblk") {
            Transport::Mmc
        } else if numbered("ata") {
            Transport::Sata
        } else if starting("end_device-") {
            Transport::Sas
        } else if starting("target") || numbered("host") {
            Transport::Scsi
        } else {
            Transport::Unknown
        }
    }

    /// Returns whether the kernel counts flushes for such a device itself. `blk_account_io_flush`
    /// (block/blk-flush.c) runs only for requests; drivers that take whole bios pass the flush on,
    /// and it is counted at the devices below, if there are any.
    pub fn counts_flushes(self) -> bool {
        !matches!(
            self,
            Transport::DeviceMapper
                | Transport::Md
                | Transport::Bcache
                | Transport::Drbd
                | Transport::Zram
                | Transport::Ram
                | Transport::Pmem
                | Transport::Zvol
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_paths_determine_the_transport() {
        for (place, expected) in [
            (
                "/sys/devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0/nvme0n1",
                Transport::Nvme,
            ),
            ("/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1", Transport::Nvme),
            ("/sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1", Transport::NvmeFabrics),
            (
                "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda",
                Transport::Sata,
            ),
            (
                "/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdb",
                Transport::Sas,
            ),
            (
                "/sys/devices/pci0000:00/0000:00:05.0/0000:02:00.0/host0/target0:2:0/0:2:0:0/block/sda",
                Transport::Scsi,
            ),
            ("/sys/devices/platform/host9/session1/target9:0:0/9:0:0:1/block/sdc", Transport::Scsi),
            (
                "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdd",
                Transport::Usb,
            ),
            ("/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda", Transport::Virtio),
            (
                "/sys/devices/pci0000:00/0000:00:04.0/virtio2/host2/target2:0:0/2:0:0:1/block/sda",
                Transport::Virtio,
            ),
            (
                "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/fd1d2cbd/host0/target0:0:0/0:0:0:0/block/sda",
                Transport::HyperV,
            ),
            ("/sys/devices/vbd-51712/block/xvda", Transport::Xen),
            (
                "/sys/devices/platform/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0",
                Transport::Mmc,
            ),
            ("/sys/devices/virtual/block/loop0", Transport::Loop),
            ("/sys/devices/virtual/block/zram0", Transport::Zram),
            ("/sys/devices/virtual/block/ram0", Transport::Ram),
            ("/sys/devices/virtual/block/dm-3", Transport::DeviceMapper),
            ("/sys/devices/virtual/block/md127", Transport::Md),
            ("/sys/devices/virtual/block/nbd0", Transport::Nbd),
            ("/sys/devices/rbd/0/block/rbd0", Transport::Rbd),
            ("/sys/devices/virtual/block/zd0", Transport::Zvol),
            ("/sys/devices/somewhere/strange0", Transport::Unknown),
            ("", Transport::Unknown),
        ] {
            assert_eq!(Transport::of_sysfs_path(Path::new(place)), expected, "{place}");
        }
    }
}
