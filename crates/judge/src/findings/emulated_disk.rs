//! A virtual machine's disk is on an emulated controller.

use measurement::{Confidence, Evidence, Finding};

use crate::audit::virtual_disks::{HOW_TO_ATTACH, kind_name};
use crate::case::Case;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let names = case.device_names();
    let of_target = case.host.disks.iter().filter(|disk| names.contains(&disk.name));
    let (disk, kind) = of_target
        .filter_map(|disk| Some((disk, disk.virtual_disk?)))
        .find(|(_, kind)| kind.is_emulated())?;
    Some(Finding {
        id: "emulated-disk".to_owned(),
        title: format!(
            "/dev/{} is attached to {}: several exits to the hypervisor for each request and \
             flush, 20 to 100 µs per commit.",
            disk.name,
            kind_name(kind)
        ),
        evidence: vec![
            Evidence::fact("controller", kind_name(kind)),
            Evidence::fact(
                "Ceph performance wiki",
                "virtio is the fastest, virtio-scsi a little slower, LSI and other emulations are \
                 far slower",
            ),
        ],
        confidence: Confidence::High,
        doubt: None,
        advice: HOW_TO_ATTACH.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use drive::host::{DiskSettings, VirtualDisk};
    use drive::{HostFacts, Transport};

    use super::*;

    /// The finding about a disk of this kind under the target `sda`.
    fn found(name: &str, virtual_disk: Option<VirtualDisk>) -> Option<Finding> {
        let settings = DiskSettings {
            name: name.to_owned(),
            transport: Transport::Sata,
            rotational: None,
            scheduler: None,
            numa_node: None,
            interrupts: Vec::new(),
            virtual_disk,
        };
        let host = HostFacts { disks: vec![settings], ..HostFacts::default() };
        let place = samples::place::device(samples::place::drive("sda", Transport::Sata));
        let findings = super::super::findings(&Case::new(&[], Some(&place), &host));
        // The audit of the host does not repeat it.
        assert!(findings.iter().all(|finding| finding.id != "host-costs-latency"));
        findings.into_iter().find(|finding| finding.id == "emulated-disk")
    }

    #[test]
    fn only_an_emulated_controller_of_the_target_is_reported() {
        let finding = found("sda", Some(VirtualDisk::EmulatedAta)).unwrap();
        insta::assert_snapshot!(finding.title, @"/dev/sda is attached to an emulated IDE or SATA controller: several exits to the hypervisor for each request and flush, 20 to 100 µs per commit.");
        let finding = found("sda", Some(VirtualDisk::EmulatedScsi)).unwrap();
        insta::assert_snapshot!(finding.title, @"/dev/sda is attached to an emulated LSI or BusLogic controller: several exits to the hypervisor for each request and flush, 20 to 100 µs per commit.");
        insta::assert_snapshot!(finding.advice, @"Attach the disk with virtio-blk or virtio-scsi. libvirt: `<target dev='vda' bus='virtio'/>`, or `bus='scsi'` with `<controller type='scsi' model='virtio-scsi'/>`. QEMU: `-device virtio-blk-pci,drive=ID`, or `-device virtio-scsi-pci -device scsi-hd,drive=ID`. VMware: PVSCSI or NVMe. Check first that the guest's initramfs has the driver, and that it mounts by UUID: the disk's name changes.");
        for kind in [None, Some(VirtualDisk::VirtioBlk), Some(VirtualDisk::VirtioScsi)] {
            assert_eq!(found("sda", kind), None);
        }
        assert_eq!(found("sdb", Some(VirtualDisk::EmulatedAta)), None);
    }
}
