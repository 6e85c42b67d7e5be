//! The host's settings for its disks.

use std::path::Path;

use super::facts::{Array, DiskSettings, VirtualDisk};
use super::interrupts::Interrupts;
use crate::bus::{Attached, driver, hexadecimal};
use crate::usage::natural;
use crate::{BlockDevice, SystemRoot, Transport};

/// LSI Logic, later Broadcom.
const LSI: u32 = 0x1000;

/// Every physically attached disk, in natural order; devices made of other disks, memory or files
/// are not included.
pub(super) fn attached(root: &SystemRoot) -> Vec<Attached> {
    let blocks = root.attributes("sys/block");
    let mut names = blocks.entries("");
    // These drives exist even without a medium, and no commits go to them.
    names.retain(|name| !name.starts_with("sr") && !name.starts_with("fd"));
    names.sort_by_key(|name| natural(Path::new(name)));
    let devices =
        names.iter().filter_map(|name| BlockDevice::read(root, root.device_named(name)?).ok());
    let disks = devices.filter(|device| {
        let made_up = matches!(
            device.transport,
            Transport::Loop
                | Transport::Ram
                | Transport::Zram
                | Transport::DeviceMapper
                | Transport::Md
                | Transport::Bcache
                | Transport::Drbd
                | Transport::Zvol
        );
        !made_up && device.size_bytes.is_some_and(|bytes| bytes > 0)
    });
    disks.filter_map(|device| Attached::new(root, device)).collect()
}

pub(super) fn settings(
    root: &SystemRoot,
    disks: &[Attached],
    virtual_machine: bool,
) -> Vec<DiskSettings> {
    let interrupts = Interrupts::read(root);
    let settings = disks.iter().map(|disk| DiskSettings {
        name: disk.device.name.clone(),
        transport: disk.device.transport,
        rotational: disk.device.queue.rotational,
        scheduler: disk.device.queue.scheduler.clone(),
        numa_node: disk.numa_node(),
        interrupts: interrupts.of(root, disk),
        virtual_disk: virtual_disk(disk, virtual_machine),
    });
    settings.collect()
}

/// The models that hypervisors give to emulated disks.
const EMULATED_MODELS: [&str; 3] = ["QEMU HARDDISK", "VBOX HARDDISK", "VMware Virtual"];

/// Paravirtual disks are easy to recognise. Emulated hardware is known by the disk's model. Other
/// models are not, but a virtual machine rarely has the real hardware.
fn virtual_disk(disk: &Attached, virtual_machine: bool) -> Option<VirtualDisk> {
    match disk.device.transport {
        // virtio-scsi has a SCSI host below its virtio device.
        Transport::Virtio if disk.numbered_part("host").is_some() => {
            return Some(VirtualDisk::VirtioScsi);
        }
        Transport::Virtio => return Some(VirtualDisk::VirtioBlk),
        Transport::HyperV => return Some(VirtualDisk::HyperV),
        Transport::Xen => return Some(VirtualDisk::Xen),
        Transport::Nvme if virtual_machine => return Some(VirtualDisk::Nvme),
        Transport::Usb => return None,
        _ => {}
    }
    let model = disk.device.model.as_deref().unwrap_or_default();
    let virtual_machine =
        virtual_machine || EMULATED_MODELS.iter().any(|known| model.starts_with(known));
    let controller = disk.pci_device()?;
    match driver(&controller, "").as_deref()? {
        "vmw_pvscsi" => Some(VirtualDisk::PvScsi),
        _ if !virtual_machine => None,
        "ata_piix" | "ahci" | "ata_generic" => Some(VirtualDisk::EmulatedAta),
        "sym53c8xx" | "mptspi" | "mptsas" | "BusLogic" => Some(VirtualDisk::EmulatedScsi),
        _ => {
            // QEMU emulates the 53c895a, the SAS1068 and two MegaRAID cards, VMware the 53c1030;
            // all are from LSI.
            let imitated = [0x0012, 0x0030, 0x0054, 0x0060, 0x0073].map(Some);
            let number = |file| controller.text(file).as_deref().and_then(hexadecimal);
            (number("vendor") == Some(LSI) && imitated.contains(&number("device")))
                .then_some(VirtualDisk::EmulatedScsi)
        }
    }
}

/// Software RAID arrays: Documentation/admin-guide/md.rst.
pub(super) fn arrays(root: &SystemRoot) -> Vec<Array> {
    let blocks = root.attributes("sys/block");
    let mut names = blocks.entries("");
    names.retain(|name| blocks.exists(format!("{name}/md")));
    names.sort_by_key(|name| natural(Path::new(name)));
    let arrays = names.into_iter().map(|name| {
        let md = root.attributes(format!("sys/block/{name}/md"));
        // Spares and the journal are devices of the array, too, but have no slot.
        let devices = md
            .entries("")
            .into_iter()
            .filter_map(|entry| entry.strip_prefix("dev-").map(str::to_owned));
        let in_slots =
            devices.filter(|device| md.parsed::<u32>(format!("dev-{device}/slot")).is_some());
        let mut members: Vec<String> = in_slots.collect();
        if members.is_empty() {
            members = blocks.entries(format!("{name}/slaves"));
        }
        members.sort_by_key(|member| natural(Path::new(member)));
        Array {
            level: md.text("level"),
            members,
            degraded: md.parsed("degraded"),
            consistency_policy: md.text("consistency_policy"),
            bitmap: md.text("bitmap/location"),
            sync_action: md.text("sync_action"),
            name,
        }
    });
    arrays.collect()
}

#[cfg(test)]
mod tests {
    use captures::Machine;

    use super::*;

    /// The kind of a SATA disk on a controller with this driver.
    fn kind(model: &str, driver: &str, virtual_machine: bool) -> Option<VirtualDisk> {
        const CONTROLLER: &str = "pci0000:00/0000:00:1f.2";
        let machine = Machine::new();
        let disk = format!("{CONTROLLER}/ata1/host0/target0:0:0/0:0:0:0/block/sda");
        machine.disk(&disk, "8:0", &[("size", "2048"), ("device/model", model)]);
        machine.link(
            &format!("sys/devices/{CONTROLLER}/driver"),
            &format!("sys/bus/pci/drivers/{driver}"),
        );
        machine.file(&format!("sys/bus/pci/drivers/{driver}/bind"), "");
        let root = SystemRoot::new(machine.path());
        settings(&root, &attached(&root), virtual_machine)[0].virtual_disk
    }

    #[test]
    fn an_emulated_disk_is_known_by_its_model_or_by_its_machine() {
        assert_eq!(kind("QEMU HARDDISK", "ahci", false), Some(VirtualDisk::EmulatedAta));
        assert_eq!(kind("VMware Virtual S", "mptspi", false), Some(VirtualDisk::EmulatedScsi));
        assert_eq!(kind("INTEL SSDSC2KB48", "ahci", false), None);
        assert_eq!(kind("INTEL SSDSC2KB48", "ahci", true), Some(VirtualDisk::EmulatedAta));
    }
}
