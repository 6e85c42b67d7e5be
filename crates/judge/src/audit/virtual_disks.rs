//! Disks provided by a hypervisor: what each kind costs, and what is not visible in the guest.

use std::collections::BTreeMap;

use drive::HostFacts;
use drive::host::VirtualDisk;
use measurement::{AuditLine, HostGrade};

use super::line::{advised, costs, good, line};

/// The line about a disk's kind.
pub(crate) const LINE: &str = "virtual-disk";
/// The advice for an emulated disk.
pub(crate) const HOW_TO_ATTACH: &str = "Attach the disk with virtio-blk or virtio-scsi. libvirt: `<target dev='vda' bus='virtio'/>`, \
     or `bus='scsi'` with `<controller type='scsi' model='virtio-scsi'/>`. QEMU: `-device \
     virtio-blk-pci,drive=ID`, or `-device virtio-scsi-pci -device scsi-hd,drive=ID`. VMware: \
     PVSCSI or NVMe. Check first that the guest's initramfs has the driver, and that it mounts by \
     UUID: the disk's name changes.";

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let mut kinds: BTreeMap<&str, (VirtualDisk, Vec<&str>)> = BTreeMap::new();
    for disk in &host.disks {
        if let Some(kind) = disk.virtual_disk {
            kinds.entry(kind_name(kind)).or_insert((kind, Vec::new())).1.push(&disk.name);
        }
    }
    let mut lines: Vec<AuditLine> =
        kinds.values().map(|(kind, disks)| of_kind(*kind, &disks.join(", "))).collect();
    if !kinds.is_empty() {
        let all: Vec<&str> = kinds.values().flat_map(|(_, disks)| disks.iter().copied()).collect();
        let why = "The hypervisor's cache modes none, directsync, writethrough and writeback \
                   honour a flush; unsafe discards it. Inside the guest, only a power cut of the \
                   host shows the difference.";
        lines.push(advised(
            line(
                "virtual-cache-mode",
                format!("{}: the hypervisor's cache mode", all.join(", ")),
                HostGrade::Unknown,
                "not visible in the guest",
                why,
            ),
            "Ask the host's administrator for the disk's cache mode (QEMU: `cache=`; it must not \
             be unsafe), and compare with `flushmark check` on the host.",
        ));
    }
    lines
}

pub(crate) const fn kind_name(kind: VirtualDisk) -> &'static str {
    match kind {
        VirtualDisk::VirtioBlk => "virtio-blk",
        VirtualDisk::VirtioScsi => "virtio-scsi",
        VirtualDisk::EmulatedAta => "an emulated IDE or SATA controller",
        VirtualDisk::EmulatedScsi => "an emulated LSI or BusLogic controller",
        VirtualDisk::Nvme => "an emulated or passed-through NVMe controller",
        VirtualDisk::PvScsi => "VMware's paravirtual SCSI",
        VirtualDisk::HyperV => "Hyper-V's storvsc",
        VirtualDisk::Xen => "Xen's blkfront",
        _ => "a virtual disk",
    }
}

fn of_kind(kind: VirtualDisk, disks: &str) -> AuditLine {
    let subject = format!("{disks}: kind of virtual disk");
    if !kind.is_emulated() {
        let why = "A request costs at most one exit to the hypervisor.";
        return good(LINE, subject, kind_name(kind), why);
    }
    let why = "Every access to a register of an emulated controller is an exit to the hypervisor, \
               several for each request and flush: 20 to 100 µs per commit.";
    advised(costs(LINE, subject, kind_name(kind), why), HOW_TO_ATTACH)
}
