//! Disks that a hypervisor makes up: what the kind of disk costs, and what cannot be seen from inside.

use std::collections::BTreeMap;

use drive::HostFacts;
use drive::host::VirtualDisk;
use measurement::{AuditLine, HostGrade};

use super::line::{advised, costs, good, line};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let mut kinds: BTreeMap<&str, (VirtualDisk, Vec<&str>)> = BTreeMap::new();
    for disk in &host.disks {
        if let Some(kind) = disk.virtual_disk {
            kinds.entry(words(kind)).or_insert((kind, Vec::new())).1.push(&disk.name);
        }
    }
    let mut lines: Vec<AuditLine> = kinds.values().map(|(kind, disks)| of_kind(*kind, &disks.join(", "))).collect();
    if !kinds.is_empty() {
        let all: Vec<&str> = kinds.values().flat_map(|(_, disks)| disks.iter().copied()).collect();
        let why = "A flush that leaves this machine is honoured by the hypervisor's cache modes none, directsync, writethrough and writeback, and thrown away by unsafe; from inside nothing tells them apart but a power cut of the host.";
        lines.push(advised(
            line(
                "virtual-cache-mode",
                format!("{}: the hypervisor's cache mode", all.join(", ")),
                HostGrade::Unknown,
                "cannot be seen from inside",
                why,
            ),
            "Ask whoever runs the host for the disk's cache mode (QEMU: `cache=`; it must not be unsafe), and compare `flushmark check` on the host.",
        ));
    }
    lines
}

const fn words(kind: VirtualDisk) -> &'static str {
    match kind {
        VirtualDisk::VirtioBlk => "virtio-blk",
        VirtualDisk::VirtioScsi => "virtio-scsi",
        VirtualDisk::EmulatedAta => "an imitated IDE or SATA controller",
        VirtualDisk::EmulatedScsi => "an imitated LSI or BusLogic controller",
        VirtualDisk::Nvme => "an imitated or passed-on NVMe controller",
        VirtualDisk::PvScsi => "VMware's paravirtual SCSI",
        VirtualDisk::HyperV => "Hyper-V's storvsc",
        VirtualDisk::Xen => "Xen's blkfront",
        _ => "a virtual disk",
    }
}

fn of_kind(kind: VirtualDisk, disks: &str) -> AuditLine {
    let subject = format!("{disks}: kind of virtual disk");
    match kind {
        VirtualDisk::EmulatedAta | VirtualDisk::EmulatedScsi => {
            let why = "Each register of an imitated controller that the driver touches is an exit to the hypervisor, several for each request and each flush: 20 to 100 µs a commit.";
            advised(
                costs("virtual-disk", subject, words(kind), why),
                "Have the disk attached by virtio-blk or virtio-scsi (VMware: PVSCSI or NVMe).",
            )
        }
        _ => good("virtual-disk", subject, words(kind), "A request costs one exit to the hypervisor or none."),
    }
}
