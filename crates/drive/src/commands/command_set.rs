//! The command set of a device, judged from sysfs before anything is sent to it.

use std::path::PathBuf;

use crate::system_root::Attributes;
use crate::{BlockDevice, Transport};

/// A device's command set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandSet {
    Nvme,
    /// SCSI commands, which may carry ATA commands.
    Scsi(Ata),
    /// The virtio-blk attribute at this path.
    VirtioConfig(PathBuf),
}

/// The likelihood that a drive that takes SCSI commands is an ATA drive inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ata {
    /// Certainly: libata drives it.
    Inside,
    /// Often: it is a USB bridge.
    BehindUsb,
    /// If it says so: a SATA drive behind a SAS adapter has the vendor `ATA`.
    IfItSaysSo,
}

impl CommandSet {
    /// Judges a whole disk from its sysfs directory.
    ///
    /// # Errors
    /// Half a sentence: why it has no commands for a cache.
    pub fn of(disk: &BlockDevice, attributes: &Attributes) -> Result<CommandSet, String> {
        if let Some(partition) = &disk.partition {
            return Err(format!("it is a partition; ask its disk, /dev/{}", partition.disk));
        }
        let is_scsi = attributes.exists("device/scsi_disk") || disk.name.starts_with("sd");
        match disk.transport {
            Transport::Nvme | Transport::NvmeFabrics => Ok(CommandSet::Nvme),
            Transport::Sata if is_scsi => Ok(CommandSet::Scsi(Ata::Inside)),
            Transport::Usb if is_scsi => Ok(CommandSet::Scsi(Ata::BehindUsb)),
            _ if is_scsi => Ok(CommandSet::Scsi(Ata::IfItSaysSo)),
            Transport::Virtio if attributes.exists("cache_type") => {
                Ok(CommandSet::VirtioConfig(attributes.directory.join("cache_type")))
            }
            transport => Err(no_commands(disk, transport)),
        }
    }
}

fn no_commands(disk: &BlockDevice, transport: Transport) -> String {
    let below = || {
        let names: Vec<String> =
            disk.drives().iter().map(|drive| drive.path.display().to_string()).collect();
        match names.as_slice() {
            _ if disk.layers.is_empty() => String::new(),
            [] => String::new(),
            [one] => format!("; ask the drive below, {one}"),
            several => format!("; ask the drives below, {}", several.join(", ")),
        }
    };
    match transport {
        Transport::Loop => match &disk.backing_file {
            Some(file) => {
                format!("a loop device has no cache; ask the drive that stores {}", file.display())
            }
            None => "a loop device has no cache".to_owned(),
        },
        Transport::Zram | Transport::Ram => "it is memory, not a drive".to_owned(),
        Transport::Pmem => "persistent memory takes no drive commands".to_owned(),
        Transport::DeviceMapper => format!("a device-mapper device has no cache{}", below()),
        Transport::Md => format!("a software RAID has no cache{}", below()),
        Transport::Bcache => format!("bcache is not a drive{}", below()),
        Transport::Drbd => format!("DRBD has no cache{}", below()),
        Transport::Zvol => "a ZFS volume has no cache; ask the drives of its pool".to_owned(),
        Transport::Nbd | Transport::Rbd => "its cache is on the server; ask there".to_owned(),
        Transport::Ublk => "it is served by a user-space program, which owns the cache".to_owned(),
        Transport::NullBlk => {
            "it is the kernel's test device, configured when it is created".to_owned()
        }
        Transport::Mmc => {
            "SD cards and eMMC use other commands (`mmc extcsd read` shows an eMMC's cache)"
                .to_owned()
        }
        Transport::Virtio => "its host offers no cache attribute".to_owned(),
        Transport::Xen => "the host does not pass commands to a Xen disk".to_owned(),
        _ => "its driver is unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::sysfs_place;
    use captures::{Machine, built};

    use crate::SystemRoot;

    fn command_set(machine: &Machine, device: &str) -> Result<CommandSet, String> {
        let device = device.parse().unwrap();
        let disk = BlockDevice::read(&SystemRoot::new(machine.path()), device).unwrap();
        CommandSet::of(
            &disk,
            &Attributes {
                directory: sysfs_place(&SystemRoot::new(machine.path()), device).unwrap(),
            },
        )
    }

    /// A machine with one disk that has these attributes.
    fn with(place: &str, attributes: &[(&str, &str)]) -> Machine {
        let machine = Machine::new();
        machine.disk(place, "7:0", attributes);
        machine
    }

    fn refusal_of(place: &str, attributes: &[(&str, &str)]) -> String {
        command_set(&with(place, attributes), "7:0").unwrap_err()
    }

    #[test]
    fn drives_by_their_bus() {
        const SCSI: (&str, &str) = ("device/scsi_disk/0:0:0:0/cache_type", "write back");
        assert_eq!(command_set(&built::laptop(), "259:0"), Ok(CommandSet::Nvme));
        assert_eq!(command_set(&built::raid_server(), "8:0"), Ok(CommandSet::Scsi(Ata::Inside)));
        for (place, ata) in [
            (
                "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdd",
                Ata::BehindUsb,
            ),
            (
                "pci0000:80/0000:81:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdb",
                Ata::IfItSaysSo,
            ),
            ("pci0000:00/0000:02:00.0/host0/target0:2:0/0:2:0:0/block/sda", Ata::IfItSaysSo),
            (
                "pci0000:00/0000:00:04.0/virtio2/host2/target2:0:0/2:0:0:1/block/sda",
                Ata::IfItSaysSo,
            ),
            ("LNXSYSTM:00/VMBUS:00/fd1d2cbd/host0/target0:0:0/0:0:0:0/block/sda", Ata::IfItSaysSo),
        ] {
            assert_eq!(
                command_set(&with(place, &[SCSI]), "7:0"),
                Ok(CommandSet::Scsi(ata)),
                "{place}"
            );
            // The SCSI disk driver publishes its attributes a moment later than the disk.
            assert_eq!(command_set(&with(place, &[]), "7:0"), Ok(CommandSet::Scsi(ata)), "{place}");
        }
        let virtio = command_set(&built::cloud_vm(), "254:0").unwrap();
        assert!(
            matches!(virtio, CommandSet::VirtioConfig(path) if path.ends_with("block/vda/cache_type"))
        );
    }

    #[test]
    fn devices_without_commands_name_the_one_to_ask() {
        insta::assert_snapshot!(command_set(&built::laptop(), "259:2").unwrap_err(), @"it is a partition; ask its disk, /dev/nvme0n1");
        insta::assert_snapshot!(command_set(&built::raid_server(), "9:0").unwrap_err(), @"a software RAID has no cache; ask the drives below, /dev/sda2, /dev/sdb2");
        insta::assert_snapshot!(command_set(&built::raid_server(), "253:1").unwrap_err(), @"a device-mapper device has no cache; ask the drives below, /dev/sda2, /dev/sdb2");
        insta::assert_snapshot!(refusal_of("virtual/block/loop0", &[]), @"a loop device has no cache");
        insta::assert_snapshot!(refusal_of("virtual/block/loop0", &[("loop/backing_file", "/srv/disk.img")]), @"a loop device has no cache; ask the drive that stores /srv/disk.img");
        insta::assert_snapshot!(refusal_of("virtual/block/zram0", &[]), @"it is memory, not a drive");
        insta::assert_snapshot!(refusal_of("virtual/block/dm-0", &[]), @"a device-mapper device has no cache");
        insta::assert_snapshot!(refusal_of("virtual/block/nbd0", &[]), @"its cache is on the server; ask there");
        insta::assert_snapshot!(refusal_of("virtual/block/nullb0", &[]), @"it is the kernel's test device, configured when it is created");
        insta::assert_snapshot!(refusal_of("platform/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0", &[]), @"SD cards and eMMC use other commands (`mmc extcsd read` shows an eMMC's cache)");
        insta::assert_snapshot!(refusal_of("pci0000:00/virtio1/block/vda", &[]), @"its host offers no cache attribute");
        insta::assert_snapshot!(refusal_of("vbd-51712/block/xvda", &[]), @"the host does not pass commands to a Xen disk");
        insta::assert_snapshot!(refusal_of("somewhere/strange0", &[]), @"its driver is unknown");
    }
}
